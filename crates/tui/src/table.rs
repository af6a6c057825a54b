//! The table of experiments: which rows, in which order. It is arranged anew where the history, the order or the
//! filter is another, so that a frame looks at no more rows than it shows.

mod column;
mod filter;

pub use column::Column;
pub use filter::{FIELDS, Filter};

use lab_core::config::Goal;
use lab_core::run::experiment::{Experiment, Key};
use std::collections::HashMap;

/// By which column, and whether its largest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    pub column: Column,
    pub descending: bool,
}

/// What a row has to say that its experiment alone does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Over the best that was kept before it, of the same kernel on the same device; minus one.
    pub over_best: Option<f64>,
    /// It is about another kernel than the screen.
    pub of_another_kernel: bool,
    /// It was measured on another device than the present one.
    pub on_another_device: bool,
    /// What a search for text looks through.
    text: String,
}

/// What the present figures are of: everything else is marked.
#[derive(Clone, Copy, Debug)]
pub struct Here<'a> {
    pub kernel: &'a str,
    pub device: Option<&'a str>,
    pub emulated: bool,
    pub goal: Goal,
}

#[derive(Clone, Debug)]
pub struct Table {
    sort: Sort,
    filter: Filter,
    /// One of each experiment, in the order of the history.
    facts: Vec<Facts>,
    /// Places in the history, the topmost row first.
    order: Vec<usize>,
    /// Columns in which no row has anything to say.
    silent: Vec<Column>,
    /// The kernel, the device and whether it is an emulated one that all of this was told beside.
    here: (String, Option<String>, bool),
    /// To be compared; the oldest mark first.
    marked: Vec<Key>,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            sort: Sort { column: Column::When, descending: true },
            filter: Filter::default(),
            facts: Vec::new(),
            order: Vec::new(),
            silent: Vec::new(),
            here: Default::default(),
            marked: Vec::new(),
        }
    }
}

impl Table {
    pub fn sort(&self) -> Sort {
        self.sort
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Rows that are shown, of all there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Places in the history, the topmost row first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Of the experiment at this place in the history.
    pub fn facts(&self, place: usize) -> Option<&Facts> {
        self.facts.get(place)
    }

    /// The row of the experiment at this place in the history.
    pub fn row_of(&self, place: usize) -> Option<usize> {
        self.order.iter().position(|p| *p == place)
    }

    /// What it knows of the rows was told beside this very kernel and device.
    pub fn knows(&self, here: &Here) -> bool {
        let (kernel, device, emulated) = &self.here;
        kernel == here.kernel && device.as_deref() == here.device && *emulated == here.emulated
    }

    /// No row has anything to say in this column.
    pub fn is_silent(&self, column: Column) -> bool {
        self.silent.contains(&column)
    }

    /// The history is another, or the place.
    pub fn learn(&mut self, history: &[Experiment], here: Here) {
        self.here = (here.kernel.to_owned(), here.device.map(str::to_owned), here.emulated);
        let mut best: HashMap<(Option<&str>, Option<&str>, bool), f64> = HashMap::new();
        self.facts.clear();
        self.facts.extend(history.iter().map(|experiment| {
            let of = (experiment.kernel.as_deref(), experiment.device.as_deref(), experiment.emulated);
            let before = best.get(&of).copied();
            let figure = experiment.figure();
            if let Some(figure) = figure.filter(|_| experiment.is_kept()) {
                let is_best = before.is_none_or(|before| here.goal.prefers(figure, before));
                if is_best {
                    best.insert(of, figure);
                }
            }
            Facts {
                over_best: figure.zip(before).map(|(a, b)| a / b - 1.0).filter(|r| r.is_finite()),
                of_another_kernel: experiment.kernel.as_deref().is_some_and(|k| k != here.kernel),
                on_another_device: experiment.emulated != here.emulated
                    || experiment.device.as_deref().zip(here.device).is_some_and(|(a, b)| a != b),
                text: format!("{} {}", experiment.row.commit, experiment.row.description).to_lowercase(),
            }
        }));
        let says = |column: Column| {
            let mut rows = history.iter().zip(&self.facts).enumerate();
            rows.any(|(place, (e, facts))| match column {
                // The place in the history says no time.
                Column::When => e.decided.is_some(),
                _ => column.value(place, e, facts).is_some(),
            })
        };
        self.silent = Column::ALL.into_iter().filter(|column| !says(*column)).collect();
        self.marked.retain(|key| history.iter().any(|e| e.is(key)));
        self.arrange(history);
    }

    /// By the next column, its best first.
    pub fn sort_by_next(&mut self, history: &[Experiment], goal: Goal) {
        let column = self.sort.column.next();
        self.sort_by(column, column.is_descending(goal), history);
    }

    /// By this column, its best first; the other way round where it is sorted by it already.
    pub fn sort_by_head(&mut self, column: Column, history: &[Experiment], goal: Goal) {
        match self.sort.column == column {
            true => self.reverse(history),
            false => self.sort_by(column, column.is_descending(goal), history),
        }
    }

    pub fn reverse(&mut self, history: &[Experiment]) {
        self.sort_by(self.sort.column, !self.sort.descending, history);
    }

    fn sort_by(&mut self, column: Column, descending: bool, history: &[Experiment]) {
        self.sort = Sort { column, descending };
        self.arrange(history);
    }

    pub fn filter_by(&mut self, filter: Filter, history: &[Experiment]) {
        self.filter = filter;
        self.arrange(history);
    }

    fn arrange(&mut self, history: &[Experiment]) {
        let Table { sort, filter, facts, order, .. } = self;
        order.clear();
        let all = history.iter().zip(facts.iter()).enumerate();
        order.extend(all.filter(|(_, (e, facts))| filter.accepts(e, &facts.text)).map(|(place, _)| place));
        // Newest first among those that are alike.
        order.reverse();
        let value = |place: usize| sort.column.value(place, &history[place], &facts[place]);
        order.sort_by(|a, b| column::compare(&value(*a), &value(*b), sort.descending));
    }

    pub fn is_marked(&self, key: &Key) -> bool {
        self.marked.contains(key)
    }

    pub fn marked(&self) -> &[Key] {
        &self.marked
    }

    /// Marks it, or takes its mark away. Two are compared: a third mark takes the oldest one's place.
    pub fn mark(&mut self, key: Key) {
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
