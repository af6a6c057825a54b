//! Whether the harness command of a lab.toml may run. It may after this user wrote the file by `lab init`, ran `lab trust`,
//! or agreed on the screen.
//!
//! With the built-in harness trust is not needed, as long as Linux can confine the kernel's process. In a trusted folder kernels may
//! run without a sandbox too, and the compiler may read paths outside the repository that lab.toml names.
//!
//! Trust is a file in the user's state folder, named by a hash of lab.toml's path and content, or of the repository's path where
//! there is no lab.toml. The same text in another clone needs trust of its own, because its command starts another script.

#![allow(clippy::disallowed_methods, reason = "the state folder is the user's own")]

use crate::config::Config;
use crate::project::Project;
use anyhow::{Context, Result, bail};
use etcetera::{AppStrategy, AppStrategyArgs};
use std::path::{Path, PathBuf};

/// Environment variable that overrides the state folder, for tests.
pub const STATE_DIR: &str = "LAB_STATE_DIR";

/// Whether a project's harness may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The built-in harness, or a command that this user trusts.
    Given,
    /// The user has not agreed yet to this command of this lab.toml.
    Needed { command: String, file: PathBuf },
}

/// Returns whether the project's harness may run. The error is of a lab.toml that cannot be read, or of a missing home folder.
pub fn check(project: &Project) -> Result<Trust> {
    let (Some(command), Some(file)) = (&project.config.harness, &project.config_file) else {
        return Ok(Trust::Given);
    };
    if folder()?.join(name(file)?).exists() {
        return Ok(Trust::Given);
    }
    Ok(Trust::Needed { command: command.clone(), file: file.clone() })
}

/// Returns whether the user trusts the folder of a project: its lab.toml as it is now, or the repository where there is none.
pub fn is_granted(project: &Project) -> Result<bool> {
    let mark = match &project.config_file {
        Some(file) => name(file)?,
        None => name_of_folder(&project.root)?,
    };
    Ok(folder()?.join(mark).exists())
}

/// Trusts the lab.toml of this project, if its command is still the one that the user was shown. False where there is nothing
/// to trust.
pub fn grant(project: &Project) -> Result<bool> {
    let Some(file) = project.config_file.as_ref().filter(|_| project.external()) else { return Ok(false) };
    if Config::read(file, &project.root)?.harness != project.config.harness {
        bail!("{} changed just now: look at its harness command again", file.display());
    }
    grant_file(file)?;
    Ok(true)
}

/// Trusts this lab.toml with its present content.
pub fn grant_file(file: &Path) -> Result<()> {
    remember(&name(file)?, file)
}

/// Trusts a repository without a lab.toml.
pub fn grant_folder(root: &Path) -> Result<()> {
    remember(&name_of_folder(root)?, root)
}

fn remember(mark: &str, what: &Path) -> Result<()> {
    let folder = folder()?;
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(mark), format!("{}\n", what.display())))
        .with_context(|| format!("cannot remember the trust in {}", folder.display()))
}

fn folder() -> Result<PathBuf> {
    Ok(state_folder()?.join("trusted"))
}

/// The folder for what the lab remembers of this user.
pub fn state_folder() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(STATE_DIR) {
        return Ok(PathBuf::from(given));
    }
    let names =
        AppStrategyArgs { top_level_domain: String::new(), author: String::new(), app_name: "lab".into() };
    let folders = etcetera::app_strategy::Xdg::new(names)
        .with_context(|| format!("no home folder is known: set HOME or {STATE_DIR}"))?;
    Ok(folders.state_dir().unwrap_or_else(|| folders.data_dir()))
}

/// Name of the file that stands for the trust in this repository.
fn name_of_folder(root: &Path) -> Result<String> {
    let path = root.canonicalize().with_context(|| format!("cannot find {}", root.display()))?;
    let mut hash = blake3::Hasher::new();
    hash.update(b"folder\0").update(path.as_os_str().as_encoded_bytes());
    Ok(hash.finalize().to_hex().to_string())
}

/// Name of the file that stands for the trust in this lab.toml.
fn name(file: &Path) -> Result<String> {
    let path = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
    let content = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut hash = blake3::Hasher::new();
    hash.update(path.as_os_str().as_encoded_bytes()).update(b"\0").update(&content);
    Ok(hash.finalize().to_hex().to_string())
}
