//! `lab` without a subcommand: opens the screen.

use super::{ask, code, complain, decisions, is_there, ls};
use crate::screen::preferences::{env, prefer};
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::UserFiles;
use crate::screen::{self, Next, User, layout_file, settings_files};
use anyhow::{Context, Error, Result, bail};
use lab_project::Project;
use lab_project::screen_lock;
use lab_protocol::Exit;
use lab_tui::layout::{Layout, UserChoice};
use lab_tui::settings::Settings;
use lab_tui::theme::AppearanceChoice;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the screen on the project that contains `from`. The appearance comes from `choice` (the
/// command line), else from the environment, the remembered layout, the user's config, and last the
/// terminal's own colours.
pub fn screen(from: &Path, kernel: Option<&Path>, choice: AppearanceChoice) -> Result<ExitCode> {
    if !ask::can_ask() {
        if let Some(named) = kernel {
            is_there(&Project::open(from, kernel)?, from, named)?;
        }
        bail!("the screen needs a terminal; `lab run` judges the kernel without one");
    }
    if env("TERM").is_some_and(|term| term == "dumb") {
        bail!(
            "TERM is 'dumb', and the screen needs a terminal that can move its cursor: set TERM to what your terminal is, as in \
             xterm-256color; `lab run` judges the kernel without a screen"
        );
    }
    let config = settings_files::file();
    // With a wrong config no screen opens: a key could have another action than its user expects,
    // such as discard.
    let settings = match settings_files::read(config.as_deref()) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&why);
            complain("with LAB_CONFIG_DIR set to an empty folder the screen opens without it");
            return Ok(code(Exit::Usage));
        }
    };
    let choice = choice.or(AppearanceChoice::of_environment(env).map_err(Error::msg)?);
    prefer(settings.clone(), choice.clone()).map_err(Error::msg)?;
    let mut next = Some(first(from, kernel)?);
    while let Some(Next {
        project,
        opening,
        lock,
        typed,
    }) = next.take()
    {
        let mut user = user(&project, config.clone(), settings.clone(), choice.clone())?;
        user.other = lock.other();
        user.typed = typed;
        let ended =
            screen::run(project, opening, user).context("the terminal could not be used")?;
        drop(lock);
        if let Some(signal) = ended.signal {
            // As shells report a signal.
            return Ok(ExitCode::from(
                128u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
            ));
        }
        next = ended.next;
    }
    Ok(ExitCode::SUCCESS)
}

/// The screen to open first. Where no kernel is named, and none is meant or the one that is meant has
/// a screen already, the user chooses one of several in the list of kernels. Behind the list is the
/// kernel that was judged last, or another one if it has a screen already. Where all have one, a
/// second screen shows the kernel.
fn first(from: &Path, kernel: Option<&Path>) -> Result<Next> {
    let meant = Project::open(from, kernel);
    let judges = |next: &Next| next.lock.other().is_none();
    let mut first = match meant.and_then(|project| on_kernel(from, kernel, project)) {
        Ok(next) if kernel.is_some() || judges(&next) => return Ok(next),
        Err(why) if kernel.is_some() => return Err(why),
        other => other,
    };
    for choice in ls::choices(from)? {
        let opened = Project::open(from, Some(&choice));
        let next = opened.and_then(|project| on_kernel(from, Some(&choice), project));
        let next = next.map(|mut next| {
            next.opening.lists = true;
            next
        });
        match next {
            Ok(next) if judges(&next) => return Ok(next),
            next => first = first.or(next),
        }
    }
    first
}

/// A screen on this kernel, which `kernel` names if a command does.
fn on_kernel(from: &Path, kernel: Option<&Path>, project: Project) -> Result<Next> {
    if let Some(named) = kernel {
        is_there(&project, from, named)?;
    }
    // The lock is held until the screen closes.
    let lock = screen_lock::take(&project)?;
    let from = from.canonicalize()?;
    // The screen stays on its kernel when another one comes.
    let only = || {
        project
            .is_only_one_for(&from)
            .then(|| project.kernel.clone())
    };
    let opening = Opening {
        kernel: kernel.map(Path::to_owned).or_else(only),
        from,
        lists: false,
    };
    Ok(Next {
        project: Arc::new(project),
        opening,
        lock,
        typed: Vec::new(),
    })
}

/// Reads the user's settings and layout before the screen opens. `choice` overrides both.
fn user(
    project: &Project,
    config: Option<PathBuf>,
    settings: Settings,
    choice: AppearanceChoice,
) -> Result<User> {
    let file = layout_file::file(project).ok();
    let remembered = file
        .as_deref()
        .map_or_else(|| Ok(Layout::default()), layout_file::read);
    let (layout, mut problem) = match remembered {
        Ok(layout) => (layout, None),
        Err(why) => (Layout::default(), Some(why)),
    };
    let chosen_file = layout_file::choice_file().ok();
    let chosen = chosen_file.as_deref().map(layout_file::read::<UserChoice>);
    let mut user_choice = chosen.transpose().unwrap_or_else(|why| {
        problem = Some(why);
        None
    });
    let user_choice = user_choice.get_or_insert_default();
    if choice.theme.is_some() {
        user_choice.theme = None;
    }
    let chosen = AppearanceChoice {
        theme: user_choice.theme.clone(),
        ..AppearanceChoice::default()
    };
    let preferences = match prefer(settings.clone(), choice.clone().or(chosen)) {
        Ok(preferences) => preferences,
        // The remembered theme no longer exists.
        Err(why) => {
            (user_choice.theme, problem) = (None, Some(why));
            prefer(settings, choice.clone()).map_err(Error::msg)?
        }
    };
    Ok(User {
        preferences,
        layout,
        choice: std::mem::take(user_choice),
        problem,
        record: decisions::record,
        typed: Vec::new(),
        other: None,
        files: UserFiles {
            config,
            layout: file,
            chosen: chosen_file,
            choice,
        },
    })
}
