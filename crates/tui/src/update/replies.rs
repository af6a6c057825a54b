//! The replies of the workers: each worker's replies are handled in one match.

use crate::model::Model;
use crate::reply::{HighlightReply, RepositoryReply, ViewReply};
use crate::views::Pane;

impl Model {
    pub(super) fn on_repository(&mut self, reply: RepositoryReply) {
        match reply {
            RepositoryReply::Overview(overview) => self.on_overview(*overview),
            RepositoryReply::Log(log) => self.on_run_log(*log),
            RepositoryReply::HeldOut(run, batch) => self.on_held_out(run, batch),
            RepositoryReply::Changed(result) => self.on_changed(result),
            RepositoryReply::Undoable(undoable) => self.on_undoable(undoable),
            RepositoryReply::Trusted(result) => self.on_trusted(result),
            RepositoryReply::LoopAsked(asked, result) => self.on_loop_asked(asked, result),
            RepositoryReply::Exported(Ok(path)) => self.inform(format!("wrote {path}")),
            RepositoryReply::Exported(Err(why)) => self.fail(format!("export: {why}")),
            RepositoryReply::Cited(result) => self.on_cited(result),
            RepositoryReply::Project(result) => self.on_project(result),
        }
    }

    /// A reply to an older request is dropped: what is shown now was asked for later.
    pub(super) fn on_view(&mut self, reply: ViewReply) {
        match reply {
            ViewReply::Details(details) => self.on_details(*details),
            ViewReply::Comparison(comparison) => self.on_comparison(*comparison),
            ViewReply::Source(source) => self.on_source(*source),
            ViewReply::Kernels(kernels) => self.on_kernels(kernels),
            ViewReply::Graph(page) => self.on_graph(page),
            ViewReply::OwnCommits(page) => self.on_own_commits(page),
            ViewReply::Loop(read) => self.on_loop(*read),
            ViewReply::Profile(view) => self.on_profile(*view),
            ViewReply::ChangedLines(lines) => self.on_changed_lines(lines),
            ViewReply::Cells(asked, read) => self.on_cells(&asked, read),
            ViewReply::Workload(name, times) => self.on_workload(&name, times),
            ViewReply::Commit(id, details) => self.on_commit(id, *details),
            ViewReply::Board(board, has_bench) => {
                self.repository.board = Some(*board);
                self.repository.has_bench = has_bench;
            }
            ViewReply::Record(source, begun, lines) => self.on_record(source, begun, lines),
            ViewReply::Sweep(sweep) => self.on_sweep(sweep),
        }
    }

    pub(super) fn on_highlighted(&mut self, reply: HighlightReply) {
        let HighlightReply {
            which,
            text,
            colours,
        } = reply;
        let is_shown = self.panes.source.take_colours(which, &text, colours);
        if !is_shown || !self.panes.shows(Pane::Source) {
            self.ignore();
        }
    }
}
