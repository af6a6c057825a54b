//! Preprocessor lines, and the files that `#include` lines name.

use super::{BLANKS, joined, regex, without_bom};
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

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

/// The spellings of `#`.
const SIGNS: [&str; 3] = ["#", "%:", "??="];
static HEADER: LazyLock<Regex> = LazyLock::new(|| regex(r#"^(?:"[^"]+"|<[^>]+>)"#));
/// What an include line names otherwise, without a comment.
static MACRO: LazyLock<Regex> = LazyLock::new(|| regex(r#"^[^"<](?s:.*?)(?://|/\*|$)"#));

/// A text behind the white space and the comments that begin it.
fn after_gap(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c| c == '\n' || BLANKS.contains(&c));
        let inside = text.strip_prefix("/*");
        let Some((_, after)) = inside.and_then(|inside| inside.split_once("*/")) else {
            return text;
        };
        text = after;
    }
}

/// Most bytes of what an include line names, with its quotes.
const LONGEST: usize = 4096 + 2;

impl<'s> Directive<'s> {
    /// Whether a text begins with a spelling of `#`.
    pub(crate) fn begins(text: &str) -> bool {
        SIGNS.iter().any(|sign| text.starts_with(sign))
    }

    /// Reads the directive that begins a text after blanks and comments.
    pub fn parse(text: &'s str) -> Option<Directive<'s>> {
        // A source of 8 MiB has millions of directives: no regular expression looks at each.
        let line = after_gap(text);
        let after_sign = SIGNS.iter().find_map(|sign| line.strip_prefix(sign))?;
        let named = after_gap(after_sign);
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = named.find(|c| !is_of_name(c)).unwrap_or(named.len());
        Some(Directive {
            name: &named[..end],
            rest: after_gap(&named[end..]),
        })
    }

    fn is_include(&self) -> bool {
        ["include_next", "include", "import", "embed"].contains(&self.name)
    }

    /// The header that an include line names, with its quotes or brackets. `None` for any other
    /// line, and for a name that does not end.
    pub fn spelled_header(&self) -> Option<&'s str> {
        let operand = self.operand()?;
        HEADER.find(operand).map(|header| header.as_str())
    }

    /// The beginning of what an include line names: no path is longer. `None` for any other line.
    fn operand(&self) -> Option<&'s str> {
        let end = self.rest.floor_char_boundary(LONGEST);
        self.is_include().then_some(&self.rest[..end])
    }

    /// What an include line includes.
    fn include(&self) -> Option<Include> {
        if let Some(header) = self.spelled_header() {
            let name = header[1..header.len() - 1].to_owned();
            return Some(match header.starts_with('"') {
                true => Include::Quoted(name),
                false => Include::Angled(name),
            });
        }
        let name = MACRO.find(self.operand()?)?;
        let name = name.as_str().trim_end_matches(['/', '*']);
        Some(Include::Macro(name.trim().to_owned()))
    }
}

/// The include lines of a source, in their order, each once.
///
/// The scan takes too many lines rather than too few: also those in block comments and in branches
/// that are not compiled. A line that the scan missed would name a file that is judged and that no
/// commit holds.
pub fn includes(source: &[u8]) -> Vec<Include> {
    let text = String::from_utf8_lossy(without_bom(source));
    let text = joined(&text);
    // A block comment may end before the `#`.
    let starts = text.lines().flat_map(|line| {
        let comments = line.match_indices("*/");
        let after_comments = comments.map(|(at, end)| &line[at + end.len()..]);
        std::iter::once(line).chain(after_comments)
    });
    let starts = starts.map(|line| line.trim_start_matches(BLANKS));
    let mut seen = HashSet::new();
    starts
        .filter(|line| Directive::begins(line))
        .filter_map(|line| Directive::parse(line)?.include())
        .filter(|include| seen.insert(include.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The form of a directive, as a regular expression.
    static LINE: LazyLock<Regex> = LazyLock::new(|| {
        let gap = r"(?:BLANK|\n|/\*(?:[^*]|\*+[^*/])*\*+/)*";
        let line = r"^GAP(?:#|%:|\?\?=)GAP([0-9A-Za-z_]*)GAP";
        regex(&line.replace("GAP", gap))
    });

    proptest! {
        #[test]
        fn any_directive_is_read_as_its_form_says(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "#", "%:", "??=", "%", "??", " ", "\t", "\r", "\n", "\u{b}", "\u{c}", "/*", "*/", "/", "*", "//", "define",
                    "_1", "é", "\u{a0}", "\"a\"", "\\\n",
                ]),
                0..12,
            ),
        ) {
            let text = pieces.concat();
            let wanted = LINE.captures(&text).map(|found| Directive {
                name: found.get(1).map_or("", |name| name.as_str()),
                rest: &text[found[0].len()..],
            });
            prop_assert_eq!(Directive::parse(&text), wanted);
        }
    }

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
            ("\u{feff}#include \"a.h\"", quoted("a.h")),
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
