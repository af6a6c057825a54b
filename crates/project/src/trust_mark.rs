//! The mark of a folder that its user trusts: a file in the user's state folder.
//!
//! The file is named by a hash of the real folder of lab.toml, its name and its content as it was
//! read; where there is no lab.toml, of the repository's path. The same text in another clone needs
//! trust of its own, because its command starts another script. That also holds for a lab.toml that
//! is a link: what it leads to is in another folder.

#![allow(
    clippy::disallowed_methods,
    reason = "the state folder is the user's own"
)]

use crate::config::{self, Config};
use anyhow::{Context, Result, bail};
use etcetera::app_strategy::{AppStrategy, AppStrategyArgs, Xdg};
use lab_system::failure::Failure;
use std::path::{Path, PathBuf};

/// Environment variable that overrides the state folder, for tests. An absolute path.
pub const STATE_DIR: &str = "LAB_STATE_DIR";

/// The name of the file that stands for the trust in a folder and in its lab.toml with one content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustMark(String);

impl TrustMark {
    /// The mark of a lab.toml with this content. `folder` is its real folder.
    pub fn of_config(folder: &Path, content: &[u8]) -> TrustMark {
        let mut hash = blake3::Hasher::new();
        let path = folder.join(config::FILE);
        hash.update(path.as_os_str().as_encoded_bytes())
            .update(b"\0")
            .update(content);
        TrustMark(hash.finalize().to_hex().to_string())
    }

    /// The mark of a repository without a lab.toml. `root` is its real folder.
    pub fn of_folder(root: &Path) -> TrustMark {
        let mut hash = blake3::Hasher::new();
        hash.update(b"folder\0")
            .update(root.as_os_str().as_encoded_bytes());
        TrustMark(hash.finalize().to_hex().to_string())
    }

    /// Returns an error if no home folder is known.
    pub fn is_granted(&self) -> Result<bool> {
        Ok(folder()?.join(&self.0).exists())
    }

    /// Remembers the trust. `place` is for people who look into the state folder.
    pub fn grant(&self, place: &Path) -> Result<()> {
        let folder = folder()?;
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(&self.0), format!("{}\n", place.display())))
            .cannot("remember the trust in", &folder)
    }
}

/// Whether the user trusts a repository with the lab.toml that is in it now: asked before git opens
/// the repository. A lab.toml in a folder below does not count.
pub(super) fn is_granted_before_opening(root: &Path) -> bool {
    let Ok(root) = root.canonicalize() else {
        return false;
    };
    let mark = match Config::read_with_content(&root.join(config::FILE), &root) {
        Ok((_, content)) => TrustMark::of_config(&root, content.as_bytes()),
        Err(_) if root.join(config::FILE).symlink_metadata().is_ok() => return false,
        Err(_) => TrustMark::of_folder(&root),
    };
    mark.is_granted().unwrap_or(false)
}

fn folder() -> Result<PathBuf> {
    Ok(state_folder()?.join("trusted"))
}

/// The folder for what the lab remembers of this user.
pub fn state_folder() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(STATE_DIR) {
        let given = PathBuf::from(given);
        // A relative one would be a folder of whatever repository the command runs in.
        if !given.is_absolute() {
            bail!(
                "{STATE_DIR} is {}: give it an absolute path",
                given.display()
            );
        }
        return Ok(given);
    }
    let folders = user_folders()
        .with_context(|| format!("no home folder is known: set HOME or {STATE_DIR}"))?;
    Ok(folders.state_dir().unwrap_or_else(|| folders.data_dir()))
}

/// The folders of this user's settings and state. `None` if no home folder is known.
pub fn user_folders() -> Option<Xdg> {
    Xdg::new(AppStrategyArgs {
        app_name: "lab".into(),
        ..AppStrategyArgs::default()
    })
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_of_the_folder_and_the_content() {
        let mark = TrustMark::of_config(Path::new("/a"), b"x");
        assert_ne!(mark, TrustMark::of_config(Path::new("/b"), b"x"));
        assert_ne!(mark, TrustMark::of_config(Path::new("/a"), b"y"));
        assert_ne!(
            TrustMark::of_folder(Path::new("/a")),
            TrustMark::of_config(Path::new("/a"), b"")
        );
        // As earlier versions named it.
        let earlier = blake3::hash(b"/a/lab.toml\0x").to_hex().to_string();
        assert_eq!(mark, TrustMark(earlier));
    }
}
