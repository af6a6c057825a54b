//! Names and lists of words, and the characters that text from outside may hold: shown as they are, or by
//! their number.

use std::borrow::Cow;

/// Whether a word is in a list of words that blanks separate.
pub fn is_among(word: &str, words: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// Whether C++ and Python take the text for a name, reserved words aside.
pub fn is_identifier(name: &str) -> bool {
    let mut letters = name.bytes();
    letters
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && letters.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a terminal shows the character and does nothing else.
///
/// False for control characters, for marks that reorder a line, and for characters without width or
/// ink: they could make a line look like another one. True for a combining accent and a variation
/// selector, which change how the letter before them is drawn; [`escape_invisible`] writes a
/// variation selector that cannot change its letter as its number.
///
/// ```
/// use lab_protocol::text::is_visible;
///
/// assert!(is_visible('é') && is_visible('漢') && is_visible('\u{301}'));
/// assert!(!is_visible('\x1b') && !is_visible('\t') && !is_visible('\u{202e}') && !is_visible('\u{200b}'));
/// ```
pub fn is_visible(c: char) -> bool {
    // A short cut for plain ASCII.
    if matches!(c, ' '..='~') {
        return true;
    }
    let reorders = matches!(
        c,
        '\u{061c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Unicode's Default_Ignorable_Code_Point without the variation selectors, its format characters
    // (Cf), the separators of lines and paragraphs, and the marks of interlinear annotations.
    let hides = matches!(
        c,
        '\u{00ad}' | '\u{034f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2028}'..='\u{2029}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{0600}'..='\u{0605}' | '\u{06dd}' | '\u{070f}' | '\u{0890}'..='\u{0891}' | '\u{08e2}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    !c.is_control() && !reorders && !hides
}

/// `line` with each character that is not [visible](is_visible) written as its number, as in
/// `\u{1b}`. So is a variation selector that follows no letter or sign outside of ASCII. Tabs stay;
/// a carriage return becomes `\r`, a line feed `\n`.
///
/// ```
/// use lab_protocol::text::escape_invisible;
///
/// assert_eq!(escape_invisible("a\tb"), "a\tb");
/// assert_eq!(escape_invisible("\x1b[31mred\u{202e}"), r"\u{1b}[31mred\u{202e}");
/// assert_eq!(escape_invisible("\u{26a0}\u{fe0f} kernel\u{fe0f}.cu"), "\u{26a0}\u{fe0f} kernel\\u{fe0f}.cu");
/// ```
pub fn escape_invisible(line: &str) -> Cow<'_, str> {
    // A short cut: most text is plain ASCII.
    if line.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
        return Cow::Borrowed(line);
    }
    let mut escaped = String::with_capacity(line.len() + 16);
    let mut takes_selector = false;
    for c in line.chars() {
        // A variation selector has no ink of its own: after a letter that it does not change, such as
        // one of ASCII, it could make a name look like another one.
        let is_selector = matches!(c, '\u{fe00}'..='\u{fe0f}');
        let stays = if is_selector {
            takes_selector
        } else {
            c == '\t' || is_visible(c)
        };
        takes_selector = stays && !is_selector && !c.is_ascii();
        if stays {
            escaped.push(c);
        } else {
            escaped.extend(c.escape_default());
        }
    }
    Cow::Owned(escaped)
}
