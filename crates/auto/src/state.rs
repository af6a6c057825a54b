//! The state of the loop: what `.lab/auto/KEY/state.json` holds, with one KEY for each kernel.

use super::answer::Answer;
use super::progress::{Best, KeptPoint};
use jiff::Timestamp;
use lab_git::OtherChanges;
use lab_history::bounds::Bounds;
use lab_run::RunId;
use lab_store::RunIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the state's form. A new key does not change it; a key that goes, or means something
/// else, does.
pub const VERSION: u32 = 1;

/// What the loop is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LoopPhase")]
pub enum Phase {
    #[default]
    Starting,
    /// The kernel's file is not the incumbent: a person edits it.
    WaitingForPerson,
    /// The command edits.
    Editing,
    /// The command's kernel is taken: it is judged and decided.
    Judging,
    /// The command or the machine failed, and the loop waits before the next try.
    BackingOff,
    Paused,
    Ended,
}

/// The result of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    Kept,
    Discarded,
    /// It did not build, crashed or hung, and was discarded.
    Crash,
    /// The rule leaves the run to a person. The incumbent is back.
    Left,
    /// An earlier run judged the same kernel; it was not judged again.
    Known,
    /// The kernel was not changed.
    Nothing,
    /// The command failed, or its kernel could not be taken.
    #[default]
    Failed,
}

/// What may be spent. `None` sets no limit.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Budget {
    /// Judged runs.
    pub experiments: Option<u64>,
    /// Hours in which the loop runs.
    pub hours: Option<f64>,
    /// The sum of the costs that the command reports.
    pub cost: Option<f64>,
    /// Percent: the loop ends once the floor is so much of the incumbent's time.
    pub until_floor: Option<f64>,
}

/// What was spent, and how the turns ended.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Runs that were judged.
    pub experiments: u64,
    /// Seconds in which the loop ran.
    pub seconds: f64,
    /// The sum of what the command's answers report.
    pub cost: f64,
    pub kept: u64,
    pub discarded: u64,
    pub crashed: u64,
    pub left: u64,
    pub known: u64,
    pub nothing: u64,
    pub failed: u64,
    /// Failures since the last turn that gave a kernel.
    pub failures_in_a_row: u32,
    /// Turns since the last keep that gave a kernel and brought nothing.
    pub discards_in_a_row: u32,
    /// Crashes in a row that the command was asked to mend.
    pub mended: u32,
}

/// A kernel that was taken and is not decided yet. Its bytes are in the file `candidate` beside the
/// state.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Candidate {
    /// BLAKE3 of the bytes, hex.
    pub hash: String,
    /// The newest judged run when the bytes were taken: a later run of these bytes is this turn's.
    pub after: RunId,
    pub answer: Answer,
    pub told: LastTurn,
}

/// How the last turn ended.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LastTurn {
    /// Counted from 1 over all loops on this kernel.
    pub turn: u64,
    /// `left`: a person decides; `known`: an earlier run judged these bytes; `nothing`: the kernel
    /// was not changed; `failed`: the command failed, or its kernel could not be taken.
    pub outcome: TurnOutcome,
    /// One sentence; empty where the outcome says it all.
    pub why: String,
    /// The run that judged the kernel.
    pub run: Option<RunId>,
    /// What was wrong with LAB_ANSWER.
    pub answer_error: Option<String>,
    /// How the command ended, in words.
    pub command: String,
    /// How long the command ran.
    pub seconds: f64,
    /// The end of the command's output.
    pub output: Vec<String>,
    /// What else the command changed. It has no effect.
    pub ignored: Vec<String>,
    /// The ref that holds what is in `ignored`.
    pub ignored_ref: Option<String>,
    /// What changed in the user's repository while the command worked: HEAD, files, the lab's own
    /// folder. The command did it, or a person.
    pub noticed: Vec<String>,
}

impl LastTurn {
    /// How the turn ended, in one line.
    pub fn in_words(&self) -> String {
        let word = match self.outcome {
            TurnOutcome::Kept => "kept",
            TurnOutcome::Discarded => "discarded",
            TurnOutcome::Crash => "crash, discarded",
            TurnOutcome::Left => "left to you",
            TurnOutcome::Known => "known",
            TurnOutcome::Nothing => "nothing changed",
            TurnOutcome::Failed => "failed",
        };
        let run = self
            .run
            .map(|run| format!(" run {run}"))
            .unwrap_or_default();
        let colon = if self.why.is_empty() { "" } else { ": " };
        format!("turn {}: {word}{run}{colon}{}", self.turn, self.why)
    }

    /// A turn that has just begun.
    pub(super) fn begun(turn: u64) -> LastTurn {
        LastTurn {
            turn,
            ..LastTurn::default()
        }
    }

    pub(super) fn ended(mut self, outcome: TurnOutcome, why: impl Into<String>) -> LastTurn {
        (self.outcome, self.why) = (outcome, why.into());
        self
    }

    pub(super) fn ignore(&mut self, others: OtherChanges) {
        self.ignored = others.lines;
        self.ignored_ref = others.kept.map(|kept| kept.reference);
    }
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[schemars(rename = "LoopState")]
pub struct State {
    /// Version of the state's form.
    pub schema_version: u32,
    /// The process of the loop. It runs while it holds the lock beside the state.
    pub process: u32,
    /// The kernel, relative to the repository.
    pub kernel: String,
    /// What the loop does; `starting` is between two turns.
    pub phase: Phase,
    /// The present turn, counted from 1 over all loops of this folder.
    pub turn: u64,
    /// When the phase began.
    pub since: Timestamp,
    /// When the budget began.
    pub started: Timestamp,
    pub budget: Budget,
    pub counts: Counts,
    /// How the last turn ended.
    pub last_turn: Option<LastTurn>,
    /// A kernel that was taken and is not decided yet.
    pub candidate: Option<Candidate>,
    /// BLAKE3 of the kernel that crashed and that the next turn starts from.
    pub mending: Option<String>,
    /// The last patch of `--patches` that was taken.
    pub patch: Option<String>,
    /// Why the loop ended.
    pub ended: Option<String>,
    /// What failed since the last turn ended, where no turn is to blame.
    pub trouble: Option<String>,
    /// Discards in a row reached `--plateau`.
    pub plateau: bool,
    /// The best kept experiment. `None` before the first keep.
    pub best: Option<Best>,
    /// The incumbent beside the floor and the estimate.
    pub bounds: Option<Bounds>,
    /// At a plateau: kept kernels from which `--from COMMIT` starts, the newest first. Else empty.
    pub older_kept: Vec<KeptPoint>,
    /// Runs up to this one are cleaned up: a long run.log of a discarded run is cut.
    pub cleaned: u64,
    /// The last runs that were left to a person, and are not decided.
    pub left: Vec<LeftRun>,
    /// The last runs that are counted, and as what: an undo or a person's decision changes that.
    #[serde(default)]
    pub counted: Vec<CountedRun>,
}

/// A run that a turn had judged.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct CountedRun {
    pub run: RunId,
    /// What the run is counted as.
    pub outcome: TurnOutcome,
}

/// A run that the rule left to a person.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LeftRun {
    pub run: RunId,
    pub description: String,
    /// Why the rule left it.
    pub why: String,
}

impl Counts {
    /// How many turns ended so.
    fn of(&mut self, outcome: TurnOutcome) -> &mut u64 {
        match outcome {
            TurnOutcome::Kept => &mut self.kept,
            TurnOutcome::Discarded => &mut self.discarded,
            TurnOutcome::Crash => &mut self.crashed,
            TurnOutcome::Left => &mut self.left,
            TurnOutcome::Known => &mut self.known,
            TurnOutcome::Nothing => &mut self.nothing,
            TurnOutcome::Failed => &mut self.failed,
        }
    }

    /// What counts towards a budget of experiments: a kernel that was judged before cost a turn of
    /// the command all the same.
    pub fn of_budget(&self) -> u64 {
        self.experiments + self.known
    }

    /// Whether the only turn so far has failed.
    pub(super) fn are_of_one_failure(&self) -> bool {
        self.failed == 1 && self.of_budget() + self.nothing == 0
    }
}

/// Most runs that the state names as left or as counted.
const RUNS: usize = 20;

impl State {
    /// What the loop does, or how it ended if it is not running.
    pub fn doing(&self, running: bool) -> String {
        let turn = self.turn;
        let doing = match (self.phase, &self.ended) {
            (_, Some(why)) if !running => return format!("ended after turn {turn}: {why}"),
            _ if !running => {
                return format!("killed in turn {turn}; the next `lab auto` goes on from there");
            }
            (Phase::Starting, _) => "between two turns",
            (Phase::WaitingForPerson, _) => "waits for you",
            (Phase::Editing, _) => "the command edits",
            (Phase::Judging, _) => "judges the edit",
            (Phase::BackingOff, _) => "waits after a failure",
            (Phase::Paused, _) => "paused",
            (Phase::Ended, _) => "ends",
        };
        doing.to_owned()
    }

    /// A loop that starts afresh after `turn` turns.
    pub(super) fn new(kernel: &str, budget: Budget, turn: u64) -> State {
        State {
            schema_version: VERSION,
            process: std::process::id(),
            kernel: kernel.to_owned(),
            turn,
            since: lab_run::now(),
            started: lab_run::now(),
            budget,
            ..State::default()
        }
    }

    /// Notes a run that was left. The oldest of many are dropped.
    pub(super) fn note_left(&mut self, left: LeftRun) {
        self.left.retain(|known| known.run != left.run);
        self.left.push(left);
        drop_oldest(&mut self.left);
    }

    /// The state with what was decided since: a decision that was undone leaves its run to a person, and
    /// a person may decide a run that was left. `index` is up to date.
    #[must_use]
    pub fn follow(mut self, index: &RunIndex) -> State {
        let now = |run| {
            // The command of a turn may have changed a record.
            let summary = index.summary(run).filter(|summary| !summary.is_foreign())?;
            let decision = summary.decision.as_ref();
            Some(decision.map_or(TurnOutcome::Left, |decision| decision.status.into()))
        };
        for CountedRun { run, outcome } in &mut self.counted {
            let count = self.counts.of(*outcome);
            *count = count.saturating_sub(1);
            *outcome = now(*run).unwrap_or(*outcome);
            *self.counts.of(*outcome) += 1;
        }
        let is = |run, outcome| now(run).is_none_or(|now| now == outcome);
        self.left.retain(|left| is(left.run, TurnOutcome::Left));
        self.best.take_if(|best| !is(best.run, TurnOutcome::Kept));
        self
    }

    /// Counts a turn that has ended, and remembers how.
    pub(super) fn count(&mut self, told: LastTurn, mend: u32, plateau: u32) {
        let counts = &mut self.counts;
        *counts.of(told.outcome) += 1;
        let is_failure = matches!(told.outcome, TurnOutcome::Nothing | TurnOutcome::Failed);
        // A command that leaves the same kernel again and again brings nothing either.
        counts.failures_in_a_row = if is_failure || told.outcome == TurnOutcome::Known {
            counts.failures_in_a_row + 1
        } else {
            0
        };
        counts.discards_in_a_row = match told.outcome {
            TurnOutcome::Kept => 0,
            _ if is_failure => counts.discards_in_a_row,
            _ => counts.discards_in_a_row + 1,
        };
        let is_mended_next = told.outcome == TurnOutcome::Crash && counts.mended < mend;
        counts.mended = if is_mended_next { counts.mended + 1 } else { 0 };
        self.plateau = counts.discards_in_a_row >= plateau;
        // A known kernel has the run that judged it before.
        let judged = told.run.filter(|_| told.outcome != TurnOutcome::Known);
        counts.experiments += u64::from(judged.is_some());
        let outcome = told.outcome;
        self.counted
            .extend(judged.map(|run| CountedRun { run, outcome }));
        drop_oldest(&mut self.counted);
        self.trouble = None;
        self.last_turn = Some(told);
        self.mending = self
            .candidate
            .take()
            .filter(|_| is_mended_next)
            .map(|candidate| candidate.hash);
    }

    /// Seconds of the budget that are spent at `now`.
    pub(super) fn seconds(&self, is_running: bool, now: Timestamp) -> f64 {
        let since = now.duration_since(self.since).as_secs_f64().max(0.0);
        self.counts.seconds + if is_running { since } else { 0.0 }
    }

    /// Experiments an hour since the budget began. `None` before the first one.
    pub(super) fn rate(&self, is_running: bool, now: Timestamp) -> Option<f64> {
        let experiments = self.counts.experiments as f64;
        let hours = self.seconds(is_running, now) / 3600.0;
        (experiments > 0.0 && hours > 0.0).then(|| experiments / hours)
    }

    /// Why the budget is spent; `None` while it is not.
    pub(super) fn spent(&self) -> Option<String> {
        let (spent, budget) = (&self.counts, &self.budget);
        if let Some(most) = budget.experiments
            && spent.of_budget() >= most
        {
            let known = match spent.known {
                0 => String::new(),
                known => format!(" ({known} of them known kernels)"),
            };
            return Some(format!("the budget of {most} experiments is spent{known}"));
        }
        if let Some(hours) = budget.hours
            && spent.seconds >= hours * 3600.0
        {
            return Some(format!("the budget of {hours} hours is spent"));
        }
        if let (Some(percent), Some(bounds)) = (budget.until_floor, &self.bounds)
            && bounds.of_floor >= percent
        {
            return Some(format!(
                "the floor is {:.1} % of the incumbent's time (--until-floor {percent})",
                bounds.of_floor
            ));
        }
        let most = budget.cost.filter(|most| spent.cost >= *most)?;
        Some(format!(
            "the budget of {most} in cost is spent ({})",
            spent.cost
        ))
    }
}

fn drop_oldest<T>(runs: &mut Vec<T>) {
    runs.drain(..runs.len().saturating_sub(RUNS));
}
