//! The compiler's messages as rows between the lines of the kernel.

use crate::prelude::*;
use crate::source::{Freshness, SourceMessage};

/// Most rows of a message.
const PARTS: usize = 4;

/// Columns of a message in a text of so many columns: its sign stands before it.
pub(super) fn message_columns(text_columns: usize) -> usize {
    text_columns.saturating_sub(2)
}

/// A message in rows: its severity, its text, and whether it is stale.
pub(super) fn wrapped(message: &SourceMessage, columns: usize) -> Vec<String> {
    let behind = match message.freshness {
        Freshness::Fresh => "",
        Freshness::Stale => " (stale: the file is newer)",
        Freshness::Lost => " (stale: this line has changed since)",
    };
    let text = format!("{}: {}{behind}", message.word(), message.text);
    let mut rows = wrap(&text, columns);
    rows.truncate(PARTS);
    rows
}
