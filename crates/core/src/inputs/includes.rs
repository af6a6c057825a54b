//! Finds the `#include` lines of a source, and the files that they mean.
//!
//! The scan takes too many lines rather than too few: also those in block comments and in branches
//! that are not compiled. A line that the scan missed would name a file that is judged and stands
//! in no commit.

use lab_protocol::CompileOptions;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The operand of an `#include`, `#include_next`, `#import` or `#embed` line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Include {
    /// `"name"`
    Quoted(String),
    /// `<name>`
    Angled(String),
    /// Anything else: a macro, which only a compiler can replace by a name.
    Macro(String),
}

/// The include lines of a source, in their order.
pub(crate) fn includes(source: &[u8]) -> Vec<Include> {
    let text = spliced(&String::from_utf8_lossy(source));
    // A block comment may end before the `#`.
    let starts = text.lines().flat_map(|line| {
        let after_comments = line
            .match_indices("*/")
            .map(|(at, end)| &line[at + end.len()..]);
        std::iter::once(line).chain(after_comments.collect::<Vec<_>>())
    });
    let mut seen = HashSet::new();
    starts
        .filter_map(operand)
        .filter(|include| seen.insert(include.clone()))
        .collect()
}

/// Joins lines that end with a backslash, as a compiler does. Compilers allow blanks behind the
/// backslash.
fn spliced(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.split('\n') {
        match line
            .trim_end_matches([' ', '\t', '\r', '\x0b', '\x0c'])
            .strip_suffix('\\')
        {
            Some(start) => joined.push_str(start),
            None => {
                joined.push_str(line);
                joined.push('\n');
            }
        }
    }
    joined
}

/// The operand of the include line that begins here, if one does.
fn operand(line: &str) -> Option<Include> {
    let line = past_blanks(line);
    // `%:` and `??=` are other spellings of `#`.
    let directive = ["#", "%:", "??="]
        .iter()
        .find_map(|sign| line.strip_prefix(sign))?;
    let directive = past_blanks(directive);
    let names = ["include_next", "include", "import", "embed"];
    let rest = names.iter().find_map(|name| directive.strip_prefix(name))?;
    if rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = past_blanks(rest);
    let until = |text: &str, end: char| text.split_once(end).map(|(name, _)| name.to_owned());
    match rest.chars().next()? {
        '"' => until(&rest[1..], '"').map(Include::Quoted),
        '<' => until(&rest[1..], '>').map(Include::Angled),
        _ => {
            let end = rest.find("//").or(rest.find("/*")).unwrap_or(rest.len());
            Some(Include::Macro(rest[..end].trim().to_owned()))
        }
    }
    .filter(|include| !matches!(include, Include::Quoted(name) | Include::Angled(name) if name.is_empty()))
}

/// Skips blanks and whole comments.
fn past_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        match text
            .strip_prefix("/*")
            .and_then(|comment| comment.split_once("*/"))
        {
            Some((_, rest)) => text = rest,
            None => return text,
        }
    }
}

/// Where a compiler looks for includes that are not beside the including file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IncludeDirs {
    /// Absolute paths of `-I`, `-isystem` and their like, in the order of the options.
    pub dirs: Vec<PathBuf>,
}

impl IncludeDirs {
    /// Reads the compiler's options. Relative paths are relative to `root`, where the compiler
    /// runs.
    pub fn of(options: &CompileOptions, root: &Path) -> IncludeDirs {
        let dirs = options
            .include_folders()
            .map(|folder| super::plain(&root.join(folder.trim())));
        IncludeDirs {
            dirs: dirs.collect(),
        }
    }
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

    #[test]
    fn include_folders_are_read_from_the_compilers_options() {
        let options =
            "-O3 -Icommon -I /opt/a --include-path=b -isystem c -DX=1 -isystem/d -iquote=e";
        let options: Vec<String> = options.split(' ').map(str::to_owned).collect();
        let found = IncludeDirs::of(
            &CompileOptions::parse(&options).expect("options"),
            Path::new("/r"),
        )
        .dirs;
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            found,
            paths(&["/r/common", "/opt/a", "/r/b", "/r/c", "/d", "/r/e"])
        );
    }
}
