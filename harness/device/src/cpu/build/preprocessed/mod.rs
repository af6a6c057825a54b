//! A unit as the preprocessor leaves it: macros are expanded, conditions are decided, includes are
//! in place. Only here a scan sees the kernels, launch statements and `__device__` that macros of
//! the user's own write.
//!
//! - `declarations` finds the functions and variables outside of function bodies.
//! - `entries` registers the kernels behind the unit.
//! - `host_code` finds device code that uses a function or a variable without `__device__`.
//! - `refused` finds words that NVRTC does not know.

mod declarations;
pub mod entries;
pub mod host_code;
pub mod refused;

pub use declarations::{Declaration, declarations};
use lab_source::cpp::Code;
use std::ops::Deref;
use std::path::Path;

/// CUDA's words as the scan sees them: the cpu device's own macros would leave nothing of them.
pub const WORDS: [(&str, &str); 6] = [
    ("__device__", DEVICE),
    ("__constant__", CONSTANT),
    ("__managed__", DEVICE),
    ("__host__", HOST),
    ("__global__", GLOBAL),
    ("__shared__", SHARED),
];
pub const DEVICE: &str = "lab_cpu_word_device";
pub const CONSTANT: &str = "lab_cpu_word_constant";
pub const HOST: &str = "lab_cpu_word_host";
pub const GLOBAL: &str = "lab_cpu_word_global";
pub const SHARED: &str = "lab_cpu_word_shared";

/// Returns the lines that replace CUDA's words. They stand before a source that is only
/// preprocessed.
pub fn prologue() -> String {
    let words = WORDS
        .iter()
        .map(|(word, marked)| format!("#undef {word}\n#define {word} {marked}\n"));
    let bounds = format!(
        "#undef __launch_bounds__\n#define __launch_bounds__(...) __attribute__(({BOUNDS}(__VA_ARGS__)))\n"
    );
    words.chain([bounds]).collect()
}

/// The attribute that stands for `__launch_bounds__`. The compiler ignores it.
const BOUNDS: &str = "lab_cpu_launch_bounds";

/// Where a line of the preprocessed text comes from.
#[derive(Clone, Copy)]
struct Origin {
    /// Index in `files`.
    file: usize,
    line: usize,
    /// Whether the file is a header of the system or of the cpu device.
    foreign: bool,
}

/// Where text comes from before the first marker.
const UNKNOWN: Origin = Origin {
    file: 0,
    line: 1,
    foreign: true,
};

/// The preprocessed text of a unit, without preprocessor lines among its tokens.
pub struct Preprocessed {
    code: Code<String>,
    /// Where each line of the text begins, and where it comes from.
    lines: Vec<(usize, Origin)>,
    /// Each with whether it is a header of the system or of the cpu device.
    files: Vec<(String, bool)>,
}

impl Deref for Preprocessed {
    type Target = Code<String>;

    fn deref(&self) -> &Code<String> {
        &self.code
    }
}

impl Preprocessed {
    /// Reads what the preprocessor has written. `own_headers` is the folder of the cpu device's
    /// headers.
    pub fn read(text: String, own_headers: &Path) -> Preprocessed {
        let own_headers = own_headers.display().to_string();
        let mut files = vec![(String::new(), true)];
        let mut lines = Vec::new();
        let mut next = UNKNOWN;
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            match marker(line) {
                Some((number, file, system)) => {
                    let known = files.iter().position(|(known, _)| *known == file);
                    // A file may call itself a header of the system from some line on.
                    let index = known.unwrap_or_else(|| {
                        let is_lab = file.starts_with('<') || file.starts_with(&own_headers);
                        files.push((file, system || is_lab));
                        files.len() - 1
                    });
                    let foreign = files[index].1;
                    lines.push((start, next));
                    next = Origin {
                        file: index,
                        line: number,
                        foreign,
                    };
                }
                None => {
                    lines.push((start, next));
                    next.line += 1;
                }
            }
            start += line.len();
        }
        Preprocessed {
            code: Code::new(text, false),
            lines,
            files,
        }
    }

    /// The file and the line that a byte of the text comes from.
    pub fn place(&self, offset: usize) -> (&str, usize) {
        let origin = self.origin(offset);
        (&self.files[origin.file].0, origin.line)
    }

    /// Whether a byte of the text comes from a header of the system or of the cpu device.
    pub fn is_foreign(&self, offset: usize) -> bool {
        self.origin(offset).foreign
    }

    fn origin(&self, offset: usize) -> Origin {
        let after = self.lines.partition_point(|(start, _)| *start <= offset);
        let line = self.lines.get(after.saturating_sub(1));
        line.map_or(UNKNOWN, |(_, origin)| *origin)
    }

    /// Whether this is in the user's files.
    pub fn holds_word(&self, word: &str) -> bool {
        (0..self.tokens.len()).any(|at| self.at(at) == word)
    }
}

/// Reads a line `# 12 "kernel.cu" 1 3`: the line number of what follows, the file, and whether it
/// is a header of the system.
fn marker(line: &str) -> Option<(usize, String, bool)> {
    let rest = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("#line "))?;
    let (number, rest) = rest.split_once(" \"")?;
    let number = number.trim().parse().ok()?;
    let mut file = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => file.push(chars.next()?),
            other => file.push(other),
        }
    }
    let system = chars.as_str().split_whitespace().any(|flag| flag == "3");
    Some((number, file, system))
}
