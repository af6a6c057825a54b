//! The pane Git log: HEAD's commits, with the mark and the figure of the experiment that each
//! holds.

use crate::format;
use crate::keymap::Action;
use crate::search_highlight;
use crate::state::{ScreenSettings, Setup};
use crate::text::{fit, pad, pad_left, printable};
use crate::views::Pane;
use crate::widgets::{FIGURE, ListArea, PaneSlot, figure, mark};
use lab_core::repo::{LogEntry, short};
use lab_core::run::experiment::Experiment;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

#[derive(Clone, Copy, Debug, Default)]
pub struct CommitsState {
    pub selected: usize,
    first: usize,
}

impl CommitsState {
    /// Moves the selection by so many rows.
    pub fn select(&mut self, by: isize, count: usize) {
        self.selected = self
            .selected
            .saturating_add_signed(by)
            .min(count.saturating_sub(1));
    }

    /// Scrolls as little as keeps the selected row visible.
    fn fit(self, rows: usize, count: usize) -> Self {
        let selected = self.selected.min(count.saturating_sub(1));
        let lowest = (selected + 1).saturating_sub(rows);
        CommitsState {
            selected,
            first: self.first.clamp(lowest, selected.max(lowest)),
        }
    }
}

/// What the pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Commits<'a> {
    pub commits: &'a [LogEntry],
    /// The commits were read at least once.
    pub loaded: bool,
    /// The branch, or what HEAD is on.
    pub head: Option<&'a str>,
    pub setup: &'a Setup,
}

/// Returns the scrolled state, and the rows of the list.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Commits,
    state: CommitsState,
    appearance: &ScreenSettings,
) -> (CommitsState, Option<ListArea>) {
    let theme = &appearance.theme;
    let inner = slot.draw_title(frame, &printable(data.head.unwrap_or_default()), theme);
    if data.commits.is_empty() {
        let none = format!(
            "no commit yet: {} makes the first",
            appearance.keymap.way(Action::Keep)
        );
        let text = if data.loaded {
            none
        } else {
            "reading …".to_owned()
        };
        frame.render_widget(Line::styled(text, theme.quiet()), inner);
        return (state, None);
    }
    // The focused pane shows details of the selected commit in its last row.
    let rows = usize::from(inner.height.saturating_sub(u16::from(slot.is_focused)));
    let state = state.fit(rows, data.commits.len());
    let CommitsState { selected, first } = state;
    for (row, entry) in data.commits.iter().skip(first).take(rows).enumerate() {
        let place = Rect {
            y: inner.y + row as u16,
            height: 1,
            ..inner
        };
        let line = describe(entry, data.setup, usize::from(inner.width), appearance);
        let mut line = search_highlight::mark(line, slot.needle, theme);
        if slot.is_focused && first + row == selected {
            line = theme.select(line);
        }
        frame.render_widget(line, place);
    }
    let count = rows.min(data.commits.len().saturating_sub(first));
    let list = ListArea::new(Pane::Commits, inner, count, selected.saturating_sub(first));
    if let (true, Some(entry)) = (
        slot.is_focused && inner.height > 1,
        data.commits.get(selected),
    ) {
        let place = Rect {
            y: inner.bottom() - 1,
            height: 1,
            ..inner
        };
        frame.render_widget(detail(entry, data.setup, appearance), place);
    }
    (state, Some(list))
}

fn describe<'a>(
    entry: &'a LogEntry,
    setup: &Setup,
    columns: usize,
    appearance: &ScreenSettings,
) -> Line<'a> {
    let theme = &appearance.theme;
    let mut spans = vec![
        Span::styled(short(&entry.id), theme.accent()),
        Span::raw(" "),
    ];
    match own(entry, setup) {
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

fn detail<'a>(entry: &'a LogEntry, setup: &Setup, appearance: &ScreenSettings) -> Line<'a> {
    let quiet = appearance.theme.quiet();
    let mut parts = vec![
        format::date(entry.time, &appearance.zone),
        printable(&entry.author).into_owned(),
    ];
    if let Some(experiment) = own(entry, setup) {
        let row = &experiment.row;
        let (value, objective) = (
            experiment.figure().unwrap_or(row.throughput_sps),
            experiment.objective(&setup.objective),
        );
        parts.push(format!(
            "{} {}",
            format::count(value),
            format::unit(&objective)
        ));
        parts.push(format!("kernel {} µs", format::count(row.kernel_us)));
        parts.extend(
            experiment
                .device
                .as_deref()
                .map(|d| printable(d).into_owned()),
        );
    }
    Line::styled(pad(&parts.join(" · "), 200), quiet)
}
