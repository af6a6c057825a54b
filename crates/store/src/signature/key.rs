//! The key that signs records: 32 random bytes in the user's state folder, made on first use, for
//! its owner's eyes only.

use anyhow::{Context, Result};
use hmac::{Hmac, KeyInit};
use lab_project::trust;
use lab_system::failure::Failure;
use lab_system::random;
use lab_system::root::{if_there, read_anywhere};
use lab_system::threads::lock;
use sha2::Sha256;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// Environment variable that names another key file, for a job of a cluster that gets a key of its
/// own.
pub const KEY_FILE: &str = "LAB_KEY_FILE";

/// Name of the key in the state folder.
const NAME: &str = "key";

const BYTES: usize = 32;

/// Most bytes of the file.
const READ_LIMIT: u64 = 4096;

static GIVEN: OnceLock<PathBuf> = OnceLock::new();

/// The key that was read last, with the path and the stamp of its file.
static LAST: Mutex<Option<(PathBuf, FileStamp, Key)>> = Mutex::new(None);

/// Device, inode, and the time of the last write in seconds and nanoseconds.
type FileStamp = (u64, u64, i64, i64);

/// Takes the key in this file from now on, in this process. The first call counts. For tests, which
/// leave the user's state folder alone.
pub fn use_key_file(file: &Path) {
    let _ = GIVEN.set(file.to_owned());
}

/// Why this user's lab cannot sign; `None` if it can.
pub fn key_problem() -> Option<String> {
    Key::get_or_create().err().map(|error| format!("{error:#}"))
}

#[derive(Clone, Copy)]
pub struct Key([u8; BYTES]);

impl Key {
    /// The key, if there is one.
    pub fn get() -> Result<Option<Key>> {
        Key::read(&place()?)
    }

    /// Returns the key. Makes one if there is no key yet.
    pub fn get_or_create() -> Result<Key> {
        let file = place()?;
        match Key::read(&file)? {
            Some(key) => Ok(key),
            None => Key::create(&file).cannot("make the key", &file),
        }
    }

    pub fn hmac(&self) -> Hmac<Sha256> {
        // HMAC fills a key that is shorter than a block with zeros.
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block[..BYTES].copy_from_slice(&self.0);
        Hmac::new(&block)
    }

    fn read(file: &Path) -> Result<Option<Key>> {
        let failed = || format!("cannot read the key {}", file.display());
        let Some(about) = if_there(std::fs::metadata(file)).with_context(failed)? else {
            return Ok(None);
        };
        let stamp = (about.dev(), about.ino(), about.mtime(), about.mtime_nsec());
        let mut last = lock(&LAST);
        if let Some((path, known, key)) = &*last
            && path == file
            && *known == stamp
        {
            return Ok(Some(*key));
        }
        let text = read_anywhere(file, READ_LIMIT).with_context(failed)?;
        let text = String::from_utf8_lossy(&text);
        let bytes = super::unhex(text.trim()).and_then(|bytes| bytes.try_into().ok());
        let key = Key(bytes.with_context(|| {
            format!(
                "the key {} is damaged: remove it, and judge again what is open",
                file.display()
            )
        })?);
        *last = Some((file.to_owned(), stamp, key));
        Ok(Some(key))
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the state folder is the user's own"
    )]
    fn create(file: &Path) -> Result<Key> {
        let folder = file.parent().context("it has no folder")?;
        std::fs::create_dir_all(folder)?;
        let bytes: [u8; BYTES] = random::bytes();
        // A temporary file of this crate is for its owner only.
        let mut new = tempfile::Builder::new()
            .prefix(".key-")
            .tempfile_in(folder)?;
        new.write_all(format!("{}\n", super::hex(&bytes)).as_bytes())?;
        new.as_file().sync_all()?;
        match new.persist_noclobber(file) {
            Ok(_) => {}
            // Another lab made one in the same moment.
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error.into()),
        }
        Key::read(file)?.context("it is gone again")
    }
}

#[cfg(not(test))]
fn place() -> Result<PathBuf> {
    if let Some(given) = GIVEN.get() {
        return Ok(given.clone());
    }
    match std::env::var_os(KEY_FILE) {
        Some(given) => Ok(PathBuf::from(given)),
        None => Ok(trust::state_folder()?.join(NAME)),
    }
}

/// The unit tests of this crate share a key of their own.
#[cfg(test)]
fn place() -> Result<PathBuf> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let _ = trust::STATE_DIR;
    let folder = FOLDER
        .get_or_init(|| tempfile::tempdir().ok())
        .as_ref()
        .context("no temporary folder")?;
    Ok(folder.path().join(NAME))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("state/lab/key");
        assert!(Key::read(&file).unwrap().is_none());
        let (first, second) = (Key::create(&file).unwrap(), Key::create(&file).unwrap());
        assert_eq!(first.0, second.0);
        assert_eq!(Key::read(&file).unwrap().unwrap().0, first.0);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
        let other = Key::create(&temp.path().join("other")).unwrap();
        assert_ne!(other.0, first.0);
    }

    #[test]
    fn a_damaged_key_is_named_with_the_remedy() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("key");
        for text in ["", "00", "not hex"] {
            fs::write(&file, text).unwrap();
            let error = Key::read(&file).err().unwrap().to_string();
            assert!(
                error.contains("is damaged: remove it, and judge again what is open"),
                "{error}"
            );
        }
        fs::write(temp.path().join("file"), "").unwrap();
        let error = Key::create(&temp.path().join("file/key")).err().unwrap();
        assert!(format!("{error:#}").contains("File exists"), "{error:#}");
    }
}
