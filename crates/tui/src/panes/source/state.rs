//! The state of the pane Source: the kernel's text and what it is compared with, the cursor, the
//! visible rows.

use super::changes::{LineChange, changes};
use super::hot::HotLines;
use super::message_rows::{message_columns, wrapped};
use crate::diff::{self, DiffLayout};
use crate::highlight::Highlighted;
use crate::source::{
    SourceMessage, SourceMessages, SourceRequest, SourceText, SourceVersion, SourceView,
    carry_highlighting,
};
use lab_run::RunId;
use ratatui::layout::Rect;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileRow {
    /// A part of a message about another file.
    Elsewhere {
        message: usize,
        part: usize,
    },
    Line(usize),
    /// A part of a message about the line.
    SourceMessage {
        line: usize,
        message: usize,
        part: usize,
    },
}

#[derive(Clone, Debug, Default)]
pub struct SourceState {
    pub mode: SourceMode,
    /// Compare with the selected experiment instead of the incumbent.
    pub against_selected: bool,
    /// The latest request.
    pub request: Option<SourceRequest>,
    pub(super) source: Option<SourceView>,
    colours: [Highlighted; 2],
    pub(super) messages: SourceMessages,
    /// What the profile of the present text says.
    pub hot: HotLines,
    /// The runs of the messages, and how many each had.
    placed: Option<Vec<(RunId, usize)>>,
    /// The newest run whose first error the cursor went to.
    visited: Option<RunId>,
    changes: BTreeMap<usize, LineChange>,
    /// Where changes begin.
    starts: Vec<usize>,
    pub(super) view: diff::DiffView,
    /// The line of the cursor, from 0.
    cursor: usize,
    first: usize,
    /// First visible column.
    pub left: usize,
    /// The cursor jumped: a line that was not visible comes to the middle.
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
    pub fn source(&self) -> Option<&SourceView> {
        self.source.as_ref()
    }

    pub(super) fn text(&self) -> Option<&SourceText> {
        Some(&self.source.as_ref()?.present.as_ref().ok()?.text)
    }

    /// Takes a newly read text. The cursor stays at its line, and unchanged lines keep their
    /// colours.
    pub fn take(&mut self, source: SourceView) {
        let old = self.source.replace(source);
        let text = |source: &SourceView, which| match which {
            SourceVersion::Present => source
                .present
                .as_ref()
                .ok()
                .map(|present| present.text.clone()),
            SourceVersion::Base => source.base.as_ref().ok().map(|base| base.text.clone()),
        };
        let of = |which| {
            let new = self.source.as_ref().and_then(|source| text(source, which));
            (old.as_ref().and_then(|source| text(source, which)), new)
        };
        for which in [SourceVersion::Present, SourceVersion::Base] {
            self.colours[which as usize] = match of(which) {
                (Some(old), Some(new)) => {
                    carry_highlighting(&old, &self.colours[which as usize], &new)
                }
                _ => Highlighted::default(),
            };
        }
        // A file that is away for a moment comes back at the line that was visible.
        match of(SourceVersion::Present) {
            (Some(old), Some(new)) => self.cursor = old.follow(self.cursor, &new),
            (None, Some(new)) => self.cursor = self.cursor.min(new.len().saturating_sub(1)),
            (_, None) => {}
        }
        let diff = self
            .source
            .as_ref()
            .map(|source| Arc::clone(&source.diff))
            .unwrap_or_default();
        (self.changes, self.starts) = changes(&diff, self.text().map_or(0, SourceText::len));
        self.view.set(diff);
        self.placed = None;
        self.layout = None;
    }

    /// The texts whose colours are wanted.
    pub fn texts(&self) -> impl Iterator<Item = (SourceVersion, Arc<str>)> {
        let source = self.source.as_ref();
        let present = source
            .and_then(|source| source.present.as_ref().ok())
            .map(|present| &present.text);
        let base = source
            .and_then(|source| source.base.as_ref().ok())
            .map(|base| &base.text);
        let both = [
            (SourceVersion::Present, present),
            (SourceVersion::Base, base),
        ];
        both.into_iter()
            .filter_map(|(which, text)| Some((which, Arc::clone(text?.whole()))))
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

    /// The messages of these runs, with these counts, are placed already.
    pub fn has_placed(&self, runs: &[(RunId, usize)]) -> bool {
        self.placed.as_deref() == Some(runs)
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

    pub fn turn(&mut self) {
        let line = self.line();
        self.mode = match self.mode {
            SourceMode::File => SourceMode::Unified,
            SourceMode::Unified => SourceMode::Split,
            SourceMode::Split => SourceMode::File,
        };
        self.view.set_layout(if self.mode == SourceMode::Split {
            DiffLayout::Split
        } else {
            DiffLayout::Unified
        });
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
            SourceMode::Unified | SourceMode::Split => {
                self.view.line().filter(|line| *line > 0).or_else(of_file)
            }
        }
    }

    fn last(&self) -> usize {
        self.text().map_or(0, SourceText::len).saturating_sub(1)
    }

    pub fn move_by(&mut self, by: isize) {
        match self.mode {
            SourceMode::File => {
                self.cursor = self.cursor.saturating_add_signed(by).min(self.last());
            }
            SourceMode::Unified | SourceMode::Split => self.view.move_by(by),
        }
    }

    /// Moves the cursor to this visible row of the last frame, counted from the top; false where
    /// the row is empty.
    pub fn click(&mut self, row: usize) -> bool {
        match self.mode {
            SourceMode::File => {
                let line = match self
                    .layout
                    .as_ref()
                    .and_then(|layout| layout.rows.get(self.first + row))
                {
                    Some(FileRow::Line(line) | FileRow::SourceMessage { line, .. }) => Some(*line),
                    Some(FileRow::Elsewhere { .. }) | None => None,
                };
                self.cursor = line.unwrap_or(self.cursor);
                line.is_some()
            }
            SourceMode::Unified | SourceMode::Split => {
                let row = self.view.first() + row;
                let is_there = row < self.view.rows().len();
                if is_there {
                    self.view.go_to(row);
                }
                is_there
            }
        }
    }

    /// Goes to one of the rows that [`SourceState::count`] counts.
    pub fn go_to(&mut self, row: usize) {
        match self.mode {
            SourceMode::File => self.jump(row),
            SourceMode::Unified | SourceMode::Split => self.view.go_to(row),
        }
    }

    /// Goes to a line by its number; in a diff, to the nearest line that is shown.
    pub fn go_to_line(&mut self, number: usize) {
        match self.mode {
            SourceMode::File => self.jump(number.saturating_sub(1)),
            SourceMode::Unified | SourceMode::Split => {
                self.view
                    .go_to_line(u32::try_from(number).unwrap_or(u32::MAX));
            }
        }
    }

    fn jump(&mut self, line: usize) {
        self.cursor = line.min(self.last());
        self.jumped = true;
    }

    pub fn step_change(&mut self, forward: bool) -> bool {
        match self.mode {
            SourceMode::File => self.step(&self.starts.clone(), forward),
            SourceMode::Unified | SourceMode::Split => self.view.step_hunk(forward),
        }
    }

    /// Goes to the next of these lines, from the last to the first.
    pub(super) fn step(&mut self, lines: &[usize], forward: bool) -> bool {
        let next = match forward {
            true => lines
                .iter()
                .find(|line| **line > self.cursor)
                .or(lines.first()),
            false => lines
                .iter()
                .rfind(|line| **line < self.cursor)
                .or(lines.last()),
        };
        if let Some(line) = next.copied() {
            self.jump(line);
        }
        next.is_some()
    }

    /// Rows that a search goes through: lines of the file, or rows of the diff.
    pub fn count(&self) -> usize {
        match self.mode {
            SourceMode::File => self.text().map_or(0, SourceText::len),
            SourceMode::Unified | SourceMode::Split => self.view.rows().len(),
        }
    }

    /// The text of one of them.
    pub fn row_text(&self, at: usize) -> String {
        match self.mode {
            SourceMode::File => self.text().map_or("", |text| text.line(at)).to_owned(),
            SourceMode::Unified | SourceMode::Split => self.view.text(at),
        }
    }

    /// The cursor's row among them.
    pub fn at(&self) -> usize {
        if self.mode == SourceMode::File {
            self.cursor
        } else {
            self.view.cursor()
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
        let file = (self.mode == SourceMode::File && self.text().is_some())
            .then(|| self.fit_file(message_columns(self.text_columns(area)), height));
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
        let is_current = self
            .layout
            .as_ref()
            .is_some_and(|layout| layout.columns == columns);
        let layout = (!is_current).then(|| self.lay_out(columns));
        let empty = FileLayout::default();
        let current = layout.as_ref().or(self.layout.as_ref()).unwrap_or(&empty);
        let mut first = self.first;
        let top = current.places.get(self.cursor).copied().unwrap_or(0);
        let next = current
            .places
            .get(self.cursor + 1)
            .copied()
            .unwrap_or(current.rows.len());
        let is_visible = top >= first && next <= first + height;
        if self.jumped && !is_visible {
            first = top.saturating_sub(height / 2);
        }
        // Keep some rows around the cursor and the messages of its line visible; on the first line,
        // the messages about other files too.
        let around = (height / 4).min(5);
        let highest = if self.cursor == 0 {
            0
        } else {
            top.saturating_sub(around)
        };
        let lowest = (next + around).saturating_sub(height).min(top);
        first = if highest < lowest {
            lowest
        } else {
            first.clamp(lowest, highest)
        };
        let first = first.min(current.rows.len().saturating_sub(height));
        FileFit { layout, first }
    }

    fn lay_out(&self, columns: usize) -> FileLayout {
        let parts = |message: &SourceMessage| 0..wrapped(message, columns).len();
        let mut layout = FileLayout {
            columns,
            ..FileLayout::default()
        };
        for (message, about) in self.messages.elsewhere.iter().enumerate() {
            layout
                .rows
                .extend(parts(about).map(|part| FileRow::Elsewhere { message, part }));
        }
        for line in 0..self.text().map_or(0, SourceText::len) {
            layout.places.push(layout.rows.len());
            layout.rows.push(FileRow::Line(line));
            for (message, about) in self.messages.at(line).iter().enumerate() {
                layout
                    .rows
                    .extend(parts(about).map(|part| FileRow::SourceMessage {
                        line,
                        message,
                        part,
                    }));
            }
        }
        layout
    }
}
