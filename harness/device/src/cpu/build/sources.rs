//! Rewriting the files of one build: the source and the local files that it includes.

use crate::api::BuildRequest;
use crate::cpu::rewrite::{self, Edit, Refusal};
use lab_source::{line_at, without_bom};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// The rewritten files of one build. A local include becomes a file in the build's folder.
pub struct Sources<'r> {
    request: &'r BuildRequest,
    folder: &'r Path,
    /// The name in the folder of each local include, by its real path.
    known: HashMap<PathBuf, String>,
    refusals: Vec<Refusal>,
    /// Files that were rewritten so far.
    count: usize,
    /// Errors of files that no compiler may read, as compiler messages.
    pub unreadable: String,
    /// The first place where the user's files ask which device they are built for, as a sentence.
    pub branch: Option<String>,
}

impl<'r> Sources<'r> {
    /// `folder` is the build's folder.
    pub fn new(request: &'r BuildRequest, folder: &'r Path) -> Sources<'r> {
        Sources {
            request,
            folder,
            known: HashMap::new(),
            refusals: Vec::new(),
            count: 0,
            unreadable: String::new(),
            branch: None,
        }
    }

    /// Returns the rewritten text of a file, and writes the local files that it includes. `folder`
    /// is the file's own folder, or `None` for a file that includes no local files.
    pub fn text(
        &mut self,
        source: &str,
        shown_as: &str,
        folder: Option<&Path>,
    ) -> io::Result<String> {
        self.count += 1;
        if let Some(at) = source.bytes().position(|byte| byte == 0) {
            let line = line_at(source, at);
            self.unreadable +=
                &format!("{shown_as}:{line}: error: the source holds a NUL byte. Remove it.\n");
        }
        let rewritten = rewrite::rewrite(source, shown_as, self.count);
        let mut edits = rewritten.edits;
        // The lab's own header has no folder.
        if folder.is_some() {
            self.branch = self.branch.take().or(rewritten.branch);
        }
        self.refusals.extend(rewritten.refusals);
        for include in rewritten.includes {
            let name = &source[include.start + 1..include.end - 1];
            let Some(path) = self.resolve(name, folder) else {
                continue;
            };
            if !path.is_file() {
                let line = line_at(source, include.start);
                self.unreadable += &format!(
                    "{shown_as}:{line}: error: {name} is no file but a device, a pipe or a socket, and is not included. \
                     Include a file.\n"
                );
                continue;
            }
            let shown = match Path::new(shown_as).parent() {
                Some(parent) if folder.is_some_and(|f| path.starts_with(f)) => {
                    parent.join(name).display().to_string()
                }
                _ => path.display().to_string(),
            };
            if let Some(name) = self.include(&path, &shown)? {
                let quoted = rewrite::quoted(&name);
                edits.push(Edit::new(include.start, include.end, quoted));
            }
        }
        // A .cpp is written for the host, whose library uses this keyword of CUDA as an attribute.
        let is_host = Path::new(shown_as)
            .extension()
            .is_some_and(|ending| ending == "cpp");
        let before = if is_host { "#undef __noinline__\n" } else { "" };
        Ok(format!(
            "{before}#line 1 {}\n{}\n",
            rewrite::quoted(shown_as),
            rewrite::apply(source, edits)
        ))
    }

    /// Corrects the columns of refused constructs in the compiler's messages: g++ counts them in
    /// the text of the pragma.
    pub fn with_columns(&self, log: &str) -> String {
        let mut rest: Vec<_> = self.refusals.iter().collect();
        let mut out = String::with_capacity(log.len());
        for line in log.lines() {
            let refusal = rest.iter().position(|refusal| {
                line.starts_with(&format!("{}:{}:", refusal.path, refusal.line))
                    && line.ends_with(refusal.reason)
            });
            out += &match refusal.map(|at| rest.remove(at)) {
                Some(found) => format!(
                    "{}:{}:{}: error: {}\n",
                    found.path, found.line, found.column, found.reason
                ),
                None => format!("{line}\n"),
            };
        }
        out
    }

    /// Finds a local include. Leaves out folders, as the compilers do.
    fn resolve(&self, name: &str, folder: Option<&Path>) -> Option<PathBuf> {
        let folders = folder
            .into_iter()
            .chain(self.request.include_dirs.iter().map(PathBuf::as_path));
        folders
            .map(|folder| folder.join(name))
            .find(|path| path.metadata().is_ok_and(|found| !found.is_dir()))
    }

    /// Returns the name of a local include in the build's folder. `None` where the file cannot be
    /// read as text: the compiler then reads it unchanged, or says why it cannot.
    fn include(&mut self, path: &Path, shown_as: &str) -> io::Result<Option<String>> {
        let Ok(real) = path.canonicalize() else {
            return Ok(None);
        };
        if let Some(name) = self.known.get(&real) {
            return Ok(Some(name.clone()));
        }
        let Ok(source) = std::fs::read_to_string(&real) else {
            return Ok(None);
        };
        if without_bom(source.as_bytes()).len() < source.len() {
            self.unreadable += &format!(
                "{shown_as}:1: error: the header begins with a byte order mark, which NVRTC refuses. Save it as UTF-8 without one.\n"
            );
            return Ok(None);
        }
        let name = format!("include_{}.h", self.known.len());
        self.known.insert(real, name.clone());
        let text = self.text(&source, shown_as, path.parent())?;
        std::fs::write(self.folder.join(&name), text)?;
        Ok(Some(name))
    }
}
