//! The history: the rows of results.tsv and results.cpu.tsv, joined with their records.

pub mod details;
pub mod elsewhere;
mod judged_before;
pub mod kernels;
pub mod last_peers;
pub mod lessons;
mod listing;
pub mod names;
mod problems;
pub mod tested;

pub use judged_before::{JudgedBefore, judged_before};
pub use listing::Listing;

use crate::ledger;
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::experiment::{Experiment, Row};
use crate::run::peers;
use crate::run::record::{Decision, Record};
use crate::store::{KernelNames, RunIndex, RunSummary};

/// Every experiment that was decided, of every kernel in the repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Oldest first.
    pub experiments: Vec<Experiment>,
    /// A sentence for each damaged record, each row that cannot be read, and the missing rows of
    /// each ledger.
    pub problems: Vec<String>,
}

/// One-shot variant of [`look`]. Reads disk and git: not for the screen's own thread.
pub fn read_once(repo: &Repo, project: &Project) -> History {
    look(repo, project, &mut RunIndex::open(project))
}

/// Reads the history. Call [`RunIndex::refresh`] first: `index` keeps the runs that it read before.
pub fn look(repo: &Repo, project: &Project, index: &mut RunIndex) -> History {
    let mut listing = Listing::read(repo, project, index);
    let problems = std::mem::take(&mut listing.problems);
    let mut experiments = Vec::with_capacity(listing.len());
    experiments.extend(listing.experiments(index));
    History {
        experiments,
        problems,
    }
}

/// Decided runs whose rows are not in their ledger, in the order in which they were decided.
pub fn missing(repo: &Repo, project: &Project) -> Vec<Record> {
    let mut index = RunIndex::open(project);
    let runs = Listing::read(repo, project, &mut index).missing;
    let mut missing: Vec<Record> = runs
        .into_iter()
        .filter_map(|id| index.store().read(id).ok())
        .collect();
    missing.sort_by_key(|r| r.decision.as_ref().map(Decision::position));
    missing
}

/// Filters the decided runs without a row by whether the ledger lacks the row. If git tracks the
/// ledger, a row that was written once may stand in the ledger of another branch.
fn owed<'b>(
    repo: &Repo,
    project: &Project,
    emulated: bool,
    gone: Vec<&'b RunSummary>,
) -> Vec<&'b RunSummary> {
    let written = |b: &&RunSummary| b.decision.as_ref().is_some_and(|d| d.row_written);
    let tracked =
        gone.iter().any(written) && repo::tracked(repo, project, &ledger::path(project, emulated));
    gone.into_iter()
        .filter(|b| !(tracked && written(b)))
        .collect()
}

/// A sentence that names the runs whose rows are missing; `None` if there are none.
fn missing_rows(project: &Project, emulated: bool, missing: &[&RunSummary]) -> Option<String> {
    const NAMED: usize = 10;
    let runs: Vec<String> = missing.iter().map(|b| b.id.to_string()).collect();
    let (what, them) = match runs.as_slice() {
        [] => return None,
        [run] => (format!("the row of run {run} is"), "it"),
        few if few.len() <= NAMED => (format!("the rows of runs {} are", few.join(", ")), "them"),
        many => (
            format!(
                "the rows of {} runs from {} to {} are",
                many.len(),
                many[0],
                many[many.len() - 1]
            ),
            "them",
        ),
    };
    let path = ledger::path(project, emulated);
    Some(format!(
        "{what} missing in {}: `lab log --append-missing` adds {them}",
        path.display()
    ))
}

impl Experiment {
    /// `summary` is of the record, here or as a note: it has more to say than the row.
    fn new(
        row: Row,
        run: Option<RunId>,
        emulated: bool,
        summary: Option<&RunSummary>,
        names: &KernelNames,
    ) -> Self {
        let decision = summary.and_then(|b| b.decision.as_ref());
        let recorded = summary.map(|b| b.kernel.as_str());
        let kernel = recorded
            .map(|kernel| names.present(kernel))
            .or_else(|| names.of_commit(&row.commit));
        let trailers = decision.map(|d| d.trailers.clone()).unwrap_or_default();
        let own = summary
            .map(|summary| summary.peers.clone())
            .filter(|own| !own.is_empty());
        let of_trailers = match summary {
            Some(_) => peers::of_trailers(&trailers),
            None => names.peers_of(&row.commit).to_vec(),
        };
        Experiment {
            peers: own.unwrap_or(of_trailers),
            renamed_from: recorded
                .filter(|recorded| kernel != Some(recorded))
                .map(str::to_owned),
            kernel: kernel.map(str::to_owned),
            device: match summary {
                Some(summary) => summary.device.clone(),
                None => names.device_of(&row.commit).map(str::to_owned),
            },
            row,
            run,
            foreign: run.is_some() && summary.is_some_and(RunSummary::is_foreign),
            emulated,
            decided: decision.map(|d| d.decided),
            measured: summary.map(RunSummary::measured).unwrap_or_default(),
            trailers,
        }
    }
}
