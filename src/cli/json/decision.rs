//! A decision as JSON.

use super::run::RunReport;
use crate::cli::verdict::Judged;
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
use schemars::JsonSchema;
use serde::Serialize;

/// Any command that failed, also before it did anything: wrong arguments, no repository, a refusal.
#[derive(JsonSchema, Serialize)]
pub struct RefusedDecision {
    /// For a refused keep or discard: the state of the named run; `other_completed` if the command
    /// only completed or took back the decision of a killed lab.
    #[schemars(extend("enum" = ["decided", "undecided", "no_run", "other_completed"]))]
    pub state: &'static str,
    /// For a refused keep or discard: the last decision about the kernel; null if there is none.
    pub last_decision: Option<LastDecision>,
}

/// The last decision about a kernel that is not undone.
#[derive(JsonSchema, Serialize)]
pub struct LastDecision {
    /// The run that was decided.
    run: RunId,
    /// How it was decided.
    status: Status,
    /// Full id of the commit that holds the bytes.
    commit: Option<String>,
    /// What was tried.
    description: String,
    /// Time in UTC.
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
#[derive(JsonSchema, Serialize)]
pub struct DecisionReport {
    /// How it was decided: `crash` is a discard of a run that crashed or did not build; `undecided`
    /// is left to the user.
    #[schemars(extend("enum" = ["keep", "discard", "crash", "rules", "undecided"]))]
    status: &'static str,
    /// Why it is undecided.
    why: Option<String>,
    /// Full id of the commit that holds the bytes; null if it is undecided.
    commit: Option<String>,
    /// What was tried.
    description: Option<String>,
    /// The trailers of the commit's message.
    trailers: Vec<TrailerReport>,
    /// Time in UTC.
    decided: Option<Timestamp>,
    /// The row that was written.
    row: Option<Row>,
    /// Null if no keep was tried.
    held_out: Option<HeldOutReport>,
}

#[derive(JsonSchema, Serialize)]
pub struct TrailerReport {
    /// As in `Tested`.
    key: String,
    /// Its text.
    value: String,
}

/// The check on sealed inputs before a keep.
#[derive(JsonSchema, Serialize)]
struct HeldOutReport {
    /// What the check came to.
    outcome: Outcome,
    /// Empty on a pass.
    why: String,
    /// Sealed inputs that the kernel passed.
    sealed_runs: u32,
    /// The figure on sealed inputs.
    objective: Option<Measure>,
    /// How many of the problem's workloads the check judged.
    judged_workloads: Option<JudgedWorkloads>,
    /// Which workloads are slower than the incumbent on sealed inputs, in words. Null unless the
    /// check came out mixed.
    slower_workloads: Option<String>,
    /// What qualifies the check.
    caveats: Vec<String>,
}

/// What a decision adds to a run that the client of `lab mcp` knows.
#[derive(JsonSchema, Serialize)]
pub struct NewDecision {
    run: Option<RunId>,
    decision: NewReport,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

#[derive(JsonSchema, Serialize)]
struct NewReport {
    status: Status,
    commit: String,
    held_out: Option<HeldOutReport>,
}

impl NewDecision {
    /// Reads the record.
    pub fn of(project: &Project, decided: &Decided) -> Self {
        let read = |id| RunStore::of(project).read(id).ok();
        let held_out = decided.run.and_then(read).and_then(|it| it.held_out);
        NewDecision {
            run: decided.run,
            decision: NewReport {
                status: decided.status,
                commit: decided.commit.clone(),
                held_out: held_out.as_ref().map(HeldOutReport::from),
            },
            notes: decided.notes.clone(),
        }
    }
}

/// `lab keep`, `lab discard`: the run and how it was decided.
#[derive(JsonSchema, Serialize)]
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
            .and_then(|id| RunStore::of(project).read(id).ok());
        let judged = record
            .as_ref()
            .and_then(|record| Judged::of(project, None, index, record));
        DecisionAnswer {
            run: judged.as_ref().map(RunReport::of),
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
