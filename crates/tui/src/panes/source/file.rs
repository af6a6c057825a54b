//! The whole file: a gutter with the cursor, the worst message's sign, the line's number and its
//! change; the messages of a line below it.

use super::changes::LineChange;
use super::colours_of;
use super::message_rows::sign;
use super::state::{FileFit, FileRow, SourceState};
use crate::line_layout::{StyledRange, layout_line};
use crate::prelude::*;
use crate::search_highlight::find_all;
use crate::source::{Freshness, SourceVersion};
use crate::theme::DiffRole;
use lab_protocol::report::Severity;
use std::ops::Range;

/// Tab stops as compilers count columns.
const COMPILER_TAB: usize = 8;

pub fn draw(canvas: &mut Canvas, state: &SourceState, fit: &FileFit) {
    let area = canvas.body();
    let Some(layout) = state.layout_of(fit) else {
        return;
    };
    let painter = FilePainter {
        state,
        digits: state.digits(),
        gutter: state.gutter(area),
        hot: state.hot.columns(area.width),
        columns: state.text_columns(area),
        focused: canvas.is_focused,
        search: canvas.needle,
    };
    let rows = layout.rows.iter().skip(fit.first);
    draw_rows(canvas.frame, area, rows.map(|row| painter.row(row)));
}

struct FilePainter<'a> {
    state: &'a SourceState,
    digits: usize,
    gutter: usize,
    /// Columns of the profile in it.
    hot: usize,
    /// Columns of the text.
    columns: usize,
    focused: bool,
    search: &'a str,
}

impl FilePainter<'_> {
    fn row(&self, row: &FileRow) -> Line<'static> {
        match row {
            FileRow::Line(line) => self.line(*line),
            FileRow::Message { text, .. } => {
                let mut row = Line::from(" ".repeat(self.gutter));
                row.extend(text.spans.iter().cloned());
                row
            }
        }
    }

    fn line(&self, line: usize) -> Line<'static> {
        let state = self.state;
        let here = line == state.cursor() && self.focused;
        let text = state.text().map_or("", |text| text.line(line));
        let messages = state.messages.at(line);
        let worst = messages.iter().min_by_key(|message| rank(message.severity));
        let number = format!("{:>1$}", line + 1, self.digits);
        let mut spans = vec![
            if here { "▸".key() } else { " ".into() },
            worst.map_or(" ".into(), sign),
            Span::styled(number, style::gutter(here)),
            match state.change(line) {
                Some(LineChange::New) => Span::styled("+", style::diff(DiffRole::Added)),
                Some(LineChange::Changed) => "~".warn(),
                Some(LineChange::GoneBelow) => Span::styled("-", style::diff(DiffRole::Removed)),
                None => " ".into(),
            },
            " ".into(),
        ];
        if self.hot > 0 {
            let (cell, is_hot) = state.hot.cell(line, self.hot);
            spans.push(Span::styled(cell, if is_hot { WARN } else { QUIET }));
        }
        let styles = colours_of(state.colours(SourceVersion::Present), line);
        let mut about = messages.iter().filter_map(|m| {
            let word = word_at(text, m.column?)?;
            let is_here = m.freshness != Freshness::Lost;
            is_here.then(|| (word, style::diagnostic_underline(m.severity)))
        });
        let about: Vec<StyledRange> = about.next().into_iter().collect();
        let found = find_all(text, self.search).into_iter();
        let found: Vec<StyledRange> = found.map(|range| (range, MATCH)).collect();
        spans.extend(layout_line(
            text,
            TEXT,
            &[&styles, &about, &found],
            state.left,
            self.columns,
        ));
        Line::from(spans)
    }
}

fn rank(severity: Severity) -> usize {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    }
}

/// The word at a column as compilers count them, from 1. A character outside a word stands for
/// itself.
fn word_at(text: &str, column: u32) -> Option<Range<usize>> {
    let wanted = (column as usize).checked_sub(1)?;
    let mut at = 0;
    let (start, first) = text.char_indices().find(|(_, letter)| {
        let here = at;
        at += if *letter == '\t' {
            COMPILER_TAB - at % COMPILER_TAB
        } else {
            letter.len_utf8()
        };
        here >= wanted
    })?;
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = if is_part(first) {
        text[start..]
            .find(|letter| !is_part(letter))
            .map_or(text.len(), |end| start + end)
    } else {
        start + first.len_utf8()
    };
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compilers_column_is_a_word() {
        let word = |text: &str, column| word_at(text, column).map(|range| text[range].to_owned());
        assert_eq!(word("  warp_sun(x);", 3).as_deref(), Some("warp_sun"));
        assert_eq!(word("\tx = y;", 9).as_deref(), Some("x"));
        assert_eq!(word("a = ;", 5).as_deref(), Some(";"));
        assert_eq!(word("a", 9), None);
        assert_eq!(word("", 0), None);
    }
}
