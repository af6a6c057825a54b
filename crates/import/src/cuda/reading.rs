//! The headers that a published source includes, as somebody else finds them.

use super::headers::{included, is_for_device, is_of_libraries, quoted};
use lab_source::cpp::Code;
use lab_source::cpp::items::{Item, ItemKind};
use std::collections::BTreeSet;

/// An include line of a published source.
pub struct Wanted<'a> {
    /// The name of the header that has the line; `None` for the published file itself.
    pub by: Option<&'a str>,
    /// What the line names.
    pub name: &'a str,
    /// The line names it in quotes.
    pub is_quoted: bool,
}

/// A header that a source includes.
pub struct Header {
    /// Where it is, as a user reads it. Each header has a name of its own.
    pub name: String,
    pub text: String,
    /// The project has it, but not where the include line says.
    pub is_guess: bool,
}

/// Why a header is not read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absent {
    Nowhere,
    /// It lies outside of the project.
    Outside,
    /// The project has several that differ: where they are.
    Several(Vec<String>),
    /// There are too many headers.
    TooMany,
}

/// Finds a header.
pub type ReadHeader<'a> = &'a dyn Fn(&Wanted) -> Result<Header, Absent>;

/// Most headers that are read, and most bytes of them.
const MOST_HEADERS: usize = 256;
const MOST_BYTES: usize = 16 << 20;

/// The headers that were looked for.
#[derive(Default)]
pub struct Seen {
    names: BTreeSet<String>,
    /// The macros that they define.
    pub macros: BTreeSet<String>,
    bytes: usize,
}

impl Seen {
    pub fn has_space(&self) -> bool {
        self.names.len() < MOST_HEADERS && self.bytes < MOST_BYTES
    }

    pub fn is_new(&mut self, name: &str, bytes: usize) -> bool {
        let is_new = self.names.insert(name.to_owned());
        self.bytes += if is_new { bytes } else { 0 };
        is_new
    }
}

/// What an item includes, unless that comes with CUDA, with PyTorch or with `lab`.
pub fn wanted<'a>(code: &'a Code<String>, item: &Item, by: Option<&'a str>) -> Option<Wanted<'a>> {
    let line = code.at(item.first);
    let name = included(line).filter(|_| item.kind == ItemKind::Include)?;
    let is_ours = ["lab.h", "lab_problem.h"].contains(&name) || is_for_device(name);
    (!is_ours && !is_of_libraries(name)).then(|| Wanted {
        by,
        name,
        is_quoted: quoted(line).is_some(),
    })
}
