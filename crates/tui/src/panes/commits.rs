//! HEAD's commits, with the mark and the figure of the experiment that each holds.

use super::super::app::App;
use super::super::format;
use super::super::keymap::Action;
use super::super::text::{fit, pad, pad_left, printable};
use super::{Pane, titled};
use crate::search_highlight as found;
use lab_core::repo::{LogEntry, short};
use lab_core::run::experiment::{Experiment, Status};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

#[derive(Clone, Debug, Default)]
pub struct CommitsState {
    pub selected: usize,
    first: usize,
}

impl CommitsState {
    pub fn select(&mut self, by: isize, count: usize) {
        self.selected = self.selected.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    /// Scrolls as little as keeps the selected row in sight.
    fn bring_into_view(&mut self, rows: usize, count: usize) -> usize {
        self.selected = self.selected.min(count.saturating_sub(1));
        let lowest = (self.selected + 1).saturating_sub(rows);
        self.first = self.first.clamp(lowest, self.selected.max(lowest));
        self.first
    }
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let note = app.status.as_ref().map(|s| printable(&s.head.label()).into_owned()).unwrap_or_default();
    let inner = titled(frame, area, app, Pane::Commits, &note);
    if app.commits.is_empty() {
        let none = format!("no commit yet: {} makes the first", app.keymap.way(Action::Keep));
        let text = if app.loaded { none } else { "reading …".to_owned() };
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let is_focused = app.panes.focus() == Pane::Commits;
    // The focused pane says more of the selected commit in its last row.
    let rows = usize::from(inner.height.saturating_sub(u16::from(is_focused)));
    let first = app.panes.commits.bring_into_view(rows, app.commits.len());
    let selected = app.panes.commits.selected;
    for (row, entry) in app.commits.iter().skip(first).take(rows).enumerate() {
        let place = Rect { y: inner.y + row as u16, height: 1, ..inner };
        let line = describe(entry, app, usize::from(inner.width));
        let mut line = found::mark(line, app.needle(Pane::Commits), &app.theme);
        if is_focused && first + row == selected {
            line = app.theme.select(line);
        }
        frame.render_widget(line, place);
    }
    let count = rows.min(app.commits.len().saturating_sub(first));
    app.panes.note_list(Pane::Commits, inner, count, selected.saturating_sub(first));
    if let (true, Some(entry)) = (is_focused && inner.height > 1, app.commits.get(selected)) {
        let place = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        frame.render_widget(detail(entry, app), place);
    }
}

fn describe<'a>(entry: &'a LogEntry, app: &App, columns: usize) -> Line<'a> {
    let theme = &app.theme;
    let mut spans = vec![Span::styled(short(&entry.id), theme.accent()), Span::raw(" ")];
    match mine(entry, app) {
        Some(experiment) => {
            spans.push(Span::styled(mark(experiment.row.status), theme.experiment(experiment.row.status)));
            spans.push(Span::styled(pad_left(&figure(experiment), 7), theme.strong()));
        }
        None => spans.push(Span::raw(" ".repeat(8))),
    }
    spans.push(Span::raw("  "));
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(fit(&entry.subject, columns.saturating_sub(used))));
    Line::from(spans)
}

/// Another kernel's figure would be read as one of this kernel.
fn mine<'a>(entry: &'a LogEntry, app: &App) -> Option<&'a Experiment> {
    entry.experiment.as_deref().filter(|experiment| app.is_mine(experiment))
}

fn detail<'a>(entry: &'a LogEntry, app: &App) -> Line<'a> {
    let quiet = app.theme.quiet();
    let mut parts = vec![format::date(entry.time, &app.zone), printable(&entry.author).into_owned()];
    if let Some(experiment) = mine(entry, app) {
        let row = &experiment.row;
        parts.push(format!("{} {}", format::count(row.throughput_sps), format::unit(&app.setup.objective)));
        parts.push(format!("kernel {} µs", format::count(row.kernel_us)));
        parts.extend(experiment.device.as_deref().map(|d| printable(d).into_owned()));
    }
    Line::styled(pad(&parts.join(" · "), 200), quiet)
}

/// An experiment's sign: the same in the chart, the log and the details.
pub fn mark(status: Status) -> &'static str {
    match status {
        Status::Keep => "●",
        Status::Discard => "○",
        Status::Crash => "✗",
    }
}

/// Its number; an emulated one's says nothing, and a crash has none.
pub fn figure(experiment: &Experiment) -> String {
    match experiment.row.status {
        Status::Crash => "crash".to_owned(),
        _ if !experiment.row.correctness.passed() => "fail".to_owned(),
        _ if experiment.emulated => format!("~{}", format::short(experiment.row.throughput_sps)),
        _ => format::short(experiment.row.throughput_sps),
    }
}
