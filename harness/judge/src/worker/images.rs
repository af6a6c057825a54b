//! The images of one confined worker.

use crate::outcome::{OrLab, Stop};
use crate::process::private_folder::PrivateFolder;
use lab_device::sandbox::FileAccess;
use std::path::{Path, PathBuf};

/// The images that a confined worker may read: copies, each in a folder of its own, so that it
/// keeps its name.
pub struct Images {
    folder: PrivateFolder,
    count: usize,
}

impl Images {
    /// Makes the folder of a worker in the cache folder.
    pub fn new(cache_dir: &Path) -> Result<Images, Stop> {
        let folder = PrivateFolder::new(cache_dir);
        let failed = |e| {
            format!(
                "a folder for the worker cannot be made in {}: {e}",
                cache_dir.display()
            )
        };
        Ok(Images {
            folder: folder.map_err(|e| Stop::Lab(failed(e)))?,
            count: 0,
        })
    }

    /// The folder, which also holds what else the worker reads.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What the worker may read.
    pub fn access(&self) -> FileAccess {
        FileAccess {
            read: vec![self.folder.path().to_owned()],
            ..FileAccess::default()
        }
    }

    /// Copies an image and returns the copy's path.
    pub fn add(&mut self, image: &Path) -> Result<PathBuf, Stop> {
        let folder = self.folder.path().join(self.count.to_string());
        self.count += 1;
        let copy = folder.join(image.file_name().unwrap_or_default());
        let copied = std::fs::create_dir(&folder).and_then(|()| std::fs::copy(image, &copy));
        copied
            .or_lab(|| format!("the image {} cannot be copied", image.display()))
            .map(|_| copy)
    }
}
