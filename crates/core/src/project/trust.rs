//! Whether the harness command of a lab.toml may run: it does after this user wrote it by
//! `lab init`, or said `lab trust`, or yes on the screen.
//!
//! What is remembered is a hash of the file's place and its content, as an empty file of that name
//! in the user's state folder: the same text in another clone is asked about again, because the
//! command there starts another script.

use crate::config::Config;
use crate::project::Project;
use anyhow::{Context, Result, bail};
use etcetera::{AppStrategy, AppStrategyArgs};
use std::path::{Path, PathBuf};

/// Overrides the folder, for tests.
pub const STATE_DIR: &str = "LAB_STATE_DIR";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The built-in harness, or a command that this user trusts.
    Given,
    /// This command would run, from this lab.toml.
    Needed { command: String, file: PathBuf },
}

pub fn check(project: &Project) -> Result<Trust> {
    let (Some(command), Some(file)) = (&project.config.harness, &project.config_file) else {
        return Ok(Trust::Given);
    };
    if folder()?.join(name(file)?).exists() {
        return Ok(Trust::Given);
    }
    Ok(Trust::Needed { command: command.clone(), file: file.clone() })
}

/// Trusts the lab.toml of this project, if the command in it is still the one that was shown.
/// False where there is nothing to trust.
pub fn grant(project: &Project) -> Result<bool> {
    let Some(file) = project.config_file.as_ref().filter(|_| project.external()) else { return Ok(false) };
    if Config::read(file)?.harness != project.config.harness {
        bail!("{} changed just now: look at its harness command again", file.display());
    }
    grant_file(file)?;
    Ok(true)
}

/// Trusts this lab.toml as it now is.
pub fn grant_file(file: &Path) -> Result<()> {
    let folder = folder()?;
    let mark = folder.join(name(file)?);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&mark, format!("{}\n", file.display())))
        .with_context(|| format!("cannot remember the trust in {}", folder.display()))
}

fn folder() -> Result<PathBuf> {
    Ok(state_folder()?.join("trusted"))
}

/// What the lab remembers of this user.
pub fn state_folder() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os(STATE_DIR) {
        return Ok(PathBuf::from(given));
    }
    let names =
        AppStrategyArgs { top_level_domain: String::new(), author: String::new(), app_name: "lab".into() };
    let places = etcetera::app_strategy::Xdg::new(names)
        .with_context(|| format!("no home folder is known: set HOME or {STATE_DIR}"))?;
    Ok(places.state_dir().unwrap_or_else(|| places.data_dir()))
}

fn name(file: &Path) -> Result<String> {
    let place = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
    let content = std::fs::read(&place).with_context(|| format!("cannot read {}", place.display()))?;
    let mut hash = blake3::Hasher::new();
    hash.update(place.as_os_str().as_encoded_bytes()).update(b"\0").update(&content);
    Ok(hash.finalize().to_hex().to_string())
}
