//! The user's settings: the text of `config.toml`, parsed. An error names its line and suggests a
//! correction. A file with an error is not used at all: a key must never do what its user does not
//! expect. Reading the file is the caller's work.

pub mod editor;
pub(crate) mod keys;

use crate::keymap::Keymap;
use crate::theme::{AppearanceChoice, parse_color_depth};
use lab_text::toml_error;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::de::DeTable;

/// How the screen tells the end of a long run to a user who looks elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    #[default]
    Off,
    /// The terminal's bell.
    Bell,
    /// The control sequence OSC 9, which terminals show as a desktop notification.
    Osc,
}

/// The settings of config.toml; a setting that the file does not state has its default.
///
/// ```
/// use lab_tui::keymap::Action;
/// use lab_tui::settings::Settings;
///
/// let settings = Settings::parse("mouse = true\n[keys]\nkeep = \"K\"\n", "config.toml").unwrap();
/// assert_eq!(settings.mouse, Some(true));
/// assert_eq!(settings.keymap.key(Action::Keep), "K");
/// let error = Settings::parse("muose = true\n", "config.toml").unwrap_err();
/// assert!(error.starts_with("config.toml:1:1: "), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A theme's name or path.
    pub theme: Option<String>,
    /// Where the file states the theme, as `FILE:LINE:COLUMN`. Errors name it: which themes exist
    /// is not known here.
    #[serde(skip)]
    pub theme_at: Option<String>,
    /// `auto`, `none`, `16`, `256` or `truecolor`.
    pub color: Option<String>,
    /// Whether a theme's background is painted over the terminal's own.
    pub paint: Option<bool>,
    /// Whether charts are drawn in ASCII only. `None`: the environment decides.
    pub ascii: Option<bool>,
    /// Whether the screen hears the mouse. `None`: it does where the terminal passes it.
    pub mouse: Option<bool>,
    pub notify: Notify,
    /// A run that takes at least this many seconds is a long run.
    pub notify_after_s: f64,
    /// The editor's command line, used instead of `$VISUAL` and `$EDITOR`. It may hold the
    /// placeholders of [`editor`].
    pub editor: Option<String>,
    /// What `keys` parses: `preset`, `keys` and `presets`.
    #[serde(skip)]
    pub keymap: Keymap,
    #[serde(rename = "preset")]
    _preset: IgnoredAny,
    #[serde(rename = "keys")]
    _keys: IgnoredAny,
    #[serde(rename = "presets")]
    _presets: IgnoredAny,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            theme: None,
            theme_at: None,
            color: None,
            paint: None,
            ascii: None,
            mouse: None,
            notify: Notify::Off,
            notify_after_s: 10.0,
            editor: None,
            keymap: Keymap::built_in(),
            _preset: IgnoredAny,
            _keys: IgnoredAny,
            _presets: IgnoredAny,
        }
    }
}

impl Settings {
    /// Parses the bytes of a config.toml, like [`Settings::parse`]. Fails if they are not
    /// UTF-8, too.
    pub fn parse_bytes(bytes: &[u8], shown_as: &str) -> Result<Settings, String> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Settings::parse(text, shown_as),
            Err(error) => {
                let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let at = toml_error::position(&text, shown_as, text.len());
                Err(format!(
                    "{at}: this byte is not UTF-8 text: save the file as UTF-8"
                ))
            }
        }
    }

    /// Parses the text of a config.toml. `shown_as` is the file's name in errors; an error begins
    /// with `FILE:LINE:COLUMN: `.
    pub fn parse(text: &str, shown_as: &str) -> Result<Settings, String> {
        let explain = |error| toml_error::explain(text, shown_as, &error);
        let mut settings: Settings = toml::from_str(text).map_err(explain)?;
        let document = DeTable::parse(text).map_err(explain)?;
        let document = document.get_ref();
        let start = |key: &str| document.get(key).map_or(0, |value| value.span().start);
        let place = |at: usize| toml_error::position(text, shown_as, at);
        let error_at = |at: usize, what: String| format!("{}: {what}", place(at));
        settings.keymap =
            keys::parse(document).map_err(|error| error_at(error.at, error.message))?;
        if let Some(color) = &settings.color {
            parse_color_depth(color).map_err(|what| error_at(start("color"), what))?;
        }
        let seconds = settings.notify_after_s;
        if !(0.0..=1e6).contains(&seconds) {
            let what = format!("notify_after_s = {seconds}: it must be from 0 to 1000000 seconds");
            return Err(error_at(start("notify_after_s"), what));
        }
        if let Some(editor) = &settings.editor {
            editor::check(editor).map_err(|what| error_at(start("editor"), what))?;
        }
        settings.theme_at = settings.theme.as_ref().map(|_| place(start("theme")));
        Ok(settings)
    }

    /// Whether the screen hears the mouse at first: as the file says, else where the terminal passes
    /// it. `term` is `$TERM`: consoles without a window system pass none.
    pub fn hears_mouse(&self, term: &str) -> bool {
        let is_console =
            ["linux", "dumb", "cons25", "ansi"].contains(&term) || term.starts_with("vt");
        self.mouse.unwrap_or(!is_console && !term.is_empty())
    }

    /// The appearance that the file asks for.
    pub fn appearance(&self) -> AppearanceChoice {
        AppearanceChoice {
            theme: self.theme.clone(),
            color: self.color.clone(),
            paint: self.paint,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The first line of each file in `tests/configs/bad` is the expected error. The files in
    /// `tests/configs/good` are accepted. A new file is a new case.
    #[test]
    fn the_good_configs_are_accepted_and_the_bad_ones_refused() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/configs");
        let mut count = 0;
        let mut unexpected = Vec::new();
        for kind in ["good", "bad"] {
            for entry in std::fs::read_dir(folder.join(kind))
                .expect("the folder is there")
                .flatten()
            {
                let name = entry.file_name().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(entry.path()).expect("a file of text");
                let expected = text
                    .lines()
                    .next()
                    .and_then(|line| line.strip_prefix("# config.toml"));
                assert_eq!(
                    expected.is_some(),
                    kind == "bad",
                    "{kind}/{name}: the first line of a bad config is its error"
                );
                let error = Settings::parse(&text, "config.toml").err();
                if error != expected.map(|expected| format!("config.toml{expected}")) {
                    unexpected.push(format!(
                        "{kind}/{name}: {}",
                        error.unwrap_or_else(|| "it is accepted".into())
                    ));
                }
                count += 1;
            }
        }
        assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
        assert!(count > 20, "{count} files");
    }

    #[test]
    fn an_empty_file_gives_the_defaults_and_bytes_that_are_not_text_an_error() {
        assert_eq!(Settings::parse("", "config.toml"), Ok(Settings::default()));
        let error = Settings::parse_bytes(b"mouse = true\neditor = \"\xe9d\"\n", "config.toml");
        let expected = "config.toml:2:11: this byte is not UTF-8 text: save the file as UTF-8";
        assert_eq!(error, Err(expected.to_owned()));
    }

    #[test]
    fn stated_settings_replace_the_defaults() {
        let text = "theme = \"nord\"\nmouse = true\nnotify = \"bell\"\nnotify_after_s = 2\n";
        let settings = Settings::parse(text, "config.toml").expect("it is in order");
        assert_eq!(settings.theme.as_deref(), Some("nord"));
        assert!(
            settings.mouse == Some(true)
                && settings.notify == Notify::Bell
                && settings.notify_after_s == 2.0
        );
    }
}
