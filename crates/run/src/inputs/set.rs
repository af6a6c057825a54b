//! Collects the inputs of a project: adds files, and follows what they include or import.

use super::files::InputFiles;
use super::{
    FILE_LIMIT, INCLUDE_LIMIT, KernelError, OutsideInclude, Role, SIZE_LIMIT, Source, TOTAL_LIMIT,
    hash_of, peer_tables, plain, problem, value_files,
};
use crate::record::InputFile;
use lab_project::Project;
use lab_protocol::{CompileOptions, Language};
use lab_source::cpp::directive::{Include, includes};
use lab_source::imports::{Import, imports};
use lab_system::root::{Refused, refusal};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The inputs so far.
pub struct Set<'a> {
    project: &'a Project,
    pub files: InputFiles<'a>,
    /// Bytes and include lines of all sources.
    bytes: u64,
    includes: usize,
    /// The include folders of the compiler's options, absolute, in the order of the options.
    search: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    pub sources: Vec<Source>,
    pub outside: Vec<OutsideInclude>,
    /// The same as `outside`, to find one quickly.
    noted: HashSet<OutsideInclude>,
}

/// A file that an include line means.
struct Found {
    path: PathBuf,
    in_place: bool,
}

impl<'a> Set<'a> {
    pub fn new(project: &'a Project) -> Self {
        let search = match project.external() {
            true => Vec::new(),
            false => search_folders(&project.config.compile.options, &project.root),
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
    pub fn add(
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
            return Err(KernelError::TooLargeTogether(
                self.project.kernel_name.clone(),
            ));
        }
        let in_place = in_place || name.is_none();
        let name = name.unwrap_or_else(|| path.to_string_lossy().into_owned());
        let hash = bytes.as_deref().map(hash_of);
        self.sources.push(Source {
            file: InputFile { path: name, hash },
            path,
            role,
            in_place,
            bytes,
        });
        Ok(())
    }

    /// Adds the files that problem.toml takes values from.
    pub fn add_value_files(&mut self) -> Result<(), KernelError> {
        for name in self.named_by_problem(value_files::named_in) {
            let path = plain(&self.project.problem_dir.join(&name));
            let bytes = self.files.metadata(&path).map_or(0, |about| about.len());
            if bytes > SIZE_LIMIT {
                return Err(KernelError::ValuesTooLarge(
                    self.project.relative(&path).unwrap_or(name),
                    bytes,
                ));
            }
            self.add(&path, None, Role::Rule, false)?;
        }
        Ok(())
    }

    /// Adds the files of the peers, which are rules too: the commit that names a peer's figure
    /// holds the peer.
    pub fn add_peer_files(&mut self) -> Result<(), KernelError> {
        let first = self.sources.len();
        for peer in self.named_by_problem(peer_tables) {
            let path = self.project.problem_dir.join(peer.file);
            self.add(&path, None, Role::Rule, false)?;
        }
        self.follow_includes(first, Role::Rule)
    }

    /// What problem.toml names; nothing if it cannot be read.
    fn named_by_problem<T>(&self, named: fn(&[u8]) -> Vec<T>) -> Vec<T> {
        let problem = problem(&self.sources).and_then(|source| source.bytes.as_deref());
        problem.map(named).unwrap_or_default()
    }

    /// Adds the local includes or imports of the sources from index `first` on, and those of the
    /// files that this adds. Python looks for modules in the kernel's folder first, and for those
    /// of a harness in the folder of the script.
    pub fn follow_includes(&mut self, first: usize, role: Role) -> Result<(), KernelError> {
        let start = match role {
            Role::Extra => self
                .sources
                .get(first)
                .and_then(|script| script.path.parent()),
            _ => None,
        };
        let start = start.unwrap_or(&self.project.problem_dir).to_path_buf();
        let mut next = first;
        while let Some(source) = self.sources.get(next) {
            let folder = source.path.parent().unwrap_or(Path::new("/")).to_path_buf();
            if Language::of(&source.path) == Language::Python {
                let imports = source.bytes.as_deref().map(imports).unwrap_or_default();
                self.count(imports.len())?;
                let is_there = |path: &Path| {
                    self.project.relative(path).is_some() && self.files.is_there(path)
                };
                let root = &self.project.root;
                let files = |import: &Import| import.files(&start, &folder, root, is_there);
                for file in imports.iter().flat_map(files).collect::<Vec<_>>() {
                    self.add(&file, None, role, false)?;
                }
                next += 1;
                continue;
            }
            let (file, is_inside) = (
                source.file.path.clone(),
                self.project.relative(&source.path).is_some(),
            );
            let included = source.bytes.as_deref().map(includes).unwrap_or_default();
            self.count(included.len())?;
            for include in included {
                let found = match include {
                    Include::Macro(name) => {
                        self.note_outside(file.clone(), name, true);
                        continue;
                    }
                    Include::Quoted(name) => self.find(&name, Some(&folder)),
                    Include::Angled(name) => self.find(&name, None),
                };
                let Some(Found { path, in_place }) = found else {
                    continue;
                };
                // The user mends the line in the repository, not those of the file that it
                // includes.
                if is_inside && self.project.relative(&path).is_none() {
                    self.note_outside(file.clone(), path.display().to_string(), false);
                }
                self.add(&path, None, role, in_place)?;
            }
            next += 1;
        }
        Ok(())
    }

    /// Counts include lines. Returns an error if there are too many.
    fn count(&mut self, lines: usize) -> Result<(), KernelError> {
        self.includes += lines;
        if self.includes > INCLUDE_LIMIT {
            return Err(KernelError::TooManyIncludes(
                self.project.kernel_name.clone(),
            ));
        }
        Ok(())
    }

    /// The file that an include line means: beside the including file, in the kernel's folder, or
    /// in an include folder of lab.toml. `None` for a header of the toolkit, and for one in an
    /// include folder outside of the repository: lab.toml names that folder, as it names a
    /// compiler.
    fn find(&self, name: &str, folder: Option<&Path>) -> Option<Found> {
        let own = |path: PathBuf| Found {
            path,
            in_place: false,
        };
        let folders = folder
            .into_iter()
            .chain([self.project.problem_dir.as_path()]);
        let near: Vec<PathBuf> = folders.map(|folder| plain(&folder.join(name))).collect();
        // A name that leaves the repository counts even if the file does not exist: the judge's copy
        // of the repository lies elsewhere, so there the name may mean another file.
        let leaves = |path: &&PathBuf| self.project.relative(path).is_none();
        if let Some(path) = near
            .iter()
            .find(leaves)
            .or(near.iter().find(|path| self.files.is_there(path)))
        {
            return Some(own(path.clone()));
        }
        let path = self
            .search
            .iter()
            .map(|dir| plain(&dir.join(name)))
            .find(|path| self.files.is_there(path))?;
        self.project.relative(&path).is_some().then_some(Found {
            path,
            in_place: true,
        })
    }

    fn note_outside(&mut self, file: String, include: String, is_macro: bool) {
        let outside = OutsideInclude {
            file,
            include,
            is_macro,
        };
        if self.noted.insert(outside.clone()) {
            self.outside.push(outside);
        }
    }
}

/// Returns the include folders of the compiler's options. Relative paths are relative to `root`,
/// where the compiler runs.
fn search_folders(options: &CompileOptions, root: &Path) -> Vec<PathBuf> {
    let folders = options.include_folders();
    folders
        .map(|folder| plain(&root.join(folder.trim())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_folders_are_read_from_the_compilers_options() {
        let options =
            "-O3 -Icommon -I /opt/a --include-path=b -isystem c -DX=1 -isystem/d -iquote=e";
        let options: Vec<String> = options.split(' ').map(str::to_owned).collect();
        let options = CompileOptions::parse(&options).expect("options");
        let found = search_folders(&options, Path::new("/r"));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            found,
            paths(&["/r/common", "/opt/a", "/r/b", "/r/c", "/d", "/r/e"])
        );
    }
}
