//! The pane Edit: what the command of the loop changes in the incumbent, as it is now.

use super::Data;
use crate::diff::{ContextLines, Diff, DiffLayout, DiffView, RowPainter, no_line_styles};
use crate::text::{printable, wrap};
use crate::theme::Theme;
use crate::widgets::{PaneSlot, ScrolledText};
use lab_core::auto::{LoopView, Phase};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct EditState {
    pub text: ScrolledText,
    /// First visible column.
    pub left: usize,
    hunks: String,
    diff: DiffView,
}

impl EditState {
    /// Shows these hunks. The topmost line stays on top.
    pub fn show(&mut self, hunks: &str) {
        if self.hunks == hunks {
            return;
        }
        let diff = DiffView::new(Arc::new(Diff::parse(hunks)), DiffLayout::Unified);
        if self.text.first() > 0 {
            self.text.show(self.diff.follow(self.text.first(), &diff));
        }
        (self.hunks, self.diff) = (hunks.to_owned(), diff);
    }

    /// How many rows the diff has.
    pub fn count(&self) -> usize {
        self.diff.rows().len()
    }

    /// The text of a row.
    pub fn row(&self, at: usize) -> String {
        self.diff.text(at)
    }
}

/// Returns the diff as it fits into the pane.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Data,
    state: &EditState,
    around: ContextLines,
    theme: &Theme,
) -> ScrolledText {
    let view = data.loops.view();
    let tally = if state.count() > 0 {
        state.diff.diff().tally()
    } else {
        String::new()
    };
    let notes = [
        view.map(whose).unwrap_or_default(),
        tally,
        around.note().to_owned(),
    ];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let inner = slot.draw_title(frame, &notes.join(" · "), theme);
    let columns = usize::from(inner.width);
    if let Some(why) = view.and_then(|view| view.edit.as_ref().err()) {
        let rows = wrap(&printable(why), columns).into_iter();
        for (row, y) in rows.zip(inner.top()..inner.bottom()) {
            frame.render_widget(
                Line::styled(row, theme.bad()),
                Rect {
                    y,
                    height: 1,
                    ..inner
                },
            );
        }
        return state.text;
    }
    if state.count() == 0 {
        frame.render_widget(Line::styled(nothing(view), theme.quiet()), inner);
        return state.text;
    }
    let text = state
        .text
        .fit(columns, usize::from(inner.height), state.count());
    let painter = RowPainter {
        theme,
        line_styles: &no_line_styles,
        search: slot.needle,
        columns,
        left: state.left,
        digits: state.diff.digits(),
    };
    let rows = state.diff.rows().iter().enumerate().skip(text.first());
    for ((at, row), y) in rows.zip(inner.top()..inner.bottom()) {
        let line = painter.row(state.diff.diff(), *row, false);
        let line = if text.marked() == Some(at) {
            theme.select(line)
        } else {
            line
        };
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..inner
            },
        );
    }
    text
}

/// Which turn's edit it is.
fn whose(view: &LoopView) -> String {
    match &view.state {
        Some(state) if view.running && state.phase == Phase::Editing => {
            format!("turn {} so far", state.turn)
        }
        Some(state) if state.turn > 0 => format!("turn {}", state.turn),
        _ => String::new(),
    }
}

fn nothing(view: Option<&LoopView>) -> &'static str {
    match view.and_then(|view| view.state.as_ref()) {
        Some(state) if state.phase == Phase::Editing => "the kernel is the incumbent so far",
        Some(_) => "no difference to the incumbent",
        None => "the edit of the loop's command is shown here while it is made",
    }
}
