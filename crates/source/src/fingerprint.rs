//! A hash of a source's tokens: the same for sources that differ only in comments and blanks. A
//! source whose tokens do not say everything gets a hash of its bytes, and so equals itself only.

use crate::cpp::{Token, TokenKind, is_blank, joined, joint, tokens};
use crate::directive::Directive;
use crate::python;

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
    let text = std::str::from_utf8(source).ok()?;
    cut(text.strip_prefix('\u{feff}').unwrap_or(text), tell)
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
/// ends with `\n`. `None` also where compilers differ.
pub fn cut_cpp(source: &str, tell: &mut dyn FnMut(&str)) -> Option<()> {
    let bytes = source.as_bytes();
    let is_unsure = |at: usize| match &bytes[at..] {
        [b'?', b'?', b'/', ..] | [b'%', b':', ..] => true,
        [b'\r', rest @ ..] => rest.first() != Some(&b'\n'),
        // Some compilers join lines where blanks follow the backslash.
        [b'\\', blank, ..] if is_blank(*blank) => {
            joint(bytes, at).is_some() && !bytes[at + 1..].starts_with(b"\r\n")
        }
        _ => false,
    };
    if (0..bytes.len()).any(is_unsure) {
        return None;
    }
    cut_code(source, tell)
}

fn cut_code(text: &str, tell: &mut dyn FnMut(&str)) -> Option<()> {
    let tokens = tokens(text);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let joint = joint(text.as_bytes(), token.end);
        if joint.is_some() && joint == tokens.get(at).map(|next| next.start) {
            // A compiler may read one token here.
            return None;
        }
        let spelled = token.text(text);
        match token.kind {
            TokenKind::Unclosed => return None,
            TokenKind::Directive => cut_directive(spelled, tell)?,
            TokenKind::Punct(_) => {
                let rest = &text[token.start..];
                let sign = SIGNS.iter().find(|sign| rest.starts_with(*sign));
                tell(sign.unwrap_or(&spelled));
                at += sign.map_or(0, |sign| sign.len() - 1);
            }
            TokenKind::Word => {
                let word = joined(spelled);
                if POSITIONS.contains(&word.as_str()) {
                    return None;
                }
                tell(&word);
            }
            TokenKind::Number | TokenKind::Text => tell(spelled),
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
    let mut rest = directive.rest;
    if !directive.name.is_empty() {
        tell(directive.name);
    }
    if let Some(header) = directive.spelled_header() {
        tell(header);
        rest = &rest[header.len()..];
    }
    if directive.name == "define" {
        let body = tokens(rest);
        let name = body.first()?;
        tell(name.text(rest));
        if rest[name.end..].starts_with('(') {
            // A macro with parameters, and not one whose text begins with a bracket.
            tell("\n(");
        }
        if body
            .iter()
            .enumerate()
            .any(|(at, token)| is_lone_hash(&body, at, token))
        {
            // It turns its argument into a text, blanks included.
            return None;
        }
        rest = &rest[name.end..];
    }
    cut_code(rest, tell)?;
    tell("\n");
    Some(())
}

/// Whether the token is a `#` that is not part of a `##`.
fn is_lone_hash(tokens: &[Token], at: usize, token: &Token) -> bool {
    let touches = |other: Option<&Token>| {
        other.is_some_and(|o| o.is(b'#') && (o.end == token.start || o.start == token.end))
    };
    token.is(b'#')
        && !touches(at.checked_sub(1).map(|at| &tokens[at]))
        && !touches(tokens.get(at + 1))
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
