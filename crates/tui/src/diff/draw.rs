//! Draws the rows of a diff: the cursor's mark, the line numbers, the sign, the text. The signs `+`
//! and `-` tell what the colours tell.

use super::{Diff, DiffLine, DiffRow, LineKind, Side};
use crate::line_layout::{StyledRange, layout_line, spans_width};
use crate::search_highlight::{find_all, mark};
use crate::text::{fit, pad_left, printable};
use crate::theme::DiffRole;
use crate::theme::style::{self, MATCH, Meaning, TEXT};
use ratatui::prelude::*;

/// In an area with fewer columns a row has one line number instead of two.
const NARROW: usize = 70;

/// Returns the styles of a line's source: of its side and its number, from 1. [`no_line_styles`]
/// for source that is not highlighted.
pub type LineStyles<'a> = dyn Fn(Side, u32) -> Vec<StyledRange> + 'a;

/// The [`LineStyles`] of source that is not highlighted.
pub fn no_line_styles(_: Side, _: u32) -> Vec<StyledRange> {
    Vec::new()
}

/// Draws rows of a diff.
pub struct RowPainter<'a> {
    pub line_styles: &'a LineStyles<'a>,
    /// The text of the search, whose matches are highlighted.
    pub search: &'a str,
    /// The width of a row, in columns.
    pub columns: usize,
    /// The first column of the source that is visible.
    pub left: usize,
    /// The width of a line number, in columns: [`Diff::digits`].
    pub digits: usize,
}

impl RowPainter<'_> {
    /// One row of a diff. `here` is true of the cursor's row.
    pub fn row(&self, diff: &Diff, row: DiffRow, here: bool) -> Line<'static> {
        let cursor = if here { "▸".key() } else { Span::raw(" ") };
        let spans = match row {
            DiffRow::File { file } => self.file(diff, file),
            DiffRow::Note { file, note } => {
                let note = diff.files.get(file).and_then(|file| file.notes.get(note));
                vec![self.fit(note.map_or("", String::as_str), 1).quiet()]
            }
            DiffRow::Hunk { file, hunk } => self.hunk(diff, file, hunk),
            DiffRow::Line { file, hunk, line } => match diff.line(file, hunk, line) {
                Some(line) => self.unified(line, here),
                None => Vec::new(),
            },
            DiffRow::Pair {
                file,
                hunk,
                old,
                new,
            } => {
                let on = |line: Option<usize>| line.and_then(|line| diff.line(file, hunk, line));
                self.split(on(old), on(new), here)
            }
        };
        let mut all = vec![cursor];
        all.extend(spans);
        let line = Line::from(all);
        // In a row of source only the source is searched, not the line numbers; `text` highlights
        // its matches.
        if row.is_source() {
            line
        } else {
            mark(line, self.search)
        }
    }

    /// `text` in the columns that are left after `used`.
    fn fit(&self, text: &str, used: usize) -> String {
        fit(&printable(text), self.columns.saturating_sub(used))
    }

    fn file(&self, diff: &Diff, file: usize) -> Vec<Span<'static>> {
        let Some(file) = diff.files.get(file) else {
            return Vec::new();
        };
        let name = match (&file.old, &file.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (Some(old), None) => format!("{old} (deleted)"),
            (None, Some(new)) if !file.hunks.is_empty() => format!("{new} (new)"),
            _ => file.name().unwrap_or_default().to_owned(),
        };
        vec![self.fit(&name, 1).strong()]
    }

    fn hunk(&self, diff: &Diff, file: usize, hunk: usize) -> Vec<Span<'static>> {
        let Some(hunk) = diff.files.get(file).and_then(|file| file.hunks.get(hunk)) else {
            return Vec::new();
        };
        let range = hunk.range();
        let section = self.fit(&format!(" {}", hunk.section), 1 + range.len());
        vec![
            Span::styled(range, style::diff(DiffRole::Hunk)),
            section.quiet(),
        ]
    }

    fn unified(&self, line: &DiffLine, here: bool) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let numbers = if self.columns < NARROW {
            vec![line.new.or(line.old)]
        } else {
            vec![line.old, line.new]
        };
        let used = 1 + numbers.len() * (self.digits + 1);
        for number in numbers {
            spans.push(self.number(number, here));
        }
        let side = if line.kind == LineKind::Removed {
            Side::Old
        } else {
            Side::New
        };
        spans.extend(self.text(line, side, self.columns.saturating_sub(used)));
        spans
    }

    fn split(
        &self,
        old: Option<&DiffLine>,
        new: Option<&DiffLine>,
        here: bool,
    ) -> Vec<Span<'static>> {
        // One column is the cursor's mark at the left, one the rule in the middle.
        let half = self.columns.saturating_sub(2) / 2;
        let mut spans = Vec::new();
        for (line, side) in [(old, Side::Old), (new, Side::New)] {
            let number = line.and_then(|line| {
                if side == Side::Old {
                    line.old
                } else {
                    line.new
                }
            });
            spans.push(self.number(number, here && side == Side::New));
            let columns = half.saturating_sub(self.digits + 1);
            let text = line.map_or_else(Vec::new, |line| self.text(line, side, columns));
            let used = spans_width(&text);
            spans.extend(text);
            if side == Side::Old {
                let filling =
                    line.map_or(Style::new(), |line| style::diff_background(role(line.kind)));
                spans.push(Span::styled(
                    " ".repeat(columns.saturating_sub(used)),
                    filling,
                ));
                spans.push("│".quiet());
            }
        }
        spans
    }

    fn number(&self, number: Option<u32>, here: bool) -> Span<'static> {
        let text = number.map(|number| number.to_string()).unwrap_or_default();
        Span::styled(
            format!("{} ", pad_left(&text, self.digits)),
            style::gutter(here),
        )
    }

    /// The sign and the source of a line, in at most so many columns.
    fn text(&self, line: &DiffLine, side: Side, columns: usize) -> Vec<Span<'static>> {
        let number = if side == Side::Old {
            line.old
        } else {
            line.new
        };
        let styles = number.map_or_else(Vec::new, |number| (self.line_styles)(side, number));
        let sign_style = style::diff(role(line.kind));
        let background = style::diff_background(role(line.kind));
        // Highlighted source keeps its colours; then the background tells added from removed lines.
        let (base, part) = if styles.is_empty() {
            (sign_style.patch(background), style::diff(part(line.kind)))
        } else {
            (
                TEXT.patch(background),
                style::diff_background(part(line.kind)),
            )
        };
        let parts: Vec<StyledRange> = line
            .changed_parts
            .iter()
            .map(|range| (range.clone(), part))
            .collect();
        let matches = find_all(&line.text, self.search);
        let matches: Vec<StyledRange> = matches.into_iter().map(|range| (range, MATCH)).collect();
        // A carriage return is shown where the lines differ.
        let text = match line.kind {
            LineKind::Same => line.text.strip_suffix('\r').unwrap_or(&line.text),
            _ => &line.text,
        };
        let mut spans = vec![Span::styled(format!("{} ", line.kind.mark()), sign_style)];
        spans.extend(layout_line(
            text,
            base,
            &[&styles, &parts, &matches],
            self.left,
            columns.saturating_sub(2),
        ));
        if line.lacks_newline && line.kind != LineKind::Same && spans_width(&spans) + 21 <= columns
        {
            spans.push("  (no line end)".quiet());
        }
        spans
    }
}

/// The role of a line.
fn role(kind: LineKind) -> DiffRole {
    match kind {
        LineKind::Same => DiffRole::Same,
        LineKind::Removed => DiffRole::Removed,
        LineKind::Added => DiffRole::Added,
    }
}

/// The role of the changed part of a line.
fn part(kind: LineKind) -> DiffRole {
    match kind {
        LineKind::Same => DiffRole::Same,
        LineKind::Removed => DiffRole::RemovedPart,
        LineKind::Added => DiffRole::AddedPart,
    }
}
