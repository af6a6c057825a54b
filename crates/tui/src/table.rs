//! The table of experiments: which rows are shown, in which order. The rows are filtered and sorted
//! when the history, the order or the filter changes, so that drawing a frame touches only the rows
//! that it shows.

mod column;
mod filter;

pub use column::{Column, SortValue, compare};
pub use filter::{FIELDS, Filter};

use crate::state::repository::{Device, is_on};
use lab_project::config::Goal;
use lab_run::KernelBlob;
use lab_run::chosen::ChosenMeasure;
use lab_run::experiment::{Experiment, ExperimentKey, Status};
use lab_run::verdict::Change;
use std::collections::HashMap;

/// The column that the rows are sorted by, and whether its largest value comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort<C> {
    pub column: C,
    pub descending: bool,
}

/// What a row shows beyond its experiment: comparisons with other experiments and with the present
/// kernel and device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowFacts {
    /// How much better it is than the best that was kept before it; of the same problem on the same
    /// device, over as many workloads. `None` where nothing was kept before.
    pub over_best: Option<OverBest>,
    /// How much better it was than the incumbent of that time ([`Change::improvement`]).
    pub change: Option<Change>,
    /// It is an experiment with another kernel than the screen's.
    pub of_another_kernel: bool,
    /// It was measured on another device than the present one.
    pub on_another_device: bool,
    /// Commit and description in small letters, for words of the filter.
    text: String,
}

/// How an experiment compares with the best that was kept before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverBest {
    /// Its run timed the two in turns: so much better, minus one.
    InTurns(f64),
    /// Its run did not time the two in turns, so the clocks may explain a difference.
    NotInTurns,
    /// Its run timed it in turns with a kernel that it does not name: that may be the best.
    Unnamed,
}

/// The present kernel and device. Rows of another kernel or device are marked.
#[derive(Clone, Copy, Debug)]
pub struct TableContext<'a> {
    pub kernel: &'a str,
    pub device: Option<&'a str>,
    pub emulated: bool,
    pub goal: Goal,
}

/// The table's order, filter and marks, and the rows that result from them.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub sort: Sort<Column>,
    pub filter: Filter,
    /// Only the experiments of the screen's kernel are shown, and those of an unknown one.
    is_of_one_problem: bool,
    /// Only the experiments of this device are shown.
    pub device: Option<Device>,
    /// All experiments, those of other problems, and those that are shown. A change of the rules is a
    /// row, and no experiment.
    pub experiments: usize,
    pub of_others: usize,
    pub shown: usize,
    /// One entry for each experiment, in the order of the history.
    facts: Vec<RowFacts>,
    /// Indices into the history, the topmost row first.
    pub order: Vec<usize>,
    /// Columns in which no row has a value.
    pub empty_columns: Vec<Column>,
    /// The kernel, the device and whether the device is emulated, that the facts were computed for.
    context: (String, Option<String>, bool),
    /// The experiments that are marked for a comparison, the oldest mark first.
    pub marked: Vec<ExperimentKey>,
    /// The lines that experiments changed, by commit, in small letters: those that were read.
    changed: HashMap<String, String>,
}

/// Commits whose changed lines are read at a time, so that the rows that match show early.
const READ_AT_ONCE: usize = 200;

/// What two experiments must have in common so that their figures can be compared: the kernel, the
/// device, whether the device is emulated and the figure another's, the number of judged workloads
/// if some were left out, and the measure that the problem chose.
type ComparedWith<'a> = (
    &'a str,
    Option<&'a str>,
    (bool, bool),
    Option<usize>,
    Option<ChosenMeasure>,
);

/// `None` where nothing says which kernel the row is about.
fn compared_with(experiment: &Experiment) -> Option<ComparedWith<'_>> {
    Some((
        experiment.kernel.as_deref()?,
        experiment.device.as_deref(),
        (experiment.emulated, experiment.foreign),
        experiment.measured.part,
        experiment.measure(),
    ))
}

/// Compares an experiment with the best, whose kernel is `best`.
pub fn over_best(experiment: &Experiment, best: Option<KernelBlob>, goal: Goal) -> OverBest {
    let change = experiment.measured.change;
    let in_turns = change.filter(|change| change.is_in_turns_with(best));
    match in_turns {
        Some(change) => OverBest::InTurns(change.improvement(goal).ratio),
        None if change.is_some_and(|change| change.names_no_incumbent()) => OverBest::Unnamed,
        None => OverBest::NotInTurns,
    }
}

/// A change of the rules is none.
fn is_experiment(experiment: &Experiment) -> bool {
    experiment.row.status != Status::Rules
}

impl Default for Sort<Column> {
    fn default() -> Self {
        Sort {
            column: Column::When,
            descending: true,
        }
    }
}

impl Table {
    /// A table that shows the experiments of the screen's kernel only.
    pub fn of_one_problem() -> Table {
        Table {
            is_of_one_problem: true,
            ..Table::default()
        }
    }

    /// Whether the rows of other problems are left out. A filter that names a kernel chooses among
    /// all.
    pub fn is_of_one_problem(&self) -> bool {
        self.is_of_one_problem && !self.filter.names_kernel()
    }

    /// Shows the experiments of the screen's kernel only, or those of every problem.
    pub fn show_one_problem(&mut self, only: bool, history: &[Experiment]) {
        self.is_of_one_problem = only;
        self.arrange(history);
    }

    /// Shows the experiments of one device only, or those of every device.
    pub fn show_device(&mut self, device: Option<Device>, history: &[Experiment]) {
        self.device = device;
        self.arrange(history);
    }

    /// The number of rows that the filter accepts.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The facts of the experiment at `index` in the history.
    pub fn facts(&self, index: usize) -> Option<&RowFacts> {
        self.facts.get(index)
    }

    /// The row of the experiment at `index` in the history. `None` where the filter leaves it out.
    pub fn row_of(&self, index: usize) -> Option<usize> {
        self.order.iter().position(|other| *other == index)
    }

    /// Whether the facts were computed for this kernel and device.
    pub fn is_for(&self, context: &TableContext) -> bool {
        let (kernel, device, emulated) = &self.context;
        kernel == context.kernel
            && device.as_deref() == context.device
            && *emulated == context.emulated
    }

    /// Takes a new history, or another kernel or device: computes the facts, the filter and the
    /// order again.
    pub fn set_history<'h>(&mut self, history: &'h [Experiment], context: TableContext) {
        self.context = (
            context.kernel.to_owned(),
            context.device.map(str::to_owned),
            context.emulated,
        );
        let mut best: HashMap<ComparedWith, (f64, Option<KernelBlob>)> = HashMap::new();
        let facts = |experiment: &'h Experiment| {
            if !is_experiment(experiment) {
                // What other rules judged is not compared.
                let kernel = experiment.kernel.as_deref();
                best.retain(|(of, ..), _| kernel.is_some_and(|kernel| *of != kernel));
            }
            let of = compared_with(experiment);
            let before = of.and_then(|of| best.get(&of).copied());
            let figure = experiment.figure();
            let goal = experiment.goal(context.goal);
            let is_best =
                |figure: &f64| before.is_none_or(|(before, _)| goal.prefers(*figure, before));
            // Nothing is compared with an emulated time.
            let is_bar = experiment.is_kept() && !experiment.emulated;
            if let Some((figure, of)) = figure.filter(is_best).filter(|_| is_bar).zip(of) {
                best.insert(of, (figure, experiment.measured.blob));
            }
            let (kernel, device) = (experiment.kernel.as_deref(), experiment.device.as_deref());
            let is_other = |(a, b)| a != b;
            let text = format!("{} {}", experiment.row.commit, experiment.row.description);
            RowFacts {
                over_best: figure
                    .zip(before)
                    .map(|(_, (_, best))| over_best(experiment, best, goal)),
                change: experiment
                    .measured
                    .change
                    .map(|change| change.improvement(context.goal)),
                of_another_kernel: kernel.is_some_and(|k| k != context.kernel),
                on_another_device: experiment.emulated != context.emulated
                    || device.zip(context.device).is_some_and(is_other),
                text: text.to_lowercase(),
            }
        };
        self.facts = history.iter().map(facts).collect();
        let counted = history.iter().zip(&self.facts);
        let counted = || counted.clone().filter(|(e, _)| is_experiment(e));
        self.experiments = counted().count();
        self.of_others = counted()
            .filter(|(_, facts)| facts.of_another_kernel)
            .count();
        let has_values = |column: Column| {
            let mut rows = history.iter().zip(&self.facts).enumerate();
            rows.any(|(index, (e, facts))| match column {
                // `value` orders rows without a time by their index.
                Column::When => e.decided.is_some(),
                _ => column.value(index, e, facts).is_some(),
            })
        };
        self.empty_columns = Column::ALL
            .iter()
            .copied()
            .filter(|column| !has_values(*column))
            .collect();
        self.marked.retain(|key| history.iter().any(|e| e.is(key)));
        self.arrange(history);
    }

    /// Sorts by the next column, its best value first.
    pub fn sort_by_next(&mut self, history: &[Experiment], goal: Goal) {
        let column = self.sort.column.next();
        self.sort_by(column, column.is_descending(goal), history);
    }

    /// Sorts by this column, its best value first. Reverses the order where the rows are sorted by
    /// this column already.
    pub fn sort_by_head(&mut self, column: Column, history: &[Experiment], goal: Goal) {
        if self.sort.column == column {
            self.reverse(history);
        } else {
            self.sort_by(column, column.is_descending(goal), history);
        }
    }

    /// Reverses the order.
    pub fn reverse(&mut self, history: &[Experiment]) {
        self.sort_by(self.sort.column, !self.sort.descending, history);
    }

    fn sort_by(&mut self, column: Column, descending: bool, history: &[Experiment]) {
        self.sort = Sort { column, descending };
        self.arrange(history);
    }

    /// Shows the rows that a filter accepts.
    pub fn filter_by(&mut self, filter: Filter, history: &[Experiment]) {
        self.filter = filter;
        self.arrange(history);
    }

    /// The next commits whose changed lines the filter needs and nobody has read, the newest first,
    /// each with the path of its kernel.
    pub fn unread(&self, history: &[Experiment]) -> Vec<(String, Option<String>)> {
        let all = history.iter().rev().filter(|_| self.filter.reads_diffs());
        all.filter(|e| !self.changed.contains_key(&e.row.commit))
            .map(|e| (e.row.commit.clone(), e.kernel.clone()))
            .take(READ_AT_ONCE)
            .collect()
    }

    /// Takes lines that commits changed.
    pub fn take_changed(&mut self, lines: HashMap<String, String>, history: &[Experiment]) {
        self.changed.extend(lines);
        self.arrange(history);
    }

    fn arrange(&mut self, history: &[Experiment]) {
        let is_of_one = self.is_of_one_problem();
        let Table {
            sort,
            filter,
            facts,
            order,
            shown,
            device,
            changed,
            ..
        } = self;
        order.clear();
        let all = history.iter().zip(facts.iter()).enumerate();
        let all = all.filter(|(_, (_, facts))| !(is_of_one && facts.of_another_kernel));
        let is_shown = |e: &Experiment| device.as_ref().is_none_or(|device| is_on(e, device));
        let all = all.filter(|(_, (e, _))| is_shown(e));
        order.extend(
            all.filter(|(_, (e, facts))| {
                let changed = changed.get(&e.row.commit).map(String::as_str);
                filter.accepts(e, &facts.text, changed)
            })
            .map(|(index, _)| index),
        );
        let experiments = order
            .iter()
            .filter(|index| is_experiment(&history[**index]));
        *shown = experiments.count();
        // Of equal rows the newest comes first.
        order.reverse();
        let value = |index: usize| sort.column.value(index, &history[index], &facts[index]);
        order.sort_by(|a, b| compare(value(*a), value(*b), sort.descending));
    }

    pub fn is_marked(&self, key: &ExperimentKey) -> bool {
        self.marked.contains(key)
    }

    /// Marks an experiment for a comparison, or removes its mark. At most two are marked: a third
    /// mark removes the oldest.
    pub fn mark(&mut self, key: ExperimentKey) {
        if let Some(at) = self.marked.iter().position(|k| *k == key) {
            self.marked.remove(at);
            return;
        }
        if self.marked.len() == 2 {
            self.marked.remove(0);
        }
        self.marked.push(key);
    }
}

#[cfg(test)]
mod tests;
