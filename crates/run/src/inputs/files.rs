//! Opens the files that a verdict depends on. A link may lead to another place in the repository; a
//! link out of it is followed only in a folder that the user trusts.

use super::SIZE_LIMIT;
use lab_project::{Project, trust};
use lab_system::root::{Refused, Root, read_anywhere, refusal};
use std::cell::OnceCell;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Reads inputs of one project.
pub struct InputFiles<'a> {
    pub(super) project: &'a Project,
    root: Root,
    is_trusted: OnceCell<bool>,
}

impl<'a> InputFiles<'a> {
    pub fn of(project: &'a Project) -> InputFiles<'a> {
        InputFiles {
            project,
            root: project.tree_files(),
            is_trusted: OnceCell::new(),
        }
    }

    /// The bytes of a plain file of at most [`SIZE_LIMIT`]. The error of a path that leads out of
    /// the repository, by its names or by a link, is [`Refused::Outside`], unless the user trusts
    /// the folder.
    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.read_up_to(path, SIZE_LIMIT)
    }

    /// The bytes of a plain file of at most `limit` bytes.
    pub(super) fn read_up_to(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.inside_or_trusted(
            path,
            |path| self.root.read_resolved(path, limit),
            |path| read_anywhere(path, limit),
        )
    }

    /// The path of the file that a path means, behind its links.
    pub fn behind_links(&self, path: &Path) -> io::Result<PathBuf> {
        self.inside_or_trusted(
            path,
            |path| Ok(self.root.path().join(self.root.resolve(path)?)),
            Path::canonicalize,
        )
    }

    /// The metadata of the file that a path means. The error is as in `InputFiles::read`.
    pub fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.inside_or_trusted(
            path,
            |path| self.root.metadata_resolved(path),
            |path| std::fs::metadata(path),
        )
    }

    /// Whether there is anything but a folder. A link out of the repository counts: reading it is
    /// an error that says so.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        match self.metadata(path) {
            Ok(about) => !about.is_dir(),
            Err(error) => matches!(refusal(&error), Some(Refused::Outside { .. })),
        }
    }

    fn inside_or_trusted<T>(
        &self,
        path: &Path,
        inside: impl Fn(&Path) -> io::Result<T>,
        outside: impl Fn(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        match inside(path) {
            Err(error)
                if matches!(refusal(&error), Some(Refused::Outside { .. }))
                    && self.is_trusted() =>
            {
                outside(path)
            }
            read => read,
        }
    }

    fn is_trusted(&self) -> bool {
        *self
            .is_trusted
            .get_or_init(|| trust::is_granted(self.project))
    }
}
