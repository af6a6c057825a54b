//! The incumbent's files, as HEAD holds them: the kernel and its local includes or imports.

use crate::{Repo, blob_in, bounds, exact, file_in, head_commit};
use anyhow::Result;
use git2::{Commit, Oid};
use lab_protocol::Language;
use lab_run::inputs;
use lab_source::cpp::directive::{Include, includes};
use lab_source::imports::{Import, imports};
use lab_system::failure::Failure;
use std::path::{Path, PathBuf};

/// More local includes than this are not followed.
const FILE_LIMIT: usize = 512;

/// One file of the incumbent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Repository-relative, with `/`.
    pub path: String,
    /// Git blob id, hex.
    pub blob: String,
}

/// The incumbent's files, the kernel first; none if HEAD does not hold the kernel.
pub fn incumbent_files(repo: &Repo) -> Result<Vec<HeldFile>> {
    match head_commit(&repo.git)? {
        Some(commit) => held(repo, &commit),
        None => Ok(Vec::new()),
    }
}

/// Writes the incumbent's files into `tree` at their repository-relative paths, as git would put
/// them on disk.
pub fn write_incumbent(repo: &Repo, tree: &Path) -> Result<Vec<HeldFile>> {
    let incumbent = incumbent_bytes(repo)?;
    let disk = repo.project.files();
    let files = incumbent.map_or_else(Vec::new, |incumbent| incumbent.files);
    for (file, bytes) in &files {
        let path = tree.join(&file.path);
        disk.write(&path, bytes).cannot("write", &path)?;
    }
    Ok(files.into_iter().map(|(file, _)| file).collect())
}

/// The incumbent's files with their bytes.
pub struct IncumbentBytes {
    /// Full id of HEAD's commit.
    pub commit: String,
    /// The kernel first, each with the bytes that git would put on disk.
    pub files: Vec<(HeldFile, Vec<u8>)>,
}

/// The incumbent's files with their bytes; `None` if HEAD does not hold the kernel.
pub fn incumbent_bytes(repo: &Repo) -> Result<Option<IncumbentBytes>> {
    let Some(commit) = head_commit(&repo.git)? else {
        return Ok(None);
    };
    let read = |file: HeldFile| {
        let blob = Oid::from_str(&file.blob)?;
        let bytes = exact::bytes(repo, &commit, &file.path, blob)?;
        Ok((file, bytes))
    };
    let files: Result<Vec<_>> = held(repo, &commit)?.into_iter().map(read).collect();
    let incumbent = IncumbentBytes {
        commit: commit.id().to_string(),
        files: files?,
    };
    Ok(Some(incumbent).filter(|incumbent| !incumbent.files.is_empty()))
}

fn held(repo: &Repo, commit: &Commit) -> Result<Vec<HeldFile>> {
    let kernel = &repo.project.kernel_name;
    let mut files: Vec<HeldFile> = Vec::new();
    let mut wanted = vec![PathBuf::from(kernel)];
    let kernel_folder = Path::new(kernel).parent().unwrap_or(Path::new(""));
    while let Some(path) = wanted.pop() {
        let Some(path) = path.to_str().map(str::to_owned) else {
            continue;
        };
        let known = files.iter().any(|f| f.path == path);
        // An include that HEAD does not hold is the compiler's own. If it is not, the build fails
        // and says so.
        if known || files.len() >= FILE_LIMIT {
            continue;
        }
        let Some((id, _)) = file_in(&repo.git, commit, &path)? else {
            continue;
        };
        let blob = bounds::blob(&repo.git, id)?;
        let folder = &Path::new(&path)
            .parent()
            .unwrap_or(Path::new(""))
            .to_path_buf();
        if Language::of(&path) == Language::Python {
            let is_there = |file: &Path| {
                file.to_str()
                    .is_some_and(|file| blob_in(&repo.git, commit, file).is_some())
            };
            let root = Path::new("");
            let found = |import: &Import| import.files(kernel_folder, folder, root, is_there);
            wanted.extend(imports(blob.content()).iter().flat_map(found));
        } else {
            for include in includes(blob.content()) {
                // As inputs are found: beside the including file, or in the kernel's folder.
                let (name, beside) = match include {
                    Include::Quoted(name) => (name, Some(folder.as_path())),
                    Include::Angled(name) => (name, None),
                    Include::Macro(_) => continue,
                };
                let folders = beside.into_iter().chain([kernel_folder]);
                wanted.extend(folders.map(|folder| inputs::plain(&folder.join(&name))));
            }
        }
        files.push(HeldFile {
            path,
            blob: id.to_string(),
        });
    }
    Ok(files)
}
