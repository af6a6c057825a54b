//! What the screen saves: a small JSON file for each kernel with its [`Layout`], and one with the
//! user's choice, in the user's state folder. An error in a file costs its content and nothing else.
//!
//! [`Layout`]: lab_tui::layout::Layout

use anyhow::{Context, Result};
use lab_project::Project;
use lab_project::trust;
use lab_system::atomic_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};

/// A file with more bytes than this was not written by the lab.
const MAX_BYTES: u64 = 64 * 1024;

/// The path of the project's layout file, which need not exist. Fails where no home folder is
/// known.
pub fn file(project: &Project) -> Result<PathBuf> {
    let mut hash = blake3::Hasher::new();
    hash.update(project.kernel.as_os_str().as_encoded_bytes());
    Ok(trust::state_folder()?
        .join("layouts")
        .join(format!("{}.json", hash.finalize().to_hex())))
}

/// The path of the file with what the user chose, which need not exist.
pub fn choice_file() -> Result<PathBuf> {
    Ok(trust::state_folder()?.join("screen.json"))
}

/// Reads a file; a missing one gives the default. Unknown keys are ignored: a later version may have
/// written them. The error is a warning to show: the caller goes on with the default.
pub fn read<T: Default + DeserializeOwned>(file: &Path) -> Result<T, String> {
    let warning =
        |reason: String| format!("the saved layout is ignored: {}: {reason}", file.display());
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(T::default()),
        Err(error) => return Err(warning(error.to_string())),
    };
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(warning("the lab did not write this file".to_owned()));
    }
    let text = std::fs::read_to_string(file).map_err(|error| warning(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| warning(format!("it is damaged ({error})")))
}

/// Replaces the file in one step: a reader sees the old layout or the new one.
pub fn write(saved: &impl Serialize, file: &Path) -> Result<()> {
    let folder = file.parent().context("the layout file has no folder")?;
    std::fs::create_dir_all(folder)?;
    atomic_file::replace(file, &serde_json::to_vec(saved)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_tui::layout::Layout;
    use lab_tui::views::View;
    use lab_tui::views::split::Split;

    #[test]
    fn a_written_layout_is_read_again_and_damage_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep/layout.json");
        assert_eq!(read(&file), Ok(Layout::default()));
        let layout = Layout {
            view: View::Git,
            shares: [(Split::BenchColumns, 333), (Split::Git, 700)].into(),
            all_problems: true,
        };
        write(&layout, &file).expect("it is written");
        assert_eq!(read(&file), Ok(layout));
        std::fs::write(&file, "{").expect("it is written");
        let read = |file: &Path| read::<Layout>(file);
        let warning = read(&file).expect_err("it is damaged");
        assert!(
            warning.contains("ignored") && warning.contains("damaged"),
            "{warning}"
        );
        assert!(
            read(folder.path())
                .expect_err("a folder")
                .contains("the lab did not write this file")
        );
        for damage in ["", "[1]", r#"{"view":"attic"}"#, r#"{"shares":{"git":-1}}"#] {
            std::fs::write(&file, damage).expect("it is written");
            assert!(read(&file).is_err_and(|why| why.contains("damaged")));
        }
        std::fs::write(&file, r#"{"view":"git","depth":3}"#).expect("it is written");
        assert_eq!(read(&file).map(|layout| layout.view), Ok(View::Git));
        std::fs::write(&file, " ".repeat(65 * 1024)).expect("it is written");
        assert!(
            read(&file)
                .expect_err("too long")
                .contains("the lab did not write this file")
        );
    }
}
