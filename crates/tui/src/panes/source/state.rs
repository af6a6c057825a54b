//! What the view Source remembers: the reading that is shown, the cursor, what is in sight.

use crate::diff::{self, Form, Sign};
use crate::highlight::Highlighted;
use crate::source::{Asked, Message, Messages, Source, Text, Which, carry};
use crate::text::wrap;
use lab_core::run::RunId;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All of kernel.cu.
    #[default]
    File,
    /// What changed, one line under the other.
    Unified,
    /// Both sides beside each other.
    Split,
}

/// What became of a line since the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    New,
    Changed,
    /// Lines behind it are gone.
    GoneBelow,
}

/// One row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A part of a message about another file.
    Elsewhere {
        message: usize,
        part: usize,
    },
    Line(usize),
    /// A part of a message about the line.
    Message {
        line: usize,
        message: usize,
        part: usize,
    },
}

/// Rows that a message may take.
const PARTS: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct SourceState {
    pub mode: Mode,
    /// Compared with the chosen experiment, where one is chosen.
    pub against_chosen: bool,
    /// What is being read, or was read last.
    pub asked: Option<Asked>,
    pub(super) source: Option<Source>,
    colours: [Highlighted; 2],
    pub(super) messages: Messages,
    /// Of which runs they are, and how many each had.
    placed: Option<Vec<(RunId, usize)>>,
    /// The run whose first error the cursor was put at.
    met: Option<RunId>,
    changes: BTreeMap<usize, Change>,
    /// Where changes begin.
    starts: Vec<usize>,
    pub(super) view: diff::View,
    /// The line of the cursor, from 0.
    cursor: usize,
    first: usize,
    /// First column shown.
    pub left: usize,
    /// The cursor jumped: what was out of sight comes to the middle.
    jumped: bool,
    rows: Vec<Row>,
    /// The row of each line.
    places: Vec<usize>,
    /// The columns that `rows` are made for.
    columns: Option<usize>,
}

impl SourceState {
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    pub(super) fn text(&self) -> Option<&Text> {
        Some(&self.source.as_ref()?.present.as_ref().ok()?.text)
    }

    /// Takes a reading. The cursor stays with its line, and what did not change keeps its colours.
    pub fn take(&mut self, source: Source) {
        let old = self.source.replace(source);
        let text = |source: &Source, which| match which {
            Which::Present => source.present.as_ref().ok().map(|present| present.text.clone()),
            Which::Base => source.base.as_ref().ok().map(|base| base.text.clone()),
        };
        let of = |which| {
            let new = self.source.as_ref().and_then(|source| text(source, which));
            (old.as_ref().and_then(|source| text(source, which)), new)
        };
        for which in [Which::Present, Which::Base] {
            self.colours[which as usize] = match of(which) {
                (Some(old), Some(new)) => carry(&old, &self.colours[which as usize], &new),
                _ => Highlighted::default(),
            };
        }
        // A file that is away for a moment comes back where it was looked at.
        match of(Which::Present) {
            (Some(old), Some(new)) => self.cursor = old.follow(self.cursor, &new),
            (None, Some(new)) => self.cursor = self.cursor.min(new.len().saturating_sub(1)),
            (_, None) => {}
        }
        let diff = self.source.as_ref().map(|source| Arc::clone(&source.diff)).unwrap_or_default();
        (self.changes, self.starts) = changes(&diff, self.text().map_or(0, Text::len));
        self.view.set(diff);
        self.placed = None;
        self.columns = None;
    }

    /// The texts whose colours are wanted.
    pub fn texts(&self) -> impl Iterator<Item = (Which, Arc<str>)> {
        let source = self.source.as_ref();
        let present = source.and_then(|source| source.present.as_ref().ok()).map(|present| &present.text);
        let base = source.and_then(|source| source.base.as_ref().ok()).map(|base| &base.text);
        let both = [(Which::Present, present), (Which::Base, base)];
        both.into_iter().filter_map(|(which, text)| Some((which, Arc::clone(text?.whole()))))
    }

    /// Takes colours, where they are still of the text that is shown; false where not.
    pub fn take_colours(&mut self, which: Which, of: &[u8], found: Highlighted) -> bool {
        let is_shown = self.texts().any(|(w, text)| w == which && std::ptr::eq(text.as_bytes(), of));
        if is_shown {
            self.colours[which as usize] = found;
        }
        is_shown
    }

    pub(super) fn colours(&self, which: Which) -> &Highlighted {
        &self.colours[which as usize]
    }

    /// The messages of these runs, so many of each, are placed already.
    pub fn has_placed(&self, runs: &[(RunId, usize)]) -> bool {
        self.placed.as_deref() == Some(runs)
    }

    /// Takes messages. The first error of a run that was not met before takes the cursor.
    pub fn place(&mut self, runs: Vec<(RunId, usize)>, messages: Messages) {
        self.messages = messages;
        self.columns = None;
        let newest = runs.iter().map(|(run, _)| *run).max();
        self.placed = Some(runs);
        if let (Some(line), true) = (self.messages.first_error(), newest > self.met) {
            self.met = newest;
            self.jump(line);
        }
    }

    pub fn turn(&mut self) {
        let line = self.line();
        self.mode = match self.mode {
            Mode::File => Mode::Unified,
            Mode::Unified => Mode::Split,
            Mode::Split => Mode::File,
        };
        self.view.set_form(if self.mode == Mode::Split { Form::Split } else { Form::Unified });
        match (self.mode, line) {
            (Mode::File, Some(line)) => self.jump(line as usize - 1),
            (Mode::Unified, Some(line)) => self.view.go_to_line(line),
            _ => {}
        }
    }

    /// The number of the line that the cursor is on.
    pub fn line(&self) -> Option<u32> {
        let of_file = || u32::try_from(self.cursor + 1).ok();
        match self.mode {
            _ if self.text().is_none_or(Text::is_empty) => None,
            Mode::File => of_file(),
            Mode::Unified | Mode::Split => self.view.line().filter(|line| *line > 0).or_else(of_file),
        }
    }

    fn last(&self) -> usize {
        self.text().map_or(0, Text::len).saturating_sub(1)
    }

    pub fn move_by(&mut self, by: isize) {
        match self.mode {
            Mode::File => self.cursor = self.cursor.saturating_add_signed(by).min(self.last()),
            Mode::Unified | Mode::Split => self.view.move_by(by),
        }
    }

    /// To what is in this row of the room at the last frame, counted from its top; false where nothing is.
    pub fn click(&mut self, row: usize) -> bool {
        match self.mode {
            Mode::File => {
                let line = match self.rows.get(self.first + row) {
                    Some(Row::Line(line) | Row::Message { line, .. }) => Some(*line),
                    Some(Row::Elsewhere { .. }) | None => None,
                };
                self.cursor = line.unwrap_or(self.cursor);
                line.is_some()
            }
            Mode::Unified | Mode::Split => {
                let row = self.view.first() + row;
                let is_there = row < self.view.rows().len();
                if is_there {
                    self.view.go_to(row);
                }
                is_there
            }
        }
    }

    /// To one of the rows that [`SourceState::count`] counts.
    pub fn go_to(&mut self, row: usize) {
        match self.mode {
            Mode::File => self.jump(row),
            Mode::Unified | Mode::Split => self.view.go_to(row),
        }
    }

    /// To a line by its number, in a diff to the nearest that it shows.
    pub fn go_to_line(&mut self, number: usize) {
        match self.mode {
            Mode::File => self.jump(number.saturating_sub(1)),
            Mode::Unified | Mode::Split => self.view.go_to_line(u32::try_from(number).unwrap_or(u32::MAX)),
        }
    }

    fn jump(&mut self, line: usize) {
        self.cursor = line.min(self.last());
        self.jumped = true;
    }

    /// To the next message; in a diff, and where there is none, to the next change. False where there is neither.
    pub fn step_mark(&mut self, forward: bool) -> bool {
        let lines: Vec<usize> = self.messages.lines().collect();
        match self.mode {
            Mode::File if !lines.is_empty() => self.step(&lines, forward),
            _ => self.step_change(forward),
        }
    }

    pub fn step_change(&mut self, forward: bool) -> bool {
        match self.mode {
            Mode::File => self.step(&self.starts.clone(), forward),
            Mode::Unified | Mode::Split => self.view.step_hunk(forward),
        }
    }

    /// Round the end.
    fn step(&mut self, lines: &[usize], forward: bool) -> bool {
        let next = match forward {
            true => lines.iter().find(|line| **line > self.cursor).or(lines.first()),
            false => lines.iter().rfind(|line| **line < self.cursor).or(lines.last()),
        };
        if let Some(line) = next.copied() {
            self.jump(line);
        }
        next.is_some()
    }

    /// What a search goes through: lines of the file, or rows of the diff.
    pub fn count(&self) -> usize {
        match self.mode {
            Mode::File => self.text().map_or(0, Text::len),
            Mode::Unified | Mode::Split => self.view.rows().len(),
        }
    }

    pub fn says(&self, at: usize) -> String {
        match self.mode {
            Mode::File => self.text().map_or("", |text| text.line(at)).to_owned(),
            Mode::Unified | Mode::Split => self.view.text(at),
        }
    }

    /// Where the cursor is among them.
    pub fn at(&self) -> usize {
        if self.mode == Mode::File { self.cursor } else { self.view.cursor() }
    }

    /// What compilers say of a line, from 0.
    pub fn messages_at(&self, line: usize) -> &[Message] {
        self.messages.at(line)
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn change(&self, line: usize) -> Option<Change> {
        self.changes.get(&line).copied()
    }

    /// The rows of the file in sight of so many, where messages have so many columns.
    pub(super) fn in_sight(&mut self, columns: usize, height: usize) -> &[Row] {
        if self.columns != Some(columns) {
            self.lay_out(columns);
        }
        let top = self.places.get(self.cursor).copied().unwrap_or(0);
        let next = self.places.get(self.cursor + 1).copied().unwrap_or(self.rows.len());
        let is_in_sight = top >= self.first && next <= self.first + height;
        if std::mem::take(&mut self.jumped) && !is_in_sight {
            self.first = top.saturating_sub(height / 2);
        }
        // Some rows around the cursor, its messages, and at the top what is said of other files.
        let around = (height / 4).min(5);
        let highest = if self.cursor == 0 { 0 } else { top.saturating_sub(around) };
        let lowest = (next + around).saturating_sub(height).min(top);
        let first = if highest < lowest { lowest } else { self.first.clamp(lowest, highest) };
        self.first = first.min(self.rows.len().saturating_sub(height));
        let end = (self.first + height).min(self.rows.len());
        &self.rows[self.first.min(end)..end]
    }

    fn lay_out(&mut self, columns: usize) {
        let parts = |message: &Message| 0..wrapped(message, columns).len();
        self.rows.clear();
        self.places.clear();
        for (message, about) in self.messages.elsewhere.iter().enumerate() {
            self.rows.extend(parts(about).map(|part| Row::Elsewhere { message, part }));
        }
        for line in 0..self.text().map_or(0, Text::len) {
            self.places.push(self.rows.len());
            self.rows.push(Row::Line(line));
            for (message, about) in self.messages.at(line).iter().enumerate() {
                self.rows.extend(parts(about).map(|part| Row::Message { line, message, part }));
            }
        }
        self.columns = Some(columns);
    }
}

/// A message in rows, with its word before it and how it stands behind it.
pub(super) fn wrapped(message: &Message, columns: usize) -> Vec<String> {
    use crate::source::Standing;
    let behind = match message.standing {
        Standing::Fresh => "",
        Standing::Stale => " (stale: the file is newer)",
        Standing::Lost => " (stale: this line has changed since)",
    };
    let text = format!("{}: {}{behind}", message.word(), message.text);
    let mut rows = wrap(&text, columns);
    rows.truncate(PARTS);
    rows
}

/// What became of each line, and where changes begin.
fn changes(diff: &diff::Diff, lines: usize) -> (BTreeMap<usize, Change>, Vec<usize>) {
    let mut all = BTreeMap::new();
    let mut starts = Vec::new();
    for hunk in diff.hunks() {
        // The line of the new text before the one that is looked at.
        let mut above = (hunk.new as usize).saturating_sub(1);
        if hunk.counts().1 == 0 {
            above = hunk.new as usize;
        }
        for change in hunk.lines.chunk_by(|a, b| (a.sign == Sign::Same) == (b.sign == Sign::Same)) {
            let added: Vec<usize> = change.iter().filter_map(|line| Some(line.new? as usize - 1)).collect();
            let is_change = change.iter().any(|line| line.sign != Sign::Same);
            if is_change && lines > 0 {
                // Where no line is like one that was there, all of them stand in the place of all that went.
                let has_removed = change.iter().any(|line| line.sign == Sign::Removed);
                let is_other = has_removed && change.iter().all(|line| line.beside.is_none());
                let became = |line: &diff::Line| match line.beside.is_some() || is_other {
                    true => Change::Changed,
                    false => Change::New,
                };
                all.extend(change.iter().filter_map(|line| Some((line.new? as usize - 1, became(line)))));
                let start = added.first().copied().unwrap_or(above.saturating_sub(1)).min(lines - 1);
                if added.is_empty() {
                    all.insert(start, Change::GoneBelow);
                }
                starts.push(start);
            }
            above += added.len();
        }
    }
    (all, starts)
}
