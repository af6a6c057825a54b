//! What a pane remembers of a diff that it shows: its form, the row of the cursor, what is in sight.

use super::{ContextLines, Diff, DiffLayout, DiffLine, DiffRow, FileDiff, LineKind, Side};
use std::sync::Arc;

/// From so many columns on both sides fit beside each other.
const WIDE: u16 = 120;

/// A row where a change begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JumpTarget {
    pub row: usize,
    /// It is the head of a hunk, or of what holds one: all that belongs to it is below.
    pub is_head: bool,
}

#[derive(Clone, Debug, Default)]
pub struct DiffView {
    diff: Arc<Diff>,
    /// As it is wanted; where there is no room for both sides, it is unified all the same.
    form: DiffLayout,
    /// As `rows` are.
    shown: DiffLayout,
    rows: Vec<DiffRow>,
    cursor: usize,
    first: usize,
    digits: usize,
}

impl DiffView {
    pub fn new(diff: Arc<Diff>, form: DiffLayout) -> Self {
        let (rows, digits) = (diff.rows(form), diff.digits());
        DiffView { diff, form, shown: form, rows, digits, ..DiffView::default() }
    }

    /// Another diff; the cursor stays at its line as far as that is still there.
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

    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    pub fn digits(&self) -> usize {
        self.digits
    }

    pub fn rows(&self) -> &[DiffRow] {
        &self.rows
    }

    /// The form that is seen.
    pub fn shown(&self) -> DiffLayout {
        self.shown
    }

    pub fn set_form(&mut self, form: DiffLayout) {
        self.form = form;
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn first(&self) -> usize {
        self.first
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(1)
    }

    pub fn move_by(&mut self, by: isize) {
        self.cursor = self.cursor.saturating_add_signed(by).min(self.last());
    }

    pub fn go_to(&mut self, row: usize) {
        self.cursor = row.min(self.last());
    }

    /// The rows where changes begin: one for each hunk that there is with the usual lines around, however many are shown.
    /// It is the hunk's head where that is near.
    pub fn stops(&self) -> Vec<JumpTarget> {
        let near = ContextLines::Near.lines() as usize;
        let mut stops = Vec::new();
        // The head, as long as nothing below it changed; and unchanged rows since it, or since a change.
        let (mut head, mut same) = (None, 0);
        for (at, row) in self.rows.iter().enumerate() {
            match *row {
                DiffRow::File { .. } | DiffRow::Note { .. } => {}
                DiffRow::Hunk { .. } => (head, same) = (Some(at), 0),
                DiffRow::Line { .. } | DiffRow::Pair { .. } if self.is_same(*row) => same += 1,
                DiffRow::Line { .. } | DiffRow::Pair { .. } => {
                    match head.take() {
                        Some(row) if same <= near => stops.push(JumpTarget { row, is_head: true }),
                        Some(_) => stops.push(JumpTarget { row: at, is_head: false }),
                        None if same > 2 * near => stops.push(JumpTarget { row: at, is_head: false }),
                        None => {}
                    }
                    same = 0;
                }
            }
        }
        stops
    }

    fn is_same(&self, row: DiffRow) -> bool {
        [Side::Old, Side::New]
            .iter()
            .all(|side| self.on(row, *side).is_some_and(|line| line.kind == LineKind::Same))
    }

    /// To where the next or the previous change begins, round the end; false where there is none.
    pub fn step_hunk(&mut self, forward: bool) -> bool {
        let stops = self.stops();
        let next = match forward {
            true => stops.iter().find(|stop| stop.row > self.cursor).or(stops.first()),
            false => stops.iter().rfind(|stop| stop.row < self.cursor).or(stops.last()),
        };
        let next = next.map(|stop| stop.row);
        if let Some(row) = next {
            self.cursor = row;
        }
        next.is_some()
    }

    /// Where the cursor is in the new text: the number of its line, or of the next one that the new text has.
    pub fn line(&self) -> Option<u32> {
        let number = |row: &DiffRow| self.on(*row, Side::New).and_then(|line| line.new);
        let here = self.rows.get(self.cursor..)?;
        let of = here.first()?.hunk();
        let below = here.iter().take_while(|row| row.hunk() == of).find_map(number);
        below.or_else(|| {
            let (file, hunk) = of?;
            Some(self.diff.files.get(file)?.hunks.get(hunk)?.new)
        })
    }

    /// Puts the cursor at the line of the new text, or at the nearest that is shown.
    pub fn go_to_line(&mut self, line: u32) {
        let distance = |row: &usize| {
            let number = self.on(self.rows[*row], Side::New).and_then(|line| line.new);
            number.map_or(u32::MAX, |number| number.abs_diff(line))
        };
        if let Some(row) = (0..self.rows.len()).min_by_key(distance) {
            self.cursor = row;
        }
    }

    /// Where a row of this diff is in another one of the same texts, as near as that shows it.
    pub fn follow(&self, row: usize, other: &DiffView) -> usize {
        let number = |view: &DiffView, row: DiffRow| {
            let on =
                |side| view.on(row, side).map(|line| if side == Side::New { line.new } else { line.old });
            (row.file(), on(Side::New).flatten(), on(Side::Old).flatten())
        };
        // A head stands for the first line below it.
        let below = self.rows.iter().skip(row).map(|row| number(self, *row));
        let Some((file, new, old)) = below.into_iter().find(|(_, new, old)| new.or(*old).is_some()) else {
            return other.last();
        };
        let distance = |row: &usize| {
            let (of, to_new, to_old) = number(other, other.rows[*row]);
            let by = |a: Option<u32>, b: Option<u32>| Some(a?.abs_diff(b?));
            let by = if new.is_some() { by(new, to_new) } else { by(old, to_old) };
            by.filter(|_| of == file).unwrap_or(u32::MAX)
        };
        (0..other.rows.len()).min_by_key(distance).unwrap_or(0)
    }

    /// What a row shows of one side.
    pub(super) fn on(&self, row: DiffRow, side: Side) -> Option<&DiffLine> {
        match (row, side) {
            (DiffRow::Line { file, hunk, line }, side) => {
                let other = if side == Side::New { LineKind::Removed } else { LineKind::Added };
                self.diff.line(file, hunk, line).filter(|line| line.kind != other)
            }
            (DiffRow::Pair { file, hunk, old: Some(line), .. }, Side::Old)
            | (DiffRow::Pair { file, hunk, new: Some(line), .. }, Side::New) => {
                self.diff.line(file, hunk, line)
            }
            _ => None,
        }
    }

    /// What a row says: both sides of it, one under the other.
    pub fn text(&self, row: usize) -> String {
        let Some(row) = self.rows.get(row).copied() else { return String::new() };
        let file = |file: usize| self.diff.files.get(file);
        match row {
            DiffRow::File { file: at } => file(at).and_then(FileDiff::name).unwrap_or_default().to_owned(),
            DiffRow::Note { file: at, note } => {
                file(at).and_then(|file| file.notes.get(note)).cloned().unwrap_or_default()
            }
            DiffRow::Hunk { file: at, hunk } => {
                let hunk = file(at).and_then(|file| file.hunks.get(hunk));
                hunk.map(|hunk| format!("{} {}", hunk.range(), hunk.section)).unwrap_or_default()
            }
            DiffRow::Line { file, hunk, line } => {
                self.diff.line(file, hunk, line).map(|line| line.text.clone()).unwrap_or_default()
            }
            DiffRow::Pair { .. } => {
                let sides = [Side::Old, Side::New].into_iter().filter_map(|side| self.on(row, side));
                sides.map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// The view as it fits into an area of this size. Both sides beside each other need their columns; the cursor is kept
    /// visible, with some rows around it where the area allows.
    pub fn fit(&self, columns: u16, rows: usize) -> DiffFit {
        let form = if columns >= WIDE { self.form } else { DiffLayout::Unified };
        let reshaped = (form != self.shown).then(|| self.reshape(form));
        let view = reshaped.as_ref().unwrap_or(self);
        let around = (rows / 4).min(5);
        let lowest = (view.cursor + 1 + around).saturating_sub(rows);
        let highest = view.cursor.saturating_sub(around);
        let first = view.first.clamp(lowest.min(highest), highest).min(view.rows.len().saturating_sub(rows));
        DiffFit { reshaped, first }
    }

    /// Takes the fit of the frame that was drawn.
    pub fn take(&mut self, fit: DiffFit) {
        if let Some(reshaped) = fit.reshaped {
            *self = reshaped;
        }
        self.first = fit.first;
    }

    /// The same diff in another form; the cursor stays at its line.
    fn reshape(&self, form: DiffLayout) -> DiffView {
        let mut view = DiffView {
            diff: Arc::clone(&self.diff),
            form: self.form,
            shown: form,
            rows: self.diff.rows(form),
            cursor: self.cursor,
            first: self.first,
            digits: self.digits,
        };
        let row = self.rows.get(self.cursor).copied();
        // Heads are rows of both forms.
        match (view.rows.iter().position(|other| Some(*other) == row), self.line()) {
            (Some(head), _) => view.cursor = head,
            (None, Some(line)) => view.go_to_line(line),
            (None, None) => view.cursor = view.cursor.min(view.last()),
        }
        view
    }
}

/// How a view fits into an area: drawing works it out, and the next update stores it by [`DiffView::take`].
#[derive(Clone, Debug)]
pub struct DiffFit {
    /// The view in another form, where the area needs one.
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
