//! What is worked out of the history once, whenever the history or what it stands beside is another: neither a key
//! nor a frame looks at all of ten thousand experiments.

use super::super::panes::Course;
use super::super::table::Here;
use super::App;
use lab_core::config::Goal;
use lab_core::run::experiment::{Experiment, Key};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Past {
    /// Each one's place in the history.
    places: HashMap<Key, usize>,
    comparable: Comparable,
}

/// The experiments that may stand beside the present one, and their course as the chart shows it.
#[derive(Debug, Default)]
pub struct Comparable {
    /// `None` where the history is another since.
    beside: Option<Beside>,
    /// Places in the history, rising.
    places: Vec<usize>,
    pub course: Course,
}

#[derive(Debug, PartialEq)]
struct Beside {
    kernel: String,
    goal: Goal,
    device: Option<(Option<String>, bool)>,
}

impl Comparable {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where this one of them stands in the history.
    pub fn place(&self, at: usize) -> Option<usize> {
        self.places.get(at).copied()
    }

    /// The one of them that stands there in the history.
    fn find(&self, place: usize) -> Option<usize> {
        self.places.binary_search(&place).ok()
    }
}

impl App {
    /// The history as it is now.
    pub(super) fn learn(&mut self, history: Vec<Experiment>) {
        let is_new = history != self.history;
        if is_new {
            self.history = history;
            self.past.places = self.history.iter().enumerate().map(|(place, e)| (e.key(), place)).collect();
            self.past.comparable = Comparable::default();
            self.mark_graph();
        }
        let (device, emulated) = self.present_device().unwrap_or_default();
        let device = device.map(str::to_owned);
        let here =
            Here { kernel: &self.setup.kernel, device: device.as_deref(), emulated, goal: self.setup.goal };
        if is_new || !self.table.knows(&here) {
            self.table.learn(&self.history, here);
        }
    }

    /// Where an experiment stands in the history; the newest, where several have one name.
    pub(super) fn place_of(&self, key: &Key) -> Option<usize> {
        self.past.places.get(key).copied()
    }

    pub fn experiment(&self, key: &Key) -> Option<&Experiment> {
        self.history.get(self.place_of(key)?)
    }

    /// The experiments that may stand beside the present one: of this kernel, on this device. An
    /// emulated device's figures are never beside a GPU's.
    pub fn comparable(&self) -> &Comparable {
        &self.past.comparable
    }

    /// Which of them is the chosen one.
    pub fn chosen_among(&self) -> Option<usize> {
        self.past.comparable.find(self.place_of(self.chosen.as_ref()?)?)
    }

    /// After every event: what they stand beside may be another now.
    pub(super) fn compare_anew(&mut self) {
        let device = self.present_device();
        let known = self.past.comparable.beside.as_ref().is_some_and(|beside| {
            let theirs = beside.device.as_ref().map(|(name, emulated)| (name.as_deref(), *emulated));
            beside.kernel == self.setup.kernel && beside.goal == self.setup.goal && theirs == device
        });
        if known {
            return;
        }
        let is_beside = |e: &Experiment| {
            self.is_mine(e)
                && device.is_none_or(|(name, emulated)| {
                    let same = e.device.is_none() || name.is_none() || e.device.as_deref() == name;
                    e.emulated == emulated && same
                })
        };
        let all = self.history.iter().enumerate().filter(|(_, e)| is_beside(e));
        let places: Vec<usize> = all.map(|(place, _)| place).collect();
        let course = Course::of(places.iter().map(|place| &self.history[*place]), self.setup.goal);
        let beside = Beside {
            kernel: self.setup.kernel.clone(),
            goal: self.setup.goal,
            device: device.map(|(name, emulated)| (name.map(str::to_owned), emulated)),
        };
        self.past.comparable = Comparable { beside: Some(beside), places, course };
    }

    /// The device that was measured on last, as far as it is known, and whether it is an emulated one.
    pub fn present_device(&self) -> Option<(Option<&str>, bool)> {
        let newest = || self.history.iter().rev().find(|e| self.is_mine(e));
        match &self.last {
            Some(last) if last.device.is_some() => Some((last.device.as_deref(), last.verdict.emulated)),
            _ => newest().map(|e| (e.device.as_deref(), e.emulated)),
        }
    }

    /// It is about the kernel of this screen; old rows do not say.
    pub fn is_mine(&self, experiment: &Experiment) -> bool {
        experiment.kernel.as_ref().is_none_or(|kernel| *kernel == self.setup.kernel)
    }
}
