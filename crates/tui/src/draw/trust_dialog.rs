//! The question whether a harness command may run, or kernels without a sandbox. It may be longer
//! than the screen: it scrolls, and is answered with yes only once all of it was shown.

use super::dialog::keys;
use super::dialogs::draw_text;
use crate::model::Model;
use crate::overlay::{QuestionFit, Reading};
use crate::prelude::*;
use crate::widgets::window::{COLUMNS, text_columns};
use lab_project::trust::{TrustLine, TrustRequest};

/// Rows of the window beside the text: its border, a blank row, and the keys.
const OTHER_ROWS: u16 = 4;

/// Draws the question from row `reading.scroll` on, or from the last row that fills the window.
pub(super) fn draw(
    model: &Model,
    frame: &mut Frame,
    area: Rect,
    request: &TrustRequest,
    mut reading: Reading,
) -> QuestionFit {
    let columns = text_columns(area, COLUMNS);
    let text = rows(request, columns);
    let (title, _) = question(request);
    let total = text.len();
    let rows = total.min(usize::from(area.height.saturating_sub(OTHER_ROWS)));
    let first = reading.scroll.min(total - rows);
    let fit = QuestionFit {
        first,
        rows,
        total,
        columns,
    };
    // This frame counts too: the keys say what is possible once it was seen.
    reading.take(fit);
    let lines = text.into_iter().skip(first).take(rows).map(Line::from);
    let keys = answers(model, fit, reading.is_all_read());
    draw_text(frame, area, title, lines.collect(), keys);
    fit
}

fn answers(model: &Model, fit: QuestionFit, is_all_read: bool) -> Vec<Span<'static>> {
    let both = [(Action::Yes, "yes"), (Action::No, "no")];
    let mut spans = keys(model, &both[usize::from(!is_all_read)..]);
    let below = fit.total - fit.first - fit.rows;
    if below > 0 || fit.first > 0 {
        let hint = match below {
            0 => String::new(),
            below => format!("{} below: ", format::counted(below, "row")),
        };
        spans.push(hint.warn());
        spans.extend(keys(model, &[(Action::Down, "scroll")]));
    }
    spans
}

/// The title, and the last sentence.
fn question(request: &TrustRequest) -> (&'static str, &'static str) {
    match (&request.command, &request.python) {
        (Some(_), _) => ("Trust this harness?", "Run it?"),
        (None, Some(_)) => ("Trust this folder?", "Run its Python?"),
        (None, None) => ("Trust this folder?", "Run its kernels without a sandbox?"),
    }
}

/// The text in rows of at most so many columns. Sentences are wrapped at blanks; of a literal line
/// every character is shown.
fn rows(request: &TrustRequest, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut was_literal = None;
    for line in request.lines() {
        let is_literal = matches!(line, TrustLine::Literal(_));
        if was_literal.is_some_and(|before| before != is_literal) {
            rows.push(String::new());
        }
        was_literal = Some(is_literal);
        match line {
            TrustLine::Sentence(text) => rows.extend(wrap(&text, columns)),
            TrustLine::Literal(text) => rows.extend(cut(&text, columns)),
        }
    }
    let (_, asked) = question(request);
    rows.push(String::new());
    rows.push(asked.to_owned());
    rows
}

/// Cuts a line into rows, without leaving out a blank. The rows after the first are marked, because
/// a command may begin anywhere.
fn cut(text: &str, columns: usize) -> Vec<String> {
    const CONTINUED: &str = "      ┆ ";
    let mut rows = Vec::new();
    let (mut row, mut used) = (String::new(), 0);
    for letter in text.chars() {
        let wide = width(letter.encode_utf8(&mut [0; 4]));
        if used + wide > columns && !row.is_empty() {
            rows.push(std::mem::replace(&mut row, CONTINUED.to_owned()));
            used = width(CONTINUED);
        }
        row.push(letter);
        used += wide;
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_long_line_is_left_out() {
        let blanks = " ".repeat(200);
        let line = format!("    1 │ echo ok{blanks}; rm -rf ~");
        let rows = cut(&line, 80);
        assert!(rows.iter().all(|row| width(row) <= 80), "{rows:?}");
        let joined: String = rows
            .iter()
            .map(|row| row.strip_prefix("      ┆ ").unwrap_or(row))
            .collect();
        assert_eq!(joined, line);
    }
}
