//! The whole file: a gutter with the cursor, the worst message's sign, the line's number and its
//! change; the messages of a line below it.

use super::changes::LineChange;
use super::colours_of;
use super::message_rows::{message_columns, wrapped};
use super::state::{FileFit, FileRow, SourceState};
use crate::line_layout::{StyledRange, layout_line};
use crate::prelude::*;
use crate::search_highlight::find_all;
use crate::source::{Freshness, SourceMessage, SourceVersion};
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
    draw_rows(canvas.frame, area, rows.map(|row| painter.row(*row)));
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
    fn row(&self, row: FileRow) -> Line<'static> {
        match row {
            FileRow::Line(line) => self.line(line),
            FileRow::SourceMessage {
                line,
                message,
                part,
            } => self.message(self.state.messages.at(line).get(message), part),
            FileRow::Elsewhere { message, part } => {
                self.message(self.state.messages.elsewhere.get(message), part)
            }
        }
    }

    fn line(&self, line: usize) -> Line<'static> {
        let state = self.state;
        let here = line == state.cursor() && self.focused;
        let text = state.text().map_or("", |text| text.line(line));
        let messages = state.messages.at(line);
        let worst = messages.iter().min_by_key(|message| rank(message.severity));
        let mut spans = vec![
            if here { "▸".key() } else { Span::raw(" ") },
            worst.map_or(Span::raw(" "), |worst| {
                Span::styled(sign(worst.severity), style(worst))
            }),
            Span::styled(
                format!("{:>1$}", line + 1, self.digits),
                style::gutter(here),
            ),
            match state.change(line) {
                Some(LineChange::New) => Span::styled("+", style::diff(DiffRole::Added)),
                Some(LineChange::Changed) => "~".warn(),
                Some(LineChange::GoneBelow) => Span::styled("-", style::diff(DiffRole::Removed)),
                None => Span::raw(" "),
            },
            Span::raw(" "),
        ];
        if self.hot > 0 {
            let (cell, is_hot) = state.hot.cell(line, self.hot);
            spans.push(Span::styled(cell, if is_hot { WARN } else { QUIET }));
        }
        let styles = colours_of(state.colours(SourceVersion::Present), line);
        let about: Vec<StyledRange> = messages
            .iter()
            .filter(|message| message.freshness != Freshness::Lost)
            .filter_map(|m| {
                Some((
                    word_at(text, m.column?)?,
                    style::diagnostic_underline(m.severity),
                ))
            })
            .take(1)
            .collect();
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

    fn message(&self, message: Option<&SourceMessage>, part: usize) -> Line<'static> {
        let Some(message) = message else {
            return Line::default();
        };
        let rows = wrapped(message, message_columns(self.columns));
        let text = rows.into_iter().nth(part).unwrap_or_default();
        let sign = if part == 0 {
            sign(message.severity)
        } else {
            " "
        };
        let style = style(message);
        Line::from(vec![
            Span::raw(" ".repeat(self.gutter)),
            Span::styled(format!("{sign} "), style),
            Span::styled(text, style),
        ])
    }
}

fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "✗",
        Severity::Warning => "!",
        Severity::Note => "·",
    }
}

fn rank(severity: Severity) -> usize {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Note => 2,
    }
}

fn style(message: &SourceMessage) -> Style {
    match message.freshness {
        Freshness::Fresh => style::diagnostic(message.severity),
        Freshness::Stale | Freshness::Lost => QUIET,
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
    let end = match is_part(first) {
        true => text[start..]
            .find(|letter| !is_part(letter))
            .map_or(text.len(), |end| start + end),
        false => start + first.len_utf8(),
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
