//! What git and the ledger hold: the status, the experiments, HEAD's commits, and values derived
//! from the experiments.

use super::Now;
use super::runs::FinishedRun;
use super::setup::Setup;
use jiff::Timestamp;
use lab_board::{Board, Decision};
use lab_decide::policy::{Present, Snapshot};
use lab_decide::status::ProjectStatus;
use lab_git::{Head, LogEntry};
use lab_history::chart_points::ChartPoints;
use lab_project::config::Goal;
use lab_run::experiment::{Experiment, ExperimentKey, Status};
use lab_sweep::{SweepPoint, SweepView, summary};
use std::collections::HashMap;

/// A device's name, as far as it is known, and whether the device is the emulated one.
pub type DeviceName<'a> = (Option<&'a str>, bool);

/// The same, as it is remembered.
pub type Device = (Option<String>, bool);

/// HEAD's newest commits, and those of this kernel.
#[derive(Debug, Default)]
pub struct KernelLog {
    /// HEAD's newest commits, newest first.
    pub newest: Vec<LogEntry>,
    /// Those that changed the kernel's folder, however far below HEAD they are.
    pub own: Vec<LogEntry>,
    /// HEAD and kernel that these were asked for.
    pub asked_for: Option<(Head, String)>,
    /// The first page of a new walk was asked for and has not come yet.
    pub awaits_first: bool,
    /// How many of [`Repository::commits`] are of this kernel.
    pub count_of_own: usize,
    /// Whether one of them stands before a newer one of others.
    pub is_moved: bool,
}

#[derive(Debug, Default)]
pub struct Repository {
    /// As the last look at the repository found it.
    pub status: Option<ProjectStatus>,
    /// The history, oldest first.
    pub experiments: Vec<Experiment>,
    /// The device whose experiments the user chose to see. `None`: the present one's, or those of
    /// another device where the present one has none.
    pub chosen_device: Option<Device>,
    cache: HistoryCache,
    /// HEAD's commits, newest first; those of this kernel before the others.
    pub commits: Vec<LogEntry>,
    /// What they were made from.
    pub log: KernelLog,
    /// The board of decisions as it was last read, or why it cannot be; `None` before.
    pub board: Option<Result<Board, String>>,
    /// The bench or sweep that is shown in place of the selected decision.
    pub record: Option<Vec<String>>,
    /// The kernel had a bench when the board was read.
    pub has_bench: bool,
    /// The newest sweep of the kernel; `None` if it has none, and before its view is shown.
    pub sweep: Option<Box<SweepView>>,
    /// What was last found wrong with the ledger.
    pub ledger_problem: Option<String>,
    /// The repository was read at least once.
    pub loaded: bool,
    /// The time of day of the last look, and when its result came.
    pub looked: Option<(Timestamp, Now)>,
}

/// Values derived from the history; recomputed when the history or the current kernel or device
/// changes. Neither a key nor a frame looks at all of ten thousand experiments.
#[derive(Debug, Default)]
struct HistoryCache {
    /// Index of each experiment in the history.
    places: HashMap<ExperimentKey, usize>,
    comparable: Comparable,
}

/// The experiments that may stand beside the present one, and their figures as the chart shows
/// them.
#[derive(Debug, Default)]
pub struct Comparable {
    /// What they are comparable with. `None` once the history has changed.
    reference: Option<Reference>,
    /// Indices into the history, rising.
    places: Vec<usize>,
    pub points: ChartPoints,
    /// The device of the experiments, if it is not the present one: their figures are only looked
    /// at.
    pub elsewhere: Option<String>,
    /// The other experiments of the history, the largest group first.
    pub others: Vec<(Other, usize)>,
}

/// Why an experiment may not stand beside the present one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Other {
    /// The experiment is about another kernel.
    Kernel(String),
    /// The experiment ran on another device.
    Device(String),
    /// Only the experiment's record names the device, and the record is not here.
    UnknownDevice,
    /// Neither a record nor a commit tells the kernel.
    UnknownKernel,
}

#[derive(Debug, PartialEq)]
struct Reference {
    kernel: String,
    goal: Goal,
    device: Option<Device>,
    present: Option<Device>,
}

impl Comparable {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The index in the history of the comparable experiment `at`.
    pub fn place(&self, at: usize) -> Option<usize> {
        self.places.get(at).copied()
    }

    /// The position among the comparable experiments of the one at this index of the history.
    fn position(&self, place: usize) -> Option<usize> {
        self.places.binary_search(&place).ok()
    }
}

impl Repository {
    /// How many maps the newest sweep has: one over each pair of constants.
    pub fn sweep_pairs(&self) -> usize {
        let sweep = self.sweep.as_ref();
        sweep.map_or(0, |view| summary::pairs(&view.sweep).len())
    }

    /// The points of the newest sweep, as they are listed.
    pub fn points(&self) -> Vec<&SweepPoint> {
        let sweep = self.sweep.as_ref();
        sweep.map_or_else(Vec::new, |view| summary::listed(&view.sweep.points))
    }

    /// The decisions of the board.
    pub fn decisions(&self) -> &[Decision] {
        match &self.board {
            Some(Ok(board)) => &board.decisions,
            _ => &[],
        }
    }

    /// Takes a history; false where it is the known one.
    pub fn set_experiments(&mut self, experiments: Vec<Experiment>) -> bool {
        if experiments == self.experiments {
            return false;
        }
        self.experiments = experiments;
        self.cache.places = self
            .experiments
            .iter()
            .enumerate()
            .map(|(place, e)| (e.key(), place))
            .collect();
        self.cache.comparable = Comparable::default();
        true
    }

    /// What may be decided, as the last look at the repository found it.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.status.as_ref().map(|status| &status.snapshot)
    }

    /// The present bytes, as the last look found them, if they can be read.
    pub fn present(&self) -> Option<&Present> {
        self.snapshot()?.present.as_ref().ok()
    }

    /// Index of an experiment in the history; the newest, where several have one key.
    pub fn place_of(&self, key: &ExperimentKey) -> Option<usize> {
        self.cache.places.get(key).copied()
    }

    pub fn experiment(&self, key: &ExperimentKey) -> Option<&Experiment> {
        self.experiments.get(self.place_of(key)?)
    }

    /// The experiments of this kernel on this device. Figures of an emulated device never stand
    /// beside a GPU's.
    pub fn comparable(&self) -> &Comparable {
        &self.cache.comparable
    }

    /// The comparable experiment `at`, counted from the oldest.
    pub fn nth_comparable(&self, at: usize) -> Option<&Experiment> {
        self.experiments.get(self.comparable().place(at)?)
    }

    /// Position of the experiment among the comparable ones.
    pub fn position(&self, key: Option<&ExperimentKey>) -> Option<usize> {
        self.cache.comparable.position(self.place_of(key?)?)
    }

    /// The device that was measured on last. `None` before any measurement.
    pub fn present_device<'a>(
        &'a self,
        last: Option<&'a FinishedRun>,
        setup: &Setup,
    ) -> Option<DeviceName<'a>> {
        let mut all = self.experiments.iter().rev();
        let mut newest = || all.find(|e| is_measured(e, setup));
        match last {
            Some(last) if last.device.is_some() => {
                Some((last.device.as_deref(), last.verdict.emulated))
            }
            _ => newest().map(|e| (e.device.as_deref(), e.emulated)),
        }
    }

    /// The named devices that experiments of this kernel ran on, those with the most first.
    pub fn devices(&self, setup: &Setup) -> Vec<Device> {
        let all = self.experiments.iter().filter(|e| is_measured(e, setup));
        let named = all.filter(|e| e.device.is_some());
        let counted = tally(named.map(|e| (e.device.clone(), e.emulated)));
        counted.into_iter().map(|(device, _)| device).collect()
    }

    /// The present device, and the one whose experiments are shown.
    fn shown_device(&self, setup: &Setup, last: Option<&FinishedRun>) -> [Option<Device>; 2] {
        let present = self.present_device(last, setup);
        let present = present.map(|(name, emulated)| (name.map(str::to_owned), emulated));
        let has_own = |device: &Device| {
            let mut all = self.experiments.iter().filter(|e| is_measured(e, setup));
            all.any(|e| is_on(e, device))
        };
        let usual = || match &present {
            Some(device) if !has_own(device) => self.devices(setup).into_iter().next(),
            _ => None,
        };
        let shown = self.chosen_device.clone().or_else(usual);
        [present.clone(), shown.or(present)]
    }

    /// Recomputes what may stand beside the present kernel where kernel, goal, device or history
    /// changed; false where none did.
    pub fn update_comparable(&mut self, setup: &Setup, last: Option<&FinishedRun>) -> bool {
        let [present, device] = self.shown_device(setup, last);
        let elsewhere = device.clone().filter(|_| device != present);
        let elsewhere = elsewhere.and_then(|(name, _)| name);
        let reference = Some(Reference {
            kernel: setup.kernel.clone(),
            goal: setup.goal,
            device: device.clone(),
            present,
        });
        if self.cache.comparable.reference == reference {
            return false;
        }
        let is_comparable = |e: &Experiment| {
            setup.is_about(e) && device.as_ref().is_none_or(|device| is_on(e, device))
        };
        let all = self.experiments.iter().enumerate();
        let places: Vec<usize> = all
            .filter(|(_, e)| is_comparable(e))
            .map(|(place, _)| place)
            .collect();
        let others = others(self.experiments.iter().filter(|e| !is_comparable(e)), setup);
        let points = ChartPoints::of(
            places.iter().map(|place| &self.experiments[*place]),
            setup.goal,
        );
        self.cache.comparable = Comparable {
            reference,
            places,
            points,
            elsewhere,
            others,
        };
        true
    }
}

/// Whether an experiment ran on this device, as far as is known. A change of the rules is about
/// every device.
pub fn is_on(experiment: &Experiment, (name, emulated): &Device) -> bool {
    let own = experiment.device.as_ref();
    let same = own.is_none() || name.is_none() || own == name.as_ref();
    experiment.row.status == Status::Rules || experiment.emulated == *emulated && same
}

/// Counts experiments by their device, or by their kernel where that is another. The larger number
/// comes first.
fn others<'e>(
    experiments: impl Iterator<Item = &'e Experiment>,
    setup: &Setup,
) -> Vec<(Other, usize)> {
    let other = |e: &Experiment| match (setup.is_about(e), e.kernel.clone(), e.device.clone()) {
        (false, Some(kernel), _) => Other::Kernel(kernel),
        (false, None, _) => Other::UnknownKernel,
        (true, _, Some(device)) => Other::Device(device),
        (true, _, None) => Other::UnknownDevice,
    };
    let all = experiments.filter(|e| e.row.status != Status::Rules);
    tally(all.map(other))
}

/// Each value with how often it came, the most frequent first.
fn tally<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counted: Vec<(T, usize)> = Vec::new();
    for value in values {
        match counted.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counted.push((value, 1)),
        }
    }
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counted
}

/// The experiment is about this kernel; a change of the rules was measured on no device.
fn is_measured(experiment: &Experiment, setup: &Setup) -> bool {
    setup.is_about(experiment) && experiment.row.status != Status::Rules
}
