//! The names of the views and of the borders in them. The keymap and the saved layout refer to views by these names; how a
//! view is drawn is in `views`, above both.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A view: panes that are shown together. The first is shown when the screen opens.
///
/// ```
/// use lab_tui::view_id::View;
///
/// assert_eq!(View::default(), View::Bench);
/// assert_eq!(View::ALL.map(View::name), ["Bench", "Source", "Results", "Git", "Device"]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The result of the latest save: correctness, throughput, git log, run.log.
    #[default]
    Bench,
    /// kernel.cu, its changes and the compiler's messages.
    Source,
    /// All experiments in a table, and the details of one.
    Results,
    /// Commits and what they changed.
    Git,
    /// The state of the device over time, and the kernel as built.
    Device,
}

impl View {
    /// All views, in the order of the keys that show them.
    pub const ALL: [View; 5] = [View::Bench, View::Source, View::Results, View::Git, View::Device];

    /// Its name on the screen.
    pub fn name(self) -> &'static str {
        match self {
            View::Bench => "Bench",
            View::Source => "Source",
            View::Results => "Results",
            View::Git => "Git",
            View::Device => "Device",
        }
    }
}

/// A border between two panes that the user can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Bench: between the left and the right column.
    BenchColumns,
    /// Bench: between the two panes of the left column.
    BenchLeft,
    /// Bench: between the two panes of the right column.
    BenchRight,
    /// Bench on a smaller screen, where all panes are in one column.
    BenchStack,
    Results,
    Git,
    Device,
}

/// The share of the first pane of each split that the user moved, in thousandths of both panes. A split without an entry has the
/// share that its view gives it.
pub type Shares = BTreeMap<Split, u16>;
