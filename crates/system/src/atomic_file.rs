//! Replaces a file in one step: a reader sees all of the old bytes or all of the new bytes, also
//! where this process is killed halfway. [`crate::leftovers`] removes the file that a killed
//! process leaves.

use crate::root::Root;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces the file at `target`, or creates it with the mode that the user's umask leaves of 666.
/// The bytes are on disk before this returns. On an error the old file is unchanged.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("record.json");
/// lab_system::atomic_file::replace(&path, b"{}")?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    Root::around(target).replace(name_of(target), bytes)
}

/// [`replace`] for a file that can be made again: creates its folder too, and does not wait for the
/// disk. If the machine loses its power, the file may be damaged, so its reader must check it. Only
/// the user may read the file.
pub fn replace_in_cache(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = Root::around(target);
    std::fs::create_dir_all(folder.path())?;
    folder.replace_by(name_of(target), |new| {
        new.set_permissions(Permissions::from_mode(0o600))?;
        new.write_all(bytes)
    })
}

/// Its name in its folder.
fn name_of(file: &Path) -> &Path {
    Path::new(file.file_name().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn a_replaced_file_is_whole_and_leaves_nothing_beside_it() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        for text in ["one", "another"] {
            replace(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::create_dir(temp.path().join("folder")).unwrap();
        assert!(replace(&temp.path().join("folder"), b"x").is_err());
        assert!(replace(&temp.path().join("none/file"), b"x").is_err());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_of_a_cache_is_replaced_whole_and_its_folder_is_created() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("new").join("file");
        for text in ["first", "second"] {
            replace_in_cache(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let count = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(count, 1, "no temporary file is left");
        assert!(replace_in_cache(&path.join("below a file"), b"").is_err());
    }

    #[test]
    fn an_exchange_returns_what_had_the_name() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let root = Root::new(temp.path());
        let mode = Permissions::from_mode(0o640);
        let exchange = |text: &str| {
            let file = Path::new("file");
            root.exchange(file, text.as_bytes(), mode.clone()).unwrap()
        };
        assert!(exchange("one").is_none());
        // Not every file system can exchange.
        if let Some(old) = exchange("another") {
            assert_eq!(fs::read_to_string(&old).unwrap(), "one");
            fs::remove_file(old).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "another");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
