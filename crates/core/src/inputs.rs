//! The inputs of a run, which are the files that a verdict depends on: kernel.cu, its local includes, problem.toml and the .npy
//! files that it names, reference.cu, lab.toml with the compile options in it, and the extras that lab.toml names.
//!
//! The watcher reads and hashes them once for each save. That value travels to the run and into its record.

mod error;
mod files;
mod includes;
mod peer_files;
pub(crate) mod tokens;
mod value_files;

pub use error::KernelError;
pub(crate) use files::InputFiles;
pub(crate) use includes::{Include, includes};
pub use peer_files::{PeerTable, tables as peer_tables};

use crate::project::Project;
use crate::run::Fingerprint;
use crate::run::peers::PeerSource;
use crate::run::record::InputFile;
use includes::IncludeDirs;
use lab_system::root::{Refused, refusal};
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const PROBLEM: &str = "problem.toml";

/// Most bytes of a file. Nobody writes a larger kernel by hand.
pub const SIZE_LIMIT: u64 = 8 << 20;

/// Most bytes of all files of a set.
const TOTAL_LIMIT: u64 = 64 << 20;

/// Most include lines of all files of a set.
const INCLUDE_LIMIT: usize = 10_000;

/// Most files of a set. Local includes beyond it are not followed.
const FILE_LIMIT: usize = 512;

/// Why a file is an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Kernel,
    /// The kernel includes it. A commit holds the kernel alone, so an experiment must not depend on a changed include.
    Include,
    /// It says how the kernel is judged: problem.toml and the .npy files that it names, `reference.*`, and what reference.cu
    /// includes.
    Rule,
    /// lab.toml: some of its keys say how the kernel is judged.
    Config,
    /// lab.toml names it in `watch.extra`.
    Extra,
}

/// An include line whose file no commit of the repository can hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        let OutsideInclude { file, include, is_macro } = self;
        match is_macro {
            true => {
                write!(f, "{file} includes a file by the macro {include}, so lab cannot see which file it is")
            }
            false => write!(f, "{file} includes {include}, which is outside of the repository"),
        }
    }
}

/// One input, as it was when it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    pub file: InputFile,
    /// Absolute path.
    pub path: PathBuf,
    pub role: Role,
    /// The compiler reads the file at its own place and not in the copy that is judged: it is outside of the repository,
    /// or in an include folder of lab.toml's options.
    pub in_place: bool,
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
    /// Includes that forbid a keep.
    pub outside: Vec<OutsideInclude>,
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

    /// problem.toml, if it is an input.
    fn problem(&self) -> Option<&Source> {
        let is_named = |source: &&Source| source.path.file_name().is_some_and(|name| name == PROBLEM);
        self.sources.iter().filter(|source| source.role == Role::Rule).find(is_named)
    }

    /// The peers that problem.toml names.
    pub fn peer_tables(&self) -> Vec<PeerTable> {
        self.problem().and_then(|problem| problem.bytes.as_deref()).map(peer_tables).unwrap_or_default()
    }

    /// The name of each peer of problem.toml, with its file.
    pub fn peer_sources(&self) -> Vec<(String, PeerSource)> {
        let folder = self.problem().and_then(|problem| problem.path.parent()).unwrap_or(Path::new("/"));
        let peers = self.peer_tables().into_iter();
        let file = |peer: PeerTable| {
            let path = plain(&folder.join(&peer.file));
            let source = self.sources.iter().find(|source| source.path == path)?;
            let InputFile { path, hash } = source.file.clone();
            Some((peer.name, PeerSource { path, hash }))
        };
        peers.filter_map(file).collect()
    }

    /// Writes every input into the folder `tree` of the repository at its repository-relative path. An input outside the repository is left
    /// out.
    pub fn write(&self, project: &Project, tree: &Path) -> io::Result<()> {
        let files = project.files();
        files.create_dir_all(tree)?;
        for source in &self.sources {
            let (Some(bytes), Some(name)) = (&source.bytes, project.relative(&source.path)) else { continue };
            let path = tree.join(name);
            files.create_dir_all(path.parent().unwrap_or(tree))?;
            files.create(&path)?.write_all(bytes)?;
        }
        Ok(())
    }
}

/// Reads and hashes all inputs of the project. The error is of a kernel that cannot be read; any other file may be missing.
pub fn read(project: &Project) -> Result<Inputs, KernelError> {
    let mut set = Set::new(project);
    let kernel = read_kernel(&set.files)?;
    set.add(&project.kernel, Some(kernel), Role::Kernel, false)?;
    set.follow_includes(0, Role::Include)?;
    // The built-in harness reads these two files: a missing one is an input too.
    let judged =
        ["problem.toml", "reference.cu"].into_iter().map(str::to_owned).filter(|_| !project.external());
    let rules = set.sources.len();
    for name in judged.chain(rule_files(&project.problem_dir)) {
        set.add(&project.problem_dir.join(name), None, Role::Rule, false)?;
    }
    set.follow_includes(rules, Role::Rule)?;
    set.add_value_files()?;
    set.add_peer_files()?;
    if let Some(file) = &project.config_file {
        set.add(file, None, Role::Config, false)?;
    }
    for file in extras(project) {
        set.add(&file, None, Role::Extra, false)?;
    }
    let fingerprint = fingerprint(set.sources.iter().map(|source| &source.file));
    Ok(Inputs { sources: set.sources, fingerprint, outside: set.outside })
}

fn fingerprint<'f>(files: impl Iterator<Item = &'f InputFile>) -> Fingerprint {
    let mut hash = blake3::Hasher::new();
    for file in files {
        let content = file.hash.as_deref().unwrap_or("missing");
        hash.update(file.path.as_bytes()).update(b"\0").update(content.as_bytes()).update(b"\0");
    }
    Fingerprint(hash.finalize().to_hex().to_string())
}

/// The fingerprint that these inputs would have with another kernel, which is the first of them.
pub(crate) fn fingerprint_with(kernel: &[u8], files: &[InputFile]) -> Fingerprint {
    let mut files = files.to_vec();
    if let Some(first) = files.first_mut() {
        first.hash = Some(in_hex(kernel));
    }
    fingerprint(files.iter())
}

/// Most bytes of a kernel that is saved before another one takes its place.
const SAVED_LIMIT: u64 = 1 << 30;

/// The kernel's bytes on disk, whatever they are: what is about to be replaced.
pub(crate) fn on_disk(project: &Project) -> io::Result<Vec<u8>> {
    InputFiles::of(project).read_up_to(&project.kernel, SAVED_LIMIT)
}

/// Whether a file of this name beside a kernel says how the kernel is judged: problem.toml, reference.cu, reference.py. The
/// backup of an editor (`reference.cu~`, `reference.cu.orig`) does not.
pub(crate) fn is_rule(name: &str) -> bool {
    let extension = name.strip_prefix("reference.");
    name == "problem.toml"
        || extension
            .is_some_and(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
}

/// The names of the files in a folder that say how its kernel is judged, sorted.
fn rule_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_rule(name))
        .collect();
    names.sort();
    names
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

/// The hash that [`InputFile`] would have of this file now.
pub(crate) fn hash(project: &Project, path: &Path) -> Option<String> {
    InputFiles::of(project).read(path).ok().as_deref().map(in_hex)
}

fn in_hex(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn extras(project: &Project) -> impl Iterator<Item = PathBuf> + '_ {
    project.config.watch.extra.iter().map(|extra| project.home.join(extra))
}

fn read_kernel(files: &InputFiles) -> Result<Vec<u8>, KernelError> {
    let project = files.project;
    let name = || project.kernel_name.clone();
    let bytes = files.read(&project.kernel).map_err(|error| match refusal(&error) {
        Some(Refused::Outside { .. }) => KernelError::LeadsOut(name()),
        Some(Refused::TooLarge { bytes, .. }) => KernelError::TooLarge(name(), *bytes),
        Some(_) => KernelError::no_plain_file(name()),
        // An editor that saves by two renames makes the file disappear for a moment.
        None if error.kind() == io::ErrorKind::NotFound => {
            KernelError::Missing(name(), project.argument.clone())
        }
        None if error.kind() == io::ErrorKind::IsADirectory => KernelError::Folder(name()),
        None => KernelError::Unreadable(name(), error),
    })?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(KernelError::Empty(name()));
    }
    Ok(bytes)
}

struct Set<'a> {
    project: &'a Project,
    files: InputFiles<'a>,
    /// Bytes and include lines of all sources.
    bytes: u64,
    includes: usize,
    search: IncludeDirs,
    seen: HashSet<PathBuf>,
    sources: Vec<Source>,
    outside: Vec<OutsideInclude>,
    /// The same as `outside`, to find one quickly.
    noted: HashSet<OutsideInclude>,
}

/// A file that an include line means.
struct Found {
    path: PathBuf,
    in_place: bool,
}

impl<'a> Set<'a> {
    fn new(project: &'a Project) -> Self {
        let search = match project.external() {
            true => IncludeDirs::default(),
            false => IncludeDirs::of(&project.config.compile.options, &project.root),
        };
        let files = InputFiles::of(project);
        let (seen, noted) = (HashSet::new(), HashSet::new());
        Set {
            project,
            files,
            bytes: 0,
            includes: 0,
            search,
            seen,
            sources: Vec::new(),
            outside: Vec::new(),
            noted,
        }
    }

    /// A missing file is an input too: creating it changes what is judged.
    fn add(
        &mut self,
        path: &Path,
        bytes: Option<Vec<u8>>,
        role: Role,
        in_place: bool,
    ) -> Result<(), KernelError> {
        let path = plain(path);
        if self.sources.len() >= FILE_LIMIT || !self.seen.insert(path.clone()) {
            return Ok(());
        }
        let name = self.project.relative(&path);
        let shown = || name.clone().unwrap_or_else(|| path.display().to_string());
        let bytes = match bytes {
            Some(bytes) => Some(bytes),
            None => match self.files.read(&path) {
                Ok(bytes) => Some(bytes),
                Err(error) => match refusal(&error) {
                    // Without trust a file outside is an input of which nothing is known.
                    Some(Refused::Outside { .. }) if name.is_some() => {
                        return Err(KernelError::LeadsOut(shown()));
                    }
                    Some(Refused::NotPlain(_)) if name.is_some() => {
                        return Err(KernelError::no_plain_file(shown()));
                    }
                    _ => None,
                },
            },
        };
        self.bytes += bytes.as_ref().map_or(0, Vec::len) as u64;
        if self.bytes > TOTAL_LIMIT {
            return Err(KernelError::TooLargeTogether(self.project.kernel_name.clone()));
        }
        let in_place = in_place || name.is_none();
        let name = name.unwrap_or_else(|| path.to_string_lossy().into_owned());
        let hash = bytes.as_deref().map(in_hex);
        self.sources.push(Source { file: InputFile { path: name, hash }, path, role, in_place, bytes });
        Ok(())
    }

    /// Adds the files that problem.toml takes values from.
    fn add_value_files(&mut self) -> Result<(), KernelError> {
        let problem = plain(&self.project.problem_dir.join("problem.toml"));
        let source = self.sources.iter().find(|source| source.role == Role::Rule && source.path == problem);
        let names = source.and_then(|source| source.bytes.as_deref()).map(value_files::named_in);
        for name in names.unwrap_or_default() {
            let path = plain(&self.project.problem_dir.join(&name));
            let bytes = self.files.metadata(&path).map_or(0, |about| about.len());
            if bytes > SIZE_LIMIT {
                return Err(KernelError::ValuesTooLarge(self.project.relative(&path).unwrap_or(name), bytes));
            }
            self.add(&path, None, Role::Rule, false)?;
        }
        Ok(())
    }

    /// Adds the files of the peers, which are rules too: the commit that names a peer's figure holds the peer.
    fn add_peer_files(&mut self) -> Result<(), KernelError> {
        let problem = plain(&self.project.problem_dir.join(PROBLEM));
        let source = self.sources.iter().find(|source| source.role == Role::Rule && source.path == problem);
        let first = self.sources.len();
        for peer in source.and_then(|source| source.bytes.as_deref()).map(peer_tables).unwrap_or_default() {
            self.add(&self.project.problem_dir.join(peer.file), None, Role::Rule, false)?;
        }
        self.follow_includes(first, Role::Rule)
    }

    /// Adds the local includes of the sources from index `first` on, and the includes of those.
    fn follow_includes(&mut self, first: usize, role: Role) -> Result<(), KernelError> {
        let mut next = first;
        while let Some(source) = self.sources.get(next) {
            let folder = source.path.parent().unwrap_or(Path::new("/")).to_path_buf();
            let (file, is_inside) = (source.file.path.clone(), self.project.relative(&source.path).is_some());
            let included = source.bytes.as_deref().map(includes).unwrap_or_default();
            self.includes += included.len();
            if self.includes > INCLUDE_LIMIT {
                return Err(KernelError::TooManyIncludes(self.project.kernel_name.clone()));
            }
            for include in included {
                let found = match include {
                    Include::Macro(name) => {
                        self.note_outside(file.clone(), name, true);
                        continue;
                    }
                    Include::Quoted(name) => self.find(&name, Some(&folder)),
                    Include::Angled(name) => self.find(&name, None),
                };
                let Some(Found { path, in_place }) = found else { continue };
                // The user mends the line in the repository, not those of the file that it includes.
                if is_inside && self.project.relative(&path).is_none() {
                    self.note_outside(file.clone(), path.display().to_string(), false);
                }
                self.add(&path, None, role, in_place)?;
            }
            next += 1;
        }
        Ok(())
    }

    /// The file that an include line means: beside the including file, in the kernel's folder, or in an include folder of
    /// lab.toml. `None` for a header of the toolkit, and for one in an include folder outside of the repository: lab.toml
    /// names that folder, as it names a compiler.
    fn find(&self, name: &str, folder: Option<&Path>) -> Option<Found> {
        let own = |path: PathBuf| Found { path, in_place: false };
        let folders = folder.into_iter().chain([self.project.problem_dir.as_path()]);
        let near: Vec<PathBuf> = folders.map(|folder| plain(&folder.join(name))).collect();
        // A name that leaves the repository counts also where there is no such file: the judge's copy lies elsewhere, so
        // there the name may mean another file.
        let leaves = |path: &&PathBuf| self.project.relative(path).is_none();
        if let Some(path) = near.iter().find(leaves).or(near.iter().find(|path| self.files.is_there(path))) {
            return Some(own(path.clone()));
        }
        let path = self
            .search
            .dirs
            .iter()
            .map(|dir| plain(&dir.join(name)))
            .find(|path| self.files.is_there(path))?;
        self.project.relative(&path).is_some().then_some(Found { path, in_place: true })
    }

    fn note_outside(&mut self, file: String, include: String, is_macro: bool) {
        let outside = OutsideInclude { file, include, is_macro };
        if self.noted.insert(outside.clone()) {
            self.outside.push(outside);
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

#[cfg(test)]
mod tests {
    use super::*;

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
