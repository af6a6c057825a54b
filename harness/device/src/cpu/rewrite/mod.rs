//! Rewrites CUDA C++ to C++: the few constructs that no header can define.
//!
//! Text is replaced in place, and no line is added or removed. So the compiler's diagnostics and
//! the scheduler's reports have the user's line numbers, and the preprocessor still decides what is
//! compiled:
//! - A `__shared__` declaration becomes a local struct and references into the block's shared
//!   memory, which each lambda that uses them declares anew.
//! - A construct that this device cannot run becomes a `#pragma GCC error`.
//! - A cast to an integer type becomes a call.

mod casts;
mod lambdas;
mod pass;
mod shared_memory;
mod type_names;
mod unsupported;

use lab_source::cpp::Code;
use pass::Pass;
use std::ops::Range;

/// A replacement of the source's bytes `start..end`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

impl Edit {
    pub fn new(start: usize, end: usize, text: impl Into<String>) -> Edit {
        Edit {
            start,
            end,
            text: text.into(),
        }
    }
}

/// How to rewrite a source.
#[derive(Default)]
pub struct Rewritten {
    pub edits: Vec<Edit>,
    /// The names of included headers, which the builder resolves: their bytes in the source, with
    /// quotes or brackets.
    pub includes: Vec<Range<usize>>,
    pub refusals: Vec<Refusal>,
    /// The first place where the source asks its compiler a question that NVRTC may answer
    /// otherwise, as in `kernel.cu:26 asks for __has_include`.
    pub branch: Option<String>,
}

/// A construct that this device cannot run. Line and column count from 1. The compiler reports it
/// where it compiles it, but not with the right column.
pub struct Refusal {
    /// The path that diagnostics show.
    pub path: String,
    pub line: usize,
    pub column: usize,
    pub reason: &'static str,
}

/// Applies edits to the source they were made for. Where two overlap, the first one is applied.
pub fn apply(source: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut out = String::with_capacity(source.len() + 1024);
    let mut done = 0;
    for edit in edits.iter().filter(|edit| edit.end <= source.len()) {
        if edit.start < done {
            continue;
        }
        out.push_str(&source[done..edit.start]);
        out.push_str(&edit.text);
        done = edit.end;
    }
    out.push_str(&source[done..]);
    out
}

/// Finds the edits for a source. `shown_as` is the path for `#line`. `unit` makes generated names
/// unique over the files of one build.
pub fn rewrite(source: &str, shown_as: &str, unit: usize) -> Rewritten {
    Pass::new(&Code::new(source, true), shown_as, unit).run()
}

/// Finds the edits for a text that was preprocessed, in which `__shared__` is written as `shared`:
/// a macro of the user's own has declared shared memory. The text has no conditions and no macros
/// any more.
pub fn rewrite_preprocessed(text: &str, shared: &'static str) -> Rewritten {
    // No file has this number: the names that are generated here must differ from those in the
    // files.
    let code = Code::new(text, true);
    let mut pass = Pass::new(&code, "", usize::MAX);
    pass.preprocessed = Some(shared);
    pass.run()
}

/// Returns a text as a C string literal.
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
