//! Links inside a root that lead to other places inside.

use super::{Refused, Root};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Most links on the way to one file, as in Linux.
const LINKS: usize = 40;

impl Root {
    /// The path of the file that `path` means, without links, relative to the root. Follows links
    /// as long as each leads to a place inside. The file need not exist. Use it for files that
    /// users link within a repository, and open the result.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let outside = || Refused::Outside {
            path: path.to_owned(),
            root: self.path().to_owned(),
        };
        let mut left: VecDeque<OsString> = self.names(path)?.into();
        let (mut found, mut links) = (PathBuf::new(), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                if !found.pop() {
                    return Err(outside().into());
                }
                continue;
            }
            let next = found.join(&name);
            let target = match self.metadata(&next) {
                Ok(about) if about.is_symlink() => std::fs::read_link(self.path().join(&next))?,
                Ok(_) => {
                    found = next;
                    continue;
                }
                // Nothing below a name that does not exist exists either.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    found = next;
                    continue;
                }
                Err(error) => return Err(error),
            };
            links += 1;
            if links > LINKS {
                return Err(io::Error::from(rustix::io::Errno::LOOP));
            }
            let target = match target.is_absolute() {
                true => {
                    found = PathBuf::new();
                    target
                        .strip_prefix(self.path())
                        .map_err(|_| outside())?
                        .to_owned()
                }
                false => target,
            };
            for part in target.components().rev() {
                match part {
                    Component::Normal(name) => left.push_front(name.to_owned()),
                    Component::ParentDir => left.push_front("..".into()),
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    /// [`Root::read`] of the file that a path means, through links that stay inside.
    pub fn read_resolved(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.read(&self.resolve(path)?, limit)
    }

    /// [`Root::metadata`] of the file that a path means, through links that stay inside.
    pub fn metadata_resolved(&self, path: &Path) -> io::Result<std::fs::Metadata> {
        let resolved = self.resolve(path)?;
        match resolved.as_os_str().is_empty() {
            true => std::fs::metadata(self.path()),
            false => self.metadata(&resolved),
        }
    }
}
