//! The state of the pane Source: the kernel's text and what it is compared with, the cursor, the
//! visible rows.

use super::changes::{LineChange, changes};
use super::hot::HotLines;
use super::message_rows::message_rows;
use crate::diff::{self, DiffLayout};
use crate::highlight::Highlighted;
use crate::prelude::*;
use crate::source::{
    SourceMessage, SourceMessages, SourceRequest, SourceText, SourceVersion, SourceView,
    carry_highlighting,
};
use lab_run::RunId;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceMode {
    /// The whole kernel.
    #[default]
    File,
    /// The changes, old and new lines one under the other.
    Unified,
    /// The changes, old and new text side by side.
    Split,
}

/// One row of the file.
#[derive(Clone, Debug)]
pub(super) enum FileRow {
    Line(usize),
    /// A part of a message about the line; about another file without one.
    Message {
        line: Option<usize>,
        text: Line<'static>,
    },
}

#[derive(Clone, Debug, Default)]
pub struct SourceState {
    pub mode: SourceMode,
    /// Compare with the selected experiment instead of the incumbent.
    pub against_selected: bool,
    /// The latest request.
    pub request: Option<SourceRequest>,
    pub source: Option<SourceView>,
    colours: [Highlighted; 2],
    pub(super) messages: SourceMessages,
    /// What the profile of the present text says.
    pub hot: HotLines,
    /// The runs of the messages, and how many each had.
    pub placed: Option<Vec<(RunId, usize)>>,
    /// The newest run whose first error the cursor went to.
    visited: Option<RunId>,
    /// The text whose first message or change the cursor went to.
    sought: Option<Arc<str>>,
    /// The user moved the cursor since the view was shown.
    moved: bool,
    /// The view was not shown since the last look for a place.
    hidden: bool,
    changes: BTreeMap<usize, LineChange>,
    /// Where changes begin.
    starts: Vec<usize>,
    pub(super) view: diff::DiffView,
    /// The line of the cursor, from 0.
    cursor: usize,
    first: usize,
    /// First visible column.
    pub left: usize,
    /// The cursor jumped: a line that was not visible moves to the middle.
    jumped: bool,
    /// The rows of the file at the last frame's width.
    layout: Option<FileLayout>,
}

/// The rows of the file, with messages wrapped to so many columns.
#[derive(Clone, Debug, Default)]
pub(super) struct FileLayout {
    columns: usize,
    pub(super) rows: Vec<FileRow>,
    /// The row of each line.
    places: Vec<usize>,
}

/// How the file fits into an area: drawing works it out, and the next update stores it.
#[derive(Clone, Debug)]
pub(super) struct FileFit {
    /// A new layout, where the width, the text or the messages changed.
    layout: Option<FileLayout>,
    pub(super) first: usize,
}

/// How the pane fits into its area.
#[derive(Clone, Debug)]
pub struct SourceFit {
    pub(super) diff: diff::DiffFit,
    pub(super) file: Option<FileFit>,
}

impl SourceState {
    fn version(&self, which: SourceVersion) -> Option<&SourceText> {
        text_of(self.source.as_ref()?, which)
    }

    /// The pane shows the file, not a diff.
    fn is_file(&self) -> bool {
        self.mode == SourceMode::File
    }

    pub(super) fn text(&self) -> Option<&SourceText> {
        self.version(SourceVersion::Present)
    }

    /// Takes a newly read text. The cursor stays at its line, and unchanged lines keep their
    /// colours.
    pub fn take(&mut self, source: SourceView) {
        let old = self.source.replace(source);
        let both = [old.as_ref(), self.source.as_ref()];
        let of = |which| both.map(|source| text_of(source?, which).cloned());
        for which in [SourceVersion::Present, SourceVersion::Base] {
            self.colours[which as usize] = match of(which) {
                [Some(old), Some(new)] => {
                    carry_highlighting(&old, &self.colours[which as usize], &new)
                }
                _ => Highlighted::default(),
            };
        }
        // A file that is away for a moment comes back at the line that was visible.
        match of(SourceVersion::Present) {
            [Some(old), Some(new)] => self.cursor = old.follow(self.cursor, &new),
            [None, Some(new)] => self.cursor = self.cursor.min(new.len().saturating_sub(1)),
            [_, None] => {}
        }
        let source = self.source.as_ref();
        let diff = source.map(|source| Arc::clone(&source.diff));
        let diff = diff.unwrap_or_default();
        (self.changes, self.starts) = changes(&diff, self.text().map_or(0, SourceText::len));
        self.view.set(diff);
        self.placed = None;
        self.layout = None;
    }

    /// The texts whose colours are wanted.
    pub fn texts(&self) -> impl Iterator<Item = (SourceVersion, Arc<str>)> {
        let text = |which| Some((which, Arc::clone(self.version(which)?.whole())));
        let both = [SourceVersion::Present, SourceVersion::Base];
        both.into_iter().filter_map(text)
    }

    /// Takes colours; false where they belong to a text that is no longer shown.
    pub fn take_colours(&mut self, which: SourceVersion, of: &str, colours: Highlighted) -> bool {
        let is_shown = self
            .texts()
            .any(|(w, text)| w == which && std::ptr::eq(&*text, of));
        if is_shown {
            self.colours[which as usize] = colours;
        }
        is_shown
    }

    pub(super) fn colours(&self, which: SourceVersion) -> &Highlighted {
        &self.colours[which as usize]
    }

    /// Takes messages. The cursor goes to the first error of a run that is newer than those
    /// visited.
    pub fn place(&mut self, runs: Vec<(RunId, usize)>, messages: SourceMessages) {
        self.messages = messages;
        self.layout = None;
        let newest = runs.iter().map(|(run, _)| *run).max();
        self.placed = Some(runs);
        if let (Some(line), true) = (self.messages.first_error(), newest > self.visited) {
            self.visited = newest;
            self.jump(line);
        }
    }

    /// The view is not shown. Once it is shown again, the file is read again: a save may not have
    /// been noticed yet.
    pub fn hide(&mut self) {
        (self.moved, self.hidden) = (false, true);
        self.request = None;
    }

    /// The text or what it is compared with is older than what is on disk, as far as is known: the
    /// answer to the latest request is not here yet.
    pub(super) fn is_behind(&self) -> bool {
        let (Some(source), Some(asked)) = (&self.source, &self.request) else {
            return false;
        };
        let shown = &source.request;
        let read = source.present.as_ref().ok().map(|text| &text.fingerprint);
        let is_same_text = asked.present == shown.present || asked.present.as_ref() == read;
        !is_same_text || asked.baseline != shown.baseline || asked.head != shown.head
    }

    /// Goes to the first error, or else to the first change, of a new text, unless the user has moved
    /// the cursor.
    pub fn seek(&mut self) {
        let is_current =
            self.source.as_ref().map(|source| &source.request) == self.request.as_ref();
        let text = self.text().map(|text| Arc::clone(text.whole()));
        if !is_current || self.placed.is_none() || text.is_none() {
            return;
        }
        let was_hidden = std::mem::take(&mut self.hidden);
        if text == self.sought {
            return;
        }
        self.sought = text;
        let first = self.messages.first_error();
        // Whoever mends an error here stays at it.
        let leaves = was_hidden || self.messages.tally().is_empty();
        let change = self.starts.first().copied().filter(|_| leaves);
        let place = first.or(change);
        match place.filter(|_| !self.moved) {
            Some(line) if self.is_file() => self.jump(line),
            Some(line) => self
                .view
                .go_to_line(u32::try_from(line + 1).unwrap_or(u32::MAX)),
            None => {}
        }
    }

    pub fn turn(&mut self) {
        let line = self.line();
        self.mode = match self.mode {
            SourceMode::File => SourceMode::Unified,
            SourceMode::Unified => SourceMode::Split,
            SourceMode::Split => SourceMode::File,
        };
        self.view.chosen = match self.mode {
            SourceMode::Split => DiffLayout::Split,
            _ => DiffLayout::Unified,
        };
        match (self.mode, line) {
            (SourceMode::File, Some(line)) => self.jump(line as usize - 1),
            (SourceMode::Unified, Some(line)) => self.view.go_to_line(line),
            _ => {}
        }
    }

    /// The number of the line that the cursor is on.
    pub fn line(&self) -> Option<u32> {
        let of_file = || u32::try_from(self.cursor + 1).ok();
        match self.mode {
            _ if self.text().is_none_or(SourceText::is_empty) => None,
            SourceMode::File => of_file(),
            _ => self.view.line().filter(|line| *line > 0).or_else(of_file),
        }
    }

    fn last(&self) -> usize {
        self.text().map_or(0, SourceText::len).saturating_sub(1)
    }

    pub fn move_by(&mut self, by: isize) {
        self.moved = true;
        if self.is_file() {
            self.cursor = self.cursor.saturating_add_signed(by).min(self.last());
        } else {
            self.view.move_by(by);
        }
    }

    /// Moves the cursor to this visible row of the last frame, counted from the top; false where
    /// the row is empty.
    pub fn click(&mut self, row: usize) -> bool {
        self.moved = true;
        if self.is_file() {
            let layout = self.layout.as_ref();
            let row = layout.and_then(|layout| layout.rows.get(self.first + row));
            let line = row.and_then(|row| match row {
                FileRow::Line(line) => Some(*line),
                FileRow::Message { line, .. } => *line,
            });
            self.cursor = line.unwrap_or(self.cursor);
            line.is_some()
        } else {
            let row = self.view.first + row;
            let is_there = row < self.view.rows.len();
            if is_there {
                self.view.go_to(row);
            }
            is_there
        }
    }

    /// Goes to one of the rows that [`SourceState::count`] counts.
    pub fn go_to(&mut self, row: usize) {
        self.moved = true;
        if self.is_file() {
            self.jump(row);
        } else {
            self.view.go_to(row);
        }
    }

    /// Goes to a line by its number; in a diff, to the nearest line that is shown.
    pub fn go_to_line(&mut self, number: usize) {
        self.moved = true;
        if self.is_file() {
            self.jump(number.saturating_sub(1));
        } else {
            self.view
                .go_to_line(u32::try_from(number).unwrap_or(u32::MAX));
        }
    }

    fn jump(&mut self, line: usize) {
        self.cursor = line.min(self.last());
        self.jumped = true;
    }

    pub fn step_change(&mut self, forward: bool) -> bool {
        self.moved = true;
        if self.is_file() {
            self.step(&self.starts.clone(), forward)
        } else {
            self.view.step_hunk(forward)
        }
    }

    /// Goes to the next of these lines, from the last to the first.
    pub(super) fn step(&mut self, lines: &[usize], forward: bool) -> bool {
        self.moved = true;
        let next = diff::next_in_circle(lines, self.cursor, forward);
        next.into_iter().for_each(|line| self.jump(line));
        next.is_some()
    }

    /// Rows that a search goes through: lines of the file, or rows of the diff.
    pub fn count(&self) -> usize {
        if self.is_file() {
            self.text().map_or(0, SourceText::len)
        } else {
            self.view.rows.len()
        }
    }

    /// The text of one of them.
    pub fn row_text(&self, at: usize) -> String {
        if self.is_file() {
            self.text().map_or("", |text| text.line(at)).to_owned()
        } else {
            self.view.text(at)
        }
    }

    /// The same; of a diff as a line of a patch.
    pub fn patch_line(&self, at: usize) -> String {
        match self.is_file() {
            true => self.row_text(at),
            false => self.view.patch_line(at),
        }
    }

    /// The diff as a patch of the kernel; `None` while the whole file is shown.
    pub fn patch(&self, kernel: &str) -> Option<String> {
        self.view.patch(kernel).filter(|_| !self.is_file())
    }

    /// The cursor's row among them.
    pub fn at(&self) -> usize {
        if self.is_file() {
            self.cursor
        } else {
            self.view.cursor
        }
    }

    /// The compilers' messages at a line, counted from 0.
    pub fn messages_at(&self, line: usize) -> &[SourceMessage] {
        self.messages.at(line)
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn change(&self, line: usize) -> Option<LineChange> {
        self.changes.get(&line).copied()
    }

    /// How the pane fits into the area below its title.
    pub(super) fn fit(&self, area: Rect) -> SourceFit {
        let height = usize::from(area.height);
        let file = (self.is_file() && self.text().is_some())
            .then(|| self.fit_file(self.text_columns(area), height));
        SourceFit {
            diff: self.view.fit(area.width, height),
            file,
        }
    }

    /// Takes the fit of the frame that was drawn.
    pub fn take_fit(&mut self, fit: SourceFit) {
        self.view.take(fit.diff);
        if let Some(file) = fit.file {
            self.jumped = false;
            self.first = file.first;
            if file.layout.is_some() {
                self.layout = file.layout;
            }
        }
    }

    /// Digits of a line number.
    pub(super) fn digits(&self) -> usize {
        self.count().to_string().len().max(3)
    }

    /// Columns before the text: cursor, sign, number, change, the profile, and a blank.
    pub(super) fn gutter(&self, area: Rect) -> usize {
        self.digits() + 4 + self.hot.columns(area.width)
    }

    /// Columns of the text.
    pub(super) fn text_columns(&self, area: Rect) -> usize {
        usize::from(area.width).saturating_sub(self.gutter(area))
    }

    /// The layout that a fit draws.
    pub(super) fn layout_of<'a>(&'a self, fit: &'a FileFit) -> Option<&'a FileLayout> {
        fit.layout.as_ref().or(self.layout.as_ref())
    }

    fn fit_file(&self, columns: usize, height: usize) -> FileFit {
        let kept = self.layout.as_ref().filter(|old| old.columns == columns);
        let layout = kept.is_none().then(|| self.lay_out(columns));
        let empty = FileLayout::default();
        let FileLayout { rows, places, .. } = layout.as_ref().or(kept).unwrap_or(&empty);
        let place = |line: usize| places.get(line).copied();
        let mut first = self.first;
        let top = place(self.cursor).unwrap_or(0);
        let next = place(self.cursor + 1).unwrap_or(rows.len());
        let is_visible = top >= first && next <= first + height;
        if self.jumped && !is_visible {
            first = top.saturating_sub(height / 2);
        }
        // Keep some rows around the cursor and the messages of its line visible; on the first line,
        // the messages about other files too.
        let around = (height / 4).min(5);
        let highest = match self.cursor {
            0 => 0,
            _ => top.saturating_sub(around),
        };
        let lowest = (next + around).saturating_sub(height).min(top);
        let first = if highest < lowest {
            lowest
        } else {
            first.clamp(lowest, highest)
        };
        let first = first.min(rows.len().saturating_sub(height));
        FileFit { layout, first }
    }

    fn lay_out(&self, columns: usize) -> FileLayout {
        let of = |messages: &[SourceMessage], line| {
            let texts = messages.iter().flat_map(|m| message_rows(m, columns));
            let row = |text| FileRow::Message { line, text };
            texts.map(row).collect::<Vec<_>>()
        };
        let mut rows = of(&self.messages.elsewhere, None);
        let mut places = Vec::new();
        for line in 0..self.text().map_or(0, SourceText::len) {
            places.push(rows.len());
            rows.push(FileRow::Line(line));
            rows.extend(of(self.messages.at(line), Some(line)));
        }
        FileLayout {
            columns,
            rows,
            places,
        }
    }
}

fn text_of(source: &SourceView, which: SourceVersion) -> Option<&SourceText> {
    match which {
        SourceVersion::Present => Some(&source.present.as_ref().ok()?.text),
        SourceVersion::Base => Some(&source.base.as_ref().ok()?.text),
    }
}
