//! Draws the rows of a diff: the cursor's mark, the line numbers, the sign, the text. The signs `+`
//! and `-` tell what the colours tell.

use super::{DiffLayout, DiffLine, DiffRow, DiffView, LineKind, Side};
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
    /// The width of a line number, in columns: `Diff::digits`.
    pub digits: usize,
}

impl RowPainter<'_> {
    /// One row of a diff. `here` is true of the cursor's row.
    pub fn row(&self, view: &DiffView, row: DiffRow, here: bool) -> Line<'static> {
        let cursor = if here { "▸".key() } else { " ".into() };
        let mut line = Line::from(cursor);
        let diff = &view.diff;
        match row {
            DiffRow::File { file } => {
                let name = diff.files.get(file).and_then(|file| file.name.as_deref());
                line.push_span(self.fit(name.unwrap_or_default(), 1).strong());
            }
            DiffRow::Hunk { file, hunk } => {
                if let Some(hunk) = diff.hunk(file, hunk) {
                    let range = hunk.range();
                    let section = self.fit(&format!(" {}", hunk.section), 1 + range.len());
                    line.push_span(Span::styled(range, style::diff(DiffRole::Hunk)));
                    line.push_span(section.quiet());
                }
            }
            // Of source only the text is searched, not the line numbers: `text` highlights its
            // matches.
            DiffRow::Lines { .. } => {
                let [old, new] = [Side::Old, Side::New].map(|side| view.on(row, side));
                match view.shown {
                    DiffLayout::Unified => self.unified(&mut line, new.or(old), here),
                    DiffLayout::Split => self.split(&mut line, [old, new], here),
                }
                return line;
            }
        }
        mark(line, self.search)
    }

    /// `text` in the columns that are left after `used`.
    fn fit(&self, text: &str, used: usize) -> String {
        fit(&printable(text), self.columns.saturating_sub(used))
    }

    fn unified(&self, out: &mut Line<'static>, line: Option<&DiffLine>, here: bool) {
        let Some(line) = line else { return };
        let numbers = if self.columns < NARROW {
            vec![line.new.or(line.old)]
        } else {
            vec![line.old, line.new]
        };
        out.extend(numbers.into_iter().map(|number| self.number(number, here)));
        let side = match line.kind {
            LineKind::Removed => Side::Old,
            _ => Side::New,
        };
        let columns = self.columns.saturating_sub(out.width());
        out.extend(self.text(line, side, columns));
    }

    fn split(&self, out: &mut Line<'static>, lines: [Option<&DiffLine>; 2], here: bool) {
        // One column is the cursor's mark at the left, one the rule in the middle.
        let half = self.columns.saturating_sub(2) / 2;
        let columns = half.saturating_sub(self.digits + 1);
        for (line, side) in lines.into_iter().zip([Side::Old, Side::New]) {
            let number = line.and_then(|line| line.number(side));
            out.push_span(self.number(number, here && side == Side::New));
            let text = line.map_or_else(Vec::new, |line| self.text(line, side, columns));
            let used = spans_width(&text);
            out.extend(text);
            if side == Side::Old {
                let background = |line: &DiffLine| style::diff_background(roles(line.kind).0);
                let filling = line.map_or(Style::new(), background);
                let blanks = " ".repeat(columns.saturating_sub(used));
                out.push_span(Span::styled(blanks, filling));
                out.push_span("│".quiet());
            }
        }
    }

    fn number(&self, number: Option<u32>, here: bool) -> Span<'static> {
        let text = number.map(|number| number.to_string()).unwrap_or_default();
        let text = format!("{} ", pad_left(&text, self.digits));
        Span::styled(text, style::gutter(here))
    }

    /// The sign and the source of a line, in at most so many columns.
    fn text(&self, line: &DiffLine, side: Side, columns: usize) -> Vec<Span<'static>> {
        let (role, part) = roles(line.kind);
        let number = line.number(side);
        let styles = number.map_or_else(Vec::new, |number| (self.line_styles)(side, number));
        let (sign_style, background) = (style::diff(role), style::diff_background(role));
        // Highlighted source keeps its colours; then the background tells added from removed lines.
        let (base, part) = if styles.is_empty() {
            (sign_style, style::diff(part))
        } else {
            (TEXT, style::diff_background(part))
        };
        let parts = line.changed_parts.iter();
        let parts: Vec<StyledRange> = parts.map(|range| (range.clone(), part)).collect();
        let matches = find_all(&line.text, self.search).into_iter();
        let matches: Vec<StyledRange> = matches.map(|range| (range, MATCH)).collect();
        // A carriage return is shown where the lines differ.
        let text = match line.kind {
            LineKind::Same => line.text.strip_suffix('\r').unwrap_or(&line.text),
            _ => &line.text,
        };
        let mut spans = vec![Span::styled(format!("{} ", line.kind.mark()), sign_style)];
        spans.extend(layout_line(
            text,
            base.patch(background),
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

/// The role of a line, and of its changed part.
fn roles(kind: LineKind) -> (DiffRole, DiffRole) {
    match kind {
        LineKind::Same => (DiffRole::Same, DiffRole::Same),
        LineKind::Removed => (DiffRole::Removed, DiffRole::RemovedPart),
        LineKind::Added => (DiffRole::Added, DiffRole::AddedPart),
    }
}
