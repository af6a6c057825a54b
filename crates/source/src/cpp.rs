//! A lexer for as much of C++ as is needed to find declarations: words, punctuation, and the texts
//! whose words have no meaning (comments, strings, raw strings, characters, preprocessor lines).

use crate::directive::Directive;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier or a keyword.
    Word,
    /// A number, with its suffix.
    Number,
    /// A string or a character, with its prefix and suffix, also in raw form.
    Text,
    /// A string, a character or a block comment that does not end.
    Unclosed,
    /// One character.
    Punct(u8),
    /// A preprocessor line with its continuation lines.
    Directive,
}

/// A token: the bytes `start..end` of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
}

impl Token {
    /// Returns the token as `source` writes it.
    pub fn text<'s>(&self, source: &'s str) -> &'s str {
        &source[self.start..self.end]
    }

    /// Whether the token is this character of punctuation.
    pub fn is(&self, punct: u8) -> bool {
        self.kind == TokenKind::Punct(punct)
    }
}

/// Splits a source into tokens, without comments and white space. Takes any text, also one that is
/// not valid C++.
pub fn tokens(source: &str) -> Vec<Token> {
    let lexer = Lexer {
        source,
        bytes: source.as_bytes(),
    };
    let mut tokens = Vec::new();
    let (mut at, mut line_begins) = (0, true);
    while at < source.len() {
        let start = at;
        let (kind, end) = if line_begins && Directive::sign(&source[at..]).is_some() {
            (Some(TokenKind::Directive), lexer.directive(at))
        } else {
            lexer.piece(at)
        };
        at = end;
        if let Some(kind) = kind {
            tokens.push(Token { kind, start, end });
            line_begins = false;
        } else if lexer.bytes[start] == b'\n' {
            line_begins = true;
        }
    }
    tokens
}

/// The words of a source's code and of its directives.
pub fn words(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for token in tokens(source) {
        match token.kind {
            TokenKind::Word => found.push(token.text(source)),
            TokenKind::Directive => found.extend(words(&token.text(source)[1..])),
            _ => {}
        }
    }
    found
}

/// The source without the backslashes that join lines, as a compiler reads it.
pub fn joined(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut done = 0;
    for (at, _) in source.match_indices('\\') {
        if let Some(end) = joint(source.as_bytes(), at).filter(|_| at >= done) {
            text.push_str(&source[done..at]);
            done = end;
        }
    }
    text + &source[done..]
}

/// Where the text goes on after a backslash that joins lines, and after those directly behind it.
/// Compilers allow blanks between the backslash and the end of the line.
pub(crate) fn joint(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut end = None;
    while bytes.get(at) == Some(&b'\\') {
        let blanks = bytes[at + 1..].iter().take_while(|byte| is_blank(**byte));
        let line_end = at + 1 + blanks.count();
        if bytes.get(line_end) != Some(&b'\n') {
            break;
        }
        at = line_end + 1;
        end = Some(at);
    }
    end
}

/// Whether the byte is white space within a line.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// Whether the byte may stand in a word. Letters of other scripts are bytes from 128 up.
fn is_word(byte: u8) -> bool {
    matches!(byte, b'_' | b'$' | 128..) || byte.is_ascii_alphanumeric()
}

struct Lexer<'s> {
    source: &'s str,
    bytes: &'s [u8],
}

impl Lexer<'_> {
    /// Takes one token, blank or comment at a byte. Returns the token's kind, and where the piece
    /// ends.
    fn piece(&self, at: usize) -> (Option<TokenKind>, usize) {
        let rest = &self.bytes[at..];
        let token = |kind, end| (Some(kind), end);
        match rest {
            [b'\n', ..] => (None, at + 1),
            [byte, ..] if is_blank(*byte) => (None, at + 1),
            [b'/', b'/', ..] => (None, self.end_of_line(at)),
            [b'/', b'*', ..] => match self.source[at + 2..].find("*/") {
                Some(length) => (None, at + length + 4),
                None => token(TokenKind::Unclosed, self.bytes.len()),
            },
            [b'"' | b'\'', ..] => self.quoted(at),
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => {
                token(TokenKind::Number, self.end_of_number(at))
            }
            [first, ..] if is_word(*first) => {
                let end = self.end_of_word(at);
                match (&self.source[at..end], self.bytes.get(end)) {
                    ("R" | "LR" | "uR" | "UR" | "u8R", Some(b'"')) => self.raw(end),
                    ("L" | "u" | "U" | "u8", Some(b'"' | b'\'')) => self.quoted(end),
                    _ => token(TokenKind::Word, end),
                }
            }
            [punct, ..] => match joint(self.bytes, at) {
                Some(end) => (None, end),
                None => token(TokenKind::Punct(*punct), at + 1),
            },
            [] => (None, at),
        }
    }

    /// The end of a directive: the end of its line, or of the lines that a comment or a backslash
    /// joins to it. What looks like a comment in a header's name is part of the name.
    fn directive(&self, start: usize) -> usize {
        let line = &self.source[start..];
        let included = Directive::parse(line.split('\n').next().unwrap_or(line))
            .and_then(|directive| Some(directive.rest.len() - directive.spelled_header()?.len()));
        let mut at = start + 1;
        if let Some(after_header) = included {
            at = start + line.find('\n').unwrap_or(line.len()) - after_header;
        }
        while at < self.bytes.len() && self.bytes[at] != b'\n' {
            at = self.piece(at).1;
        }
        at
    }

    fn end_of_line(&self, mut at: usize) -> usize {
        while at < self.bytes.len() && self.bytes[at] != b'\n' {
            at = joint(self.bytes, at).unwrap_or(at + 1);
        }
        at
    }

    /// A backslash and the line's end do not end a word.
    fn end_of_word(&self, mut at: usize) -> usize {
        let goes_on = |at: usize| self.bytes.get(at).is_some_and(|byte| is_word(*byte));
        loop {
            while goes_on(at) {
                at += 1;
            }
            match joint(self.bytes, at).filter(|next| goes_on(*next)) {
                Some(next) => at = next,
                None => return at,
            }
        }
    }

    /// The end of digits, letters, dots, digit separators, and a sign after an exponent.
    fn end_of_number(&self, start: usize) -> usize {
        let mut at = start + 1;
        while let Some(byte) = self.bytes.get(at) {
            let is_exponent = matches!(self.bytes[at - 1], b'e' | b'E' | b'p' | b'P');
            match byte {
                b'+' | b'-' if is_exponent => at += 1,
                b'\'' if self.bytes.get(at + 1).copied().is_some_and(is_word) => at += 2,
                byte if is_word(*byte) || *byte == b'.' => at += 1,
                _ => break,
            }
        }
        at
    }

    /// A literal whose quote is at `at`. The end of the line ends the literal too, so that a single
    /// quote does not hide the rest of the file.
    fn quoted(&self, at: usize) -> (Option<TokenKind>, usize) {
        let quote = self.bytes[at];
        let mut end = at + 1;
        while let Some(byte) = self.bytes.get(end) {
            match byte {
                b'\n' => break,
                b'\\' => end = joint(self.bytes, end).unwrap_or(end + 2),
                byte if *byte == quote => {
                    return (Some(TokenKind::Text), self.end_of_word(end + 1));
                }
                _ => end += 1,
            }
        }
        (Some(TokenKind::Unclosed), end.min(self.bytes.len()))
    }

    /// A raw string whose quote is at `at`.
    fn raw(&self, at: usize) -> (Option<TokenKind>, usize) {
        let text = &self.source[at + 1..];
        let Some(open) = text.find('(').filter(|open| *open <= 16) else {
            return self.quoted(at);
        };
        let close = format!("){}\"", &text[..open]);
        match text[open..].find(&close) {
            Some(length) => {
                let end = at + 1 + open + length + close.len();
                (Some(TokenKind::Text), self.end_of_word(end))
            }
            None => (Some(TokenKind::Unclosed), self.bytes.len()),
        }
    }
}

/// A text with its tokens, and the brackets that belong together.
pub struct Code<T> {
    /// The text.
    pub text: T,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// For each bracket, the index of the one that belongs to it.
    partners: Vec<usize>,
}

impl<T: AsRef<str>> Code<T> {
    /// Cuts a text. `with_directives` says whether preprocessor lines are among the tokens.
    pub fn new(text: T, with_directives: bool) -> Code<T> {
        let mut tokens = tokens(text.as_ref());
        tokens.retain(|token| with_directives || token.kind != TokenKind::Directive);
        let partners = partners(&tokens);
        Code {
            text,
            tokens,
            partners,
        }
    }

    /// The word at an index of the tokens; empty for any other token.
    pub fn word(&self, at: usize) -> &str {
        match self.tokens.get(at) {
            Some(token) if token.kind == TokenKind::Word => token.text(self.text.as_ref()),
            _ => "",
        }
    }

    /// Whether the token at an index is this character of punctuation.
    pub fn punct(&self, at: usize, punct: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(punct))
    }

    /// The index of the bracket that belongs to the one at `at`; that of the last token where no
    /// bracket does.
    pub fn partner(&self, at: usize) -> usize {
        self.partners.get(at).copied().unwrap_or(self.tokens.len())
    }
}

fn partners(tokens: &[Token]) -> Vec<usize> {
    let mut partners = vec![tokens.len().saturating_sub(1); tokens.len()];
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Punct(b'(') => open.push((at, b')')),
            TokenKind::Punct(b'[') => open.push((at, b']')),
            TokenKind::Punct(b'{') => open.push((at, b'}')),
            TokenKind::Punct(close @ (b')' | b']' | b'}')) => {
                // A bracket that is missing ends with the one around it.
                if let Some(depth) = open.iter().rposition(|(_, wanted)| *wanted == close) {
                    partners[open[depth].0] = at;
                    partners[at] = open[depth].0;
                    open.truncate(depth);
                }
            }
            _ => {}
        }
    }
    partners
}
