//! The user's own settings: `config.toml` in `$LAB_CONFIG_DIR`, else in `~/.config/lab` (or where
//! `$XDG_CONFIG_HOME` says). What is wrong with it is said with its line and a suggestion; nothing of a wrong
//! file counts, so that no key means what its user does not expect.

pub mod editor;
mod keys;

use crate::keymap::Keymap;
use crate::theme::{Wish, is_path, said_depth};
use etcetera::{AppStrategy, AppStrategyArgs};
use lab_core::config;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::io;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// What the file is called.
pub const FILE: &str = "config.toml";

/// Overrides its folder.
pub const CONFIG_DIR: &str = "LAB_CONFIG_DIR";

/// How the end of a long run is told to somebody who looks elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    #[default]
    Off,
    /// The terminal's bell.
    Bell,
    /// OSC 9, which terminals show as the desktop's notification.
    Osc,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A theme's name or path.
    pub theme: Option<String>,
    /// Where the file says so, as errors name it: which themes there are is not known here.
    pub theme_at: Option<String>,
    /// `auto`, `none`, `16`, `256` or `truecolor`.
    pub color: Option<String>,
    /// Whether a theme's ground is painted over the terminal's own.
    pub paint: Option<bool>,
    /// Charts of plain ASCII.
    pub ascii: Option<bool>,
    pub mouse: bool,
    pub notify: Notify,
    /// A run counts as long from so many seconds on.
    pub notify_after_s: f64,
    /// Instead of `$VISUAL` and `$EDITOR`; it may say where file, line and column go.
    pub editor: Option<String>,
    pub keymap: Keymap,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            theme: None,
            theme_at: None,
            color: None,
            paint: None,
            ascii: None,
            mouse: false,
            notify: Notify::Off,
            notify_after_s: 10.0,
            editor: None,
            keymap: Keymap::built_in(),
        }
    }
}

/// The file as it is written, but for the keys: those have a room of their own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    theme: Option<Spanned<String>>,
    color: Option<Spanned<String>>,
    paint: Option<bool>,
    ascii: Option<bool>,
    mouse: Option<bool>,
    notify: Option<Notify>,
    notify_after_s: Option<Spanned<f64>>,
    editor: Option<Spanned<String>>,
    #[serde(rename = "preset")]
    _preset: Option<IgnoredAny>,
    #[serde(rename = "keys")]
    _keys: Option<IgnoredAny>,
    #[serde(rename = "presets")]
    _presets: Option<IgnoredAny>,
}

impl Settings {
    /// Reads the file; one that is not there says nothing.
    pub fn read(file: &Path) -> Result<Settings, String> {
        let shown_as = file.display().to_string();
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Settings::default()),
            Err(error) => return Err(format!("cannot read {shown_as}: {error}")),
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let mut settings = Settings::parse(text, &shown_as)?;
                settings.theme = settings.theme.map(|theme| located(theme, file));
                Ok(settings)
            }
            Err(error) => {
                let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let at = config::place(&text, &shown_as, text.len());
                Err(format!("{at}: this byte is not of UTF-8 text: save the file as UTF-8"))
            }
        }
    }

    /// `shown_as` is what errors call the file.
    pub fn parse(text: &str, shown_as: &str) -> Result<Settings, String> {
        let written: Written =
            toml::from_str(text).map_err(|error| config::complaint(text, shown_as, &error))?;
        let wrong = |at: usize, what: String| format!("{}: {what}", config::place(text, shown_as, at));
        let keymap = keys::parse(text).map_err(|error| wrong(error.at, error.what))?;
        let default = Settings::default();
        if let Some(color) = &written.color {
            said_depth(color.get_ref()).map_err(|what| wrong(color.span().start, what))?;
        }
        if let Some(seconds) = written.notify_after_s.as_ref().filter(|s| !(0.0..=1e6).contains(s.get_ref()))
        {
            let what =
                format!("notify_after_s = {}: it must be from 0 to 1000000 seconds", seconds.get_ref());
            return Err(wrong(seconds.span().start, what));
        }
        if let Some(editor) = &written.editor {
            editor::check(editor.get_ref()).map_err(|what| wrong(editor.span().start, what))?;
        }
        Ok(Settings {
            theme_at: written.theme.as_ref().map(|theme| config::place(text, shown_as, theme.span().start)),
            theme: written.theme.map(Spanned::into_inner),
            color: written.color.map(Spanned::into_inner),
            paint: written.paint,
            ascii: written.ascii,
            mouse: written.mouse.unwrap_or(default.mouse),
            notify: written.notify.unwrap_or(default.notify),
            notify_after_s: written.notify_after_s.map_or(default.notify_after_s, Spanned::into_inner),
            editor: written.editor.map(Spanned::into_inner),
            keymap,
        })
    }
}

impl Settings {
    /// What the config says of the looks.
    pub fn wish(&self) -> Wish {
        Wish { theme: self.theme.clone(), color: self.color.clone(), paint: self.paint }
    }
}

/// A scheme's path as the file means it: `~/` is the user's home, and what is relative begins where the file lies. A
/// theme's name stays.
fn located(theme: String, file: &Path) -> String {
    if !is_path(&theme) {
        return theme;
    }
    let home = || etcetera::home_dir().ok();
    let path = match theme.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
        Some(path) => path,
        None => file.parent().map_or_else(|| theme.clone().into(), |folder| folder.join(&theme)),
    };
    path.to_string_lossy().into_owned()
}

/// The folder of the user's settings; `None` where nobody knows a home.
pub fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os(CONFIG_DIR).filter(|folder| !folder.is_empty()) {
        return Some(PathBuf::from(given));
    }
    let names =
        AppStrategyArgs { top_level_domain: String::new(), author: String::new(), app_name: "lab".into() };
    Some(etcetera::app_strategy::Xdg::new(names).ok()?.config_dir())
}

/// Where the file is, or would be.
pub fn file() -> Option<PathBuf> {
    Some(folder()?.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each file of `tests/configs/bad` says in its first line what is to be said of it; those of `good`
    /// are read without a word. A further case is a further file.
    #[test]
    fn the_configs_of_the_tests_are_read_or_refused_as_they_say() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/configs");
        let mut count = 0;
        let mut other = Vec::new();
        for kind in ["good", "bad"] {
            for entry in std::fs::read_dir(folder.join(kind)).expect("the folder is there").flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(entry.path()).expect("a file of text");
                let expected = text.lines().next().and_then(|line| line.strip_prefix("# config.toml"));
                assert_eq!(
                    expected.is_some(),
                    kind == "bad",
                    "{kind}/{name}: its first line says what is wrong"
                );
                let said = Settings::parse(&text, "config.toml").err();
                if said != expected.map(|expected| format!("config.toml{expected}")) {
                    other.push(format!(
                        "{kind}/{name}: {}",
                        said.unwrap_or_else(|| "nothing is said of it".into())
                    ));
                }
                count += 1;
            }
        }
        assert!(other.is_empty(), "{}", other.join("\n"));
        assert!(count > 20, "{count} files");
    }

    #[test]
    fn no_file_is_the_defaults_and_an_unreadable_one_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(Settings::read(&folder.path().join(FILE)), Ok(Settings::default()));
        assert_eq!(Settings::parse("", "config.toml"), Ok(Settings::default()));
        let said = Settings::read(folder.path()).expect_err("a folder is no file");
        assert!(said.starts_with("cannot read "), "{said}");
        let file = folder.path().join(FILE);
        std::fs::write(&file, b"mouse = true\neditor = \"\xe9d\"\n").expect("a file");
        let said = Settings::read(&file).expect_err("it is Latin-1");
        assert!(
            said.ends_with("config.toml:2:11: this byte is not of UTF-8 text: save the file as UTF-8"),
            "{said}"
        );
    }

    #[test]
    fn a_schemes_path_begins_where_the_file_lies_or_at_home() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(FILE);
        let theme = |written: &str| {
            std::fs::write(&file, format!("theme = \"{written}\"\n")).expect("a file");
            Settings::read(&file).expect("it is in order").theme.expect("a theme")
        };
        assert_eq!(theme("nord"), "nord");
        assert_eq!(theme("/themes/x.yaml"), "/themes/x.yaml");
        assert_eq!(theme("mine.yaml"), folder.path().join("mine.yaml").display().to_string());
        assert!(theme("~/x.yaml").starts_with('/') && theme("~/x.yaml").ends_with("/x.yaml"));
    }

    #[test]
    fn what_is_written_counts() {
        let text = "theme = \"nord\"\nmouse = true\nnotify = \"bell\"\nnotify_after_s = 2\n";
        let settings = Settings::parse(text, "config.toml").expect("it is in order");
        assert_eq!(settings.theme.as_deref(), Some("nord"));
        assert!(settings.mouse && settings.notify == Notify::Bell && settings.notify_after_s == 2.0);
    }
}
