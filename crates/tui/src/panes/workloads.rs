//! The pane Workloads: each workload of a run with its time, its part of the floor, and how it
//! compares with the incumbent. A column shows the comparison as heat: a bar with a sign.

mod cells;
mod columns;

pub use columns::{Column, Sort};

use crate::search_highlight;
use crate::state::ScreenSettings;
use crate::text::{fit, pad, pad_left, printable};
use crate::views::Pane;
use crate::widgets::table_head::{GAP, GUTTER, Heading, arrow};
use crate::widgets::{ListArea, PaneSlot, table_head};
use columns::ShownColumn;
use lab_core::run::experiment::ExperimentKey;
use lab_protocol::report::{AggregateOf, Report, Speed, Workload};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use std::sync::Arc;

/// Fewer workloads than this have no pane: the verdict says all.
pub const LEAST: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct WorkloadsState {
    /// `None`: in the order of the lines.
    sort: Option<Sort>,
    /// The selected row.
    selected: usize,
    /// The topmost visible row.
    first: usize,
    /// The workloads of the experiment whose details were loaded last.
    of_experiment: Option<(ExperimentKey, Arc<WorkloadTable>)>,
}

/// The workloads of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadTable {
    /// In the order of the lines.
    pub workloads: Vec<Workload>,
    /// Which aggregate of them the figure of the whole is.
    pub aggregate: Option<AggregateOf>,
}

impl WorkloadTable {
    /// The workloads of a report; `None` if there are too few for a table. `objective` is the key
    /// of the whole's figure.
    pub fn of(report: &Report, objective: &str) -> Option<WorkloadTable> {
        let workloads = report.workload_figures();
        let aggregate = report.aggregate_of(report.value("objective").unwrap_or(objective));
        (workloads.len() >= LEAST).then_some(WorkloadTable {
            workloads,
            aggregate,
        })
    }

    /// Rows in the order that `sort` asks for, as indices.
    fn order(&self, sort: Option<Sort>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.workloads.len()).collect();
        if let Some(sort) = sort {
            order.sort_by(|a, b| sort.compare(&self.workloads[*a], &self.workloads[*b]));
        }
        order
    }

    fn count(&self, speed: Speed) -> usize {
        self.workloads
            .iter()
            .filter(|workload| workload.speed == Some(speed))
            .count()
    }
}

impl WorkloadsState {
    /// Takes the workloads of an experiment's record; `None` if it has too few.
    pub fn take_experiment(&mut self, key: &ExperimentKey, table: Option<WorkloadTable>) {
        self.of_experiment = table.map(|table| (key.clone(), Arc::new(table)));
    }

    /// The workloads of this experiment, once its details are loaded.
    pub fn of_experiment(&self, key: &ExperimentKey) -> Option<&Arc<WorkloadTable>> {
        self.of_experiment
            .as_ref()
            .filter(|(of, _)| of == key)
            .map(|(_, table)| table)
    }

    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Moves the selection by so many rows.
    pub fn select(&mut self, by: isize, count: usize) {
        self.selected = self
            .selected
            .saturating_add_signed(by)
            .min(count.saturating_sub(1));
    }

    /// Sorts by the next column; after the last one the rows are in the order of the lines again.
    pub fn sort_by_next(&mut self) {
        self.sort = match self.sort {
            None => Some(Sort::by(Column::ALL[0])),
            Some(sort) => sort.column.next().map(Sort::by),
        };
    }

    /// Sorts by this column, or reverses the order where the rows are sorted by this column
    /// already.
    pub fn sort_by_head(&mut self, column: Column) {
        match &mut self.sort {
            Some(sort) if sort.column == column => sort.descending = !sort.descending,
            sort => *sort = Some(Sort::by(column)),
        }
    }

    /// Reverses the order.
    pub fn reverse(&mut self) {
        let sort = self.sort.get_or_insert(Sort {
            column: Column::Name,
            descending: false,
        });
        sort.descending = !sort.descending;
    }

    /// The text of each row from the top, for searches and for copies.
    pub fn rows(&self, table: &WorkloadTable) -> Vec<String> {
        table
            .order(self.sort)
            .into_iter()
            .map(|at| cells::in_words(&table.workloads[at]))
            .collect()
    }

    fn fit(&self, rows: usize, count: usize) -> (usize, usize) {
        let selected = self.selected.min(count.saturating_sub(1));
        let lowest = (selected + 1).saturating_sub(rows);
        (selected, self.first.clamp(lowest, selected.max(lowest)))
    }
}

/// Where the table was drawn.
#[derive(Clone, Debug)]
pub struct WorkloadsFit {
    selected: usize,
    first: usize,
    pub list: ListArea,
    /// The column headings, for clicks.
    pub heads: Vec<(Rect, Column)>,
}

impl WorkloadsState {
    /// Takes the fit of the frame that was drawn.
    pub fn take_fit(&mut self, fit: &WorkloadsFit) {
        (self.selected, self.first) = (fit.selected, fit.first);
    }
}

/// Returns where the table was drawn; `None` where there is none. `of` names the run or the
/// experiment.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    of: &str,
    table: Option<&WorkloadTable>,
    state: &WorkloadsState,
    appearance: &ScreenSettings,
) -> Option<WorkloadsFit> {
    let theme = &appearance.theme;
    let Some(table) = table else {
        let inner = slot.draw_title(frame, of, theme);
        let text = "the workloads of a run are shown here, if there are several";
        frame.render_widget(
            Line::styled(
                fit(text, usize::from(inner.width)).into_owned(),
                theme.quiet(),
            ),
            inner,
        );
        return None;
    };
    let mut inner = slot.draw_title(frame, &note(of, table, state.sort), theme);
    let shown = columns::choose(
        usize::from(inner.width).saturating_sub(GUTTER),
        &table.workloads,
    );
    let mut heads = Vec::new();
    if inner.height > 2 {
        let head = Rect { height: 1, ..inner };
        heads = table_head::draw(frame, head, &headings(&shown, state.sort), theme);
        inner = Rect {
            y: inner.y + 1,
            height: inner.height - 1,
            ..inner
        };
    }
    let rows = usize::from(inner.height);
    let order = table.order(state.sort);
    let (selected, first) = state.fit(rows, order.len());
    for (at, index) in order.iter().enumerate().skip(first).take(rows) {
        let line = row(
            &shown,
            &table.workloads[*index],
            slot.is_focused && at == selected,
            appearance,
        );
        let mut line = search_highlight::mark(line, slot.needle, theme);
        if slot.is_focused && at == selected {
            line = theme.select(line);
        }
        frame.render_widget(
            line,
            Rect {
                y: inner.y + (at - first) as u16,
                height: 1,
                ..inner
            },
        );
    }
    let list = ListArea::new(
        Pane::Workloads,
        inner,
        order.len().saturating_sub(first),
        selected.saturating_sub(first),
    );
    Some(WorkloadsFit {
        selected,
        first,
        list,
        heads,
    })
}

/// Whose workloads, how many of them, their order, how many of them are faster and slower, and how
/// they become one figure.
fn note(of: &str, table: &WorkloadTable, sort: Option<Sort>) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend((!of.is_empty()).then(|| printable(of).into_owned()));
    parts.push(table.workloads.len().to_string());
    parts.extend(sort.map(|sort| format!("by {} {}", sort.column.name(), arrow(sort.descending))));
    let counts = [Speed::Faster, Speed::Same, Speed::Slower, Speed::Undecided];
    let counts = counts
        .map(|speed| (table.count(speed), speed))
        .into_iter()
        .filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, speed)| format!("{count} {}", speed.word()))
        .collect();
    parts.extend((!counts.is_empty()).then(|| counts.join(", ")));
    parts.extend(
        table
            .aggregate
            .map(|of| format!("aggregate: {}", of.aggregate.name())),
    );
    parts.join(" · ")
}

/// The headings of the columns.
fn headings(shown: &[ShownColumn], sort: Option<Sort>) -> Vec<Heading<Column>> {
    let heading = |&ShownColumn { column, width }: &ShownColumn| Heading {
        column,
        name: column.name().to_owned(),
        width,
        is_figure: column.is_figure(),
        descending: sort
            .filter(|sort| sort.column == column)
            .map(|sort| sort.descending),
    };
    shown.iter().map(heading).collect()
}

fn row(
    shown: &[ShownColumn],
    workload: &Workload,
    is_selected: bool,
    appearance: &ScreenSettings,
) -> Line<'static> {
    let theme = &appearance.theme;
    let mut spans = vec![Span::styled(
        if is_selected { "▸ " } else { "  " },
        theme.key(),
    )];
    for (at, &ShownColumn { column, width }) in shown.iter().enumerate() {
        let cell = cells::text(column, workload, appearance.symbols);
        let cell = match column {
            Column::Name => pad(&fit(&cell, width), width),
            _ if column.is_figure() => pad_left(&fit(&cell, width), width),
            _ => pad(&fit(&cell, width), width),
        };
        spans.push(Span::raw(if at > 0 { GAP } else { "" }));
        spans.push(Span::styled(cell, cells::style(column, workload, theme)));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests;
