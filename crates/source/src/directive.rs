//! Preprocessor lines, and the files that `#include` lines name.

use crate::cpp::joined;
use std::collections::HashSet;

/// A preprocessor line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'s> {
    /// Such as `include` or `ifdef`; empty for a lone `#`.
    pub name: &'s str,
    /// The rest of the line, from the first character that is no blank and in no comment.
    pub rest: &'s str,
}

/// The operand of an `#include`, `#include_next`, `#import` or `#embed` line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Include {
    /// `"name"`
    Quoted(String),
    /// `<name>`
    Angled(String),
    /// Anything else: a macro, which only a compiler can replace by a name.
    Macro(String),
}

impl<'s> Directive<'s> {
    /// The spelling of `#` with which a text begins: `%:` and `??=` are others.
    pub(crate) fn sign(text: &str) -> Option<&'static str> {
        ["#", "%:", "??="]
            .into_iter()
            .find(|sign| text.starts_with(sign))
    }

    /// Reads the directive that begins a text after blanks and comments.
    pub fn parse(text: &'s str) -> Option<Directive<'s>> {
        let text = past_blanks(text);
        let text = past_blanks(&text[Directive::sign(text)?.len()..]);
        let end = text
            .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
            .unwrap_or(text.len());
        Some(Directive {
            name: &text[..end],
            rest: past_blanks(&text[end..]),
        })
    }

    /// The header that an include line names, with its quotes or brackets. `None` for any other
    /// line, and for a name that does not end.
    pub fn spelled_header(&self) -> Option<&'s str> {
        if !["include_next", "include", "import", "embed"].contains(&self.name) {
            return None;
        }
        let close = match self.rest.chars().next()? {
            '"' => '"',
            '<' => '>',
            _ => return None,
        };
        let length = self.rest[1..].find(close).filter(|length| *length > 0)?;
        Some(&self.rest[..length + 2])
    }

    /// What an include line includes.
    fn include(&self) -> Option<Include> {
        if let Some(header) = self.spelled_header() {
            let name = header[1..header.len() - 1].to_owned();
            let is_quoted = header.starts_with('"');
            return Some(if is_quoted {
                Include::Quoted(name)
            } else {
                Include::Angled(name)
            });
        }
        let is_include = ["include_next", "include", "import", "embed"].contains(&self.name);
        let is_macro = is_include && !self.rest.is_empty() && !self.rest.starts_with(['"', '<']);
        let end = self.rest.find("//").or(self.rest.find("/*"));
        let name = &self.rest[..end.unwrap_or(self.rest.len())];
        is_macro.then(|| Include::Macro(name.trim().to_owned()))
    }
}

/// Skips blanks and whole comments.
fn past_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let comment = text
            .strip_prefix("/*")
            .and_then(|rest| rest.split_once("*/"));
        match comment {
            Some((_, rest)) => text = rest,
            None => return text,
        }
    }
}

/// The include lines of a source, in their order, each once.
///
/// The scan takes too many lines rather than too few: also those in block comments and in branches
/// that are not compiled. A line that the scan missed would name a file that is judged and that no
/// commit holds.
pub fn includes(source: &[u8]) -> Vec<Include> {
    let text = joined(&String::from_utf8_lossy(source));
    // A block comment may end before the `#`.
    let starts = text.lines().flat_map(|line| {
        let after_comments = line
            .match_indices("*/")
            .map(|(at, end)| &line[at + end.len()..]);
        std::iter::once(line).chain(after_comments.collect::<Vec<_>>())
    });
    let mut seen = HashSet::new();
    starts
        .filter_map(|line| Directive::parse(line)?.include())
        .filter(|include| seen.insert(include.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_include_line_is_found() {
        let quoted = |name: &str| Include::Quoted(name.to_owned());
        for (source, wanted) in [
            ("#include \"a.cuh\"", quoted("a.cuh")),
            ("  #  include\t\"b/c.h\" // x", quoted("b/c.h")),
            ("#include <lab.h>", Include::Angled("lab.h".into())),
            ("#inc\\\nlude \"a.h\"", quoted("a.h")),
            ("#include \\ \t\r\n\"a.h\"", quoted("a.h")),
            ("%: include \"a.h\"", quoted("a.h")),
            ("??=include \"a.h\"", quoted("a.h")),
            ("/* x */ # /* y */ include /* z */ \"a.h\"", quoted("a.h")),
            ("/* of two\nlines */ #include \"a.h\"", quoted("a.h")),
            ("#include_next \"a.h\"", quoted("a.h")),
            ("#import \"a.h\"", quoted("a.h")),
            ("#embed \"a.bin\" limit(3)", quoted("a.bin")),
            (
                "#include TILE_H // by an option",
                Include::Macro("TILE_H".into()),
            ),
            ("#include NAME(a, b)", Include::Macro("NAME(a, b)".into())),
        ] {
            assert_eq!(includes(source.as_bytes()), [wanted], "{source}");
        }
        for source in [
            "//#include \"no.h\"",
            "#included \"no.h\"",
            "#include \"\"",
            "#define include \"no.h\"",
        ] {
            assert_eq!(includes(source.as_bytes()), [], "{source}");
        }
    }
}
