//! The pane Source: the kernel with the compilers' messages at their lines, or its changes since
//! the base.

mod changes;
mod file;
mod hot;
mod marks;
mod message_rows;
mod state;

pub use hot::HotLines;
pub use state::{SourceFit, SourceMode, SourceState};

use crate::diff::{self, ContextLines, RowPainter, Side};
use crate::highlight::Highlighted;
use crate::line_layout::StyledRange;
use crate::prelude::*;
use crate::source::{SourceVersion, SourceView};

/// Returns how the text fits into the pane.
pub fn draw(canvas: &mut Canvas, state: &SourceState, around: ContextLines) -> SourceFit {
    let fit = state.fit(canvas.body());
    let view = fit.diff.of(&state.view);
    let note = note(state, view.shown, around, canvas.area.width);
    let inner = canvas.draw_title(&note);
    if let Some(why) = missing(state) {
        canvas.draw_hint(inner, &why);
        return fit;
    }
    if let Some(file) = &fit.file {
        file::draw(canvas, state, file);
        return fit;
    }
    let line_styles = |side: Side, number: u32| {
        let which = match side {
            Side::Old => SourceVersion::Base,
            Side::New => SourceVersion::Present,
        };
        colours_of(state.colours(which), number as usize - 1)
    };
    let painter = RowPainter {
        line_styles: &line_styles,
        search: canvas.needle,
        columns: usize::from(inner.width),
        left: state.left,
        digits: view.digits,
    };
    let rows = view.rows.iter().enumerate().skip(fit.diff.first);
    let is_cursor = |at| canvas.is_focused && at == view.cursor;
    let lines = rows.map(|(at, row)| painter.row(view, *row, is_cursor(at)));
    draw_rows(canvas.frame, inner, lines);
    fit
}

/// The styles of a line's parts, by byte range. `line` counts from 0.
fn colours_of(colours: &Highlighted, line: usize) -> Vec<StyledRange> {
    colours
        .line(line)
        .iter()
        .map(|span| (span.range.clone(), style::syntax(span.role)))
        .collect()
}

/// The sentence that replaces a text that cannot be shown.
fn missing(state: &SourceState) -> Option<String> {
    let Some(source) = &state.source else {
        return Some("reading …".to_owned());
    };
    match (&source.present, &source.base) {
        (Err(why), _) => Some(why.clone()),
        _ if state.mode == SourceMode::File => None,
        (_, Err(why)) => Some(format!("there is nothing to compare with: {why}")),
        _ if state.view.diff.is_empty() => Some("nothing changed".to_owned()),
        _ => None,
    }
}

/// Messages first, then the base: a narrow title is cut at its end.
fn note(state: &SourceState, form: diff::DiffLayout, around: ContextLines, columns: u16) -> String {
    let Some(source) = &state.source else {
        return String::new();
    };
    let messages = state.messages.tally();
    let base = if state.is_behind() {
        "reading …".to_owned()
    } else {
        base(source)
    };
    if state.mode == SourceMode::File {
        let hot = state.hot.note(state.hot.columns(columns));
        let place = state.text().zip(state.line());
        let place = place.map(|(text, line)| format!("{line}/{}", text.len()));
        return joined([messages, hot, base, place.unwrap_or_default()]);
    }
    let form = match (state.mode, form) {
        (SourceMode::Split, diff::DiffLayout::Split) => "side by side".to_owned(),
        (SourceMode::Split, diff::DiffLayout::Unified) => {
            format!("unified (both sides need {} columns)", diff::WIDE)
        }
        _ => "unified".to_owned(),
    };
    joined([messages, format!("{form} {base}"), around.note().to_owned()])
}

fn base(source: &SourceView) -> String {
    match (&source.base, &source.present) {
        (Ok(base), Ok(_)) if source.diff.is_empty() => format!("same as {}", printable(&base.name)),
        (Ok(base), Ok(_)) => format!("{} against {}", source.diff.tally(), printable(&base.name)),
        (Ok(base), Err(_)) => format!("against {}", printable(&base.name)),
        (Err(_), _) => "no base".to_owned(),
    }
}
