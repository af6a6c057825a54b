//! A decision as JSON.

use super::run::RunReport;
use jiff::Timestamp;
use lab_decide::Decided;
use lab_project::Project;
use lab_protocol::report::{JudgedWorkloads, Measure};
use lab_run::RunId;
use lab_run::experiment::{Row, Status};
use lab_run::message::Trailer;
use lab_run::record::{HeldOut, Record};
use lab_run::verdict::Outcome;
use lab_store::{RunIndex, RunStore};
use serde::Serialize;

/// What stands when a decision is refused.
#[derive(Serialize)]
pub struct RefusedDecision {
    /// Of the run that was meant: `decided`, `undecided`, or `no_run`; `other_completed` if only
    /// the decision of a `lab` that was killed was completed or taken back.
    pub state: &'static str,
    pub last_decision: Option<LastDecision>,
}

/// The last decision about a kernel that is not undone.
#[derive(Serialize)]
pub struct LastDecision {
    run: RunId,
    /// `keep`, `discard`, `crash` or `rules`.
    status: Status,
    /// Full id of the commit that holds the bytes.
    commit: Option<String>,
    description: String,
    decided: Timestamp,
}

impl LastDecision {
    /// Reads the runs' index. `None` if nothing was decided about the kernel.
    pub fn of(project: &Project) -> Option<LastDecision> {
        let index = RunIndex::open(project);
        let summary = index.last_decided(&project.kernel_name)?;
        let decision = summary.decision.as_ref()?;
        Some(LastDecision {
            run: summary.id,
            status: decision.status,
            commit: decision.commit.clone(),
            description: decision.description.clone(),
            decided: decision.decided,
        })
    }
}

/// How a run was decided, or that it was left to the user.
#[derive(Serialize)]
pub struct DecisionReport {
    /// `keep`, `discard`, `crash` (discarded, and it had crashed), `rules`, or `undecided`.
    status: &'static str,
    /// Why it is undecided.
    why: Option<String>,
    /// Full id of the commit that holds the bytes.
    commit: Option<String>,
    description: Option<String>,
    trailers: Vec<TrailerReport>,
    decided: Option<Timestamp>,
    /// The row of the ledger.
    row: Option<Row>,
    held_out: Option<HeldOutReport>,
}

#[derive(Serialize)]
pub struct TrailerReport {
    key: String,
    value: String,
}

/// The check before a keep.
#[derive(Serialize)]
struct HeldOutReport {
    outcome: Outcome,
    why: String,
    sealed_runs: u32,
    objective: Option<Measure>,
    judged_workloads: Option<JudgedWorkloads>,
    /// In words; `None` unless the check came out *mixed*.
    slower_workloads: Option<String>,
    caveats: Vec<String>,
}

/// What a decision adds to a run that the client of `lab mcp` knows.
#[derive(Serialize)]
pub struct NewDecision {
    run: Option<RunId>,
    decision: NewReport,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

#[derive(Serialize)]
struct NewReport {
    status: &'static str,
    commit: String,
    held_out: Option<HeldOutReport>,
}

impl NewDecision {
    /// Reads the record.
    pub fn of(project: &Project, decided: &Decided) -> Self {
        let read = |id| RunStore::new(&project.lab_dir).read(id).ok();
        let held_out = decided.run.and_then(read).and_then(|it| it.held_out);
        NewDecision {
            run: decided.run,
            decision: NewReport {
                status: decided.status.word(),
                commit: decided.commit.clone(),
                held_out: held_out.as_ref().map(HeldOutReport::from),
            },
            notes: decided.notes.clone(),
        }
    }
}

/// What a command that decides prints.
#[derive(Serialize)]
pub struct DecisionAnswer {
    /// `None` if the bytes had no verdict.
    #[serde(flatten)]
    pub run: Option<RunReport>,
    pub decision: DecisionReport,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

impl DecisionAnswer {
    /// The answer of a command that decided. Reads the record.
    pub fn of(project: &Project, index: &RunIndex, decided: &Decided) -> Self {
        let record = decided
            .run
            .and_then(|id| RunStore::new(&project.lab_dir).read(id).ok());
        let report = |record: &Record| {
            Some(RunReport::of(
                project,
                index,
                record,
                record.verdict.as_ref()?,
            ))
        };
        DecisionAnswer {
            run: record.as_ref().and_then(report),
            decision: DecisionReport::of(decided, record.as_ref()),
            notes: decided.notes.clone(),
        }
    }
}

impl DecisionReport {
    /// `record` is of the run that was decided, if there is one.
    pub fn of(decided: &Decided, record: Option<&Record>) -> Self {
        DecisionReport {
            commit: Some(decided.commit.clone()),
            row: decided.row.clone(),
            ..Self::with_status(decided.status.word(), record)
        }
    }

    /// The decision that a record holds; `None` if the run is undecided.
    pub fn recorded(record: &Record) -> Option<Self> {
        let status = record.decision.as_ref()?.status.word();
        Some(Self::with_status(status, Some(record)))
    }

    /// The run is left to the user.
    pub fn left(why: &str, record: &Record) -> Self {
        DecisionReport {
            why: Some(why.to_owned()),
            ..Self::with_status("undecided", Some(record))
        }
    }

    /// What the record says of its decision, under this status.
    fn with_status(status: &'static str, record: Option<&Record>) -> Self {
        let decision = record.and_then(|record| record.decision.as_ref());
        let held_out = record.and_then(|record| record.held_out.as_ref());
        DecisionReport {
            status,
            why: None,
            commit: decision.and_then(|decision| decision.commit.clone()),
            description: decision.map(|decision| decision.description.clone()),
            trailers: decision.map_or_else(Vec::new, |decision| trailers(&decision.trailers)),
            decided: decision.map(|decision| decision.decided),
            row: decision.and_then(|decision| decision.row.clone()),
            held_out: held_out.map(HeldOutReport::from),
        }
    }
}

impl From<&HeldOut> for HeldOutReport {
    fn from(check: &HeldOut) -> Self {
        HeldOutReport {
            outcome: check.outcome,
            why: check.why.clone(),
            sealed_runs: check.sealed_runs,
            objective: check.measured.map(|figures| figures.objective),
            judged_workloads: check.judged_workloads(),
            slower_workloads: check.mixed.clone(),
            caveats: check.caveats.clone(),
        }
    }
}

/// Trailers as a list of keys and values: a key may appear twice.
pub fn trailers(trailers: &[Trailer]) -> Vec<TrailerReport> {
    let report = |(key, value): &Trailer| TrailerReport {
        key: key.to_string(),
        value: value.clone(),
    };
    trailers.iter().map(report).collect()
}
