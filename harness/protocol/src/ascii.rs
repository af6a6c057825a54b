//! Text in ASCII, for a terminal whose locale has nothing else: each sign becomes one that looks alike. The
//! screen and the commands use the same signs.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Signs, each with its likeness. The second character of a likeness takes a blank behind the sign.
const LIKE: [(&str, &str); 49] = [
    ("─━┄╌–—−⁻", "-"),
    ("│┃┆┊", "|"),
    ("┬┴┼├┤┌┐└┘╭╮╰╯┰┸╋┣┫┛", "+"),
    ("●", "O"),
    ("◉", "@"),
    ("◆◐◓◑◒•", "*"),
    ("○◇", "o"),
    ("·∙", "-"),
    ("✓", "v"),
    ("✗×☠", "x"),
    ("∅", "0"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("≈", "~"),
    ("±", "+-"),
    ("…", ".."),
    ("▸▶›→⇒", ">"),
    ("◂◀‹←", "<"),
    ("▲▴↑", "^"),
    ("▼▾↓", "v"),
    ("█▇▰■", "#"),
    ("▆", "="),
    ("▅", "-"),
    ("▄▃▂▁", "_"),
    ("▱░□", "."),
    ("▒", ":"),
    ("▓", "%"),
    ("▀", "\""),
    ("µμ", "u"),
    ("°", "'"),
    ("⁰", "0"),
    ("¹", "1"),
    ("²", "2"),
    ("³", "3"),
    ("⁴", "4"),
    ("⁵", "5"),
    ("⁶", "6"),
    ("⁷", "7"),
    ("⁸", "8"),
    ("⁹", "9"),
    ("“”", "\""),
    ("‘’", "'"),
    ("⇧", "^"),
    ("⏎↵", "<"),
    ("Δ", "d"),
    ("σ", "s"),
    ("½", "."),
    ("\u{a0}", " "),
];

/// The likeness of a sign, in one or two characters of ASCII. `None` for any other character.
pub fn like(sign: char) -> Option<&'static str> {
    let known = LIKE.iter().find(|(signs, _)| signs.contains(sign));
    known.map(|(_, likeness)| *likeness)
}

/// The line with each sign replaced by its likeness. Letters of other scripts, which the user wrote, stay. As far as
/// a blank follows a sign with a longer likeness, columns stay where they are.
///
/// ```
/// use lab_protocol::ascii::in_ascii;
///
/// assert_eq!(in_ascii("✓ git → µs ≤ 5 …"), "v git > us <=5 ..");
/// assert_eq!(in_ascii("café"), "café");
/// ```
pub fn in_ascii(line: &str) -> Cow<'_, str> {
    if line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(likeness) = like(letter) else {
            text.push(letter);
            continue;
        };
        text += likeness;
        if likeness.len() > 1 {
            letters.next_if_eq(&' ');
        }
    }
    Cow::Owned(text)
}

/// Whether the user wants ASCII: by `LAB_ASCII` (0 asks for all signs), else by the locale, the first of `LC_ALL`,
/// `LC_CTYPE` and `LANG` that is not empty (POSIX, XBD 8.2). Without a locale all signs are used: containers set none, and
/// their terminals show all signs.
pub fn choose(env: impl Fn(&str) -> Option<String>) -> Choice {
    let var = |name: &str| env(name).filter(|value| !value.is_empty());
    if let Some(word) = var("LAB_ASCII") {
        return Choice::User(!matches!(word.as_str(), "0" | "no" | "false"));
    }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var);
    Choice::Locale(locale.is_some_and(|locale| !is_utf8(&locale)))
}

/// Whether text is in ASCII, and who said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// `LAB_ASCII` of the environment.
    User(bool),
    /// The locale, after whatever a user set.
    Locale(bool),
}

/// Whether what this process prints for people is in ASCII.
pub(crate) fn is_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| match choose(|name| std::env::var(name).ok()) {
        Choice::User(wanted) | Choice::Locale(wanted) => wanted,
    })
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
