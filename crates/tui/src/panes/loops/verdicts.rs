//! The pane Verdicts: what the newest runs of the kernel came to, the newest first.

use super::Data;
use crate::format;
use crate::text::{fit, pad, pad_left, printable};
use crate::theme::Theme;
use crate::widgets::text_pane::draw_text;
use crate::widgets::{PaneSlot, ScrolledText, mark};
use lab_core::auto::LoopRun;
use lab_core::run::experiment::Status;
use lab_protocol::report::Speed;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns of a run's number, of what it came to, and of its change.
const RUN: usize = 6;
const CAME: usize = 10;
const CHANGE: usize = 9;

/// Returns the list as it fits into the pane.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Data,
    text: ScrolledText,
    theme: &Theme,
) -> ScrolledText {
    let inner = slot.draw_title(frame, "", theme);
    let rows = rows(data, usize::from(inner.width), theme);
    if rows.is_empty() {
        let hint = "the newest verdicts are shown here";
        frame.render_widget(Line::styled(hint, theme.quiet()), inner);
        return text;
    }
    draw_text(frame, slot, inner, rows, text, theme)
}

/// All rows, cut to so many columns.
pub fn rows(data: Data, columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let Some(view) = data.loops.view() else {
        return Vec::new();
    };
    view.runs
        .iter()
        .map(|run| row(run, columns, theme))
        .collect()
}

fn row(run: &LoopRun, columns: usize, theme: &Theme) -> Line<'static> {
    let (sign, came, style) = came(run, theme);
    let change = run
        .change
        .map(|change| format::percent(change.ratio))
        .unwrap_or_default();
    let speed = run
        .change
        .and_then(|change| change.speed)
        .map(Speed::word)
        .unwrap_or_default();
    let words = [speed, &*printable(&run.description)].join(" ");
    let used = 2 + RUN + 1 + CAME + CHANGE + 1;
    Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::raw(format!("{} ", pad_left(&run.id.to_string(), RUN))),
        Span::styled(pad(came, CAME), style),
        Span::raw(format!("{} ", pad_left(&change, CHANGE))),
        Span::raw(fit(words.trim(), columns.saturating_sub(used)).into_owned()),
    ])
}

/// The sign, the word and the style of what a run came to.
fn came(run: &LoopRun, theme: &Theme) -> (&'static str, &'static str, Style) {
    match (run.status, run.outcome) {
        (Some(status), _) => {
            let word = match status {
                Status::Keep => "kept",
                Status::Discard => "discarded",
                Status::Crash => "crash",
                Status::Rules => "rules",
            };
            (mark(status), word, theme.experiment(status))
        }
        (None, Some(outcome)) if outcome.is_verdict() => ("?", "undecided", theme.warn()),
        (None, Some(outcome)) => (outcome.sign(), "void", theme.quiet()),
        (None, None) => ("◐", "judging", theme.accent()),
    }
}
