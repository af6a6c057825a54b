//! The data of the view Source: the kernel on disk, the version it is compared with, the diff
//! between them, and the compilers' messages at their lines.

mod messages;
mod text;

#[cfg(test)]
mod tests;

pub use messages::{Freshness, SourceMessage, SourceMessages, of_kernel, severity_word};
pub use text::SourceText;

use crate::diff::{ContextLines, Diff};
use crate::highlight::Highlighted;
use lab_run::experiment::ExperimentKey;
use lab_run::{Fingerprint, RunId};
use std::sync::Arc;

/// The version that the kernel on disk is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// The kernel in HEAD, which was kept last.
    Incumbent,
    Experiment(ExperimentKey),
}

/// A request to read the kernel. Equal requests have equal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRequest {
    pub baseline: Baseline,
    /// Runs whose messages are shown: their lines are located in the present text.
    pub runs: Vec<RunId>,
    /// The bytes on disk and the commit in HEAD at the time of the request: when one of them
    /// changes, the answer changes.
    pub present: Option<Fingerprint>,
    pub head: Option<String>,
    /// How much unchanged text the diff shows around a change.
    pub around: ContextLines,
}

/// The answer to a request. Each part may fail by itself.
#[derive(Clone, Debug)]
pub struct SourceView {
    pub request: SourceRequest,
    pub present: Result<PresentText, String>,
    pub base: Result<Base, String>,
    /// The diff from the base to the present text. Empty where one of them is missing.
    pub diff: Arc<Diff>,
    /// For each run whose judged copy still exists and differs: the diff from the judged text to
    /// the present text.
    pub since: Vec<(RunId, Diff)>,
}

/// The kernel on disk.
#[derive(Clone, Debug)]
pub struct PresentText {
    pub text: SourceText,
    pub fingerprint: Fingerprint,
}

/// The version that the kernel is compared with.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its name on the screen: `incumbent a1b2c3d`.
    pub name: String,
    pub text: SourceText,
}

/// One of the two texts that are highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceVersion {
    Present,
    Base,
}

/// The highlighting to show for the text `to` until its own is ready: the lines that both texts
/// have at the beginning and at the end keep their highlighting, the others are plain.
pub fn carry_highlighting(
    from: &SourceText,
    highlighted: &Highlighted,
    to: &SourceText,
) -> Highlighted {
    let (head, tail) = from.common(to);
    let line = |at: usize| {
        let known = match at {
            _ if at < head => Some(at),
            _ if at >= to.len() - tail => Some(from.len() - (to.len() - at)),
            _ => None,
        };
        known
            .and_then(|at| highlighted.lines.get(at).cloned())
            .unwrap_or_else(|| Arc::new([]))
    };
    Highlighted {
        lines: (0..to.len()).map(line).collect(),
        parsed_lines: 0,
    }
}
