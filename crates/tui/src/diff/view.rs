//! The state of a diff in a pane: its layout, its rows, the cursor, the first visible row.

use super::{ContextLines, Diff, DiffLayout, DiffLine, DiffRow, LineKind, Side};
use itertools::Itertools;
use std::sync::Arc;

/// An area with at least this many columns can show both sides next to each other.
pub const WIDE: u16 = 100;

/// A row that the keys for the next and the previous change go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpTarget {
    pub row: usize,
    /// It is the head of a hunk or of a file: the change is in the rows below.
    pub is_head: bool,
}

/// The next of these rows behind or before a place; from the last to the first.
pub fn next_in_circle(rows: &[usize], at: usize, forward: bool) -> Option<usize> {
    let next = if forward {
        rows.iter().find(|row| **row > at).or(rows.first())
    } else {
        rows.iter().rfind(|row| **row < at).or(rows.last())
    };
    next.copied()
}

/// A diff with its rows and a cursor.
#[derive(Clone, Debug, Default)]
pub struct DiffView {
    pub diff: Arc<Diff>,
    /// The layout that the user chose; [`DiffView::fit`] applies it. In a narrow area the diff is
    /// unified all the same.
    pub chosen: DiffLayout,
    /// The layout of `rows`.
    pub shown: DiffLayout,
    pub rows: Vec<DiffRow>,
    /// The row of the cursor.
    pub cursor: usize,
    /// The first visible row.
    pub first: usize,
    /// The width of a line number, in columns.
    pub digits: usize,
}

impl DiffView {
    /// The view of a diff, with the cursor in the first row.
    pub fn new(diff: Arc<Diff>, layout: DiffLayout) -> Self {
        let (rows, digits) = (diff.rows(layout), diff.digits());
        DiffView {
            diff,
            chosen: layout,
            shown: layout,
            rows,
            digits,
            ..DiffView::default()
        }
    }

    /// Shows another diff. The cursor stays at its line of the new text, or goes to the nearest
    /// line that is shown.
    pub fn set(&mut self, diff: Arc<Diff>) {
        if Arc::ptr_eq(&self.diff, &diff) {
            return;
        }
        let line = self.line();
        self.rows = diff.rows(self.shown);
        self.digits = diff.digits();
        self.diff = diff;
        self.cursor = self.cursor.min(self.last());
        if let Some(line) = line {
            self.go_to_line(line);
        }
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    /// Moves the cursor by so many rows.
    pub fn move_by(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.last());
    }

    /// Moves the cursor to a row.
    pub fn go_to(&mut self, row: usize) {
        self.cursor = row.min(self.last());
    }

    /// The rows where changes begin: one for each hunk of the diff with 3 lines of context, however
    /// much context is shown. The row is the hunk's head if the head is near, else the first
    /// changed line.
    pub fn jump_targets(&self) -> Vec<JumpTarget> {
        let near = ContextLines::Near.lines() as usize;
        let mut targets = Vec::new();
        // The head of the present hunk, until a changed row follows; the unchanged rows since the
        // head or since a change.
        let (mut head, mut same) = (None, 0);
        for (at, row) in self.rows.iter().enumerate() {
            match *row {
                DiffRow::File { .. } => {}
                DiffRow::Hunk { .. } => (head, same) = (Some(at), 0),
                DiffRow::Lines { .. } if self.is_same(*row) => same += 1,
                DiffRow::Lines { .. } => {
                    let is_head = head.is_some() && same <= near;
                    if head.is_some() || same > 2 * near {
                        let row = head.filter(|_| is_head).unwrap_or(at);
                        targets.push(JumpTarget { row, is_head });
                    }
                    (head, same) = (None, 0);
                }
            }
        }
        targets
    }

    /// The rows where files and changes begin.
    pub fn stops(&self) -> Vec<JumpTarget> {
        let rows = self.rows.iter().enumerate();
        let files = rows.filter(|(_, row)| matches!(row, DiffRow::File { .. }));
        let files = files.map(|(row, _)| JumpTarget { row, is_head: true });
        let mut stops: Vec<JumpTarget> = files.chain(self.jump_targets()).collect();
        stops.sort_by_key(|stop| stop.row);
        stops
    }

    /// A diff as it was read, in one column.
    pub fn of_text(text: &str) -> Self {
        DiffView::new(Arc::new(Diff::parse(text)), DiffLayout::Unified)
    }

    /// Whether a row shows an unchanged line.
    fn is_same(&self, row: DiffRow) -> bool {
        [Side::Old, Side::New].iter().all(|side| {
            self.on(row, *side)
                .is_some_and(|line| line.kind == LineKind::Same)
        })
    }

    /// Moves the cursor to the next or the previous change; from the last change to the first.
    /// False where there is no change.
    pub fn step_hunk(&mut self, forward: bool) -> bool {
        let targets = self.jump_targets().into_iter().map(|target| target.row);
        let next = next_in_circle(&targets.collect::<Vec<_>>(), self.cursor, forward);
        self.cursor = next.unwrap_or(self.cursor);
        next.is_some()
    }

    /// The line number of the cursor in the new text. In a row without a line of the new text: the
    /// number of the next line that has one.
    pub fn line(&self) -> Option<u32> {
        let number = |row: &DiffRow| self.on(*row, Side::New).and_then(|line| line.new);
        let here = self.rows.get(self.cursor..)?;
        let of = here.first()?.hunk();
        let below = here
            .iter()
            .take_while(|row| row.hunk() == of)
            .find_map(number);
        below.or_else(|| {
            let (file, hunk) = of?;
            Some(self.diff.hunk(file, hunk)?.new)
        })
    }

    /// Moves the cursor to a line of the new text, or to the nearest line that is shown.
    pub fn go_to_line(&mut self, line: u32) {
        let distance = |row: &usize| {
            let number = self
                .on(self.rows[*row], Side::New)
                .and_then(|line| line.new);
            number.map_or(u32::MAX, |number| number.abs_diff(line))
        };
        if let Some(row) = (0..self.rows.len()).min_by_key(distance) {
            self.cursor = row;
        }
    }

    /// The row of `other` that shows the same line as `row` of this view, or the nearest line. Both
    /// are diffs of the same texts, with different context or layout.
    pub fn follow(&self, row: usize, other: &DiffView) -> usize {
        let number = |view: &DiffView, row: DiffRow| {
            let on = |side| view.on(row, side).and_then(|line| line.number(side));
            (row.file(), on(Side::New), on(Side::Old))
        };
        // A head is located by the first line below it.
        let below = self.rows.iter().skip(row).map(|row| number(self, *row));
        let Some((file, new, old)) = below
            .into_iter()
            .find(|(_, new, old)| new.or(*old).is_some())
        else {
            return other.last();
        };
        let distance = |row: &usize| {
            let (of, to_new, to_old) = number(other, other.rows[*row]);
            let ends = match new {
                Some(_) => new.zip(to_new),
                None => old.zip(to_old),
            };
            let ends = ends.filter(|_| of == file);
            ends.map_or(u32::MAX, |(from, to)| from.abs_diff(to))
        };
        (0..other.rows.len()).min_by_key(distance).unwrap_or(0)
    }

    /// The line that a row shows of one side.
    pub(super) fn on(&self, row: DiffRow, side: Side) -> Option<&DiffLine> {
        let DiffRow::Lines {
            file,
            hunk,
            old,
            new,
        } = row
        else {
            return None;
        };
        let line = match side {
            Side::Old => old,
            Side::New => new,
        };
        self.diff.line(file, hunk, line?)
    }

    /// The text of a row; of two different sides both texts, separated by a line feed.
    pub fn text(&self, row: usize) -> String {
        let text = |row: DiffRow| match row {
            DiffRow::File { file } => self.diff.files.get(file)?.name.clone(),
            DiffRow::Hunk { file, hunk } => {
                let hunk = self.diff.hunk(file, hunk)?;
                Some(format!("{} {}", hunk.range(), hunk.section))
            }
            DiffRow::Lines { .. } => {
                let sides = [Side::Old, Side::New].into_iter();
                let sides = sides.filter_map(|side| Some(&*self.on(row, side)?.text));
                let shown = match self.shown {
                    DiffLayout::Unified => 1,
                    DiffLayout::Split => 2,
                };
                Some(sides.take(shown).join("\n"))
            }
        };
        let row = self.rows.get(row).copied();
        row.and_then(text).unwrap_or_default()
    }

    /// The row as a patch has it: lines with their signs. Two different sides are two lines.
    pub fn patch_line(&self, row: usize) -> String {
        let shown = self.rows.get(row).copied().filter(|row| row.is_source());
        let Some(shown) = shown else {
            return self.text(row);
        };
        let sides = [Side::Old, Side::New].map(|side| self.on(shown, side));
        let lines = sides.into_iter().flatten();
        let lines = lines.dedup_by(|old, new| std::ptr::eq(*old, *new));
        lines.map(DiffLine::in_patch).join("\n")
    }

    /// The diff as a patch. Lines of a diff without file names are of `kernel`.
    pub fn patch(&self, kernel: &str) -> Option<String> {
        let head = |name: &str| format!("--- a/{name}\n+++ b/{name}");
        let line = |(at, row): (usize, &DiffRow)| match *row {
            DiffRow::File { .. } => head(&self.text(at)),
            DiffRow::Hunk { .. } if at == 0 => format!("{}\n{}", head(kernel), self.text(at)),
            _ => self.patch_line(at),
        };
        let patch = self.rows.iter().enumerate().map(line).join("\n");
        Some(patch).filter(|patch| !patch.is_empty())
    }

    /// Fits the view into an area of so many columns and rows. A narrow area is unified. The cursor
    /// is visible, with some rows around it where the area is high enough.
    pub fn fit(&self, columns: u16, rows: usize) -> DiffFit {
        let layout = if columns >= WIDE {
            self.chosen
        } else {
            DiffLayout::Unified
        };
        let reshaped = (layout != self.shown).then(|| self.reshape(layout));
        let view = reshaped.as_ref().unwrap_or(self);
        let around = (rows / 4).min(5);
        let lowest = (view.cursor + 1 + around).saturating_sub(rows);
        let highest = view.cursor.saturating_sub(around);
        let first = view
            .first
            .clamp(lowest.min(highest), highest)
            .min(view.rows.len().saturating_sub(rows));
        DiffFit { reshaped, first }
    }

    /// Stores the fit of the frame that was drawn.
    pub fn take(&mut self, fit: DiffFit) {
        if let Some(reshaped) = fit.reshaped {
            *self = reshaped;
        }
        self.first = fit.first;
    }

    /// The view in another layout; the cursor stays at its line.
    fn reshape(&self, layout: DiffLayout) -> DiffView {
        let mut view = DiffView {
            diff: Arc::clone(&self.diff),
            chosen: self.chosen,
            shown: layout,
            rows: self.diff.rows(layout),
            cursor: self.cursor,
            first: self.first,
            digits: self.digits,
        };
        // Heads are rows of both layouts.
        let row = self.rows.get(self.cursor).copied();
        let row = row.filter(|row| !row.is_source());
        match (
            view.rows.iter().position(|other| Some(*other) == row),
            self.line(),
        ) {
            (Some(head), _) => view.cursor = head,
            (None, Some(line)) => view.go_to_line(line),
            (None, None) => view.cursor = view.cursor.min(view.last()),
        }
        view
    }
}

/// How a view fits into an area. Drawing computes it; the next update stores it by
/// [`DiffView::take`].
#[derive(Clone, Debug)]
pub struct DiffFit {
    /// The view in another layout, where the area needs one.
    reshaped: Option<DiffView>,
    /// The first visible row.
    pub first: usize,
}

impl DiffFit {
    /// The view to draw.
    pub fn of<'v>(&'v self, view: &'v DiffView) -> &'v DiffView {
        self.reshaped.as_ref().unwrap_or(view)
    }
}
