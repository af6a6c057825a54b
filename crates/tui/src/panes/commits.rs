//! The pane Git log: HEAD's commits, with the mark and the figure of the experiment that each
//! holds.

use crate::format;
use crate::keymap::Action;
use crate::state::{ScreenData, Setup};
use crate::text::{fit, pad, pad_left, printable};
use crate::widgets::{Canvas, FIGURE, ListState, draw_rows, figure, mark};
use lab_git::{LogEntry, short};
use lab_run::experiment::Experiment;
use ratatui::prelude::*;

/// Returns the scrolled state, and the rows of the list.
pub fn draw(canvas: &mut Canvas, list: ListState) -> ListState {
    let data = canvas.data;
    let (theme, status) = (data.theme(), data.repository.status.as_ref());
    let head = status.map(|status| status.head.label());
    let inner = canvas.draw_title(&printable(&head.unwrap_or_default()));
    let commits = &data.repository.commits;
    if commits.is_empty() {
        let text = match data.repository.loaded {
            true => format!(
                "no commit yet: {} makes the first",
                data.appearance.keymap.way(Action::Keep)
            ),
            false => "reading …".to_owned(),
        };
        draw_rows(canvas.frame, inner, [Line::styled(text, theme.quiet())]);
        return list;
    }
    let shows_selection = canvas.is_focused;
    let detail_rows = u16::from(shows_selection && inner.height > 1);
    let rows = Rect {
        height: inner.height.saturating_sub(u16::from(shows_selection)),
        ..inner
    };
    let columns = usize::from(inner.width);
    let list = canvas.draw_list(rows, list, commits.len(), shows_selection, |at| {
        describe(&commits[at], data, columns)
    });
    let below = Rect {
        y: rows.bottom(),
        height: detail_rows,
        ..inner
    };
    draw_rows(canvas.frame, below, [detail(&commits[list.selected], data)]);
    list
}

fn describe<'a>(entry: &'a LogEntry, data: ScreenData, columns: usize) -> Line<'a> {
    let theme = data.theme();
    let mut spans = vec![
        Span::styled(short(&entry.id), theme.accent()),
        Span::raw(" "),
    ];
    match own(entry, data.setup) {
        Some(experiment) => {
            spans.push(Span::styled(
                mark(experiment.row.status),
                theme.experiment(experiment.row.status),
            ));
            spans.push(Span::styled(
                pad_left(&figure(experiment, FIGURE), FIGURE),
                theme.strong(),
            ));
        }
        None => spans.push(Span::raw(" ".repeat(8))),
    }
    spans.push(Span::raw("  "));
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(fit(&entry.subject, columns.saturating_sub(used))));
    Line::from(spans)
}

/// The commit's experiment, if it is about this kernel: another kernel's figure would be taken for
/// this one's.
fn own<'a>(entry: &'a LogEntry, setup: &Setup) -> Option<&'a Experiment> {
    entry
        .experiment
        .as_deref()
        .filter(|experiment| setup.is_about(experiment))
}

fn detail<'a>(entry: &'a LogEntry, data: ScreenData) -> Line<'a> {
    let (setup, quiet) = (data.setup, data.theme().quiet());
    let mut parts = vec![
        format::date(entry.time, &data.appearance.zone),
        printable(&entry.author),
    ];
    if let Some(experiment) = own(entry, setup) {
        let row = &experiment.row;
        let (value, objective) = (
            experiment.figure().unwrap_or(row.throughput_sps),
            experiment.objective(&setup.objective),
        );
        parts.push(format!("{} {}", format::count(value), objective.unit()));
        parts.push(format!("kernel {} µs", format::count(row.kernel_us)));
        parts.extend(experiment.device.as_deref().map(printable));
    }
    Line::styled(pad(&parts.join(" · "), 200), quiet)
}
