//! Lines and words of a C++ source: which lines are code, directives or comments.

/// Words, strings and single characters of punctuation.
pub fn words(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let end = if first.is_ascii_alphanumeric() || first == '_' {
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(end);
        if !word.trim().is_empty() {
            found.push(word);
        }
        rest = after;
    }
    found
}

/// Whether one of these words stands in a source's code or directives.
pub fn mentions(text: &str, wanted: &[&str]) -> bool {
    let all: String = lines(text)
        .into_iter()
        .map(|line| line.code + "\n")
        .collect();
    words(&all).iter().any(|word| wanted.contains(word))
}

/// What a line is.
#[derive(Debug, PartialEq)]
pub enum Kind {
    /// Comments and white space.
    Blank,
    /// A preprocessor line with its continuation lines: its name and what follows.
    Directive(String, String),
    Code,
}

/// A line; a directive or a comment that goes over several lines is one.
pub struct Line {
    pub text: String,
    pub kind: Kind,
    /// Without comments, and strings without their content, except `"C"`.
    pub code: String,
}

/// Where a scan is between two lines.
#[derive(Default)]
struct Scan {
    in_comment: bool,
    /// The end of a raw string.
    raw_end: Option<String>,
}

/// Splits a source into lines.
pub fn lines(text: &str) -> Vec<Line> {
    let mut scan = Scan::default();
    let mut found: Vec<Line> = Vec::new();
    let mut continues = false;
    for text in text.lines() {
        let begins_in_raw = scan.raw_end.is_some();
        let code = scan.line(text);
        let trimmed = code.trim_start();
        let goes_on = text.ends_with('\\') || scan.in_comment;
        if continues && let Some(last) = found.last_mut() {
            last.text = format!("{}\n{text}", last.text);
            last.code = format!("{}\n{code}", last.code);
            continues = goes_on;
            continue;
        }
        let kind = if let Some(directive) = trimmed.strip_prefix('#').filter(|_| !begins_in_raw) {
            let directive = directive.trim_start();
            let end = directive
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(directive.len());
            continues = goes_on;
            // The name of an include is text in quotes: it is read from the line itself.
            let rest = text
                .find(&directive[..end])
                .map_or("", |at| &text[at + end..]);
            Kind::Directive(directive[..end].to_owned(), rest.trim().to_owned())
        } else if trimmed.is_empty() && !begins_in_raw {
            Kind::Blank
        } else {
            Kind::Code
        };
        found.push(Line {
            text: text.to_owned(),
            kind,
            code,
        });
    }
    found
}

impl Scan {
    /// The code of a line, without comments and the content of strings.
    fn line(&mut self, text: &str) -> String {
        let mut code = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            if self.in_comment {
                let Some(end) = rest.find("*/") else {
                    return code;
                };
                self.in_comment = false;
                rest = &rest[end + 2..];
                code.push(' ');
            } else if let Some(end) = &self.raw_end {
                let Some(at) = rest.find(end.as_str()) else {
                    return code;
                };
                rest = &rest[at + end.len()..];
                self.raw_end = None;
            } else if rest.starts_with("//") {
                return code;
            } else if let Some(after) = rest.strip_prefix("/*") {
                self.in_comment = true;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('"') {
                let is_raw = code.ends_with('R') && !code.ends_with("_R");
                match after.find('(').filter(|_| is_raw) {
                    Some(open) => {
                        self.raw_end = Some(format!("){}\"", &after[..open]));
                        code.push_str("\"\"");
                        rest = &after[open + 1..];
                    }
                    None => {
                        let end = end_of_quoted(after, '"');
                        code.push_str(if &after[..end] == "C\"" {
                            "\"C\""
                        } else {
                            "\"\""
                        });
                        rest = &after[end..];
                    }
                }
            } else if rest.starts_with('\'') && !code.ends_with(|c: char| c.is_ascii_hexdigit()) {
                let end = end_of_quoted(&rest[1..], '\'');
                code.push_str("''");
                rest = &rest[1 + end..];
            } else {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                code.push_str(&rest[..first]);
                rest = &rest[first..];
            }
        }
        code
    }
}

/// Where the text behind an opening quote ends, the closing quote included.
fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
