//! What the user wants the screen to look like, from the command line, the environment and the config: the
//! first that says something decides.

use super::Theme;
use super::catalogue::{Catalogue, TERMINAL};
use super::depth::{ColorDepth, color_depth, said_depth};

/// What one place says; `None` leaves it to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// A theme's name, or a scheme's path.
    pub theme: Option<String>,
    /// `auto`, `none`, `16`, `256` or `truecolor`.
    pub color: Option<String>,
    /// Whether the scheme's ground is painted over the terminal's own.
    pub paint: Option<bool>,
}

impl Wish {
    /// `LAB_THEME`, `LAB_COLOR`, `LAB_PAINT`; an empty variable says nothing.
    pub fn of_environment(env: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let var = |name: &str| env(name).filter(|value| !value.is_empty());
        let paint = match var("LAB_PAINT").as_deref() {
            None => None,
            Some("1") => Some(true),
            Some("0") => Some(false),
            Some(other) => return Err(format!("LAB_PAINT is '{other}': it is 1 or 0")),
        };
        Ok(Wish { theme: var("LAB_THEME"), color: var("LAB_COLOR"), paint })
    }

    /// This wish, and what it leaves open from another.
    pub fn or(self, other: Wish) -> Self {
        Wish {
            theme: self.theme.or(other.theme),
            color: self.color.or(other.color),
            paint: self.paint.or(other.paint),
        }
    }
}

/// How the screen is drawn; a theme that is chosen later keeps depth and paint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looks {
    pub theme: Theme,
    /// The name or path that was asked for.
    pub name: String,
    pub depth: ColorDepth,
    pub paint: bool,
}

impl Looks {
    /// `env` tells what the terminal can show. The catalogue is asked for only where a theme is named. The error
    /// says what to do.
    pub fn choose(
        wish: Wish,
        env: impl Fn(&str) -> Option<String>,
        catalogue: impl FnOnce() -> Catalogue,
    ) -> Result<Self, String> {
        let said = wish.color.as_deref().map(said_depth).transpose()?.flatten();
        let depth = said.unwrap_or_else(|| color_depth(env));
        let paint = wish.paint.unwrap_or(false);
        let name = wish.theme.unwrap_or_else(|| TERMINAL.to_owned());
        let theme = match (name.as_str(), depth) {
            (TERMINAL, ColorDepth::None) => Theme::plain(),
            (TERMINAL, _) => Theme::ansi(),
            (name, depth) => catalogue().choose(name, depth, paint)?,
        };
        Ok(Looks { theme, name, depth, paint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        |name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
    }

    fn wish(theme: &str, color: &str) -> Wish {
        let said = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        Wish { theme: said(theme), color: said(color), paint: None }
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_the_config() {
        let around = env(&[("LAB_THEME", "nord"), ("LAB_COLOR", "16"), ("LAB_PAINT", "1")]);
        let around = Wish::of_environment(around).expect("it is in order");
        let both = wish("dracula", "").or(around).or(wish("one-dark", "256"));
        assert_eq!(both, Wish { paint: Some(true), ..wish("dracula", "16") });
        assert_eq!(Wish::of_environment(env(&[("LAB_THEME", "")])), Ok(Wish::default()));
        let said = Wish::of_environment(env(&[("LAB_PAINT", "yes")])).expect_err("it is unclear");
        assert_eq!(said, "LAB_PAINT is 'yes': it is 1 or 0");
    }

    #[test]
    fn a_depth_that_is_said_goes_before_what_the_terminal_tells() {
        let chosen = |wish: Wish| {
            Looks::choose(wish, env(&[("NO_COLOR", "1"), ("TERM", "xterm")]), Catalogue::built_in)
                .expect("it is in order")
        };
        assert_eq!(chosen(wish("nord", "")).theme, Theme::plain());
        assert_eq!(chosen(wish("nord", "auto")).depth, ColorDepth::None);
        assert_eq!(chosen(wish("nord", "truecolor")).depth, ColorDepth::Rgb);
        assert_eq!(chosen(wish("", "16")).theme, Theme::ansi());
        assert!(Looks::choose(wish("", "8"), env(&[]), Catalogue::built_in).is_err());
    }
}
