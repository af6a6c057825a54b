//! How many colours the terminal can show, from its environment alone.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorDepth {
    /// `NO_COLOR` is set, or the terminal is dumb: bold, faint and reversed only.
    None,
    Ansi16,
    Ansi256,
    Rgb,
}

/// `env` looks a variable up.
pub fn color_depth(env: impl Fn(&str) -> Option<String>) -> ColorDepth {
    let term = env("TERM").unwrap_or_default();
    // no-color.org: set and not empty.
    if env("NO_COLOR").is_some_and(|v| !v.is_empty()) || term == "dumb" {
        return ColorDepth::None;
    }
    let colorterm = env("COLORTERM").unwrap_or_default();
    if colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct") {
        return ColorDepth::Rgb;
    }
    if term.contains("256color") {
        return ColorDepth::Ansi256;
    }
    ColorDepth::Ansi16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides() {
        let depth = |vars: &[(&str, &str)]| {
            color_depth(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(depth(&[]), ColorDepth::Ansi16);
        assert_eq!(depth(&[("TERM", "xterm")]), ColorDepth::Ansi16);
        assert_eq!(depth(&[("TERM", "tmux-256color")]), ColorDepth::Ansi256);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColorDepth::Rgb);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), ColorDepth::None);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("NO_COLOR", "")]), ColorDepth::Ansi256);
        assert_eq!(depth(&[("TERM", "dumb"), ("COLORTERM", "truecolor")]), ColorDepth::None);
    }
}
