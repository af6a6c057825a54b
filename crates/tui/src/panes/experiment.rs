//! The pane Experiment: the details of one experiment, or two side by side; in sections, of which
//! only the visible rows are formatted.

pub mod comparison;
mod details;
mod pair_table;
mod peers;
mod workloads;

use crate::diff::{ContextLines, DiffView};
use crate::prelude::*;
use comparison::Sides;
use lab_history::details::{Compared, ComparedProfiles, ExperimentDetails};
use lab_run::experiment::Experiment;

#[derive(Clone, Debug, Default)]
pub struct ExperimentState {
    /// The changes of the experiment whose details were loaded last.
    changes: DiffView,
    /// The diff from the first to the second of the two that were compared last.
    between: DiffView,
    /// The diff of their machine code.
    code: DiffView,
}

impl ExperimentState {
    /// Takes the diff of details. `kept`: the text that shows the same experiment already, with
    /// more or fewer lines around its changes.
    pub fn take_details(&mut self, whole: &ExperimentDetails, kept: Option<&mut ScrolledText>) {
        replace(&mut self.changes, &whole.diff, kept);
    }

    /// Takes the diff of a comparison.
    pub fn take_comparison(&mut self, both: &Compared, kept: Option<&mut ScrolledText>) {
        replace(&mut self.between, &both.diff, kept);
        self.code = code_view(both);
    }
}

/// The diff between the machine code of two experiments.
pub fn code_view(both: &Compared) -> DiffView {
    match &both.profiles {
        ComparedProfiles::Moved { code: Ok(code), .. } => DiffView::of_text(code),
        _ => DiffView::default(),
    }
}

fn replace(view: &mut DiffView, diff: &Result<String, String>, kept: Option<&mut ScrolledText>) {
    let new = DiffView::of_text(diff.as_deref().unwrap_or_default());
    let old = std::mem::replace(view, new);
    if let Some(text) = kept {
        text.follow(&old, view);
    }
}

/// What the text says of the content.
pub fn note(data: ScreenData, shown: Option<&Experiment>) -> String {
    match (&data.selection.comparing, shown) {
        (Some([a, b]), _) => format!("{} and {}", printable(&a.commit), printable(&b.commit)),
        (None, Some(experiment)) => printable(&experiment.row.commit),
        (None, None) => String::new(),
    }
}

/// What the text of the pane is made from.
#[derive(Clone, Copy)]
struct Page<'a> {
    data: ScreenData<'a>,
    /// How many lines diffs show around a change.
    around: ContextLines,
    columns: usize,
}

/// The text of the pane in so many columns. `shown`: the experiment, unless two are compared.
pub fn document<'a>(
    data: ScreenData<'a>,
    shown: Option<&Experiment>,
    state: &'a ExperimentState,
    around: ContextLines,
    columns: usize,
) -> Document<'a> {
    let page = Page {
        data,
        around,
        columns,
    };
    let sentence = |text: &str| Document::of(vec![Line::styled(text.to_owned(), QUIET)]);
    let selection = data.selection;
    match (&selection.comparing, selection.comparison(), shown) {
        (Some(_), Some(both), _) => {
            let sides = Sides {
                experiments: both
                    .keys
                    .each_ref()
                    .map(|key| data.repository.experiment(key)),
                setup: data.setup,
                zone: &data.appearance.zone,
                columns,
            };
            let views = [&state.between, &state.code];
            Document::new(comparison::sections(both, views, around.note(), sides))
        }
        (None, _, Some(experiment)) => {
            let details = selection.details.as_ref();
            let details = details.filter(|details| experiment.is(&details.key));
            details::sections(experiment, details, &state.changes, page)
        }
        (None, _, None) if data.repository.loaded && data.repository.experiments.is_empty() => {
            sentence("an experiment is shown here once a run was kept or discarded")
        }
        (None, _, None) if data.repository.loaded => {
            let (up, down) = (data.way(Action::Up), data.way(Action::Down));
            sentence(&format!(
                "no experiment is selected: {up} and {down} in the table"
            ))
        }
        _ => sentence("reading …"),
    }
}
