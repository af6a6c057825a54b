//! A hash of a source's tokens: the same for sources that differ only in comments and blanks. A
//! source whose tokens do not say everything gets a hash of its bytes, and so equals itself only.

use crate::cpp::directive::Directive;
use crate::cpp::{Token, TokenKind, joined, joint, regex, tokens, tokens_in_directive};
use crate::python;
use regex::Regex;
use std::sync::LazyLock;

/// Cuts a source into tokens and hands each to the function. `None` where the source says more than
/// its tokens, or the cut is not sure.
pub type Cut = fn(&str, &mut dyn FnMut(&str)) -> Option<()>;

/// Returns the hash, in hex.
pub fn hash(source: &[u8], cut: Cut) -> String {
    let mut hash = blake3::Hasher::new();
    let is_cut = cut_bytes(source, cut, &mut |token| {
        hash.update(&(token.len() as u64).to_le_bytes())
            .update(token.as_bytes());
    });
    if is_cut.is_none() {
        hash = blake3::Hasher::new_derive_key("lab: the bytes of a source");
        hash.update(source);
    }
    hash.finalize().to_hex().to_string()
}

/// Returns the number of tokens. `None` where the source says more than its tokens.
pub fn count(source: &[u8], cut: Cut) -> Option<usize> {
    let mut count = 0;
    cut_bytes(source, cut, &mut |_| count += 1).map(|()| count)
}

fn cut_bytes(source: &[u8], cut: Cut, tell: &mut dyn FnMut(&str)) -> Option<()> {
    cut(std::str::from_utf8(source).ok()?, tell)
}

/// Punctuation of more than one character, the longest first. Digraphs are left out: cut in two
/// they say the same.
const SIGNS: [&str; 29] = [
    "<<<", ">>>", "<=>", "<<=", ">>=", "...", "->*", "::", ".*", "->", "++", "--", "<<", ">>",
    "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "##",
];

/// Names whose value depends on the line or on files, in a way that tokens do not tell.
const POSITIONS: [&str; 5] = [
    "__LINE__",
    "__builtin_LINE",
    "__builtin_COLUMN",
    "source_location",
    "__has_include",
];

/// The [`Cut`] of C++, into the preprocessor's tokens. A directive begins with the token `\n#` and
/// ends with `\n`. `None` if compilers cut the source in different ways.
pub fn cut_cpp(source: &str, tell: &mut dyn FnMut(&str)) -> Option<()> {
    if UNSURE.is_match(source) {
        return None;
    }
    cut_code(source, tokens(source), false, tell)
}

/// Trigraphs and digraphs, line ends of one carriage return, and backslashes with blanks behind
/// them: some compilers join the next line there.
static UNSURE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\?\?/|%:|\r(?:[^\n]|$)|\\(?:[ \t\x0b\x0c]|\rBLANK)BLANK*\n"));

/// Cuts code, or what follows the name of a directive, as in `#define`.
fn cut_code(
    text: &str,
    tokens: Vec<Token>,
    is_define: bool,
    tell: &mut dyn FnMut(&str),
) -> Option<()> {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let joint = joint(&text[token.end..]);
        if joint > 0
            && tokens
                .get(at)
                .is_some_and(|next| next.start == token.end + joint)
        {
            // A compiler may read one token here.
            return None;
        }
        let spelled = token.text(text);
        match token.kind {
            TokenKind::Unclosed => return None,
            TokenKind::Directive => cut_directive(spelled, tell)?,
            TokenKind::Punct => {
                let rest = &text[token.start..];
                let sign = SIGNS.iter().find(|sign| rest.starts_with(*sign));
                if is_define && spelled == "#" && sign.is_none() {
                    // It turns its argument into a text, blanks included.
                    return None;
                }
                tell(sign.unwrap_or(&spelled));
                at += sign.map_or(0, |sign| sign.len() - 1);
            }
            TokenKind::Word if POSITIONS.contains(&&*joined(spelled)) => return None,
            TokenKind::Word => tell(&joined(spelled)),
            TokenKind::Number | TokenKind::Text => tell(spelled),
        }
        if is_define && at == 1 && text[token.end..].starts_with('(') {
            // A macro with parameters, and not one whose text begins with a bracket.
            tell("\n(");
        }
    }
    Some(())
}

fn cut_directive(text: &str, tell: &mut dyn FnMut(&str)) -> Option<()> {
    let joined = joined(text);
    // No lines are joined in a raw string.
    if joined != text && text.contains("R\"") {
        return None;
    }
    tell("\n#");
    let directive = Directive::parse(&joined)?;
    if !directive.name.is_empty() {
        tell(directive.name);
    }
    let header = directive.spelled_header().unwrap_or_default();
    if !header.is_empty() {
        tell(header);
    }
    let rest = &directive.rest[header.len()..];
    let is_define = directive.name == "define";
    cut_code(rest, tokens_in_directive(rest), is_define, tell)?;
    tell("\n");
    Some(())
}

/// Names by which Python code can see its own source or line numbers.
const PYTHON_POSITIONS: [&str; 8] = [
    "__file__",
    "inspect",
    "linecache",
    "traceback",
    "tokenize",
    "f_lineno",
    "tb_lineno",
    "co_firstlineno",
];

/// The [`Cut`] of Python. Lines and their indentation count. `None` also for a coding line, a
/// string that does not end, and an f-string with quotes in it.
pub fn cut_python(text: &str, tell: &mut dyn FnMut(&str)) -> Option<()> {
    let is_coding = text
        .lines()
        .take(2)
        .any(|line| line.contains('#') && line.contains("coding"));
    let has_lone_return = text.replace("\r\n", "\n").contains('\r');
    if is_coding || has_lone_return || text.contains(['\0', '\x0c']) {
        return None;
    }
    for token in python::tokens(text) {
        match token {
            python::Token::Word(word) if PYTHON_POSITIONS.contains(&word) => return None,
            python::Token::Word(word) => tell(word),
            python::Token::Text {
                quote,
                text,
                is_closed,
            } => {
                let is_formatted =
                    quote.contains(['f', 'F', 't', 'T']) && text.contains(['{', '}']);
                let is_balanced = text.matches('{').count() == text.matches('}').count();
                let is_sure = !is_formatted || (is_balanced && !text.contains(['"', '\'', '#']));
                if !is_sure || !is_closed {
                    return None;
                }
                tell(quote);
                tell(text);
            }
            python::Token::Sign(sign) => tell(sign.encode_utf8(&mut [0; 4])),
            python::Token::Line(indent) => {
                tell("\n");
                tell(indent);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
