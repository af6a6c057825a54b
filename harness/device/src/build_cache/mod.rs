//! The build cache: a source that was built before is not built again, so undoing an edit or
//! judging the incumbent takes no build.
//!
//! [`build`] stands before a [`Builder`]. It finds an image by a hash of everything that the build
//! depends on (`key.rs`): the source, the local headers, the options, the target, the compiler, and
//! this program's own file. It builds a source whose dependencies cannot all be hashed each time.
//! It does not keep a failed build: a failed build takes little time, and it may have failed because
//! the disk was full.

mod key;

pub(crate) use key::of as key_of;
pub use key::own_build;

use crate::api::{BuildRequest, Builder, Built, Result};
use lab_system::atomic_file::replace_in_cache;
use lab_system::listing;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The cache keeps the images that were used last: at most so many, with at most so many bytes
/// together. The image that was used last stays, however large it is, and so do those of the last
/// ten minutes.
pub const MAX_IMAGES: usize = 256;
/// See [`MAX_IMAGES`].
pub const MAX_BYTES: u64 = 256 << 20;

/// A run that has found its image may wait for the device before it loads the image.
const IN_USE: Duration = Duration::from_secs(600);

/// One cached build, stored in `KEY.json` beside the image.
#[derive(Serialize, Deserialize)]
struct CacheRecord {
    /// Name of the image's file.
    image: String,
    /// BLAKE3 of the image, in hex. An image with another hash was cut short or changed.
    hash: String,
    built: Built,
}

/// Builds a request, or finds its image in `images/` of the request's cache folder. Where the cache
/// cannot be written, the build still succeeds, and its log ends with the reason.
pub fn build(builder: &mut dyn Builder, request: &BuildRequest) -> Result<Built> {
    let started = Instant::now();
    let folder = folder(&request.cache_dir);
    let key = builder.key(request);
    if let Some(mut cached) = key.as_deref().and_then(|key| find(&folder, key)) {
        cached.seconds = started.elapsed().as_secs_f64();
        return Ok(cached);
    }
    let built = builder.build(request)?;
    // The build read its files after the key was computed. Where a file changed in between, the
    // image does not belong to the key.
    match key.filter(|key| builder.key(request).as_ref() == Some(key)) {
        Some(key) => Ok(insert(&folder, &key, built)),
        None => Ok(keep(&folder, built)),
    }
}

/// Folder in the cache folder for headers that all builds share.
pub const HEADERS: &str = "headers";

/// Environment variable that names the only folder that a confined compiler writes to. It lies on
/// the cache folder's file system.
pub const FOLDER_VARIABLE: &str = "LAB_BUILD_FOLDER";

/// Environment variable that names a folder to which no confined compiler writes, on the cache
/// folder's file system: files that all builds share are made there.
pub const SHARED_FOLDER_VARIABLE: &str = "LAB_SHARED_BUILD_FOLDER";

/// The folder in which files for [`HEADERS`] are made. The process that named it removes what an
/// interrupted process leaves there.
pub fn shared_work_folder(cache_dir: &Path) -> PathBuf {
    named(SHARED_FOLDER_VARIABLE).unwrap_or_else(|| cache_dir.join(HEADERS))
}

/// The folder for what a build needs until it ends.
pub fn work_folder(cache_dir: &Path) -> PathBuf {
    named(FOLDER_VARIABLE).unwrap_or_else(|| cache_dir.to_owned())
}

/// The folder into which a builder writes an image, under a name that no other build uses.
pub fn output_folder(cache_dir: &Path) -> PathBuf {
    named(FOLDER_VARIABLE).unwrap_or_else(|| folder(cache_dir))
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

/// The folder of images, also of those that are being built.
pub fn folder(cache_dir: &Path) -> PathBuf {
    cache_dir.join("images")
}

/// A text that changes with a file: its path, length in bytes and modification time. Where the file
/// cannot be read, the text says length 0.
pub fn stamp(path: &Path) -> String {
    let metadata = path.metadata().ok();
    let modified = metadata
        .as_ref()
        .and_then(|m| m.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    format!(
        "{} {} {:?}",
        path.display(),
        metadata.map_or(0, |m| m.len()),
        modified
    )
}

/// Returns the cached build. `None` where there is none, or where its files are damaged: it is then
/// built again.
fn find(folder: &Path, key: &str) -> Option<Built> {
    let record = fs::read(record_path(folder, key)).ok()?;
    let CacheRecord { image, hash, built } = serde_json::from_slice(&record).ok()?;
    let path = folder.join(image);
    if blake3::hash(&fs::read(&path).ok()?).to_hex().as_str() != hash {
        return None;
    }
    mark_used(&path);
    Some(Built {
        image: Some(path),
        reused: true,
        ..built
    })
}

/// Moves an image that is not cached into the folder of images, where it stays until it is evicted.
/// Returns the build with the image's new path.
fn keep(folder: &Path, mut built: Built) -> Built {
    if let Some(path) = &mut built.image {
        let to = folder.join(path.file_name().unwrap_or_default());
        let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(&*path, &to));
        if moved.is_ok() {
            *path = to;
        }
    }
    built
}

/// Moves the image to the key's name and writes the record. Returns the build with the image's new
/// path.
fn insert(folder: &Path, key: &str, mut built: Built) -> Built {
    let Some(temporary) = built.image.clone() else {
        return built;
    };
    let extension = temporary.extension().unwrap_or_default().to_string_lossy();
    let image = format!("{key}.{extension}");
    let path = folder.join(&image);
    let store = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let hash = blake3::hash(&fs::read(&temporary)?).to_hex().to_string();
        fs::rename(&temporary, &path)?;
        // From here on the image has its new path, whether or not the record can be written.
        built.image = Some(path);
        let record = CacheRecord {
            image,
            hash,
            built: Built {
                image: None,
                ..built.clone()
            },
        };
        replace_in_cache(&record_path(folder, key), &serde_json::to_vec(&record)?)?;
        evict(folder, MAX_BYTES)
    };
    if let Err(error) = store() {
        let folder = folder.display();
        built.log += &format!(
            "note: the build cache in {folder} cannot be written: {error}. Make the folder writable or free disk space.\n"
        );
    }
    built
}

fn record_path(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

/// Sets the image's modification time, which says when it was last used. Where that fails, the
/// image is only evicted earlier.
fn mark_used(image: &Path) {
    let _ = fs::File::open(image).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes all images but those that were used last, within [`MAX_IMAGES`] and `max_bytes`, and
/// those that may be in use. A process that has loaded a removed image can go on using it.
fn evict(folder: &Path, max_bytes: u64) -> io::Result<()> {
    let mut images = Vec::new();
    for entry in listing::read_dir(folder)? {
        let path = entry?.path();
        let is_image = path.extension().is_some_and(|e| e == "cubin" || e == "so");
        // Another process may have removed the file in between.
        let found = path.metadata().and_then(|m| Ok((m.modified()?, m.len())));
        if let (true, Ok((used, bytes))) = (is_image, found) {
            images.push((used, path, bytes));
        }
    }
    images.sort();
    let in_use_since = SystemTime::now().checked_sub(IN_USE);
    let mut total = 0u64;
    for (newer, (used, image, bytes)) in images.iter().rev().enumerate() {
        total = total.saturating_add(*bytes);
        let is_in_use = newer == 0 || in_use_since.is_some_and(|since| *used >= since);
        if is_in_use || newer < MAX_IMAGES && total <= max_bytes {
            continue;
        }
        for path in [image.clone(), image.with_extension("json")] {
            match fs::remove_file(path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
