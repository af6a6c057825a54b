//! What the screen remembers of a project from one time to the next: the view, the borders, the theme. One small
//! file a project in the user's state folder; whatever is wrong with it costs nothing but the memory.

use super::view_id::{Shares, View};
use anyhow::{Context, Result};
use lab_core::project::Project;
use lab_core::project::trust;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Layout {
    pub view: View,
    /// Borders that were moved.
    pub shares: Shares,
    /// The theme that was chosen on the screen.
    pub theme: Option<String>,
    /// Set where the mouse was turned on or off on the screen.
    pub mouse: Option<bool>,
}

/// Larger files are none of ours.
const MAX_BYTES: u64 = 64 * 1024;

/// Where it is kept.
pub fn file(project: &Project) -> Result<PathBuf> {
    let mut hash = blake3::Hasher::new();
    hash.update(project.kernel.as_os_str().as_encoded_bytes());
    Ok(trust::state_folder()?.join("layouts").join(format!("{}.json", hash.finalize().to_hex())))
}

impl Layout {
    /// Nothing remembered is the default. The error is to be said; the default holds then too.
    pub fn read(file: &Path) -> Result<Layout, String> {
        let say = |why: String| format!("the remembered layout is ignored: {}: {why}", file.display());
        let about = match std::fs::metadata(file) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Layout::default()),
            Err(error) => return Err(say(error.to_string())),
        };
        if !about.is_file() || about.len() > MAX_BYTES {
            return Err(say("it is none of the lab's files".to_owned()));
        }
        let text = std::fs::read_to_string(file).map_err(|error| say(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| say(format!("it is damaged ({error})")))
    }

    /// Whole or not at all.
    pub fn write(&self, file: &Path) -> Result<()> {
        let folder = file.parent().context("a file has a folder")?;
        std::fs::create_dir_all(folder)?;
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(serde_json::to_string(self)?.as_bytes())?;
        beside.persist(file)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::view_id::Split;
    use super::*;

    #[test]
    fn what_was_written_is_read_and_damage_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deep/layout.json");
        assert_eq!(Layout::read(&file), Ok(Layout::default()));
        let layout = Layout {
            view: View::Git,
            shares: [(Split::BenchColumns, 333), (Split::Git, 700)].into(),
            theme: Some("nord".into()),
            mouse: None,
        };
        layout.write(&file).expect("it is written");
        assert_eq!(Layout::read(&file), Ok(layout));
        // Of a lab to come: what it does not know it leaves aside.
        std::fs::write(&file, r#"{"view":"git","depth":3}"#).expect("it is written");
        assert_eq!(Layout::read(&file).map(|l| l.view), Ok(View::Git));
        for damage in ["", "{", "[1]", r#"{"view":"attic"}"#, r#"{"shares":{"git":-1}}"#] {
            std::fs::write(&file, damage).expect("it is written");
            let said = Layout::read(&file).expect_err("it is damaged");
            assert!(said.contains("ignored") && said.contains("damaged"), "{said}");
        }
        assert!(Layout::read(folder.path()).is_err());
    }
}
