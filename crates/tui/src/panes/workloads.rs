//! The pane Workloads: each workload of a run with its time, its part of the floor, and how it
//! compares with the incumbent. A column shows the comparison as heat: a bar with a sign.

mod cells;
mod columns;

pub use columns::{Column, Sort};

use crate::chart::SymbolSet;
use crate::prelude::*;
use crate::table::compare;
use crate::widgets::canvas::{GUTTER, TableColumn, arrow, table_row};
use itertools::Itertools;
use lab_history::bounds::workloads_of;
use lab_protocol::report::{AggregateOf, Report, Speed, Workload};
use lab_run::experiment::ExperimentKey;
use std::sync::Arc;

/// Fewer workloads than this have no pane: the verdict says all.
pub const LEAST: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct WorkloadsState {
    /// `None`: in the order of the lines.
    sort: Option<Sort>,
    pub list: ListState,
    /// The workloads of the experiment whose details were loaded last.
    pub of_experiment: Option<(ExperimentKey, Arc<WorkloadTable>)>,
}

/// The workloads of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkloadTable {
    /// In the order of the lines.
    pub workloads: Vec<Workload>,
    /// Which aggregate of them the figure of the whole is.
    pub aggregate: Option<AggregateOf>,
    /// The times are those of an emulated device.
    pub emulated: bool,
}

impl WorkloadTable {
    /// The workloads of a report; `None` if there are too few for a table. `objective` is the key
    /// of the whole's figure.
    pub fn of(report: &Report, objective: &str) -> Option<WorkloadTable> {
        let workloads = workloads_of(report);
        let aggregate = report.aggregate_of(report.value("objective").unwrap_or(objective));
        (workloads.len() >= LEAST).then_some(WorkloadTable {
            workloads,
            aggregate,
            emulated: report.emulated(),
        })
    }

    /// Rows in the order that `sort` asks for, as indices.
    fn order(&self, sort: Option<Sort>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.workloads.len()).collect();
        if let Some(Sort { column, descending }) = sort {
            let value = |at: &usize| column.value(&self.workloads[*at]);
            order.sort_by(|a, b| compare(value(a), value(b), descending));
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
    /// The workloads of this experiment, once its details are loaded.
    pub fn of_experiment(&self, key: &ExperimentKey) -> Option<&Arc<WorkloadTable>> {
        self.of_experiment
            .as_ref()
            .filter(|(of, _)| of == key)
            .map(|(_, table)| table)
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

    /// The name of the selected workload.
    pub fn selected<'t>(&self, table: &'t WorkloadTable) -> Option<&'t str> {
        let order = table.order(self.sort);
        let at = order.get(self.list.selected.min(order.len().checked_sub(1)?))?;
        Some(&table.workloads[*at].name)
    }

    /// The text of each row from the top, for searches and for copies.
    pub fn rows(&self, table: &WorkloadTable) -> Vec<String> {
        table
            .order(self.sort)
            .into_iter()
            .map(|at| cells::in_words(&table.workloads[at]))
            .collect()
    }
}

/// Returns where the table was drawn; `None` where there is none. `of` names the run or the
/// experiment.
pub fn draw(
    canvas: &mut Canvas,
    of: &str,
    table: Option<&WorkloadTable>,
    state: &WorkloadsState,
) -> ListState {
    let data = canvas.data;
    let Some(table) = table else {
        let inner = canvas.draw_title(of);
        let text = "the workloads of a run are shown here, if there are several";
        let line = Line::styled(fit(text, usize::from(inner.width)), QUIET);
        draw_rows(canvas.frame, inner, [line]);
        return state.list;
    };
    let inner = canvas.draw_title(&note(of, table, state.sort));
    let room = usize::from(inner.width).saturating_sub(GUTTER);
    let columns = columns::choose(room, &table.workloads, state.sort);
    let inner = canvas.draw_head(inner, &columns);
    let order = table.order(state.sort);
    let shows_selection = canvas.is_focused;
    let selected = state
        .list
        .fit(usize::from(inner.height), order.len())
        .selected;
    canvas.draw_list(inner, state.list, order.len(), shows_selection, |at| {
        let workload = &table.workloads[order[at]];
        row(&columns, workload, shows_selection && at == selected, data)
    })
}

/// How a workload compares with the incumbent: `▲ ███  +2.1 % (+1.9 … +2.4)  faster`; `None` if it was
/// not timed in turns.
pub fn comparison(workload: &Workload, symbols: SymbolSet) -> Option<(String, Style)> {
    workload.ratio?;
    let cell = |column| cells::text(column, workload, symbols);
    let bar = pad(&cell(Column::Heat), cells::BAR + 2);
    let [ratio, ends] = [Column::Ratio, Column::RatioInterval].map(cell);
    let text = format!("{bar}  {ratio:>8} {ends}  {}", cell(Column::Speed));
    Some((text, cells::style(Column::Heat, workload)))
}

/// Whose workloads, how many of them, their order, how many of them are faster and slower, and how
/// they become one figure.
fn note(of: &str, table: &WorkloadTable, sort: Option<Sort>) -> String {
    let counts = [Speed::Faster, Speed::Same, Speed::Slower, Speed::Undecided];
    let counts = counts.map(|speed| (table.count(speed), speed.word()));
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts = counts
        .map(|(count, word)| format!("{count} {word}"))
        .join(", ");
    let sort = sort.map(|sort| format!("by {} {}", sort.column.name(), arrow(sort.descending)));
    let aggregate = table.aggregate;
    let aggregate = aggregate.map(|of| format!("aggregate: {}", of.aggregate.name()));
    let emulated = if table.emulated { "emulated times" } else { "" };
    joined([
        printable(of),
        table.workloads.len().to_string(),
        emulated.to_owned(),
        sort.unwrap_or_default(),
        counts,
        aggregate.unwrap_or_default(),
    ])
}

fn row(
    columns: &[TableColumn<Column>],
    workload: &Workload,
    is_selected: bool,
    data: ScreenData,
) -> Line<'static> {
    let sign = if is_selected { "▸ " } else { "  " };
    let gutter = vec![sign.key()];
    let cells = columns.iter().map(|&TableColumn { column, .. }| {
        let cell = cells::text(column, workload, data.appearance.symbols);
        (cell, cells::style(column, workload))
    });
    table_row(gutter, columns, cells)
}

#[cfg(test)]
mod tests;
