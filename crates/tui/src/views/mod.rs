//! The views, and the panes that each shows. Data only: [`crate::draw`] draws them.

pub mod split;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// A view: panes that are shown together. The first is shown when the screen opens.
///
/// ```
/// use lab_tui::views::View;
///
/// assert_eq!(View::default(), View::Bench);
/// let names = ["Bench", "Source", "Results", "Git", "Device", "Decisions", "Loop", "Sweep"];
/// assert!(View::ALL.iter().map(|view| view.name()).eq(names));
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    IntoStaticStr,
    VariantArray,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The result of a save: correctness, throughput, git log, run.log.
    #[default]
    Bench,
    /// The kernel, its changes, the compiler's messages.
    Source,
    /// Every experiment, and the details of one.
    Results,
    /// Commits and what they changed.
    Git,
    /// The device's state over time, and the kernel as built.
    Device,
    /// The board of decisions, and one of them whole.
    Decisions,
    /// What `lab auto` does: its turns, edits and verdicts.
    Loop,
    /// The newest sweep of the kernel's constants.
    Sweep,
}

impl View {
    /// All views, in the order of the keys that show them.
    pub const ALL: &[View] = View::VARIANTS;

    /// Its name on the screen.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The view's panes in the order of the focus: as one reads, except that the points of a sweep,
    /// which are chosen from, come before its map. `has_workloads`: there are several
    /// workloads to show.
    pub fn panes(self, has_workloads: bool) -> &'static [Pane] {
        match self {
            View::Bench if has_workloads => &[
                Pane::Correctness,
                Pane::History,
                Pane::Commits,
                Pane::Workloads,
                Pane::Log,
            ],
            View::Bench => &[Pane::Correctness, Pane::History, Pane::Commits, Pane::Log],
            View::Source => &[Pane::Source],
            View::Results if has_workloads => {
                &[Pane::Experiments, Pane::Experiment, Pane::Workloads]
            }
            View::Results => &[Pane::Experiments, Pane::Experiment],
            View::Git => &[Pane::Graph, Pane::Commit],
            View::Device => &[Pane::Gauges, Pane::Build, Pane::Profile],
            View::Decisions => &[Pane::Board, Pane::Decision],
            View::Loop => &[Pane::Loop, Pane::Edit, Pane::Verdicts, Pane::Command],
            View::Sweep => &[Pane::Points, Pane::Sweep],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr)]
pub enum Pane {
    // Bench
    Correctness,
    #[strum(serialize = "Throughput")]
    History,
    #[strum(serialize = "Git log")]
    Commits,
    #[strum(serialize = "run.log")]
    Log,
    /// In Bench those of the last run, in Results those of the selected experiment.
    Workloads,
    // Source
    Source,
    // Results
    Experiments,
    Experiment,
    // Git
    #[strum(serialize = "Commits")]
    Graph,
    Commit,
    // Device
    #[strum(serialize = "Device")]
    Gauges,
    #[strum(serialize = "Kernel as built")]
    Build,
    /// The counters of one launch.
    Profile,
    // Decisions
    #[strum(serialize = "Decisions")]
    Board,
    /// The selected decision with its evidence.
    Decision,
    // Loop
    Loop,
    Edit,
    Verdicts,
    /// The output of the loop's command.
    Command,
    // Sweep
    /// How far it is, what each constant matters, and the map.
    Sweep,
    Points,
}

impl Pane {
    pub const COUNT: usize = Pane::Points as usize + 1;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The pane whose rows a search goes through while this one has the focus. Correctness is a
    /// digest of run.log and Throughput a chart: a search there goes through run.log.
    #[must_use]
    pub fn text(self) -> Pane {
        match self {
            Pane::Correctness | Pane::History => Pane::Log,
            pane => pane,
        }
    }

    /// The pane shows a list with a selected row.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Pane::Commits
                | Pane::Graph
                | Pane::Experiments
                | Pane::Workloads
                | Pane::Board
                | Pane::Points
        )
    }
}
