//! The dialogs on top of the panes: questions, notices, lines to type, texts to read.

use super::dialog::{keep_question, keys};
use super::{help, message_dialog, pick_list};
use crate::model::Model;
use crate::overlay::{About, LineOf, Overlay, WrongCells};
use crate::prelude::*;
use crate::request::Change;
use crate::widgets::evidence;
use crate::widgets::window::{COLUMNS, WIDE, draw_hints, draw_scrolled, text_columns};
use ratatui::widgets::Paragraph;
use tui_input::Input;

/// Columns of the dialog with the cells of an output, which hold a whole tile.
const CELLS_COLUMNS: u16 = 200;

/// Draws the topmost overlay. Returns the first visible row of the help or of a listing.
pub(super) fn draw(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    overlay: &Overlay,
) -> Option<usize> {
    match overlay {
        Overlay::Help(state) => return Some(help::draw(model, frame, area, state)),
        Overlay::Message { draft, action } => {
            let ask = match action {
                Action::Keep => keep_question(model, draft.run),
                _ => model.discard_prompt(draft.run),
            };
            message_dialog::draw(model, frame, area, *action, &ask, draft);
        }
        Overlay::Question { text, about } => {
            let title = match about {
                About::Change(Change::ApplyPoint(number)) => {
                    format!("Write point {number} into the kernel?")
                }
                About::Change(Change::Restore(commit)) => {
                    format!("Restore {}?", printable(commit))
                }
                About::Change(change) => format!("{}?", change.action().title()),
                About::Rule => "Decide by rule?".to_owned(),
                About::Quit => "Quit?".to_owned(),
            };
            let keys = keys(model, &[(Action::Yes, "yes"), (Action::No, "no")]);
            draw_notice(frame, area, &title, text, keys);
        }
        Overlay::Line { of, input, problem } => {
            let problem = problem.as_deref().unwrap_or_default();
            draw_line(model, frame, area, of, input, problem);
        }
        Overlay::Refused { title, text, newer } => {
            let keys = keys(model, &[(Action::Accept, "go back")]);
            draw_notice(frame, area, title, &format!("{newer}{text}"), keys);
        }
        Overlay::Listing {
            title,
            rows,
            scroll,
        } => return Some(draw_listing(model, frame, area, (title, rows), *scroll)),
        Overlay::Pick { pick, of } => pick_list::draw(model, frame, area, pick, of),
        Overlay::Search { .. } | Overlay::Filter { .. } | Overlay::Preparing { .. } => {}
        // They tell the next update how much of them is visible, so they are drawn by themselves.
        Overlay::Trust { .. } | Overlay::Cells(_) => {}
    }
    None
}

/// Draws lines in a window, and below them a blank row and the keys that answer. Returns the area
/// inside the window.
pub(super) fn draw_text(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    mut lines: Lines,
    keys: Vec<Span<'static>>,
) -> Rect {
    lines.push(Line::default());
    lines.push(Line::from(keys));
    let inner = draw_window(frame, area, title, (COLUMNS, lines.len()));
    frame.render_widget(Paragraph::new(lines), inner);
    inner
}

fn draw_notice(frame: &mut Frame, area: Rect, title: &str, text: &str, keys: Vec<Span<'static>>) {
    let mut lines = paragraph(text, text_columns(area, COLUMNS), Style::new());
    lines.truncate(usize::from(area.height).saturating_sub(4));
    draw_text(frame, area, title, lines, keys);
}

/// Draws a line that is asked for.
fn draw_line(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    of: &LineOf,
    input: &Input,
    problem: &str,
) {
    let columns = text_columns(area, COLUMNS);
    let (title, ask) = match of {
        LineOf::Description(commit) => (
            format!("Describe {}", printable(commit)),
            "The row of the experiment and its record are put in these words; its commit keeps its message.",
        ),
        LineOf::Trailer { commit, .. } => (
            format!("Annotate {}", printable(commit)),
            "A note, tags or any other trailer, as in 'Note: slower on small rows' or 'Tags: warp, smem'. It goes into the record, in \
             place of an earlier one of its key.",
        ),
        LineOf::Decision(source) => (
            source.map_or_else(|| "The newest bench".to_owned(), |it| it.to_string())
                + " as evidence",
            "The id of a decision in decisions.toml, or of a new one. The evidence is written into evidence/ and signed.",
        ),
    };
    let mut lines = paragraph(ask, columns, QUIET);
    // The line that is typed into and its keys stay visible on a small screen.
    lines.truncate(usize::from(area.height).saturating_sub(7));
    let at = lines.len() as u16;
    lines.push(Line::default());
    let mut offered = vec![(Action::Accept, "write"), (Action::Abandon, "go back")];
    if let LineOf::Trailer { beside, .. } = of {
        lines.push(Line::styled(format!("  {}", printable(beside)), QUIET));
        offered.insert(1, (Action::NextField, "note or tags"));
    }
    lines.extend(prefixed("✗ ", problem, columns + 2, BAD));
    let inner = draw_text(frame, area, &title, lines, keys(model, &offered));
    if at < inner.height {
        draw_input(frame, row_of(inner, inner.y + at), "› ", input);
    }
}

/// Draws a list that is only read, as the machine code of a line. Returns the first visible row.
fn draw_listing(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    (title, rows): (&str, &[String]),
    scroll: usize,
) -> usize {
    let keymap = &model.appearance.keymap;
    let columns = text_columns(area, WIDE);
    let rows: Vec<Line> = rows.iter().flat_map(|row| wrapped(row, columns)).collect();
    let count = rows.len();
    let inner = draw_window(frame, area, title, (WIDE, count));
    let first = draw_scrolled(frame, inner, rows, scroll);
    let mut hints = Vec::new();
    if count > usize::from(inner.height) {
        let seen = (first + usize::from(inner.height)).min(count);
        let (up, down) = (keymap.way(Action::Up), keymap.way(Action::Down));
        hints.push(format!("rows {} to {seen} of {count}", first + 1));
        hints.push(format!("{up} and {down} scroll"));
    }
    hints.push(format!("{} closes", keymap.way(Action::Close)));
    draw_hints(frame, area, inner, hints);
    first
}

/// Draws the cells around a place of a wrong output. Returns how many rows and columns are shown.
pub(super) fn draw_cells(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    cells: &WrongCells,
) -> [usize; 2] {
    let keymap = &model.appearance.keymap;
    let (at, (cell, tile)) = &cells.shown;
    let Some((name, shape)) = cells.tensors.get(*at) else {
        return [0; 2];
    };
    let columns = text_columns(area, CELLS_COLUMNS);
    let problem = cells.problem.as_deref().map(printable);
    let problem = prefixed("! ", &problem.unwrap_or_default(), columns, WARN);
    let room = usize::from(area.height.saturating_sub(2)).saturating_sub(problem.len());
    let fits = evidence::wrong_cells::fits(tile, [room, columns]);
    let mut lines = evidence::wrong_cells::around(name, tile, (*shape, *cell, cells.top), fits);
    lines.extend(problem);
    let workload = cells.workloads.get(*at).map(|name| printable(name));
    let title = joined([
        format!("Cells of run {}", cells.run),
        workload.unwrap_or_default(),
    ]);
    let inner = draw_window(frame, area, &title, (CELLS_COLUMNS, lines.len()));
    frame.render_widget(Paragraph::new(lines), inner);
    let both = |[first, second]: [Action; 2], what: &str| {
        format!("{} {} {what}", keymap.key(first), keymap.key(second))
    };
    let hints = vec![
        both([Action::NextMatch, Action::PreviousMatch], "wrong cells"),
        both([Action::Up, Action::Down], "row"),
        both([Action::HalfUp, Action::HalfDown], "rows"),
        both([Action::FocusPrevious, Action::FocusNext], "column"),
        both([Action::ScrollLeft, Action::ScrollRight], "columns"),
        both([Action::Top, Action::Bottom], "first and last"),
        format!("{} closes", keymap.way(Action::Close)),
    ];
    draw_hints(frame, area, inner, hints);
    fits
}

/// A row of a listing in so many columns; its indent stays.
fn wrapped(text: &str, columns: usize) -> Vec<Line<'static>> {
    let indent = text.len() - text.trim_start().len();
    match wrap(text, columns.saturating_sub(indent)) {
        rows if rows.is_empty() => vec![Line::default()],
        rows => hanging(Span::raw(" ".repeat(indent)), rows, Style::new()),
    }
}
