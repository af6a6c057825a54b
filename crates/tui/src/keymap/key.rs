//! One key, as the table and the config write it (`c`, `G`, `ctrl-u`, `shift-tab`, `esc`) and as
//! the screen shows it (`Ctrl-U`, `Esc`, `↑`). Both forms are parsed.

use lab_text::suggest::nearest;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The keys with names: the name in the config, the label on the screen, the code.
const NAMED: [(&str, &str, KeyCode); 17] = [
    ("tab", "Tab", KeyCode::Tab),
    ("shift-tab", "Shift-Tab", KeyCode::BackTab),
    ("enter", "Enter", KeyCode::Enter),
    ("esc", "Esc", KeyCode::Esc),
    ("space", "Space", KeyCode::Char(' ')),
    ("backspace", "Backspace", KeyCode::Backspace),
    ("delete", "Delete", KeyCode::Delete),
    ("insert", "Insert", KeyCode::Insert),
    ("up", "↑", KeyCode::Up),
    ("down", "↓", KeyCode::Down),
    ("left", "←", KeyCode::Left),
    ("right", "→", KeyCode::Right),
    ("home", "Home", KeyCode::Home),
    ("end", "End", KeyCode::End),
    ("pageup", "PgUp", KeyCode::PageUp),
    ("pagedown", "PgDn", KeyCode::PageDown),
    ("minus", "-", KeyCode::Char('-')),
];

const FUNCTION_KEYS: std::ops::RangeInclusive<u8> = 1..=12;

/// A key with its modifiers. Shift is part of the letter: `G`.
///
/// ```
/// use lab_tui::keymap::Key;
///
/// let key = Key::parse("ctrl-u").unwrap();
/// assert_eq!(key.label(), "Ctrl-U");
/// assert_eq!(Key::parse("Ctrl-U"), Some(key));
/// assert_eq!(Key::suggestion("pgeup").as_deref(), Some("pageup"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
}

impl Key {
    /// Parses a key. Names are accepted in any case. The case of a letter counts, except with Ctrl,
    /// where terminals report no capitals. `None` where the text is not a key.
    pub fn parse(text: &str) -> Option<Key> {
        let mut rest = text;
        let (mut ctrl, mut alt) = (false, false);
        loop {
            if let Some(after) = without_prefix(rest, "ctrl-") {
                (ctrl, rest) = (true, after);
            } else if let Some(after) = without_prefix(rest, "alt-") {
                (alt, rest) = (true, after);
            } else {
                break;
            }
        }
        Some(
            Key {
                code: code(rest)?,
                ctrl,
                alt,
            }
            .normalized(),
        )
    }

    /// The one value of a key, however it was written or sent.
    fn normalized(self) -> Key {
        let code = match self.code {
            KeyCode::Char(letter) if self.ctrl => KeyCode::Char(letter.to_ascii_lowercase()),
            code => code,
        };
        Key { code, ..self }
    }

    /// Its label on the screen: `Esc`, `Ctrl-Z`, a letter as it is.
    pub fn label(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(letter) if self.ctrl => letter.to_ascii_uppercase().to_string(),
            KeyCode::Char(letter) => letter.to_string(),
            KeyCode::F(number) => format!("F{number}"),
            code => NAMED
                .iter()
                .find(|(_, _, c)| *c == code)
                .map_or_else(String::new, |n| n.1.to_owned()),
        };
        let modifier = |is_held: bool, name: &'static str| if is_held { name } else { "" };
        format!(
            "{}{}{name}",
            modifier(self.ctrl, "Ctrl-"),
            modifier(self.alt, "Alt-")
        )
    }

    /// Whether the key types a character in an input line.
    pub fn types(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && !self.ctrl && !self.alt
    }

    /// The event that a terminal sends for the key; for tests that press keys.
    pub fn event(self) -> KeyEvent {
        let mut modifiers = KeyModifiers::NONE;
        modifiers.set(KeyModifiers::CONTROL, self.ctrl);
        modifiers.set(KeyModifiers::ALT, self.alt);
        KeyEvent::new(self.code, modifiers)
    }

    /// The name of the key nearest to an unknown name, if one is near.
    pub fn suggestion(unknown: &str) -> Option<String> {
        let named = NAMED.iter().map(|(name, _, _)| (*name).to_owned());
        let functions = FUNCTION_KEYS.map(|number| format!("f{number}"));
        let letters =
            ('a'..='z').flat_map(|letter| [format!("ctrl-{letter}"), format!("alt-{letter}")]);
        let all: Vec<String> = named.chain(functions).chain(letters).collect();
        nearest(&unknown.to_lowercase(), all.iter().map(String::as_str)).map(str::to_owned)
    }
}

fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    text.get(prefix.len()..)
        .filter(|rest| !rest.is_empty() && head.eq_ignore_ascii_case(prefix))
}

fn code(name: &str) -> Option<KeyCode> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next())
        && !NAMED
            .iter()
            .any(|(_, label, code)| *label == name && !matches!(code, KeyCode::Char(_)))
    {
        return (!letter.is_control()).then_some(KeyCode::Char(letter));
    }
    let number = name
        .strip_prefix(['f', 'F'])
        .and_then(|digits| digits.parse().ok());
    if let Some(number) = number.filter(|number| FUNCTION_KEYS.contains(number)) {
        return Some(KeyCode::F(number));
    }
    let is_it = |(written, shown, _): &&(&str, &str, KeyCode)| {
        written.eq_ignore_ascii_case(name) || shown.eq_ignore_ascii_case(name)
    };
    NAMED.iter().find(is_it).map(|(_, _, code)| *code)
}

impl From<KeyEvent> for Key {
    /// Drops Shift: the letter includes it (`G`), and only some terminals report it as well.
    fn from(event: KeyEvent) -> Self {
        let code = match event.code {
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
            code => code,
        };
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        Key {
            code,
            ctrl,
            alt: event.modifiers.contains(KeyModifiers::ALT),
        }
        .normalized()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key() -> impl Strategy<Value = Key> {
        let letter =
            any::<char>().prop_filter("a key is not a control character", |c| !c.is_control());
        let code = prop_oneof![
            letter.prop_map(KeyCode::Char),
            proptest::char::range(' ', '~').prop_map(KeyCode::Char),
            FUNCTION_KEYS.prop_map(KeyCode::F),
            proptest::sample::select(NAMED.map(|(_, _, code)| code).to_vec()),
        ];
        (code, any::<bool>(), any::<bool>())
            .prop_map(|(code, ctrl, alt)| Key { code, ctrl, alt }.normalized())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_label_is_parsed_as_its_key_and_an_event_is_its_key(key in key()) {
            prop_assert_eq!(Key::parse(&key.label()), Some(key), "{}", key.label());
            prop_assert_eq!(Key::from(key.event()), key);
        }

        #[test]
        fn parsing_any_text_never_panics(text in ".{0,12}") {
            if let Some(key) = Key::parse(&text) {
                prop_assert_eq!(Key::parse(&key.label()), Some(key));
            }
        }
    }

    #[test]
    fn what_a_terminal_sends_is_the_key_in_the_config() {
        let sent = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Key::parse("G"), Some(Key::from(sent)));
        let sent = KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL);
        assert_eq!(Key::parse("ctrl-z"), Some(Key::from(sent)));
        assert_eq!(Key::parse("Ctrl-Z"), Some(Key::from(sent)));
        let sent = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Key::parse("shift-tab"), Some(Key::from(sent)));
        for wrong in ["nokey", "", "ctrl-", "f0", "f13", "\n", "ctrl-nokey"] {
            assert_eq!(Key::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        assert_eq!(Key::suggestion("ctl-k").as_deref(), Some("ctrl-k"));
        assert_eq!(Key::suggestion("Pageupp").as_deref(), Some("pageup"));
        for wrong in ["hyperspace", "", "xy?"] {
            assert_eq!(Key::suggestion(wrong), None, "{wrong}");
        }
    }
}
