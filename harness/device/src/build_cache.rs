//! What was built before is not built again: undoing an edit, or judging the incumbent, costs no build.
//!
//! [`CachedBuilder`] stands before a [`Builder`]. An image is found again by a hash of all that its
//! build depends on ([`key`]): the source, the local headers, the options, the target, the compiler
//! and the lab's own build of it. A source that the hash cannot speak for is simply built, and so
//! is one whose build failed, which is quick and may have failed for want of room.

mod key;

use crate::api::{BuildRequest, Builder, Built, DeviceError, Image};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Images that stay in the cache folder, the ones used last.
pub const KEPT: usize = 64;

/// A builder with a memory, in `images/` of the cache folder.
pub struct CachedBuilder {
    builder: Box<dyn Builder>,
}

impl CachedBuilder {
    pub fn new(builder: Box<dyn Builder>) -> Self {
        CachedBuilder { builder }
    }
}

/// What is remembered of a build, in `KEY.json` beside the image.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Name of the image's file.
    image: String,
    /// BLAKE3 of its bytes, hex: a file that was cut short or changed is no image.
    hash: String,
    built: Built,
}

impl Builder for CachedBuilder {
    fn version(&self) -> String {
        self.builder.version()
    }

    fn identity(&self) -> String {
        self.builder.identity()
    }

    fn warm(&mut self, request: &BuildRequest) -> bool {
        self.builder.warm(request)
    }

    fn build(&mut self, request: &BuildRequest) -> Result<Built, DeviceError> {
        let started = Instant::now();
        let folder = folder(&request.cache_dir);
        let key = key::of(request, &self.builder.identity());
        if let Some(mut known) = key.as_deref().and_then(|key| recall(&folder, key)) {
            known.seconds = started.elapsed().as_secs_f64();
            return Ok(known);
        }
        let built = self.builder.build(request)?;
        // The build read its files after the key was made; where one changed in between, the two do
        // not belong together.
        let Some(key) = key.filter(|key| key::of(request, &self.builder.identity()).as_ref() == Some(key))
        else {
            return Ok(built);
        };
        match remember(&folder, &key, &built) {
            Ok(Some(image)) => Ok(Built { image: Some(image), ..built }),
            // Not to remember costs time, and nothing else.
            Ok(None) | Err(_) => Ok(built),
        }
    }
}

/// Where images lie, also while they are made.
pub fn folder(cache_dir: &Path) -> PathBuf {
    cache_dir.join("images")
}

/// A file's path, length and time of change: enough to tell that it was replaced.
pub fn stamp(path: &Path) -> String {
    let about = path.metadata().ok();
    let made = about.as_ref().and_then(|a| a.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!("{} {} {:?}", path.display(), about.map_or(0, |a| a.len()), made)
}

fn recall(folder: &Path, key: &str) -> Option<Built> {
    let Entry { image, hash, built } = serde_json::from_slice(&fs::read(entry_of(folder, key)).ok()?).ok()?;
    let path = folder.join(image);
    if blake3::hash(&fs::read(&path).ok()?).to_hex().as_str() != hash {
        return None;
    }
    touch(&path);
    Some(Built { image: Some(Image { path }), reused: true, ..built })
}

/// Moves the image in under the key's name; `None` where the build made none.
fn remember(folder: &Path, key: &str, built: &Built) -> io::Result<Option<Image>> {
    let Some(Image { path: made }) = &built.image else { return Ok(None) };
    fs::create_dir_all(folder)?;
    let extension = made.extension().unwrap_or_default().to_string_lossy();
    let name = format!("{key}.{extension}");
    let hash = blake3::hash(&fs::read(made)?).to_hex().to_string();
    let path = folder.join(&name);
    fs::rename(made, &path)?;
    let entry = Entry { image: name, hash, built: Built { image: None, ..built.clone() } };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, &entry)?;
    file.persist(entry_of(folder, key))?;
    forget(folder)?;
    Ok(Some(Image { path }))
}

fn entry_of(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

/// An image's time of change is when it was last used. Where it cannot be set the image only goes earlier.
fn touch(image: &Path) {
    if let Ok(file) = fs::File::open(image) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Removes all but the images that were used last. One that is loaded stays usable without its name.
fn forget(folder: &Path) -> io::Result<()> {
    let mut images = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let image = path.extension().is_some_and(|e| e == "cubin" || e == "so");
        // Another process may have removed it in between.
        if let (true, Ok(used)) = (image, path.metadata().and_then(|m| m.modified())) {
            images.push((used, path));
        }
    }
    images.sort();
    for (_, path) in images.iter().rev().skip(KEPT) {
        for gone in [path.clone(), path.with_extension("json")] {
            match fs::remove_file(gone) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
