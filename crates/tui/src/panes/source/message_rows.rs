//! The compiler's messages as rows between the lines of the kernel.

use crate::prelude::*;
use crate::source::{Freshness, SourceMessage};
use lab_protocol::report::Severity;

/// Most rows of a message.
const PARTS: usize = 4;

/// A message in rows: its sign, its severity, its text, and whether it is stale.
pub(super) fn message_rows(message: &SourceMessage, columns: usize) -> Lines {
    let behind = match message.freshness {
        Freshness::Fresh => "",
        Freshness::Stale => " (stale: the file is newer)",
        Freshness::Lost => " (stale: this line has changed since)",
    };
    let text = format!("{}: {}{behind}", message.word(), message.text);
    let sign = sign(message);
    let style = sign.style;
    let mut rows = wrap(&text, columns.saturating_sub(2));
    rows.truncate(PARTS);
    hanging(
        Span::styled(format!("{} ", sign.content), style),
        rows,
        style,
    )
}

/// The sign of a message.
pub(super) fn sign(message: &SourceMessage) -> Span<'static> {
    let sign = match message.severity {
        Severity::Error => "✗",
        Severity::Warning => "!",
        Severity::Note => "·",
    };
    let style = match message.freshness {
        Freshness::Fresh => style::diagnostic(message.severity),
        Freshness::Stale | Freshness::Lost => QUIET,
    };
    Span::styled(sign, style)
}
