//! The dialog before a keep or a discard: the verdict, the subject and, once they are opened, the
//! trailers.

use super::dialog::{keys, verdict_line};
use crate::draft::{Draft, Field, LONG, SHORT};
use crate::model::Model;
use crate::prelude::*;
use crate::widgets::window::{COLUMNS, text_columns};

/// Least columns for the usual values of a trailer.
const ROOMY: u16 = 60;

/// Columns of a trailer's name.
const LABEL: usize = 13;

pub(super) fn draw(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    action: Action,
    ask: &str,
    draft: &Draft,
) {
    let columns = text_columns(area, COLUMNS);
    let (fields, at) = draft.shown();
    let mut above = vec![verdict_line(model, action, draft.run), Line::default()];
    above.extend(paragraph(ask, columns, QUIET));
    let mut below = match &draft.problem {
        Some(problem) => prefixed("✗ ", problem, columns, BAD),
        None if draft.is_old => vec![Line::styled(
            "the text of an earlier run: typing replaces it, ← keeps it",
            QUIET,
        )],
        None => vec![folded(model, draft)],
    };
    let rows = above.len() + fields.len() + below.len() + 1;
    let title = match action {
        Action::Discard if model.discards_unjudged(draft.run) => "Discard unjudged".to_owned(),
        _ => format!("{} run {}", action.title(), draft.run),
    };
    let inner = draw_window(frame, area, &title, (COLUMNS, rows));
    let [inner, keys] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inner);
    frame.render_widget(hints(model, action, draft), keys);
    // On a small screen the line that is typed into and what is wrong with it stay visible.
    let mut room = usize::from(inner.height);
    below.truncate(room.saturating_sub(1));
    room -= below.len();
    let first = (above.len() + at + 1).saturating_sub(room);
    let mut places = inner.rows();
    for (row, place) in (first..above.len() + fields.len()).zip(places.by_ref().take(room)) {
        match row.checked_sub(above.len()) {
            None => frame.render_widget(&above[row], place),
            Some(field) => line(frame, place, &fields[field], field == at),
        }
    }
    for (row, place) in below.into_iter().zip(places) {
        frame.render_widget(row, place);
    }
}

/// Draws one field; the one that is typed into has the cursor.
fn line(frame: &mut Frame, area: Rect, field: &Field, is_here: bool) {
    let sign = if is_here { "› " } else { "  " };
    let (prompt, (note, style)) = match &field.key {
        None => (sign.to_owned(), length(field.input.value())),
        Some(key) => {
            // On a narrow screen the typed text needs the columns.
            let words = if area.width < ROOMY {
                String::new()
            } else {
                key.words().join(", ")
            };
            let prompt = format!("{sign}{}", pad(key.word(), LABEL + 1));
            (prompt, (words, QUIET))
        }
    };
    let taken = (width(&note) as u16 + 1).min(area.width / 2);
    let parts = [Constraint::Fill(1), Constraint::Length(taken)];
    let [typed, behind] = Layout::horizontal(parts).areas(area);
    if is_here {
        draw_input(frame, typed, &prompt, &field.input);
    } else {
        let room = usize::from(typed.width).saturating_sub(width(&prompt));
        let text = fit(field.input.value(), room);
        frame.render_widget(Line::from(vec![prompt.quiet(), Span::raw(text)]), typed);
    }
    let note = Line::styled(fit(&note, usize::from(taken)), style);
    frame.render_widget(note.right_aligned(), behind);
}

/// The length of a subject, and the length up to which lists show it in full. Nothing before
/// anything is typed.
fn length(subject: &str) -> (String, Style) {
    match subject.trim().chars().count() {
        0 => (String::new(), QUIET),
        count @ ..=SHORT => (format!("{count} of {SHORT}"), QUIET),
        count @ ..=LONG => (format!("{count} of {LONG}"), WARN),
        count => (format!("! {count}, more than {LONG}"), WARN),
    }
}

/// The line that stands for the folded trailers.
fn folded(model: &Model, draft: &Draft) -> Line<'static> {
    if draft.open {
        return Line::default();
    }
    let key = model.appearance.keymap.key(Action::Fold);
    let filled = match draft.filled() {
        filled if filled.is_empty() => String::new(),
        filled => format!(": {}", filled.join(", ")),
    };
    Line::styled(format!("▸ trailers{filled}  ({key} opens them)"), QUIET)
}

fn hints(model: &Model, action: Action, draft: &Draft) -> Line<'static> {
    let fold = if draft.open { "fold" } else { "trailers" };
    let all = [
        (Action::Accept, action.binding().name),
        (Action::Abandon, "go back"),
        (Action::NextField, "next trailer"),
        (Action::Fold, fold),
        (Action::NextChoice, "next word"),
    ];
    let count = all.len() - usize::from(draft.words().is_empty());
    Line::from(keys(model, &all[..count]))
}
