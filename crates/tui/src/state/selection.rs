//! The selected experiment: one for the whole screen, so that every pane shows the same one.

use lab_history::details::{Compared, ExperimentDetails};
use lab_run::experiment::ExperimentKey;

#[derive(Debug, Default)]
pub struct Selection {
    pub key: Option<ExperimentKey>,
    /// The details that were loaded last: of the selected experiment, or of the one before.
    pub details: Option<ExperimentDetails>,
    /// Two experiments that are shown side by side instead of the selected one; the older first.
    pub comparing: Option<[ExperimentKey; 2]>,
    /// The comparison that was loaded last.
    pub comparison: Option<Compared>,
}

impl Selection {
    /// The comparison that is shown; `None` while it is loaded.
    pub fn comparison(&self) -> Option<&Compared> {
        self.comparison
            .as_ref()
            .filter(|both| Some(&both.keys) == self.comparing.as_ref())
    }
}
