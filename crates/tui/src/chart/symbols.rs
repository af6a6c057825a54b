//! The symbols that charts are drawn with: braille and blocks, or ASCII where the terminal cannot
//! show those.

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
    /// these decides: `LAB_ASCII` (0 asks for braille), the setting, the locale. The locale is the
    /// first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not empty (POSIX, XBD 8.2). Without a
    /// locale the symbols are braille: containers set no locale, and their terminals show braille.
    pub fn choose(ascii: Option<bool>, env: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| env(name).filter(|value| !value.is_empty());
        let is_ascii = match (var("LAB_ASCII"), ascii) {
            (Some(word), _) => !matches!(word.as_str(), "0" | "no" | "false"),
            (None, Some(ascii)) => ascii,
            (None, None) => {
                let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var);
                locale.is_some_and(|locale| !is_utf8(&locale))
            }
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

/// Whether a locale is UTF-8: `en_US.UTF-8` and `C.utf8` are; `C`, `POSIX` and `de_DE.ISO-8859-1`
/// are not.
fn is_utf8(locale: &str) -> bool {
    let codeset = locale
        .split('@')
        .next()
        .and_then(|locale| locale.split_once('.'))
        .map(|(_, set)| set);
    codeset.is_some_and(|set| matches!(set.to_ascii_lowercase().as_str(), "utf-8" | "utf8"))
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
