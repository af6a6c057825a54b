//! The inputs of a run, which are the files that a verdict depends on: kernel.cu, its local includes, problem.toml,
//! reference.cu, lab.toml with the compile options in it, and the extras that lab.toml names.
//!
//! The watcher reads and hashes them once for each save. That value travels to the run and into its record.

use crate::project::Project;
use crate::run::Fingerprint;
use crate::run::record::InputFile;
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Most bytes of a file. Nobody writes a larger kernel by hand.
pub const SIZE_LIMIT: u64 = 8 << 20;

/// Most files of a set. Local includes beyond it are not followed.
const FILE_LIMIT: usize = 512;

/// Why the kernel cannot be read. Each message names the kernel and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel's name, and the argument that makes a command mean it ([`Project::argument`]).
    #[error("{0} is not there: save it, or put an older one back with `lab restore HEAD{1}`")]
    Missing(String, String),
    #[error("{0} is a folder: name the file in it")]
    Folder(String),
    #[error("{0} is empty: nothing to judge")]
    Empty(String),
    #[error("{0} has {1} bytes: a kernel source may have {SIZE_LIMIT}")]
    TooLarge(String, u64),
    #[error("cannot read {0}: {1}; check its owner and mode (`ls -l`)")]
    Unreadable(String, io::Error),
}

/// One input, as it was when it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    pub file: InputFile,
    /// Absolute path.
    pub path: PathBuf,
    /// Whether it is a local include. A commit holds the kernel alone, so an experiment must not depend on a changed
    /// include.
    pub include: bool,
    /// `None` where the file does not exist, cannot be read, or is too large.
    pub bytes: Option<Vec<u8>>,
}

/// All inputs of a project, read and hashed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The kernel first.
    pub sources: Vec<Source>,
    /// Hash of all paths and contents.
    pub fingerprint: Fingerprint,
}

impl fmt::Debug for Source {
    /// Shows the number of bytes instead of the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.as_ref().map(Vec::len);
        write!(f, "{} ({bytes:?} bytes, {:?})", self.path.display(), self.file.hash)
    }
}

impl Inputs {
    /// Whether the kernel among them is this project's.
    pub fn is_of(&self, project: &Project) -> bool {
        self.sources.first().is_some_and(|kernel| kernel.path == plain(&project.kernel))
    }

    /// The kernel's bytes.
    pub fn kernel(&self) -> &[u8] {
        self.sources.first().and_then(|s| s.bytes.as_deref()).unwrap_or_default()
    }

    /// Paths and hashes, as a record lists them. The kernel first.
    pub fn files(&self) -> Vec<InputFile> {
        self.sources.iter().map(|s| s.file.clone()).collect()
    }

    /// Writes every input into the folder `tree` at its repository-relative path. An input outside the repository is left
    /// out.
    pub fn write(&self, project: &Project, tree: &Path) -> io::Result<()> {
        for source in &self.sources {
            let (Some(bytes), Some(name)) = (&source.bytes, project.relative(&source.path)) else { continue };
            let path = tree.join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(tree))?;
            std::fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// Reads and hashes all inputs of the project. The error is of a kernel that cannot be read; any other file may be missing.
pub fn read(project: &Project) -> Result<Inputs, KernelError> {
    let kernel = read_kernel(project)?;
    let mut set = Set { project, seen: HashSet::new(), sources: Vec::new() };
    set.add(&project.kernel, Some(kernel), false);
    set.follow_includes(0);
    if !project.external() {
        set.add(&project.problem_dir.join("problem.toml"), None, false);
        let reference = set.sources.len();
        set.add(&project.problem_dir.join("reference.cu"), None, false);
        set.follow_includes(reference);
    }
    for file in project.config_file.iter().cloned().chain(extras(project)) {
        set.add(&file, None, false);
    }
    let mut hash = blake3::Hasher::new();
    for source in &set.sources {
        let content = source.file.hash.as_deref().unwrap_or("missing");
        hash.update(source.file.path.as_bytes()).update(b"\0").update(content.as_bytes()).update(b"\0");
    }
    Ok(Inputs { sources: set.sources, fingerprint: Fingerprint(hash.finalize().to_hex().to_string()) })
}

/// The paths whose bytes differ between `then` and `now`, each once, also those that only one of the two has.
pub fn differences(then: &[InputFile], now: &[InputFile]) -> Vec<String> {
    let missing_in = |set: &[InputFile], file: &InputFile| !set.contains(file);
    let mut paths: Vec<String> = then.iter().filter(|f| missing_in(now, f)).map(|f| f.path.clone()).collect();
    for file in now.iter().filter(|f| missing_in(then, f)) {
        if !paths.contains(&file.path) {
            paths.push(file.path.clone());
        }
    }
    paths
}

fn extras(project: &Project) -> impl Iterator<Item = PathBuf> + '_ {
    project.config.watch.extra.iter().map(|extra| project.home.join(extra))
}

fn read_kernel(project: &Project) -> Result<Vec<u8>, KernelError> {
    let name = || project.kernel_name.clone();
    let about = std::fs::metadata(&project.kernel).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::Missing(name(), project.argument.clone()),
        _ => KernelError::Unreadable(name(), error),
    })?;
    if about.is_dir() {
        return Err(KernelError::Folder(name()));
    }
    if about.len() > SIZE_LIMIT {
        return Err(KernelError::TooLarge(name(), about.len()));
    }
    if !about.is_file() {
        return Err(KernelError::Unreadable(name(), io::Error::other("it is no plain file")));
    }
    let bytes = std::fs::read(&project.kernel).map_err(|error| match error.kind() {
        // An editor that saves by two renames makes the file disappear for a moment.
        io::ErrorKind::NotFound => KernelError::Missing(name(), project.argument.clone()),
        _ => KernelError::Unreadable(name(), error),
    })?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(KernelError::Empty(name()));
    }
    Ok(bytes)
}

struct Set<'a> {
    project: &'a Project,
    seen: HashSet<PathBuf>,
    sources: Vec<Source>,
}

impl Set<'_> {
    /// A missing file is an input too: creating it changes what is judged.
    fn add(&mut self, path: &Path, bytes: Option<Vec<u8>>, include: bool) {
        let path = plain(path);
        if self.sources.len() >= FILE_LIMIT || !self.seen.insert(path.clone()) {
            return;
        }
        let bytes = bytes.or_else(|| {
            let small = std::fs::metadata(&path).ok().filter(|m| m.is_file() && m.len() <= SIZE_LIMIT);
            small.and_then(|_| std::fs::read(&path).ok())
        });
        let name = self.project.relative(&path).unwrap_or_else(|| path.to_string_lossy().into_owned());
        let hash = bytes.as_deref().map(|b| blake3::hash(b).to_hex().to_string());
        self.sources.push(Source { file: InputFile { path: name, hash }, path, include, bytes });
    }

    /// Adds the local includes of the sources from index `first` on, and the includes of those.
    fn follow_includes(&mut self, first: usize) {
        let mut next = first;
        while let Some(source) = self.sources.get(next) {
            let folder = source.path.parent().unwrap_or(Path::new("/")).to_path_buf();
            let names = source.bytes.as_deref().map(includes).unwrap_or_default();
            for path in names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()) {
                self.add(&path, None, true);
            }
            next += 1;
        }
    }
}

/// Removes `.` and `..` from a path without reading the disk: `a/./b/../c` becomes `a/c`. A link keeps its name.
pub(crate) fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                so_far.pop();
            }
            other => so_far.push(other),
        }
        so_far
    })
}

/// The names in `#include "…"` lines, also of lines in block comments: one file too many does no harm.
pub(crate) fn includes(source: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(source)
        .lines()
        .filter_map(|line| {
            let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
            let (name, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
            (!name.is_empty()).then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found_as_a_compiler_would() {
        let source =
            b"#include \"a.cuh\"\n  #  include\t\"b/c.h\" // x\n#include <lab.h>\n//#include \"no.h\"\n";
        assert_eq!(includes(source), ["a.cuh", "b/c.h"]);
    }

    #[test]
    fn a_path_is_made_plain() {
        assert_eq!(plain(Path::new("/a/./b/../c.h")), Path::new("/a/c.h"));
    }

    #[test]
    fn differences_name_each_path_once() {
        let file = |path: &str, hash: &str| InputFile { path: path.into(), hash: Some(hash.into()) };
        let then = [file("k", "1"), file("gone", "1"), file("same", "1")];
        let now = [file("k", "2"), file("same", "1"), file("new", "1")];
        assert_eq!(differences(&then, &now), ["k", "gone", "new"]);
    }
}
