//! `lab` without a subcommand, in a terminal: the screen.

use crate::session::project::Project;
use crate::session::{repo, screen_lock};
use crate::tui::chart::Glyphs;
use crate::tui::desk::Opening;
use crate::tui::screen;
use crate::tui::theme::{Catalogue, Looks, Wish};
use anyhow::{Context, Error, Result, bail};
use etcetera::{AppStrategy, AppStrategyArgs};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Overrides the folder of the user's settings, for tests.
const CONFIG_DIR: &str = "LAB_CONFIG_DIR";

/// Opens the screen on the project that `from` lies in. What `wish` leaves open the environment decides, else the
/// terminal's own colours are taken.
pub fn screen(from: &Path, kernel: Option<&Path>, wish: Wish) -> Result<ExitCode> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        bail!("the screen needs a terminal; `lab run` judges the kernel without one");
    }
    let env = |name: &str| std::env::var(name).ok();
    let Looks { theme, .. } = looks(wish)?;
    let project = Arc::new(Project::open(from, kernel)?);
    if kernel.is_some() && !project.kernel.exists() && repo::incumbent(&project)?.is_none() {
        bail!(
            "there is no {}, and HEAD does not hold it: `lab KERNEL_OR_FOLDER` opens the screen on a kernel, \
             `lab --help` lists the commands",
            project.kernel_name
        );
    }
    // One screen a repository; held until the end.
    let _lock = screen_lock::take(&project)?;
    let opening = Opening { from: from.to_owned(), kernel: kernel.map(Path::to_owned) };
    let ended = screen::run(project, opening, theme, Glyphs::choose(None, env))
        .context("the terminal could not be used")?;
    Ok(match ended.signal {
        // As a shell would say it.
        Some(signal) => ExitCode::from(128u8.saturating_add(u8::try_from(signal).unwrap_or(0))),
        None => ExitCode::SUCCESS,
    })
}

/// What `wish` asks for, in this terminal.
pub fn looks(wish: Wish) -> Result<Looks> {
    let env = |name: &str| std::env::var(name).ok();
    let wish = wish.or(Wish::of_environment(env).map_err(Error::msg)?);
    Looks::choose(wish, env, catalogue).map_err(Error::msg)
}

/// The themes there are, with those in the user's own folder.
pub fn catalogue() -> Catalogue {
    match themes_folder() {
        Some(folder) => Catalogue::read(&folder),
        None => Catalogue::built_in(),
    }
}

fn themes_folder() -> Option<PathBuf> {
    let names =
        AppStrategyArgs { top_level_domain: String::new(), author: String::new(), app_name: "lab".into() };
    let given = std::env::var_os(CONFIG_DIR).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    Some(given.or_else(|| Some(etcetera::app_strategy::Xdg::new(names).ok()?.config_dir()))?.join("themes"))
}
