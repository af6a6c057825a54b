//! The pane Commit: the selected commit with its author, message, trailers, changed files and their
//! diffs.

use crate::diff::{ContextLines, Diff, DiffLayout, DiffView};
use crate::prelude::*;
use lab_git::{CommitDetails, FileChange, short};
use lab_run::experiment::Experiment;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct CommitState {
    shown: Option<ShownCommit>,
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

    pub fn show(
        &mut self,
        id: String,
        details: Result<CommitDetails, String>,
        text: &mut ScrolledText,
    ) {
        let files = details.as_ref().map_or(&[][..], |details| &details.files);
        let changed = files.iter().filter(|file| !file.diff.is_empty());
        let diff = Diff::of_files(changed.map(|file| (Some(path(file)), &*file.diff)));
        let diff = DiffView::new(Arc::new(diff), DiffLayout::Unified);
        match &self.shown {
            // The same commit with more or fewer lines around: the topmost row stays on top.
            Some(old) if old.id == id => text.follow(&old.diff, &diff),
            _ => text.show(0),
        }
        text.left = 0;
        self.shown = Some(ShownCommit { id, details, diff });
    }

    /// The full id of the shown commit, and how many lines are around its changes.
    pub fn note(&self, around: ContextLines) -> String {
        joined([self.id().map(short).unwrap_or_default(), around.note()])
    }
}

pub fn document<'a>(data: ScreenData, state: &'a CommitState, columns: usize) -> Document<'a> {
    let Some(shown) = &state.shown else {
        return Document::of(Vec::new());
    };
    let mut head = head(shown, data, columns);
    if shown.diff.rows.is_empty() && shown.details.is_ok() {
        head.push(Line::default());
    }
    let diff = Section::new("", Body::Diff(&shown.diff));
    Document::new(vec![Section::new("", head), diff])
}

/// What became of an experiment that was not kept, and the commit it was tried on.
fn discarded_line(experiment: Option<&Experiment>, details: &CommitDetails) -> String {
    let own = experiment.filter(|e| !e.is_kept() && details.id.starts_with(&e.row.commit));
    let Some(experiment) = own else {
        return String::new();
    };
    let run = experiment
        .run
        .map_or_else(|| "it".to_owned(), |run| format!("run {run}"));
    let on = details.parents.first().map_or("nothing", |id| short(id));
    let decided = decided(experiment.row.status);
    format!("{decided}: {run} was tried on {on}; no branch holds it")
}

/// Everything above the diff.
fn head(shown: &ShownCommit, data: ScreenData, columns: usize) -> Lines {
    let details = match &shown.details {
        Ok(details) => details,
        Err(why) => return paragraph(why, columns, BAD),
    };
    let mut out = paragraph(&details.subject, columns, STRONG);
    let discarded = discarded_line(data.selected(), details);
    out.extend(paragraph(&discarded, columns, WARN));
    let mut quiet = |text| out.push(Line::styled(text, QUIET));
    let by = |name: &str, at| format!("{} · {}", printable(name), data.date(at));
    quiet(by(&details.author, details.authored));
    if details.committer != details.author {
        let committer = by(&details.committer, details.committed);
        quiet(format!("committed by {committer}"));
    }
    if let [_, _, ..] = &details.parents[..] {
        let parents: Vec<&str> = details.parents.iter().map(|id| short(id)).collect();
        let parents = parents.join(" ");
        quiet(format!(
            "merges {parents}: changes against the first parent"
        ));
    }
    if !details.body.is_empty() {
        out.push(Line::default());
        let body = details.body.iter().flat_map(|row| {
            if row.is_empty() {
                vec![Line::default()]
            } else {
                paragraph(row, columns, Style::new())
            }
        });
        out.extend(body);
    }
    out.push(Line::default());
    out.extend(details.files.iter().map(of_file));
    if details.files_left_out > 0 {
        let text = format!("and {} files more", details.files_left_out);
        out.push(Line::styled(text, WARN));
    }
    out
}

/// The name of a changed file, with the one before.
fn path(file: &FileChange) -> String {
    match &file.from {
        Some(from) => format!("{from} → {}", file.path),
        None => file.path.clone(),
    }
}

/// The name of a changed file, and how many lines changed.
fn of_file(file: &FileChange) -> Line<'static> {
    let mut line = Line::from(vec![
        format!("{} ", file.kind.sign()).accent(),
        Span::raw(printable(&path(file))),
    ]);
    if file.is_binary {
        line.push_span("  no text, or too large to compare".quiet());
    } else {
        line.push_span(format!("  +{}", file.added).good());
        line.push_span(format!(" -{}", file.removed).bad());
    }
    if file.is_cut {
        line.push_span("  the rest of its diff is left out".warn());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use lab_git::ChangeKind;

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
        let mut text = ScrolledText::default();
        state.show("c0ffee".into(), Ok(details()), &mut text);
        state.show("c0ffee".into(), Ok(details()), &mut text);
        assert_eq!(text.first, 0);
    }
}
