//! The dialog before a keep or a discard: the verdict, the subject and, once they are opened, the
//! trailers.

use super::dialog::Dialog;
use crate::draft::{Draft, Field, LONG, SHORT};
use crate::keymap::Action;
use crate::text::{fit, pad, width};
use crate::theme::Theme;
use crate::widgets::input::draw_input;
use crate::widgets::window::{self, draw_window};
use crate::widgets::{paragraph, prefixed};
use ratatui::prelude::*;

/// Least columns for the usual values of a trailer.
const ROOMY: u16 = 60;

/// Columns of a trailer's name.
const LABEL: usize = 13;

pub(super) fn draw(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    verb: &str,
    ask: &str,
    draft: &Draft,
) {
    let theme = dialog.theme();
    let columns = usize::from(area.width.saturating_sub(8)).min(80);
    let (fields, at) = draft.shown();
    let mut above = vec![dialog.verdict_line(draft.run), Line::default()];
    above.extend(paragraph(ask, columns, theme.quiet()));
    let below = match &draft.problem {
        Some(problem) => prefixed("✗ ", problem, columns, theme.bad()),
        None => vec![folded(dialog, draft)],
    };
    let rows = above.len() + fields.len() + below.len() + 1;
    let inner = draw_window(
        frame,
        area,
        &format!("{verb} run {}", draft.run),
        (window::COLUMNS, rows),
        theme,
    );
    let keys = Rect {
        y: inner.bottom().saturating_sub(1),
        height: inner.height.min(1),
        ..inner
    };
    frame.render_widget(hints(dialog, verb, draft), keys);
    // On a small screen the line that is typed into and what is wrong with it stay visible.
    let mut room = usize::from(inner.height.saturating_sub(1));
    let below: Vec<Line> = below.into_iter().take(room.saturating_sub(1)).collect();
    room -= below.len();
    let typed = above.len() + at;
    let first = (typed + 1).saturating_sub(room);
    let mut place = Rect { height: 1, ..inner };
    for row in (first..above.len() + fields.len()).take(room) {
        match row.checked_sub(above.len()) {
            None => frame.render_widget(above[row].clone(), place),
            Some(field) => line(frame, place, &fields[field], field == at, theme),
        }
        place.y += 1;
    }
    for row in below {
        frame.render_widget(row, place);
        place.y += 1;
    }
}

/// Draws one field; the one that is typed into has the cursor.
fn line(frame: &mut Frame, area: Rect, field: &Field, is_here: bool, theme: &Theme) {
    let (prompt, note, style) = match &field.key {
        None => {
            let (note, style) = length(field.input.value(), theme);
            (if is_here { "› " } else { "  " }.to_owned(), note, style)
        }
        Some(key) => {
            // On a narrow screen the typed text needs the columns.
            let words = if area.width < ROOMY {
                String::new()
            } else {
                key.words().join(", ")
            };
            let sign = if is_here { "›" } else { " " };
            (
                format!("{sign} {}", pad(key.word(), LABEL + 1)),
                words,
                theme.quiet(),
            )
        }
    };
    let taken = (width(&note) as u16 + 1).min(area.width / 2);
    let typed = Rect {
        width: area.width - taken,
        ..area
    };
    if is_here {
        draw_input(frame, typed, &prompt, &field.input, theme);
    } else {
        let room = usize::from(typed.width).saturating_sub(width(&prompt));
        let text = fit(field.input.value(), room);
        frame.render_widget(
            Line::from(vec![Span::styled(prompt, theme.quiet()), Span::raw(text)]),
            typed,
        );
    }
    let note = Line::styled(fit(&note, usize::from(taken)), style).right_aligned();
    frame.render_widget(
        note,
        Rect {
            x: typed.right(),
            width: taken,
            ..area
        },
    );
}

/// The length of a subject, and the length up to which lists show it in full. Nothing before
/// anything is typed.
fn length(subject: &str, theme: &Theme) -> (String, Style) {
    match subject.trim().chars().count() {
        0 => (String::new(), theme.quiet()),
        count @ ..=SHORT => (format!("{count} of {SHORT}"), theme.quiet()),
        count @ ..=LONG => (format!("{count} of {LONG}"), theme.warn()),
        count => (format!("! {count}, more than {LONG}"), theme.warn()),
    }
}

/// The line that stands for the folded trailers.
fn folded(dialog: &Dialog, draft: &Draft) -> Line<'static> {
    if draft.is_open() {
        return Line::default();
    }
    let key = dialog.model.appearance.keymap.key(Action::Fold);
    let filled = match draft.filled() {
        filled if filled.is_empty() => String::new(),
        filled => format!(": {}", filled.join(", ")),
    };
    Line::styled(
        format!("▸ trailers{filled}  ({key} opens them)"),
        dialog.theme().quiet(),
    )
}

fn hints(dialog: &Dialog, verb: &str, draft: &Draft) -> Line<'static> {
    let fold = if draft.is_open() { "fold" } else { "trailers" };
    let verb = verb.to_lowercase();
    let all = [
        (Action::Accept, verb.as_str()),
        (Action::Abandon, "go back"),
        (Action::NextField, "next line"),
        (Action::Fold, fold),
        (Action::NextChoice, "next word"),
    ];
    let count = all.len() - usize::from(draft.words().is_empty());
    Line::from(dialog.keys(&all[..count]))
}
