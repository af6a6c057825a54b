//! `lab` without a subcommand, in a terminal: the screen.

use super::{code, complain};
use crate::session::project::Project;
use crate::session::{repo, screen_lock};
use crate::settings::{self, Settings};
use crate::tui::chart::Glyphs;
use crate::tui::desk::Opening;
use crate::tui::drawer::{Cupboard, Preferences};
use crate::tui::layout::{self, Layout};
use crate::tui::screen::{self, User};
use crate::tui::theme::{EMBEDDED, Theme, color_depth};
use anyhow::{Context, Result, bail};
use harness::process::Exit;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the screen on the project that `from` lies in. `theme` is a name, else `$LAB_THEME`, else the
/// terminal's own colours.
pub fn screen(from: &Path, kernel: Option<&Path>, theme: Option<&str>) -> Result<ExitCode> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        bail!("the screen needs a terminal; `lab run` judges the kernel without one");
    }
    let asked = theme.map(str::to_owned).or_else(|| env("LAB_THEME").filter(|name| !name.is_empty()));
    let config = settings::file();
    // A key that means something else than its user thinks could discard for them: a wrong config opens no screen.
    let settings = match read_settings(config.as_deref()) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&format!(
                "{why}\nlab: with LAB_CONFIG_DIR set to an empty folder the screen opens without it"
            ));
            return Ok(code(Exit::Usage));
        }
    };
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
    let user = user(&project, config, settings, asked)?;
    let ended = screen::run(project, opening, user).context("the terminal could not be used")?;
    Ok(match ended.signal {
        // As a shell would say it.
        Some(signal) => ExitCode::from(128u8.saturating_add(u8::try_from(signal).unwrap_or(0))),
        None => ExitCode::SUCCESS,
    })
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn read_settings(config: Option<&Path>) -> Result<Settings, String> {
    config.map_or_else(|| Ok(Settings::default()), Settings::read)
}

/// What is the user's own, read before the screen opens. `theme` goes before all else.
fn user(
    project: &Project,
    config: Option<PathBuf>,
    settings: Settings,
    theme: Option<String>,
) -> Result<User> {
    let file = layout::file(project).ok();
    let remembered = file.as_deref().map_or_else(|| Ok(Layout::default()), Layout::read);
    let (mut layout, mut problem) = match remembered {
        Ok(layout) => (layout, None),
        Err(why) => (Layout::default(), Some(why)),
    };
    if theme.is_some() {
        layout.theme = None;
    }
    let mut preferences = prefer(settings, theme.as_deref()).map_err(anyhow::Error::msg)?;
    match layout.theme.as_deref().map(|name| Theme::choose(Some(name), color_depth(env))) {
        Some(Ok(theme)) => preferences.theme = theme,
        Some(Err(why)) => {
            (layout.theme, problem) = (None, Some(why));
        }
        None => {}
    }
    let cupboard = Cupboard {
        config: config.clone(),
        layout: file,
        read: Box::new(move || prefer(read_settings(config.as_deref())?, theme.as_deref())),
        themes: Box::new(themes),
    };
    Ok(User { preferences, layout, problem, cupboard })
}

/// What the settings come to in this terminal.
fn prefer(settings: Settings, theme: Option<&str>) -> Result<Preferences, String> {
    let name = theme.or(settings.theme.as_deref());
    let theme = Theme::choose(name, color_depth(env))?;
    let glyphs = Glyphs::choose(settings.ascii, env);
    Ok(Preferences { settings, theme, glyphs })
}

fn themes() -> Vec<(String, Theme)> {
    let names = std::iter::once("ansi").chain(EMBEDDED.map(|(name, _)| name));
    let depth = color_depth(env);
    names.filter_map(|name| Some((name.to_owned(), Theme::choose(Some(name), depth).ok()?))).collect()
}
