//! `lab` without a subcommand, in a terminal: the screen.

use crate::session::project::Project;
use crate::session::{repo, screen_lock};
use crate::tui::chart::Glyphs;
use crate::tui::desk::Opening;
use crate::tui::screen;
use crate::tui::theme::{ColorDepth, Theme, color_depth};
use anyhow::{Context, Result, bail};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the screen on the project that `from` lies in. `theme` is a name, else `$LAB_THEME`, else the
/// terminal's own colours.
pub fn screen(from: &Path, kernel: Option<&Path>, theme: Option<&str>) -> Result<ExitCode> {
    let env = |name: &str| std::env::var(name).ok();
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        bail!("the screen needs a terminal; `lab run` judges the kernel without one");
    }
    let depth = color_depth(env);
    let asked = theme.map(str::to_owned).or_else(|| env("LAB_THEME").filter(|name| !name.is_empty()));
    let theme = match Theme::choose(asked.as_deref(), depth) {
        Ok(theme) => theme,
        Err(why) => bail!(why),
    };
    debug_assert!(theme.is_colored() != (depth == ColorDepth::None));
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
