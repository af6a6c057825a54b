//! How many colours the terminal can show: the user's setting, else what the environment tells.
//!
//! The conventions and their sources: `NO_COLOR` (<https://no-color.org>: set and not empty),
//! `CLICOLOR=0` (<https://bixense.com/clicolors/>), `FORCE_COLOR` with Node's levels 0 to 3
//! (<https://nodejs.org/api/tty.html#writestreamgetcolordepthenv>), `COLORTERM=truecolor` or
//! `24bit` and terminfo's `-direct` entries (<https://github.com/termstandard/colors>).

use lab_text::suggest::did_you_mean;
use std::fmt;

/// How many colours the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorDepth {
    /// No colours: bold, faint, underlined and reversed only.
    None,
    Ansi16,
    Ansi256,
    Rgb,
}

/// The words of the user's setting.
const WORDS: [(ColorDepth, &str); 4] = [
    (ColorDepth::None, "none"),
    (ColorDepth::Ansi16, "16"),
    (ColorDepth::Ansi256, "256"),
    (ColorDepth::Rgb, "truecolor"),
];

impl fmt::Display for ColorDepth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = WORDS.into_iter();
        let word = words.find(|(depth, _)| depth == self);
        f.write_str(word.map_or("", |(_, word)| word))
    }
}

/// Parses the user's setting. `None` for `auto`: the environment decides. Fails on an unknown word;
/// the error lists the known ones.
pub fn parse_color_depth(text: &str) -> Result<Option<ColorDepth>, String> {
    match WORDS.into_iter().find(|(_, word)| *word == text) {
        _ if text == "auto" => Ok(None),
        Some((depth, _)) => Ok(Some(depth)),
        None => {
            let near = did_you_mean(&text.to_lowercase(), ["auto", "none", "truecolor"]);
            Err(format!(
                "'{text}' is not a colour depth{near}: choose auto, none, 16, 256 or truecolor"
            ))
        }
    }
}

/// The depth that the environment tells; `env` looks a variable up.
pub fn detect_color_depth(env: impl Fn(&str) -> Option<String>) -> ColorDepth {
    let var = |name: &str| env(name).filter(|value| !value.is_empty());
    let term = var("TERM").unwrap_or_default();
    if var("NO_COLOR").is_some() {
        return ColorDepth::None;
    }
    match var("FORCE_COLOR").as_deref() {
        Some("0") => return ColorDepth::None,
        Some("1") => return ColorDepth::Ansi16,
        Some("2") => return ColorDepth::Ansi256,
        Some("3") => return ColorDepth::Rgb,
        _ => {}
    }
    if var("CLICOLOR").as_deref() == Some("0") || term == "dumb" {
        return ColorDepth::None;
    }
    let inside_tmux = var("TMUX").is_some() || term.starts_with("tmux");
    // GNU screen passes on the COLORTERM of the terminal that it was started in. Before version 5
    // it garbles 24-bit colours.
    let inside_screen = var("STY").is_some() || (term.starts_with("screen") && !inside_tmux);
    // In tmux COLORTERM may come from another terminal too, but tmux maps every colour to one that
    // the attached terminal can show.
    let is_stated = matches!(var("COLORTERM").as_deref(), Some("truecolor" | "24bit"));
    // These terminals show 24-bit colours. Over ssh COLORTERM is lost, but TERM names them.
    let is_known = [
        "xterm-kitty",
        "xterm-ghostty",
        "alacritty",
        "foot",
        "wezterm",
    ]
    .contains(&term.as_str());
    if !inside_screen && (is_stated || is_known || term.ends_with("-direct")) {
        return ColorDepth::Rgb;
    }
    if term.contains("256color") || is_stated || inside_tmux {
        return ColorDepth::Ansi256;
    }
    ColorDepth::Ansi16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NAME=value NAME=value`
    fn depth(vars: &str) -> ColorDepth {
        let vars: Vec<_> = vars
            .split(' ')
            .filter_map(|var| var.split_once('='))
            .collect();
        detect_color_depth(|name| {
            vars.iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn the_depth_follows_the_terminals_variables() {
        for (vars, expected) in [
            ("", ColorDepth::Ansi16),
            ("TERM=xterm", ColorDepth::Ansi16),
            ("TERM=linux", ColorDepth::Ansi16),
            ("TERM=xterm-256color", ColorDepth::Ansi256),
            ("TERM=xterm-256color COLORTERM=truecolor", ColorDepth::Rgb),
            ("TERM=xterm-256color COLORTERM=24bit", ColorDepth::Rgb),
            ("TERM=xterm-256color COLORTERM=yes", ColorDepth::Ansi256),
            ("TERM=xterm-direct", ColorDepth::Rgb),
            ("TERM=xterm-kitty", ColorDepth::Rgb),
            ("TERM=dumb COLORTERM=truecolor", ColorDepth::None),
        ] {
            assert_eq!(depth(vars), expected, "{vars}");
        }
    }

    #[test]
    fn the_users_variables_go_before_the_terminals() {
        for (vars, expected) in [
            ("TERM=xterm-256color NO_COLOR=1", ColorDepth::None),
            ("TERM=xterm-256color NO_COLOR=", ColorDepth::Ansi256),
            ("TERM=xterm-256color CLICOLOR=0", ColorDepth::None),
            ("TERM=xterm-256color CLICOLOR=1", ColorDepth::Ansi256),
            ("TERM=xterm FORCE_COLOR=3", ColorDepth::Rgb),
            ("TERM=xterm FORCE_COLOR=2", ColorDepth::Ansi256),
            ("TERM=xterm-direct FORCE_COLOR=1", ColorDepth::Ansi16),
            ("TERM=xterm FORCE_COLOR=0", ColorDepth::None),
            ("NO_COLOR=1 FORCE_COLOR=3", ColorDepth::None),
        ] {
            assert_eq!(depth(vars), expected, "{vars}");
        }
    }

    #[test]
    fn tmux_maps_colours_itself_and_screen_does_not() {
        for (vars, expected) in [
            ("TERM=tmux-256color", ColorDepth::Ansi256),
            ("TERM=screen TMUX=/tmp/t,1,0", ColorDepth::Ansi256),
            (
                "TERM=screen-256color TMUX=/tmp/t,1,0 COLORTERM=truecolor",
                ColorDepth::Rgb,
            ),
            ("TERM=tmux-256color COLORTERM=truecolor", ColorDepth::Rgb),
            ("TERM=screen", ColorDepth::Ansi16),
            (
                "TERM=screen-256color STY=1.a COLORTERM=truecolor",
                ColorDepth::Ansi256,
            ),
            (
                "TERM=screen.xterm-256color COLORTERM=truecolor",
                ColorDepth::Ansi256,
            ),
        ] {
            assert_eq!(depth(vars), expected, "{vars}");
        }
    }

    #[test]
    fn every_depth_is_parsed_from_its_name() {
        for depth in [
            ColorDepth::None,
            ColorDepth::Ansi16,
            ColorDepth::Ansi256,
            ColorDepth::Rgb,
        ] {
            assert_eq!(parse_color_depth(&depth.to_string()), Ok(Some(depth)));
        }
        assert_eq!(parse_color_depth("auto"), Ok(None));
        assert_eq!(
            parse_color_depth("1000").expect_err("it is not one"),
            "'1000' is not a colour depth: choose auto, none, 16, 256 or truecolor"
        );
    }
}
