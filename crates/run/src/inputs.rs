//! The inputs of a run, which are the files that a verdict depends on: the kernel, its local
//! includes or imports, problem.toml and the .npy and .jsonl files that it names, the reference,
//! lab.toml with the compile options in it, and the extras that lab.toml names.
//!
//! The watcher reads and hashes them once for each save. That value travels to the run and into its
//! record.

mod error;
mod files;
mod set;
mod value_files;

pub use error::KernelError;
pub use files::InputFiles;
pub use lab_project::{SIZE_LIMIT, plain};
pub use value_files::{PeerTable, tables as peer_tables};

use crate::Fingerprint;
use crate::peers::PeerSource;
use crate::record::InputFile;
use lab_project::Project;
use lab_project::config::Harness;
use lab_protocol::Language;
use lab_source::fingerprint::{Cut, cut_cpp, cut_python};
use lab_source::imports::imports;
use lab_system::listing;
use lab_system::root::{Refused, refusal};
use serde::{Deserialize, Serialize};
use set::Set;
use std::path::{Path, PathBuf};
use std::{fmt, io};

const PROBLEM: &str = "problem.toml";

/// Most bytes of all files of a set.
const TOTAL_LIMIT: u64 = 64 << 20;

/// Most include lines of all files of a set.
const INCLUDE_LIMIT: usize = 10_000;

/// Most files of a set. Local includes beyond it are not followed.
const FILE_LIMIT: usize = 512;

/// Why a file is an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Kernel,
    /// The kernel includes or imports it. A commit holds the kernel alone, so an experiment must
    /// not depend on a changed include.
    Include,
    /// It says how the kernel is judged: problem.toml and the .npy and .jsonl files that it names,
    /// `reference.*`, peer.py, and what these include or import.
    Rule,
    /// lab.toml: some of its keys say how the kernel is judged.
    Config,
    /// lab.toml names it in `watch.extra`, or as a harness in Python, which may import it.
    Extra,
}

/// An include line whose file no commit of the repository can hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OutsideInclude {
    /// The file with the line, repository-relative.
    pub file: String,
    /// The path of the included file, or the macro that stands for its name.
    pub include: String,
    /// Only a compiler knows the file, because the line names a macro.
    pub is_macro: bool,
}

impl fmt::Display for OutsideInclude {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutsideInclude {
            file,
            include,
            is_macro,
        } = self;
        match is_macro {
            true => {
                write!(
                    f,
                    "{file} includes a file by the macro {include}, so lab cannot see which file it is"
                )
            }
            false => write!(
                f,
                "{file} includes {include}, which is outside of the repository"
            ),
        }
    }
}

/// One input, as it was when it was read.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub file: InputFile,
    /// Absolute path.
    pub path: PathBuf,
    pub role: Role,
    /// The compiler reads the file at its own place and not in the copy that is judged: it is
    /// outside of the repository, or in an include folder of lab.toml's options.
    pub in_place: bool,
    /// `None` where the file does not exist, cannot be read, or is too large. Stands in no record:
    /// [`Inputs::read_back`].
    #[serde(skip)]
    pub bytes: Option<Vec<u8>>,
}

/// All inputs of a project, read and hashed once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// The kernel first.
    pub sources: Vec<Source>,
    /// Hash of all paths and contents.
    pub fingerprint: Fingerprint,
    /// Includes that forbid a keep.
    pub outside: Vec<OutsideInclude>,
}

impl fmt::Debug for Source {
    /// Shows the number of bytes instead of the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes.as_ref().map(Vec::len);
        write!(
            f,
            "{} ({bytes:?} bytes, {:?})",
            self.path.display(),
            self.file.hash
        )
    }
}

fn cut(language: Language) -> Cut {
    match language {
        Language::Cuda => cut_cpp,
        Language::Python => cut_python,
    }
}

/// How many tokens a kernel has. `None` where more than its tokens counts.
pub fn token_count(kernel: &[u8], language: Language) -> Option<usize> {
    lab_source::fingerprint::count(kernel, cut(language))
}

impl Inputs {
    /// Whether the kernel among them is this project's.
    pub fn is_of(&self, project: &Project) -> bool {
        self.sources
            .first()
            .is_some_and(|kernel| kernel.path == plain(&project.kernel))
    }

    /// The kernel's bytes.
    pub fn kernel(&self) -> &[u8] {
        self.sources
            .first()
            .and_then(|s| s.bytes.as_deref())
            .unwrap_or_default()
    }

    /// A hash of the kernel's tokens, in hex: the same for kernels that differ only in comments and
    /// blanks.
    pub fn tokens(&self) -> String {
        let language = self
            .sources
            .first()
            .map(|kernel| Language::of(&kernel.path))
            .unwrap_or_default();
        lab_source::fingerprint::hash(self.kernel(), cut(language))
    }

    /// The fingerprint with the kernel's tokens in place of its bytes: the same for inputs that
    /// differ only in comments and blanks of the kernel.
    pub fn token_fingerprint(&self) -> Fingerprint {
        let mut files = self.files();
        if let Some(kernel) = files.first_mut() {
            kernel.hash = Some(format!("tokens {}", self.tokens()));
        }
        fingerprint(files.iter())
    }

    /// Paths and hashes, as a record lists them. The kernel first.
    pub fn files(&self) -> Vec<InputFile> {
        self.sources.iter().map(|s| s.file.clone()).collect()
    }

    /// The peers that problem.toml names.
    pub fn peer_tables(&self) -> Vec<PeerTable> {
        problem(&self.sources)
            .and_then(|problem| problem.bytes.as_deref())
            .map(peer_tables)
            .unwrap_or_default()
    }

    /// The name of each peer of problem.toml, with its file.
    pub fn peer_sources(&self) -> Vec<(String, PeerSource)> {
        let folder = problem(&self.sources)
            .and_then(|problem| problem.path.parent())
            .unwrap_or(Path::new("/"));
        let peers = self.peer_tables().into_iter();
        let file = |peer: PeerTable| {
            let path = plain(&folder.join(&peer.file));
            let source = self.sources.iter().find(|source| source.path == path)?;
            let InputFile { path, hash } = source.file.clone();
            Some((peer.name, PeerSource { path, hash }))
        };
        peers.filter_map(file).collect()
    }

    /// The same inputs with another kernel.
    #[must_use]
    pub fn with_kernel(&self, kernel: Vec<u8>) -> Inputs {
        let mut inputs = self.clone();
        inputs.fingerprint = fingerprint_with(&kernel, &self.files());
        if let Some(first) = inputs.sources.first_mut() {
            first.file.hash = Some(hash_of(&kernel));
            first.bytes = Some(kernel);
        }
        inputs
    }

    /// Writes every input into the folder `tree` of the repository at its repository-relative path.
    /// An input outside the repository is left out.
    pub fn write(&self, project: &Project, tree: &Path) -> io::Result<()> {
        let files = project.files();
        files.create_dir_all(tree)?;
        for source in &self.sources {
            let (Some(bytes), Some(name)) = (&source.bytes, project.relative(&source.path)) else {
                continue;
            };
            files.write(&tree.join(name), bytes)?;
        }
        Ok(())
    }

    /// Reads the bytes of a list that was stored without them: from the copies that
    /// [`Inputs::write`] made in `tree`, and of a file outside of the repository from its own place.
    /// The error names a file that has other bytes now.
    pub fn read_back(&mut self, project: &Project, tree: &Path) -> io::Result<()> {
        let files = InputFiles::of(project);
        for source in &mut self.sources {
            let Some(hash) = &source.file.hash else {
                continue;
            };
            let bytes = match project.relative(&source.path) {
                Some(name) => project.files().read(&tree.join(name), SIZE_LIMIT)?,
                None => files.read(&source.path)?,
            };
            if hash_of(&bytes) != *hash {
                let changed = format!("{} has other bytes now", source.file.path);
                return Err(io::Error::other(changed));
            }
            source.bytes = Some(bytes);
        }
        Ok(())
    }
}

/// problem.toml, if it is an input.
fn problem(sources: &[Source]) -> Option<&Source> {
    let is_named = |source: &&Source| source.path.file_name().is_some_and(|name| name == PROBLEM);
    let mut rules = sources.iter().filter(|source| source.role == Role::Rule);
    rules.find(is_named)
}

/// Reads and hashes all inputs of the project. Returns an error if the kernel cannot be read; any
/// other file may be missing.
pub fn read(project: &Project) -> Result<Inputs, KernelError> {
    let mut set = Set::new(project);
    let kernel = read_kernel(&set.files)?;
    set.add(&project.kernel, Some(kernel), Role::Kernel, false)?;
    set.follow_includes(0, Role::Include)?;
    let rules = set.sources.len();
    let found = rule_files(&project.problem_dir);
    // The built-in harness reads problem.toml and a reference: a missing one is an input too.
    let has_python = found.iter().any(|name| name == REFERENCES[1]);
    let judged = ["problem.toml", REFERENCES[usize::from(has_python)]].map(str::to_owned);
    for name in judged
        .into_iter()
        .filter(|_| !project.external())
        .chain(found)
    {
        set.add(&project.problem_dir.join(name), None, Role::Rule, false)?;
    }
    set.follow_includes(rules, Role::Rule)?;
    set.add_value_files()?;
    set.add_peer_files()?;
    if let Some(file) = &project.config_file {
        set.add(file, None, Role::Config, false)?;
    }
    if let Some(Harness::Python { python }) = &project.config.harness {
        let script = set.sources.len();
        set.add(&project.home.join(python), None, Role::Extra, false)?;
        set.follow_includes(script, Role::Extra)?;
    }
    for file in extras(project) {
        set.add(&file, None, Role::Extra, false)?;
    }
    let fingerprint = fingerprint(set.sources.iter().map(|source| &source.file));
    Ok(Inputs {
        sources: set.sources,
        fingerprint,
        outside: set.outside,
    })
}

/// The files of the repository that the Python scripts among `files` import, and those that these
/// import. What the kernel imports is left out, even if a script imports the kernel. Returns an
/// error if a file cannot be read.
pub fn imported_by(project: &Project, files: &[PathBuf]) -> Result<Vec<PathBuf>, KernelError> {
    let mut set = Set::new(project);
    set.add(&project.kernel, Some(Vec::new()), Role::Kernel, false)?;
    for script in files
        .iter()
        .filter(|path| Language::of(path) == Language::Python)
    {
        let first = set.sources.len();
        set.add(script, None, Role::Extra, false)?;
        set.follow_includes(first, Role::Extra)?;
    }
    let others = set.sources.into_iter().skip(1).map(|source| source.path);
    Ok(others.filter(|path| !files.contains(path)).collect())
}

fn fingerprint<'f>(files: impl Iterator<Item = &'f InputFile>) -> Fingerprint {
    let mut hash = blake3::Hasher::new();
    for file in files {
        let content = file.hash.as_deref().unwrap_or("missing");
        hash.update(file.path.as_bytes())
            .update(b"\0")
            .update(content.as_bytes())
            .update(b"\0");
    }
    Fingerprint(hash.finalize().to_hex().to_string())
}

/// The fingerprint that these inputs would have with another kernel, which is the first of them.
pub fn fingerprint_with(kernel: &[u8], files: &[InputFile]) -> Fingerprint {
    let mut files = files.to_vec();
    if let Some(first) = files.first_mut() {
        first.hash = Some(hash_of(kernel));
    }
    fingerprint(files.iter())
}

/// Most bytes of a kernel that is saved before another one takes its place.
const SAVED_LIMIT: u64 = 1 << 30;

/// The kernel's bytes on disk, whatever they are: what is about to be replaced.
pub fn on_disk(project: &Project) -> io::Result<Vec<u8>> {
    InputFiles::of(project).read_up_to(&project.kernel, SAVED_LIMIT)
}

/// The references that the built-in harness knows. A folder without any lacks the first.
const REFERENCES: [&str; 2] = ["reference.cu", "reference.py"];

/// Whether a file of this name beside a kernel says how the kernel is judged: problem.toml,
/// reference.cu, reference.py, peer.py. The backup of an editor (`reference.cu~`,
/// `reference.cu.orig`) does not.
pub fn is_rule(name: &str) -> bool {
    let extension = name.strip_prefix("reference.");
    ["problem.toml", "peer.py"].contains(&name)
        || extension.is_some_and(|e| {
            !e.is_empty() && e.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// The names of the files in a folder that say how its kernel is judged, sorted.
fn rule_files(folder: &Path) -> Vec<String> {
    let entries = listing::entries(folder);
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_rule(name))
        .collect();
    names.sort();
    names
}

/// The packages that a Python source imports, in their order, without what comes after the first
/// dot: `torch` of `torch.nn`.
pub fn imported_packages(source: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for import in imports(source)
        .into_iter()
        .filter(|import| import.dots == 0)
    {
        names.extend(
            import
                .module
                .into_iter()
                .next()
                .filter(|name| !names.contains(name)),
        );
    }
    names
}

/// The paths whose bytes differ between `then` and `now`, each once, also those that only one of
/// the two has.
pub fn differences(then: &[InputFile], now: &[InputFile]) -> Vec<String> {
    let missing_in = |set: &[InputFile], file: &InputFile| !set.contains(file);
    let mut paths: Vec<String> = then
        .iter()
        .filter(|f| missing_in(now, f))
        .map(|f| f.path.clone())
        .collect();
    for file in now.iter().filter(|f| missing_in(then, f)) {
        if !paths.contains(&file.path) {
            paths.push(file.path.clone());
        }
    }
    paths
}

/// The hash that [`InputFile`] would have of this file now.
pub fn hash(project: &Project, path: &Path) -> Option<String> {
    InputFiles::of(project)
        .read(path)
        .ok()
        .as_deref()
        .map(hash_of)
}

/// BLAKE3 of a file's bytes, hex.
pub fn hash_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn extras(project: &Project) -> impl Iterator<Item = PathBuf> + '_ {
    project
        .config
        .watch
        .extra
        .iter()
        .map(|extra| project.home.join(extra))
}

fn read_kernel(files: &InputFiles) -> Result<Vec<u8>, KernelError> {
    let project = files.project;
    let name = || project.kernel_name.clone();
    let bytes = files
        .read(&project.kernel)
        .map_err(|error| match refusal(&error) {
            Some(Refused::Outside { .. }) => KernelError::LeadsOut(name()),
            Some(Refused::TooLarge { bytes, .. }) => KernelError::TooLarge(name(), *bytes),
            Some(_) => KernelError::no_plain_file(name()),
            // An editor that saves by two renames makes the file disappear for a moment.
            None if error.kind() == io::ErrorKind::NotFound => {
                KernelError::Missing(name(), project.argument.clone())
            }
            None if error.kind() == io::ErrorKind::IsADirectory => KernelError::Folder(name()),
            None => KernelError::of_system(name(), error),
        })?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(KernelError::Empty(name()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_plain() {
        assert_eq!(plain(Path::new("/a/./b/../c.h")), Path::new("/a/c.h"));
    }

    #[test]
    fn differences_name_each_path_once() {
        let file = |path: &str, hash: &str| InputFile {
            path: path.into(),
            hash: Some(hash.into()),
        };
        let then = [file("k", "1"), file("gone", "1"), file("same", "1")];
        let now = [file("k", "2"), file("same", "1"), file("new", "1")];
        assert_eq!(differences(&then, &now), ["k", "gone", "new"]);
    }
}
