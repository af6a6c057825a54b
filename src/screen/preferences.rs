//! The user's preferences in this terminal: of the command line, the environment and config.toml.

use crate::screen::{appearance_files, settings_files};
use anyhow::{Error, Result};
use lab_tui::chart::SymbolSet;
use lab_tui::request::Preferences;
use lab_tui::settings::Settings;
use lab_tui::theme::{Appearance, AppearanceChoice, Theme};
use std::path::Path;

/// The appearance for `choice`, the environment and the config, in this terminal.
pub fn appearance(choice: AppearanceChoice) -> Result<Appearance> {
    let choice = choice.or(AppearanceChoice::of_environment(env).map_err(Error::msg)?);
    let settings = settings_files::read(settings_files::file().as_deref()).map_err(Error::msg)?;
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
pub fn prefer(settings: Settings, choice: AppearanceChoice) -> Result<Preferences, String> {
    let Appearance { theme, .. } = choose(&settings, choice)?;
    let symbols = SymbolSet::choose(settings.ascii, env);
    let mouse = settings.hears_mouse(&env("TERM").unwrap_or_default());
    Ok(Preferences {
        settings,
        theme,
        symbols,
        mouse,
    })
}

/// Every theme by its name, in the depth that `choice` and config.toml ask for.
pub fn themes(config: Option<&Path>, choice: AppearanceChoice) -> Vec<(String, Theme)> {
    let settings = settings_files::read(config).unwrap_or_default();
    let choice = AppearanceChoice {
        theme: None,
        ..choice.or(settings.appearance())
    };
    let Ok(Appearance { depth, paint, .. }) =
        Appearance::choose(choice, env, appearance_files::find)
    else {
        return Vec::new();
    };
    let entries = appearance_files::catalogue().entries.into_iter();
    entries
        .map(|entry| (entry.name.clone(), entry.theme(depth, paint)))
        .collect()
}

/// The variable with this name.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
