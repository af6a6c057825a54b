//! The appearance that the user chose: on the command line, in the environment, in config.toml. The
//! first of them that states a value decides.

use super::Theme;
use super::catalogue::{TERMINAL, ThemeEntry};
use super::color_depth::{ColorDepth, detect_color_depth, parse_color_depth};

/// What one source (the command line, the environment, config.toml) asks for. `None` leaves the
/// value to the next source.
///
/// ```
/// use lab_tui::theme::AppearanceChoice;
///
/// let command_line = AppearanceChoice { theme: Some("nord".into()), ..AppearanceChoice::default() };
/// let config = AppearanceChoice { theme: Some("dracula".into()), paint: Some(true), ..AppearanceChoice::default() };
/// let both = command_line.or(config);
/// assert_eq!((both.theme.as_deref(), both.paint), (Some("nord"), Some(true)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppearanceChoice {
    /// A theme's name, or the path of a scheme's file.
    pub theme: Option<String>,
    /// `auto`, `none`, `16`, `256` or `truecolor`.
    pub color: Option<String>,
    /// Whether the scheme's background is painted over the terminal's own.
    pub paint: Option<bool>,
}

impl AppearanceChoice {
    /// Reads `LAB_THEME`, `LAB_COLOR` and `LAB_PAINT`; an empty variable counts as unset. `env`
    /// looks a variable up. Fails where `LAB_PAINT` is neither 1 nor 0.
    pub fn of_environment(env: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let var = |name: &str| env(name).filter(|value| !value.is_empty());
        let paint = match var("LAB_PAINT").as_deref() {
            None => None,
            Some("1") => Some(true),
            Some("0") => Some(false),
            Some(other) => return Err(format!("LAB_PAINT is '{other}': it must be 1 or 0")),
        };
        Ok(AppearanceChoice {
            theme: var("LAB_THEME"),
            color: var("LAB_COLOR"),
            paint,
        })
    }

    /// This choice, with the values it leaves open taken from `other`.
    #[must_use]
    pub fn or(self, other: AppearanceChoice) -> Self {
        AppearanceChoice {
            theme: self.theme.or(other.theme),
            color: self.color.or(other.color),
            paint: self.paint.or(other.paint),
        }
    }
}

/// How the screen is drawn. A theme that the user chooses later is drawn with the same depth and
/// paint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appearance {
    pub theme: Theme,
    /// The name or the path of the theme.
    pub name: String,
    pub depth: ColorDepth,
    pub paint: bool,
}

impl Appearance {
    /// The appearance for a choice. `env` looks up the variables that tell what the terminal can
    /// show. `find` looks up a theme by its name or path; it is called only where the choice names
    /// a theme other than the terminal's own. Fails where the depth or the theme is unknown; the
    /// error says what to do.
    pub fn choose(
        choice: AppearanceChoice,
        env: impl Fn(&str) -> Option<String>,
        find: impl FnOnce(&str) -> Result<ThemeEntry, String>,
    ) -> Result<Self, String> {
        let stated = choice
            .color
            .as_deref()
            .map(parse_color_depth)
            .transpose()?
            .flatten();
        let depth = stated.unwrap_or_else(|| detect_color_depth(env));
        let paint = choice.paint.unwrap_or(false);
        let name = choice.theme.unwrap_or_else(|| TERMINAL.to_owned());
        let theme = match (name.as_str(), depth) {
            (TERMINAL, ColorDepth::None) => Theme::plain(),
            (TERMINAL, _) => Theme::ansi(),
            (name, depth) => find(name)?.theme(depth, paint),
        };
        Ok(Appearance {
            theme,
            name,
            depth,
            paint,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Catalogue;
    use super::*;

    fn env(vars: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        |name| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        }
    }

    fn choice(theme: &str, color: &str) -> AppearanceChoice {
        let stated = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        AppearanceChoice {
            theme: stated(theme),
            color: stated(color),
            paint: None,
        }
    }

    fn built_in(name: &str) -> Result<ThemeEntry, String> {
        Catalogue::built_in().find(name).cloned()
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_the_config() {
        let environment = env(&[
            ("LAB_THEME", "nord"),
            ("LAB_COLOR", "16"),
            ("LAB_PAINT", "1"),
        ]);
        let environment = AppearanceChoice::of_environment(environment).expect("it is in order");
        let both = choice("dracula", "")
            .or(environment)
            .or(choice("one-dark", "256"));
        assert_eq!(
            both,
            AppearanceChoice {
                paint: Some(true),
                ..choice("dracula", "16")
            }
        );
        assert_eq!(
            AppearanceChoice::of_environment(env(&[("LAB_THEME", "")])),
            Ok(AppearanceChoice::default())
        );
        let error = AppearanceChoice::of_environment(env(&[("LAB_PAINT", "yes")]))
            .expect_err("yes is neither");
        assert_eq!(error, "LAB_PAINT is 'yes': it must be 1 or 0");
    }

    #[test]
    fn a_stated_depth_goes_before_what_the_terminal_tells() {
        let chosen = |choice: AppearanceChoice| {
            Appearance::choose(
                choice,
                env(&[("NO_COLOR", "1"), ("TERM", "xterm")]),
                built_in,
            )
            .expect("it is in order")
        };
        assert_eq!(chosen(choice("nord", "")).theme, Theme::plain());
        assert_eq!(chosen(choice("nord", "auto")).depth, ColorDepth::None);
        assert_eq!(chosen(choice("nord", "truecolor")).depth, ColorDepth::Rgb);
        assert_eq!(chosen(choice("", "16")).theme, Theme::ansi());
        assert!(Appearance::choose(choice("", "8"), env(&[]), built_in).is_err());
    }
}
