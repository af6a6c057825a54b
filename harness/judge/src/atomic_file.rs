//! Replacing a file so that no reader sees half of it.

use std::io::{self, Write};
use std::path::Path;

/// Writes `bytes` to `path`, replacing what is there. Creates the folder if it is missing.
///
/// The bytes go into a temporary file beside `path`, which is then renamed: a reader sees the old file or the new one. On an
/// error the old file stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_its_folder_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("file");
        replace(&path, b"first").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
        assert!(replace(&path.join("below a file"), b"").is_err());
    }
}
