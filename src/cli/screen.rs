//! `lab` without a subcommand: opens the screen.

use super::{code, complain};
use crate::screen::repository_worker::Opening;
use crate::screen::settings_worker::UserFiles;
use crate::screen::{self, Next, User, appearance_files, layout_file, settings_files};
use anyhow::{Context, Error, Result, bail};
use lab_git::Repo;
use lab_project::Project;
use lab_project::screen_lock;
use lab_protocol::{Exit, console};
use lab_tui::chart::SymbolSet;
use lab_tui::layout::Layout;
use lab_tui::request::Preferences;
use lab_tui::settings::Settings;
use lab_tui::theme::{Appearance, AppearanceChoice};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Opens the screen on the project that contains `from`. The appearance comes from `choice` (the
/// command line), else from the environment, the remembered layout, the user's config, and last the
/// terminal's own colours.
pub fn screen(from: &Path, kernel: Option<&Path>, choice: AppearanceChoice) -> Result<ExitCode> {
    if !(std::io::stdin().is_terminal() && console::stdout_is_terminal()) {
        bail!("the screen needs a terminal; `lab run` judges the kernel without one");
    }
    let config = settings_files::file();
    // With a wrong config no screen opens: a key could have another action than its user expects,
    // such as discard.
    let settings = match read_settings(config.as_deref()) {
        Ok(settings) => settings,
        Err(why) => {
            complain(&why);
            complain("with LAB_CONFIG_DIR set to an empty folder the screen opens without it");
            return Ok(code(Exit::Usage));
        }
    };
    let choice = choice.or(AppearanceChoice::of_environment(env).map_err(Error::msg)?);
    prefer(settings.clone(), choice.clone()).map_err(Error::msg)?;
    let project = Arc::new(Project::open(from, kernel)?);
    if kernel.is_some()
        && !project.kernel.exists()
        && lab_git::incumbent(&Repo::open(&project)?)?.is_none()
    {
        bail!(
            "there is no {}, and HEAD does not hold it: `lab KERNEL_OR_FOLDER` opens the screen on a kernel, \
             `lab --help` lists the commands",
            project.kernel_name
        );
    }
    // One screen can be open on each kernel. The lock is held until the screen closes.
    let lock = screen_lock::take(&project)?;
    let opening = Opening {
        from: from.canonicalize()?,
        kernel: kernel.map(Path::to_owned),
    };
    let mut next = Some(Next {
        project,
        opening,
        lock,
    });
    while let Some(Next {
        project,
        opening,
        lock,
    }) = next.take()
    {
        let user = user(&project, config.clone(), settings.clone(), choice.clone())?;
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
    let (mut layout, mut problem) = match remembered {
        Ok(layout) => (layout, None),
        Err(why) => (Layout::default(), Some(why)),
    };
    if choice.theme.is_some() {
        layout.theme = None;
    }
    let chosen = AppearanceChoice {
        theme: layout.theme.clone(),
        ..AppearanceChoice::default()
    };
    let preferences = match prefer(settings.clone(), choice.clone().or(chosen)) {
        Ok(preferences) => preferences,
        // The remembered theme no longer exists.
        Err(why) => {
            (layout.theme, problem) = (None, Some(why));
            prefer(settings, choice.clone()).map_err(Error::msg)?
        }
    };
    // Read at each call: the config may have changed.
    let (listed, listed_choice) = (
        config.clone(),
        AppearanceChoice {
            theme: None,
            ..choice.clone()
        },
    );
    let themes_choice = move || {
        let settings = read_settings(listed.as_deref()).unwrap_or_default();
        AppearanceChoice {
            theme: None,
            ..listed_choice.clone().or(settings.appearance())
        }
    };
    let files = UserFiles {
        config: config.clone(),
        layout: file,
        read: Box::new(move || prefer(read_settings(config.as_deref())?, choice.clone())),
        themes: Box::new(move || {
            let Ok(Appearance { depth, paint, .. }) =
                Appearance::choose(themes_choice(), env, appearance_files::find)
            else {
                return Vec::new();
            };
            appearance_files::catalogue()
                .entries
                .iter()
                .map(|entry| (entry.name.clone(), entry.theme(depth, paint)))
                .collect()
        }),
    };
    Ok(User {
        preferences,
        layout,
        problem,
        files,
    })
}

/// The appearance for `choice`, the environment and the config, in this terminal.
pub fn appearance(choice: AppearanceChoice) -> Result<Appearance> {
    let choice = choice.or(AppearanceChoice::of_environment(env).map_err(Error::msg)?);
    let settings = read_settings(settings_files::file().as_deref()).map_err(Error::msg)?;
    choose(&settings, choice).map_err(Error::msg)
}

/// The appearance for `choice` and the settings. An error in a theme that config.toml names gives
/// its line there.
pub fn choose(settings: &Settings, choice: AppearanceChoice) -> Result<Appearance, String> {
    let plain = AppearanceChoice {
        theme: None,
        ..choice.clone()
    };
    Appearance::choose(plain, env, appearance_files::find)?;
    let by_config = settings
        .theme_at
        .as_ref()
        .filter(|_| choice.theme.is_none());
    let chosen = Appearance::choose(
        choice.or(settings.appearance()),
        env,
        appearance_files::find,
    );
    chosen.map_err(|why| by_config.map_or(why.clone(), |at| format!("{at}: {why}")))
}

/// The preferences in this terminal; `choice` overrides the settings.
fn prefer(settings: Settings, choice: AppearanceChoice) -> Result<Preferences, String> {
    let Appearance { theme, .. } = choose(&settings, choice)?;
    let symbols = SymbolSet::choose(settings.ascii, env);
    Ok(Preferences {
        settings,
        theme,
        symbols,
    })
}

fn read_settings(config: Option<&Path>) -> Result<Settings, String> {
    config.map_or_else(|| Ok(Settings::default()), settings_files::read)
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
