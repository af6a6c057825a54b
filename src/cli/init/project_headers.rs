//! Finds the headers of a published file: in the folders of `-I` and in the project of the file,
//! which is its repository, or else the nearest folder around it with a licence. Nothing outside
//! of them is read.

use crate::cli::export::is_licence;
use anyhow::{Result, ensure};
use lab_import::cuda::{Absent, Header, Wanted};
use lab_source::cpp::launches::SIGNS;
use lab_source::cpp::words;
use lab_system::listing;
use lab_system::root::Root;
use rustix::fs::FileType;
use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

/// Most files and folders of a project that are looked at.
const MOST_ENTRIES: usize = 100_000;

/// Most places of one name that are told.
const MOST_TOLD: usize = 3;

/// Most bytes of a project that are searched for a launch, and most files that may have it.
const MOST_BYTES: usize = 128 << 20;
const MOST_LAUNCHING: usize = 4;

/// How names of headers end.
const ENDS: [&str; 10] = [
    "h", "hh", "hpp", "hxx", "cuh", "cu", "inl", "inc", "ipp", "tpp",
];

/// Most bytes of a published file, and of a header beside it.
pub const SIZE_LIMIT: u64 = 4 << 20;

/// A path as a user in this folder names it.
pub fn shown(folder: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    inside.display().to_string()
}

/// The headers of a published file.
pub struct ProjectHeaders {
    /// The folder in which the command runs.
    folder: PathBuf,
    /// The folder of the published file.
    beside: PathBuf,
    project: PathBuf,
    given: Vec<PathBuf>,
    /// The headers of the project, each relative to it.
    all: OnceCell<Vec<PathBuf>>,
    /// The folders of the headers that were found, by the headers' names.
    places: RefCell<BTreeMap<String, PathBuf>>,
}

impl ProjectHeaders {
    /// `given` are the folders of `-I`, relative to `folder`.
    pub fn of(folder: &Path, published: &Path, given: &[PathBuf]) -> Result<ProjectHeaders> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let beside = real(published.parent().unwrap_or(folder));
        let project = lab_project::work_tree(&beside).ok().map(|root| real(&root));
        let project = project.filter(|root| beside.starts_with(root));
        let licensed = || beside.ancestors().find(|at| has_licence(at));
        let project = project.or_else(|| licensed().map(Path::to_owned));
        for given in given {
            let is_folder = folder.join(given).is_dir();
            ensure!(is_folder, "-I {}: there is no such folder", given.display());
        }
        Ok(ProjectHeaders {
            folder: folder.to_owned(),
            project: project.unwrap_or_else(|| beside.clone()),
            beside,
            given: given
                .iter()
                .map(|given| real(&folder.join(given)))
                .collect(),
            all: OnceCell::new(),
            places: RefCell::default(),
        })
    }

    /// Finds the header that an include line names: relative to the file with the line, in a folder
    /// of `-I`, relative to a folder around the file, or as the only or nearest one of the project
    /// whose path ends so.
    pub fn find(&self, wanted: &Wanted) -> Result<Header, Absent> {
        let by = wanted
            .by
            .and_then(|by| self.places.borrow().get(by).cloned());
        let from = by.unwrap_or_else(|| self.beside.clone());
        let name = Path::new(wanted.name);
        if !is_header(name) {
            return Err(Absent::Nowhere);
        }
        let around = from
            .ancestors()
            .take_while(|at| at.starts_with(&self.project));
        let climbs = name.starts_with("..");
        let around = around.skip(1).filter(|_| !climbs).map(Path::to_owned);
        let folders = [from.clone()].into_iter().chain(self.given.iter().cloned());
        let places: Vec<PathBuf> = folders
            .chain(around)
            .filter_map(|at| plain(&at.join(name)))
            .collect();
        let read = |path: &PathBuf| Some((path.clone(), self.read(path)?));
        if let Some((path, text)) = places.iter().find_map(read) {
            return Ok(self.header(&path, text, false));
        }
        // Of the headers of the system only a path tells which one is meant.
        if wanted.is_quoted || name.components().count() > 1 {
            return self.search(name, &from, &places);
        }
        Err(Absent::Nowhere)
    }

    /// The files of the project that launch a kernel and name this one, the nearest first.
    pub fn naming_launched(&self, kernel: &str, published: &Path) -> Vec<Header> {
        let published = published.canonicalize().ok();
        let mut files: Vec<&PathBuf> = self.all().iter().collect();
        files.sort_by_key(|path| Reverse(self.near(path, &self.beside)));
        let others = files.into_iter().map(|path| self.project.join(path));
        let others = others.filter(|path| Some(path) != published.as_ref());
        let mut bytes = 0;
        let texts = others.map_while(|path| {
            let text = self.read(&path).unwrap_or_default();
            bytes += text.len();
            (bytes < MOST_BYTES).then_some((path, text))
        });
        let launches = texts.filter(|(_, text)| {
            let is_launching = SIGNS.iter().any(|sign| text.contains(sign));
            is_launching && text.contains(kernel) && words(text).contains(&kernel)
        });
        let launches = launches.take(MOST_LAUNCHING);
        launches
            .map(|(path, text)| self.header(&path, text, false))
            .collect()
    }

    fn all(&self) -> &[PathBuf] {
        self.all.get_or_init(|| headers_below(&self.project))
    }

    /// How many folders of the project a path shares with a folder.
    fn near(&self, path: &Path, folder: &Path) -> usize {
        let folder = folder.strip_prefix(&self.project).unwrap_or(Path::new(""));
        let common = path.components().zip(folder.components());
        common.take_while(|(a, b)| a == b).count()
    }

    /// The header of the project whose path ends with a name.
    fn search(&self, name: &Path, from: &Path, places: &[PathBuf]) -> Result<Header, Absent> {
        let name = plain(name).filter(|name| !name.starts_with(".."));
        let all = self.all();
        let ending = name
            .iter()
            .flat_map(|name| all.iter().filter(move |path| path.ends_with(name)));
        let found: Vec<&PathBuf> = ending.collect();
        let near = |path: &Path| self.near(path, from);
        let nearest = found.iter().map(|path| near(path)).max();
        let found = found.iter().filter(|path| Some(near(path)) == nearest);
        let mut texts: Vec<(PathBuf, String)> = Vec::new();
        for path in found {
            let path = self.project.join(path);
            let text = self.read(&path);
            let is_other = |text: &String| texts.iter().all(|(_, known)| known != text);
            texts.extend(text.filter(is_other).map(|text| (path, text)));
        }
        match texts.as_slice() {
            [(path, text)] => Ok(self.header(path, text.clone(), true)),
            [] if places
                .iter()
                .any(|at| at.is_file() && self.root_of(at).is_none()) =>
            {
                Err(Absent::Outside)
            }
            [] => Err(Absent::Nowhere),
            several => {
                let told = several.iter().take(MOST_TOLD);
                let told = told.map(|(path, _)| self.shown(path));
                Err(Absent::Several(told.collect()))
            }
        }
    }

    fn header(&self, path: &Path, text: String, is_guess: bool) -> Header {
        let name = self.shown(path);
        let folder = path.parent().unwrap_or(&self.project).to_owned();
        self.places.borrow_mut().insert(name.clone(), folder);
        Header {
            name,
            text,
            is_guess,
        }
    }

    /// A header's path relative to the project, or to the folder in which the command runs.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.project) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => shown(&self.folder, path),
        }
    }

    /// The folder that allows a path to be read.
    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        let mut roots = [&self.project].into_iter().chain(&self.given);
        roots.find(|root| path.starts_with(root))
    }

    fn read(&self, path: &Path) -> Option<String> {
        let root = self.root_of(path)?;
        let inside = path.strip_prefix(root).ok()?;
        let bytes = Root::new(root).read_resolved(inside, SIZE_LIMIT).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn is_header(name: &Path) -> bool {
    name.extension()
        .is_some_and(|end| ENDS.iter().any(|known| end == *known))
}

fn has_licence(folder: &Path) -> bool {
    listing::entries(folder).any(|entry| entry.file_name().to_str().is_some_and(is_licence))
}

/// A path without `.` and `..`, but for those at its beginning.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            Component::ParentDir if plain.has_root() => return None,
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// The headers below a folder, each relative to it, in their order. Follows no link, and enters no
/// hidden folder.
fn headers_below(root: &Path) -> Vec<PathBuf> {
    let mut waiting = VecDeque::from([root.to_owned()]);
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(folder) = waiting.pop_front() {
        for entry in listing::entries(&folder) {
            seen += 1;
            let path = entry.path();
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            match entry.file_type() {
                Ok(FileType::Directory) if !is_hidden => waiting.push_back(path),
                Ok(FileType::RegularFile) if is_header(&path) => {
                    found.extend(path.strip_prefix(root).map(Path::to_owned));
                }
                _ => {}
            }
        }
        if seen > MOST_ENTRIES {
            break;
        }
    }
    found.sort();
    found
}
