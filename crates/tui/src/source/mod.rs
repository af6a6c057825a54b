//! kernel.cu as the view Source shows it, as data: the bytes on disk, what they are compared with, and where the
//! compilers' messages belong in them.

mod messages;

mod text;

#[cfg(test)]
mod tests;

pub use messages::{Message, Messages, Standing, of_kernel};
pub use text::Text;

use super::diff::{Around, Diff};
use super::highlight::Highlighted;
use lab_core::run::experiment::Key;
use lab_core::run::{Fingerprint, RunId};
use std::sync::Arc;

/// What kernel.cu is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Against {
    /// The kernel in HEAD: what was kept last.
    Incumbent,
    Experiment(Key),
}

/// What is to be read. Equal ones have equal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub against: Against,
    /// Whose lines are to be found again in the present bytes.
    pub runs: Vec<RunId>,
    /// What was known of disk and HEAD when it was asked: where that changes the answer is another one.
    pub present: Option<Fingerprint>,
    pub head: Option<String>,
    /// What is shown around a change.
    pub around: Around,
}

/// One reading. Each part stands for itself.
#[derive(Clone, Debug)]
pub struct Source {
    pub asked: Asked,
    pub present: Result<Present, String>,
    pub base: Result<Base, String>,
    /// From the base to the present bytes; empty where one of them is missing.
    pub diff: Arc<Diff>,
    /// From the bytes that a run judged to the present ones, where its copy is still there and differs.
    pub since: Vec<(RunId, Diff)>,
}

#[derive(Clone, Debug)]
pub struct Present {
    pub text: Text,
    pub fingerprint: Fingerprint,
}

#[derive(Clone, Debug)]
pub struct Base {
    /// `incumbent a1b2c3d`
    pub name: String,
    pub text: Text,
}

/// A text whose source is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Present,
    Base,
}

/// The colours of a text until its own are there: what is equal at the beginning and at the end keeps them.
pub fn carry(from: &Text, colours: &Highlighted, to: &Text) -> Highlighted {
    let (head, tail) = from.common(to);
    let line = |at: usize| {
        let known = match at {
            _ if at < head => Some(at),
            _ if at >= to.len() - tail => Some(from.len() - (to.len() - at)),
            _ => None,
        };
        known.and_then(|at| colours.lines.get(at).cloned()).unwrap_or_else(|| Arc::new([]))
    };
    Highlighted { lines: (0..to.len()).map(line).collect(), parsed_lines: 0 }
}
