//! The symbols that charts are drawn with: braille and blocks, or ASCII where the terminal cannot
//! show those.

use lab_protocol::ascii::{Choice, choose};
use ratatui::symbols::Marker;

/// The symbols of charts, chosen when the screen opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SymbolSet {
    #[default]
    Braille,
    Ascii,
}

impl SymbolSet {
    /// The symbols to use. `ascii` is the user's setting; `env` looks a variable up. The first of
    /// these decides: `LAB_ASCII` (0 asks for braille), the setting, the locale. Without a locale the
    /// symbols are braille.
    pub fn choose(ascii: Option<bool>, env: impl Fn(&str) -> Option<String>) -> Self {
        let is_ascii = match (choose(env), ascii) {
            (Choice::User(wanted), _) => wanted,
            (Choice::Locale(_), Some(ascii)) => ascii,
            (Choice::Locale(wanted), None) => wanted,
        };
        if is_ascii {
            SymbolSet::Ascii
        } else {
            SymbolSet::Braille
        }
    }

    /// `braille`, or `ascii` where charts are drawn in ASCII.
    pub fn pick<'a>(self, braille: &'a str, ascii: &'a str) -> &'a str {
        match self {
            SymbolSet::Braille => braille,
            SymbolSet::Ascii => ascii,
        }
    }

    /// The dots of a cell: across, down.
    pub(super) fn dots(self) -> (u16, u16) {
        match self {
            SymbolSet::Braille => (2, 4),
            SymbolSet::Ascii => (1, 1),
        }
    }

    /// The marker of ratatui's canvas; `ascii` is the character in ASCII.
    pub(super) fn marker(self, ascii: char) -> Marker {
        match self {
            SymbolSet::Braille => Marker::Braille,
            SymbolSet::Ascii => Marker::Custom(ascii),
        }
    }

    /// A cell filled to `eighths` of its height, 0 to 8.
    pub fn filled(self, eighths: usize) -> &'static str {
        const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        const ASCII: [&str; 9] = [" ", "_", ".", ".", ":", ":", "|", "|", "#"];
        let eighths = eighths.min(8);
        match self {
            SymbolSet::Braille => BLOCKS[eighths],
            SymbolSet::Ascii => ASCII[eighths],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_and_the_configuration_decide() {
        let choose = |ascii, vars: &[(&str, &str)]| {
            SymbolSet::choose(ascii, |name| {
                vars.iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(choose(None, &[]), SymbolSet::Braille);
        assert_eq!(choose(None, &[("LANG", "C.UTF-8")]), SymbolSet::Braille);
        assert_eq!(
            choose(None, &[("LANG", "en_US.utf8@euro")]),
            SymbolSet::Braille
        );
        assert_eq!(choose(None, &[("LANG", "C")]), SymbolSet::Ascii);
        assert_eq!(
            choose(None, &[("LANG", "en_US.UTF-8"), ("LC_ALL", "POSIX")]),
            SymbolSet::Ascii
        );
        assert_eq!(
            choose(None, &[("LANG", "en_US.UTF-8"), ("LC_ALL", "")]),
            SymbolSet::Braille
        );
        assert_eq!(choose(Some(true), &[("LANG", "C.UTF-8")]), SymbolSet::Ascii);
        assert_eq!(choose(Some(false), &[("LANG", "C")]), SymbolSet::Braille);
        assert_eq!(
            choose(Some(true), &[("LAB_ASCII", "0")]),
            SymbolSet::Braille
        );
        assert_eq!(choose(Some(false), &[("LAB_ASCII", "1")]), SymbolSet::Ascii);
    }
}
