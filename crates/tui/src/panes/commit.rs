//! The selected commit: who made it and why, its trailers, the files that it changed, and their diffs.

use super::super::app::{App, Rows};
use super::super::diff::{Around, Brush, Diff, Form, Row, Stop, View, plain};
use super::super::format;
use super::super::text::{printable, wrap};
use super::commits::mark;
use super::{Pane, Reading, seen, titled};
use lab_core::repo::{CommitDetails, FileChange, short};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct CommitState {
    shown: Option<Shown>,
    /// The words and the diff below them.
    pub text: Reading,
    /// Rows of the words above the diff, at the last frame.
    words: usize,
    /// First column of the diff.
    pub left: usize,
}

#[derive(Clone, Debug)]
struct Shown {
    id: String,
    details: Result<CommitDetails, String>,
    diff: View,
}

impl CommitState {
    /// It shows this commit already, with so much around its changes; or why that cannot be read.
    pub fn shows(&self, id: &str, around: Around) -> bool {
        let is_wide = |shown: &Shown| shown.details.as_ref().is_ok_and(|d| d.around != around.lines());
        self.shown.as_ref().is_some_and(|shown| shown.id == id && !is_wide(shown))
    }

    /// Full id of the commit that is shown.
    pub fn id(&self) -> Option<&str> {
        self.shown.as_ref().map(|shown| &*shown.id)
    }

    pub fn show(&mut self, id: String, details: Result<CommitDetails, String>) {
        let text = details.as_ref().map(|details| unified(&details.files)).unwrap_or_default();
        let diff = View::new(Arc::new(Diff::parse(&text)), Form::Unified);
        match &self.shown {
            // The same with more of its files, or less: what is looked at stays on top.
            Some(old) if old.id == id => {
                if let Some(row) = self.text.first().checked_sub(self.words) {
                    self.text.show(self.words + old.diff.follow(row, &diff));
                }
            }
            _ => self.text.show(0),
        }
        self.left = 0;
        self.shown = Some(Shown { id, details, diff });
    }

    pub fn scroll(&mut self, by: isize) {
        self.text.scroll(by);
    }

    /// To where the next or the previous file or change begins.
    pub fn step(&mut self, forward: bool) {
        let Some(shown) = &self.shown else { return };
        let rows = shown.diff.rows().iter().enumerate();
        let files = rows.filter(|(_, row)| matches!(row, Row::File { .. }));
        let files = files.map(|(row, _)| Stop { row, is_head: true });
        let mut stops: Vec<Stop> = files.chain(shown.diff.stops()).collect();
        stops.sort_by_key(|stop| stop.row);
        for stop in &mut stops {
            stop.row += self.words;
        }
        self.text.step(&stops, forward);
    }
}

/// The files' hunks as one diff.
fn unified(files: &[FileChange]) -> String {
    let mut text = String::new();
    for file in files.iter().filter(|file| !file.diff.is_empty()) {
        let old = file.from.as_deref().unwrap_or(&file.path);
        text.push_str(&format!("--- a/{old}\n+++ b/{}\n{}", file.path, file.diff));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let id = app.panes.commit.id().map(short).unwrap_or_default();
    let note =
        [id, app.panes.around.note()].into_iter().filter(|n| !n.is_empty()).collect::<Vec<_>>().join(" · ");
    let inner = titled(frame, area, app, Pane::Commit, &note);
    let Some(shown) = &app.panes.commit.shown else {
        frame.render_widget(Line::styled("select a commit", app.theme.quiet()), inner);
        return;
    };
    let words = words(app, usize::from(inner.width));
    let all = words.len() + shown.diff.rows().len();
    let mut text = app.panes.commit.text.clone();
    let first = text.fit(usize::from(inner.width), usize::from(inner.height), all);
    let needle = app.needle(Pane::Commit);
    let brush = Brush {
        theme: &app.theme,
        ink: &plain,
        search: needle,
        columns: usize::from(inner.width),
        left: app.panes.commit.left,
        digits: shown.diff.digits(),
    };
    for (at, y) in (first..all).zip(inner.top()..inner.bottom()) {
        let line = match words.get(at) {
            Some(line) => seen(line.clone(), needle, false, &app.theme),
            None => brush.row(shown.diff.diff(), shown.diff.rows()[at - words.len()], false),
        };
        let line = if text.marked() == Some(at) { app.theme.select(line) } else { line };
        frame.render_widget(line, Rect { y, height: 1, ..inner });
    }
    app.panes.commit.words = words.len();
    app.panes.commit.text = text;
}

/// As they were wrapped at the last frame.
pub fn rows(app: &App) -> Rows<'_> {
    let words = words(app, app.panes.commit.text.columns());
    let diff = app.panes.commit.shown.as_ref().map(|shown| &shown.diff);
    let count = words.len() + diff.map_or(0, |diff| diff.rows().len());
    Rows::new(count, move |at| match (words.get(at), diff) {
        (Some(line), _) => line.to_string().into(),
        (None, Some(diff)) => diff.text(at - words.len()).into(),
        (None, None) => "".into(),
    })
}

/// Of an experiment that was not kept: what became of it, and what it was tried on.
fn loose(app: &App, details: &CommitDetails) -> String {
    let chosen = app.chosen().filter(|e| !e.is_kept() && details.id.starts_with(&e.row.commit));
    let Some(experiment) = chosen else { return String::new() };
    let status = experiment.row.status;
    let run = experiment.run.map(|run| format!("run {run} ")).unwrap_or_else(|| "it ".to_owned());
    let on = details.parents.first().map_or("nothing", |id| short(id));
    format!("{} {}: {run}was tried on {on}; no branch holds it", mark(status), status.word())
}

fn words(app: &App, columns: usize) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let Some(shown) = &app.panes.commit.shown else { return Vec::new() };
    let details = match &shown.details {
        Ok(details) => details,
        Err(why) => {
            let rows = wrap(&printable(why), columns).into_iter();
            return rows.map(|row| Line::styled(row, theme.bad())).collect();
        }
    };
    let wrapped = |text: &str| wrap(&printable(text), columns);
    let mut out: Vec<Line> =
        wrapped(&details.subject).into_iter().map(|row| Line::styled(row, theme.strong())).collect();
    out.extend(wrapped(&loose(app, details)).into_iter().map(|row| Line::styled(row, theme.warn())));
    let date = format::date(details.authored, &app.zone);
    out.push(Line::styled(format!("{} · {date}", printable(&details.author)), theme.quiet()));
    if details.committer != details.author {
        let date = format::date(details.committed, &app.zone);
        let text = format!("committed by {} · {date}", printable(&details.committer));
        out.push(Line::styled(text, theme.quiet()));
    }
    if let [_, _, ..] = &details.parents[..] {
        let parents: Vec<&str> = details.parents.iter().map(|id| short(id)).collect();
        out.push(Line::styled(
            format!("merges {}: changes beside the first", parents.join(" ")),
            theme.quiet(),
        ));
    }
    if !details.body.is_empty() {
        out.push(Line::default());
        let body = details.body.iter().flat_map(|row| match row.is_empty() {
            true => vec![String::new()],
            false => wrapped(row),
        });
        out.extend(body.map(Line::raw));
    }
    out.push(Line::default());
    for file in &details.files {
        let path = match &file.from {
            Some(from) => format!("{from} → {}", file.path),
            None => file.path.clone(),
        };
        let mut spans = vec![
            Span::styled(format!("{} ", file.kind.sign()), theme.accent()),
            Span::raw(printable(&path).into_owned()),
        ];
        match file.is_binary {
            true => spans.push(Span::styled("  no text, or too large to compare", theme.quiet())),
            false => {
                spans.push(Span::styled(format!("  +{}", file.added), theme.good()));
                spans.push(Span::styled(format!(" -{}", file.removed), theme.bad()));
            }
        }
        if file.is_cut {
            spans.push(Span::styled("  its diff goes on", theme.warn()));
        }
        out.push(Line::from(spans));
    }
    if details.files_left_out > 0 {
        out.push(Line::styled(format!("and {} files more", details.files_left_out), theme.warn()));
    }
    out.push(Line::default());
    out
}
