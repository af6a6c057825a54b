//! The history: the rows of results.tsv and results.cpu.tsv, joined with their records.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod profile;

pub mod bounds;
pub mod chart_points;
pub mod details;
pub mod elsewhere;
mod judged_before;
pub mod kernels;
pub mod last_peers;
pub mod lessons;
pub mod names;
mod same_rules;
pub mod stage_times;
pub mod tested;

pub use judged_before::{JudgedBefore, judged_before};
pub use stage_times::stage_times;

use anyhow::Result;
use lab_git::{Notes, Present, Repo};
use lab_project::Project;
use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use lab_run::RunId;
use lab_run::chosen::{Chosen, ChosenMeasure};
use lab_run::experiment::{Experiment, Row, Status};
use lab_run::ledger;
use lab_run::peers;
use lab_run::record::Record;
use lab_store::signature::signers::Signers;
use lab_store::{KernelNames, RunIndex, RunSummary};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

/// Every experiment that was decided, of every kernel in the repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Oldest first.
    pub experiments: Vec<Experiment>,
    /// A sentence for each damaged record, each row that cannot be read, and the missing rows of
    /// each ledger.
    pub problems: Vec<String>,
}

impl History {
    /// The commits of the rows that have neither a record nor a note here.
    pub fn without_record(&self) -> impl Iterator<Item = &str> {
        let bare = |e: &&Experiment| e.run.is_none() && e.decided.is_none();
        let bare = self.experiments.iter().filter(bare);
        bare.map(|experiment| experiment.row.commit.as_str())
    }

    /// Which of these commits git holds here.
    pub fn present(&self, repo: &Repo) -> Result<Present> {
        Present::of(repo, self.without_record())
    }
}

/// A repository with its runs and its history.
pub struct Session {
    pub repo: Repo,
    pub index: RunIndex,
    pub history: History,
}

impl Session {
    /// Opens the repository of a project and reads all. Reads disk and git: not for the screen's own
    /// thread.
    pub fn open(project: &Project) -> Result<Session> {
        let mut index = RunIndex::open(project);
        let repo = Repo::open(project)?;
        let history = look(&repo, &mut index);
        Ok(Session {
            repo,
            index,
            history,
        })
    }
}

/// Reads the history. Call [`RunIndex::refresh`] first: `index` keeps the runs that it read before.
pub fn look(repo: &Repo, index: &mut RunIndex) -> History {
    read(repo, index).0
}

/// Reads the history, and the decided runs whose rows are not in their ledger.
fn read(repo: &Repo, index: &mut RunIndex) -> (History, Vec<RunId>) {
    let project = &repo.project;
    let mut missing_runs = Vec::new();
    let mut history = History {
        problems: index.problems(),
        ..History::default()
    };
    let notes = Notes::of(repo);
    let signers = signers(repo);
    let positions = index.positions();
    let mut rows = Vec::new();
    for emulated in [false, true] {
        let path = ledger::path(project, emulated);
        let mut ledger = ledger::read(&path);
        let others = rows_of_main_tree(repo, &path, &ledger.rows);
        ledger.rows.splice(0..0, others);
        history.problems.extend(ledger.problems);
        let (mut joined, gone) = join(index, ledger.rows, emulated);
        let to_note: Vec<&str> = joined
            .iter()
            .filter(|row| index.needs_note(row.run))
            .map(|row| row.row.commit.as_str())
            .collect();
        index.read_notes(&notes, &signers, to_note.into_iter());
        let missing: Vec<&RunSummary> = gone.iter().filter_map(|id| index.summary(*id)).collect();
        let missing = not_there(missing, &joined, &ledger.unread);
        let owed = owed(repo, emulated, missing, ledger.is_whole);
        history
            .problems
            .extend(missing_rows(project, emulated, &owed));
        missing_runs.extend(owed.iter().map(|summary| summary.id));
        let mut last = None;
        for row in &mut joined {
            last = row.position(index, &positions).or(last);
            row.position = last;
        }
        rows.extend(joined);
    }
    rows.sort_by_key(|row| row.position);
    let is_bare = |row: &&JoinedRow| row.run.is_none() && row.summary(index).is_none();
    let bare = rows.iter().filter(is_bare);
    let bare: Vec<&str> = bare.map(|row| row.row.commit.as_str()).collect();
    lab_store::find_kernels_of_rows(repo, index, &bare);
    let alone = |value: f64| Measure {
        value,
        low: None,
        high: None,
    };
    let experiment = |listed: JoinedRow| {
        let summary = listed.summary(index);
        let JoinedRow {
            row, run, emulated, ..
        } = listed;
        let is_recorded = summary.is_some();
        let mut experiment = experiment(row, run, emulated, summary, &index.kernel_names);
        let time = Some(experiment.row.kernel_us).filter(|us| *us > 0.0);
        let samples = Some(experiment.row.throughput_sps).filter(|samples| *samples > 0.0);
        // lab.toml may have named another objective when the row was written.
        let is_of_samples = repo.project.config.objective == Objective::Throughput;
        match (samples, experiment.measured.chosen) {
            (None, None) if is_of_samples => experiment.measured.objective = None,
            (Some(samples), None) if !is_of_samples => {
                let recorded = experiment.measured.objective.take();
                experiment.measured.chosen = Some(Chosen {
                    of: ChosenMeasure::Samples,
                    measure: recorded.unwrap_or_else(|| alone(samples)),
                });
            }
            _ => {}
        }
        if !is_recorded && repo.project.config.objective == Objective::KernelTime {
            // The row has the objective in another column than samples per second.
            experiment.measured.objective = time.map(alone);
        }
        experiment
    };
    history.experiments = rows.into_iter().map(experiment).collect();
    (history, missing_runs)
}

/// The rows that only the ledger of the main work tree has, where this is a linked one. Their records
/// are in the notes, which all work trees share.
fn rows_of_main_tree(repo: &Repo, path: &Path, own: &[Row]) -> Vec<Row> {
    let main = lab_git::main_tree(repo).zip(path.file_name());
    let Some(other) = main
        .map(|(main, name)| main.join(name))
        .filter(|of| of != path)
    else {
        return Vec::new();
    };
    let known: HashSet<u64> = own.iter().map(RunIndex::hash_of).collect();
    let mut rows = ledger::read(&other).rows;
    rows.retain(|row| !known.contains(&RunIndex::hash_of(row)));
    rows
}

/// A row of a ledger with its run.
struct JoinedRow {
    row: Row,
    emulated: bool,
    /// `None` if the record is not here.
    run: Option<RunId>,
    /// See [`RunIndex::positions`]. A row whose time is not known has the position of the row
    /// before it.
    position: Option<(i64, u64)>,
}

impl JoinedRow {
    /// The summary of the record, which is here or in the note of the commit.
    fn summary<'i>(&self, index: &'i RunIndex) -> Option<&'i RunSummary> {
        let summary = index.summary_of_row(self.run, &self.row.commit);
        summary.filter(|it| self.run.is_some() || it.emulated() == self.emulated)
    }

    fn position(
        &self,
        index: &RunIndex,
        positions: &HashMap<RunId, (i64, u64)>,
    ) -> Option<(i64, u64)> {
        match self.run {
            Some(run) => positions.get(&run).copied(),
            None => {
                let decision = self.summary(index)?.decision.as_ref()?;
                Some((decision.decided.as_microsecond(), 0))
            }
        }
    }
}

/// Gives each row of a ledger its run. Returns also the decided runs without a row, oldest first.
fn join(index: &RunIndex, rows: Vec<Row>, emulated: bool) -> (Vec<JoinedRow>, Vec<RunId>) {
    // By the hash of their rows, the newest first: a commit that was kept twice has two rows, and
    // the record of the older may be gone.
    let mut recorded: HashMap<u64, VecDeque<RunId>> = HashMap::new();
    for (run, hash) in index.rows(emulated) {
        recorded.entry(hash).or_default().push_back(run);
    }
    let mut run_of = |row: &Row| {
        let runs = recorded.get_mut(&RunIndex::hash_of(row))?;
        runs.pop_front()
    };
    let newest_first = rows.into_iter().rev().map(|row| JoinedRow {
        run: run_of(&row),
        row,
        emulated,
        position: None,
    });
    let mut joined: Vec<JoinedRow> = newest_first.collect();
    joined.reverse();
    let mut gone: Vec<RunId> = recorded.into_values().flatten().collect();
    gone.sort_unstable();
    (joined, gone)
}

/// The commits of the rows whose run is not known.
fn without_run(rows: &[JoinedRow]) -> impl Iterator<Item = &str> {
    let rows = rows.iter().filter(|row| row.run.is_none());
    rows.map(|row| row.row.commit.as_str())
}

/// Filters the runs without a row by whether the ledger has another row of their commit. A row
/// whose description somebody changed by hand, or that cannot be read, is not missing.
fn not_there<'b>(
    gone: Vec<&'b RunSummary>,
    rows: &[JoinedRow],
    unread: &[String],
) -> Vec<&'b RunSummary> {
    if gone.is_empty() {
        return gone;
    }
    let there: HashSet<&str> = without_run(rows)
        .chain(unread.iter().map(String::as_str))
        .collect();
    let commit = |run: &RunSummary| Some(run.decision.as_ref()?.row.as_ref()?.commit.clone());
    let is_gone = |run: &&RunSummary| commit(run).is_some_and(|c| !there.contains(c.as_str()));
    gone.into_iter().filter(is_gone).collect()
}

/// Decided runs whose rows are not in their ledger, in the order in which they were decided.
pub fn missing(repo: &Repo) -> Vec<Record> {
    let mut index = RunIndex::open(&repo.project);
    let (_, runs) = read(repo, &mut index);
    let records = runs
        .into_iter()
        .filter_map(|id| index.store().read(id).ok());
    let mut missing: Vec<Record> = records.collect();
    missing.sort_by_key(|record| record.decision.as_ref().map(|decision| decision.order));
    missing
}

/// Filters the decided runs without a row by whether the ledger lacks the row. A row that was written
/// once may stand in the ledger of another branch, if git tracks the ledger, or in a part of the
/// ledger that was not read.
fn owed<'b>(
    repo: &Repo,
    emulated: bool,
    gone: Vec<&'b RunSummary>,
    is_whole: bool,
) -> Vec<&'b RunSummary> {
    let written = |b: &&RunSummary| b.decision.as_ref().is_some_and(|d| d.row_written);
    let is_tracked = || lab_git::tracked(repo, &ledger::path(&repo.project, emulated));
    let may_be_elsewhere = gone.iter().any(written) && (!is_whole || is_tracked());
    gone.into_iter()
        .filter(|b| !(may_be_elsewhere && written(b)))
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

/// The keys that the repository lists. The board tells what cannot be read.
pub(crate) fn signers(repo: &Repo) -> Signers {
    Signers::read(&repo.project.root).unwrap_or_default()
}

/// Whether no record of this user, or of a listed key, backs the figures of a row. Everything that lists, exports or
/// compares experiments asks here. `summary` is of the row's record.
pub(crate) fn is_foreign(row: &Row, summary: Option<&RunSummary>) -> bool {
    // A change of the rules has no record.
    row.status != Status::Rules
        && summary.is_none_or(|summary| summary.is_foreign() || contradicts(summary, row))
}

/// Whether a row has other figures than the decision in its record: somebody changed the row.
fn contradicts(summary: &RunSummary, row: &Row) -> bool {
    let decided = summary.decision.as_ref();
    let figures = |row: &Row| {
        (
            row.throughput_sps,
            row.kernel_us,
            row.correctness,
            row.status,
        )
    };
    decided
        .and_then(|decision| decision.row.as_ref())
        .is_some_and(|decided| figures(decided) != figures(row))
}

/// An experiment of the history, from its row. `summary` is of the record, here or as a note: it has more to say than the row.
pub(crate) fn experiment(
    row: Row,
    run: Option<RunId>,
    emulated: bool,
    summary: Option<&RunSummary>,
    names: &KernelNames,
) -> Experiment {
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
        None => names.peers.get(&row.commit).cloned().unwrap_or_default(),
    };
    let mut peers = own.unwrap_or(of_trailers);
    peers::forget_emulated(&mut peers, emulated);
    Experiment {
        peers,
        renamed_from: recorded
            .filter(|recorded| kernel != Some(recorded))
            .map(str::to_owned),
        kernel: kernel.map(str::to_owned),
        device: match summary {
            Some(summary) => summary.device.clone(),
            None => names.device.get(&row.commit).cloned(),
        },
        run,
        foreign: is_foreign(&row, summary),
        row,
        emulated,
        decided: decision.map(|d| d.decided),
        measured: summary.map(RunSummary::measured).unwrap_or_default(),
        trailers,
    }
}
