//! Cuts a Python source into tokens, well enough to find imports and to tell a change of code from
//! a change of comments.

/// A part of a source. Comments, blanks within a line, and line ends inside brackets are no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A name, a keyword or a number.
    Word(&'a str),
    /// The text between the quotes of a string, as it stands in the source.
    Text(&'a str),
    /// The quotes and the prefix of the string that follows.
    Quote(&'a str),
    Sign(char),
    /// The beginning of a statement's line, with its indentation. The first line of a source has
    /// none of these.
    Line(&'a str),
}

/// The tokens of a source. Unknown characters are signs, and a string that does not end goes to the
/// end of its line, or of the source if three quotes began it.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        rest: source,
        tokens: Vec::new(),
        depth: 0,
    };
    while lexer.step() {}
    lexer.tokens
}

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token<'a>>,
    /// Open brackets.
    depth: usize,
}

impl<'a> Lexer<'a> {
    /// Takes one token, or blanks, or a comment. Returns false at the end of the source.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        match first {
            '\n' => self.line_end(),
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '\\' if self.rest[1..].trim_start_matches('\r').starts_with('\n') => {
                self.skip(self.rest.find('\n').map_or(1, |at| at + 1));
            }
            '"' | '\'' => self.string(0),
            c if is_word(c) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                let is_prefix =
                    end <= 2 && self.rest[..end].bytes().all(|b| b"rRbBuUfFtT".contains(&b));
                if is_prefix && self.rest[end..].starts_with(['"', '\'']) {
                    self.string(end);
                } else {
                    let word = self.take(end);
                    self.tokens.push(Token::Word(word));
                }
            }
            c => {
                self.skip(c.len_utf8());
                match c {
                    '(' | '[' | '{' => self.depth += 1,
                    ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                if !c.is_whitespace() {
                    self.tokens.push(Token::Sign(c));
                }
            }
        }
        true
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// The line feed, and the indentation behind it if a statement follows.
    fn line_end(&mut self) {
        self.skip(1);
        let indent = self
            .rest
            .find(|c: char| !matches!(c, ' ' | '\t' | '\x0c'))
            .unwrap_or(self.rest.len());
        let follows = self.rest[indent..]
            .chars()
            .next()
            .is_some_and(|c| !matches!(c, '\n' | '\r' | '#'));
        if self.depth == 0 && follows {
            let indent = self.take(indent);
            self.tokens.push(Token::Line(indent));
        }
    }

    /// A string whose prefix has so many bytes.
    fn string(&mut self, prefix: usize) {
        let quotes = &self.rest[prefix..];
        let quote = &quotes[..1];
        let is_triple = quotes.starts_with(&quote.repeat(3));
        let begin = self.take(prefix + if is_triple { 3 } else { 1 });
        let mut end = self.rest.len();
        let mut after = end;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices() {
            // Also a raw string goes on behind a backslash and a quote.
            if std::mem::take(&mut escaped) {
                continue;
            }
            let here = &self.rest[at..];
            if is_triple && here.starts_with(&quote.repeat(3)) {
                (end, after) = (at, at + 3);
                break;
            } else if !is_triple && (here.starts_with(quote) || c == '\n') {
                (end, after) = (at, if c == '\n' { at } else { at + 1 });
                break;
            }
            escaped = c == '\\';
        }
        let text = &self.rest[..end];
        self.skip(after);
        self.tokens.extend([Token::Quote(begin), Token::Text(text)]);
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
