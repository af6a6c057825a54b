//! The pane Git log: HEAD's commits, with the mark and the figure of the experiment that each
//! holds. The commits of this kernel come first: those that changed its folder or hold an experiment.

use crate::prelude::*;
use crate::state::Setup;
use lab_git::{LogEntry, short};
use lab_run::experiment::Experiment;

/// Returns the scrolled state, and the rows of the list.
pub fn draw(canvas: &mut Canvas, list: ListState) -> ListState {
    let data = canvas.data;
    let status = data.repository.status.as_ref();
    let head = status.map(|status| printable(&status.head.label()));
    let is_moved = data.repository.log.is_moved;
    let own_count = data.repository.log.count_of_own;
    let order = is_moved.then(|| "this kernel's first".to_owned());
    let inner = canvas.draw_title(&joined(head.into_iter().chain(order)));
    let commits = &data.repository.commits;
    if commits.is_empty() {
        canvas.draw_no_commit(inner, data.repository.loaded);
        return list;
    }
    let shows_selection = canvas.is_focused;
    let detail_rows = u16::from(shows_selection);
    let [rows, below] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(detail_rows)]).areas(inner);
    let columns = usize::from(inner.width);
    let list = canvas.draw_list(rows, list, commits.len(), shows_selection, |at| {
        let is_other = at >= own_count;
        let word = if is_moved && is_other { "other" } else { "" };
        describe(&commits[at], data.setup, (word, !is_other), columns)
    });
    if rows.height > 0 {
        draw_rows(canvas.frame, below, [detail(&commits[list.selected], data)]);
    }
    list
}

fn describe<'a>(
    entry: &'a LogEntry,
    setup: &Setup,
    (word, is_own): (&str, bool),
    columns: usize,
) -> Line<'a> {
    let mut line = Line::from(vec![short(&entry.id).accent(), Span::raw(" ")]);
    match own(entry, setup) {
        Some(experiment) => line.extend(beside_commit(experiment)),
        None => line.push_span(pad(word, 8).quiet()),
    }
    line.push_span("  ");
    let room = columns.saturating_sub(line.width());
    let style = if is_own { TEXT } else { QUIET };
    line.push_span(Span::styled(fit(&entry.subject, room), style));
    line
}

/// The commit's experiment, if it is about this kernel: another kernel's figure would be taken for
/// this one's.
fn own<'a>(entry: &'a LogEntry, setup: &Setup) -> Option<&'a Experiment> {
    let experiment = entry.experiment.as_deref();
    experiment.filter(|experiment| setup.is_about(experiment))
}

fn detail(entry: &LogEntry, data: ScreenData) -> Line<'static> {
    let mut parts = vec![data.date(entry.time), printable(&entry.author)];
    if let Some(experiment) = own(entry, data.setup) {
        let objective = experiment.objective(&data.setup.objective);
        let figure = experiment.figure();
        let figure = figure.map(|value| format!("{} {}", format::count(value), objective.unit()));
        parts.extend(figure);
        let time = time_beside(experiment, data.setup);
        parts.extend(time.map(|us| format!("kernel {}", format::us(us))));
        parts.extend(experiment.device.as_deref().map(printable));
    }
    Line::styled(pad(&parts.join(" · "), 200), QUIET)
}
