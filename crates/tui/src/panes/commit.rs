//! The pane Commit: the selected commit with its author, message, trailers, changed files and their
//! diffs.

use crate::diff::{
    ContextLines, Diff, DiffLayout, DiffRow, DiffView, JumpTarget, RowPainter, no_line_styles,
};
use crate::format;
use crate::state::ScreenSettings;
use crate::text::{printable, wrap};
use crate::widgets::{PaneSlot, ScrolledText, mark};
use lab_core::repo::{CommitDetails, FileChange, short};
use lab_core::run::experiment::Experiment;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct CommitState {
    shown: Option<ShownCommit>,
    /// The message and the diff below it.
    pub text: ScrolledText,
    /// Rows above the diff, at the last frame.
    head_rows: usize,
    /// First visible column of the diff.
    pub left: usize,
}

/// How the commit fits into the pane.
#[derive(Clone, Copy, Debug)]
pub struct CommitFit {
    text: ScrolledText,
    head_rows: usize,
}

#[derive(Clone, Debug)]
struct ShownCommit {
    id: String,
    details: Result<CommitDetails, String>,
    diff: DiffView,
}

impl CommitState {
    /// The pane shows this commit, with these lines around its changes, or why it cannot be read.
    pub fn shows(&self, id: &str, around: ContextLines) -> bool {
        let is_wide = |shown: &ShownCommit| {
            shown
                .details
                .as_ref()
                .is_ok_and(|d| d.around != around.lines())
        };
        self.shown
            .as_ref()
            .is_some_and(|shown| shown.id == id && !is_wide(shown))
    }

    /// Full id of the shown commit.
    pub fn id(&self) -> Option<&str> {
        self.shown.as_ref().map(|shown| &*shown.id)
    }

    pub fn show(&mut self, id: String, details: Result<CommitDetails, String>) {
        let text = details
            .as_ref()
            .map(|details| unified(&details.files))
            .unwrap_or_default();
        let diff = DiffView::new(Arc::new(Diff::parse(&text)), DiffLayout::Unified);
        match &self.shown {
            // The top stays the top, also where no frame was drawn since, so that the rows above
            // the diff are unknown.
            Some(old) if old.id == id && self.text.first() == 0 => {}
            // The same commit with more or fewer lines around: the topmost row stays on top.
            Some(old) if old.id == id => {
                if let Some(row) = self.text.first().checked_sub(self.head_rows) {
                    self.text.show(self.head_rows + old.diff.follow(row, &diff));
                }
            }
            _ => self.text.show(0),
        }
        self.left = 0;
        self.shown = Some(ShownCommit { id, details, diff });
    }

    /// Takes the fit of the frame that was drawn.
    pub fn take_fit(&mut self, fit: CommitFit) {
        (self.text, self.head_rows) = (fit.text, fit.head_rows);
    }

    pub fn scroll(&mut self, by: isize) {
        self.text.scroll(by);
    }

    /// Goes to the next or the previous file or change.
    pub fn step(&mut self, forward: bool) {
        let Some(shown) = &self.shown else { return };
        let rows = shown.diff.rows().iter().enumerate();
        let files = rows.filter(|(_, row)| matches!(row, DiffRow::File { .. }));
        let files = files.map(|(row, _)| JumpTarget { row, is_head: true });
        let mut stops: Vec<JumpTarget> = files.chain(shown.diff.jump_targets()).collect();
        stops.sort_by_key(|stop| stop.row);
        for stop in &mut stops {
            stop.row += self.head_rows;
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

/// What the pane needs besides its own state.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub around: ContextLines,
    /// The selected experiment, where no branch holds its commit.
    pub discarded: Option<&'a Experiment>,
}

/// Returns how the commit fits into the pane.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Commit,
    state: &CommitState,
    appearance: &ScreenSettings,
) -> CommitFit {
    let theme = &appearance.theme;
    let id = state.id().map(short).unwrap_or_default();
    let note = [id, data.around.note()]
        .into_iter()
        .filter(|n| !n.is_empty())
        .collect::<Vec<_>>();
    let inner = slot.draw_title(frame, &note.join(" · "), theme);
    let Some(shown) = &state.shown else {
        frame.render_widget(Line::styled("select a commit", theme.quiet()), inner);
        return CommitFit {
            text: state.text,
            head_rows: state.head_rows,
        };
    };
    let head = head(shown, data.discarded, usize::from(inner.width), appearance);
    let all = head.len() + shown.diff.rows().len();
    let text = state
        .text
        .fit(usize::from(inner.width), usize::from(inner.height), all);
    let brush = RowPainter {
        theme,
        line_styles: &no_line_styles,
        search: slot.needle,
        columns: usize::from(inner.width),
        left: state.left,
        digits: shown.diff.digits(),
    };
    for (at, y) in (text.first()..all).zip(inner.top()..inner.bottom()) {
        let line = match head.get(at) {
            Some(line) => slot.text_row(line.clone(), false, theme),
            None => brush.row(shown.diff.diff(), shown.diff.rows()[at - head.len()], false),
        };
        let line = if text.marked() == Some(at) {
            theme.select(line)
        } else {
            line
        };
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..inner
            },
        );
    }
    CommitFit {
        text,
        head_rows: head.len(),
    }
}

/// The text of all rows, wrapped to the width of the last frame: those above the diff, and the
/// diff.
pub fn rows<'a>(
    data: Commit,
    state: &'a CommitState,
    appearance: &ScreenSettings,
) -> (Vec<Line<'static>>, Option<&'a DiffView>) {
    let Some(shown) = &state.shown else {
        return (Vec::new(), None);
    };
    (
        head(shown, data.discarded, state.text.columns(), appearance),
        Some(&shown.diff),
    )
}

/// What became of an experiment that was not kept, and the commit it was tried on.
fn discarded_line(experiment: Option<&Experiment>, details: &CommitDetails) -> String {
    let own = experiment.filter(|e| !e.is_kept() && details.id.starts_with(&e.row.commit));
    let Some(experiment) = own else {
        return String::new();
    };
    let status = experiment.row.status;
    let run = experiment
        .run
        .map_or_else(|| "it ".to_owned(), |run| format!("run {run} "));
    let on = details.parents.first().map_or("nothing", |id| short(id));
    format!(
        "{} {}: {run}was tried on {on}; no branch holds it",
        mark(status),
        status.word()
    )
}

/// Everything above the diff.
fn head(
    shown: &ShownCommit,
    discarded: Option<&Experiment>,
    columns: usize,
    appearance: &ScreenSettings,
) -> Vec<Line<'static>> {
    let theme = &appearance.theme;
    let details = match &shown.details {
        Ok(details) => details,
        Err(why) => {
            let rows = wrap(&printable(why), columns).into_iter();
            return rows.map(|row| Line::styled(row, theme.bad())).collect();
        }
    };
    let wrapped = |text: &str| wrap(&printable(text), columns);
    let mut out: Vec<Line> = wrapped(&details.subject)
        .into_iter()
        .map(|row| Line::styled(row, theme.strong()))
        .collect();
    out.extend(
        wrapped(&discarded_line(discarded, details))
            .into_iter()
            .map(|row| Line::styled(row, theme.warn())),
    );
    let date = format::date(details.authored, &appearance.zone);
    out.push(Line::styled(
        format!("{} · {date}", printable(&details.author)),
        theme.quiet(),
    ));
    if details.committer != details.author {
        let date = format::date(details.committed, &appearance.zone);
        let text = format!("committed by {} · {date}", printable(&details.committer));
        out.push(Line::styled(text, theme.quiet()));
    }
    if let [_, _, ..] = &details.parents[..] {
        let parents: Vec<&str> = details.parents.iter().map(|id| short(id)).collect();
        out.push(Line::styled(
            format!(
                "merges {}: changes against the first parent",
                parents.join(" ")
            ),
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
            true => spans.push(Span::styled(
                "  no text, or too large to compare",
                theme.quiet(),
            )),
            false => {
                spans.push(Span::styled(format!("  +{}", file.added), theme.good()));
                spans.push(Span::styled(format!(" -{}", file.removed), theme.bad()));
            }
        }
        if file.is_cut {
            spans.push(Span::styled(
                "  the rest of its diff is left out",
                theme.warn(),
            ));
        }
        out.push(Line::from(spans));
    }
    if details.files_left_out > 0 {
        out.push(Line::styled(
            format!("and {} files more", details.files_left_out),
            theme.warn(),
        ));
    }
    out.push(Line::default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use lab_core::repo::ChangeKind;

    fn details() -> CommitDetails {
        let file = FileChange {
            kind: ChangeKind::Modified,
            path: "kernel.cu".into(),
            from: None,
            added: 1,
            removed: 1,
            is_binary: false,
            diff: "@@ -1,2 +1,2 @@\n same\n-old\n+new\n".into(),
            is_cut: false,
        };
        CommitDetails {
            id: "c0ffee".into(),
            parents: Vec::new(),
            subject: "one".into(),
            body: Vec::new(),
            trailers: Vec::new(),
            author: "Ada".into(),
            authored: Timestamp::UNIX_EPOCH,
            committer: "Ada".into(),
            committed: Timestamp::UNIX_EPOCH,
            around: 3,
            files: vec![file],
            files_left_out: 0,
        }
    }

    #[test]
    fn a_commit_that_is_read_twice_before_a_frame_is_seen_from_its_top() {
        let mut state = CommitState::default();
        state.show("c0ffee".into(), Ok(details()));
        state.show("c0ffee".into(), Ok(details()));
        assert_eq!(state.text.first(), 0);
    }
}
