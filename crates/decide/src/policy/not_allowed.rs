//! Why the rules do not allow an action.

use crate::refusals::AFTER_A_REFUSAL;
use crate::rules::RuleChange;
use itertools::Itertools;
use lab_git::Obstacle;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::inputs::OutsideInclude;

/// Why an action is not allowed now. `Display` says what to do; [`NotAllowed::hint`] is a few
/// words.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotAllowed {
    #[error("a decision is in progress: wait until it is done")]
    DecisionInProgress,
    #[error("a run is starting: wait for its verdict")]
    RunStarting,
    #[error("run {0} is in progress: wait for its verdict")]
    RunInProgress(RunId),
    #[error("no run yet: `lab run{argument}` first")]
    NoRun { argument: String },
    #[error("run {0} was a check: a check gives no verdict that could be decided")]
    Check(RunId),
    #[error(
        "run {run} is foreign: its record was written by somebody else's lab, or was changed since. Judge the \
         bytes again (`lab run{argument}`)"
    )]
    Foreign { run: RunId, argument: String },
    #[error("run {run} judged {judged}, not {kernel}: name that kernel")]
    OtherKernel {
        run: RunId,
        judged: String,
        kernel: String,
    },
    #[error("needs a passing verdict: run {run} came to {word}")]
    NoPass { run: RunId, word: &'static str },
    #[error(
        "the present bytes of {kernel} were not judged: `lab run{argument}` judges them, or says why it cannot"
    )]
    NotJudged { kernel: String, argument: String },
    /// The text names the kernel, and says what to do.
    #[error("{why}")]
    Unreadable { kernel: String, why: String },
    #[error(
        "{} changed after the verdict of run {run}: judge {} first (`lab run{argument}`)",
        files.join(", "),
        if files.len() == 1 { "it" } else { "them" }
    )]
    Changed {
        run: RunId,
        files: Vec<String>,
        argument: String,
    },
    #[error(
        "run {run} was decided already ({}): {again}save a change first",
        status.word(),
        again = match status {
            Status::Discard => format!("judge the bytes again (`lab run{argument}`), or "),
            Status::Keep | Status::Crash | Status::Rules => String::new(),
        }
    )]
    Decided {
        run: RunId,
        status: Status,
        argument: String,
    },
    #[error(
        "HEAD holds these bytes already: run {run} kept them as {commit}. Save a change first; `lab describe {commit} -m TEXT` \
         changes the description of that keep"
    )]
    KeptAlready { run: RunId, commit: String },
    #[error(
        "keep refused: {why}: save a change first. The next keep of this kernel has to pass {} sealed runs",
        AFTER_A_REFUSAL
    )]
    HeldOut { why: String },
    #[error("{why}: let the harness print it, then `lab run{argument}`")]
    Unmeasured { why: String, argument: String },
    #[error(
        "{include} is not as in HEAD, and an experiment changes {kernel} alone: commit it yourself first, or put its \
         text into the kernel"
    )]
    UncommittedInclude { include: String, kernel: String },
    #[error(
        "{}, and a keep takes no change of the rules along: put the file back, or commit the change on its own first \
         (`lab rules{argument} -m TEXT`)",
        listed(changed)
    )]
    Rules {
        changed: Vec<RuleChange>,
        argument: String,
    },
    #[error(
        "{0}: {remedy}, so that the commit holds what was judged",
        remedy = if .0.is_macro { "name the file itself" } else { "copy it into the repository" }
    )]
    OutsideInclude(OutsideInclude),
    #[error("{0}")]
    Git(Obstacle),
    #[error(
        "HEAD does not hold {kernel}, so there is nothing to put back: keep it first, or delete it yourself"
    )]
    NoIncumbent { kernel: String },
    #[error("{kernel} is the incumbent's: there is nothing to discard")]
    IncumbentOnDisk { kernel: String },
    #[error("run {run} judged the incumbent's own bytes: there is nothing to discard")]
    IncumbentJudged { run: RunId },
    #[error(
        "{subject} is foreign: its record was written by somebody else's lab, or was changed since, so it \
         cannot be undone here: `git reset --soft HEAD^` takes a commit back by hand, and `lab restore` puts a kernel back"
    )]
    ForeignDecision { subject: String },
    #[error("nothing was decided about {kernel} yet")]
    NothingDecided { kernel: String },
    #[error(
        "the last decision was about run {run}, and its record is damaged or gone: put .lab/runs/{run}/record.json back from a \
         copy of yours. By hand, `lab restore refs/lab/discarded/{run}` puts a discarded kernel back, and `git reset --soft HEAD^` \
         takes a commit back"
    )]
    Damaged { run: RunId },
    #[error("{subject} cannot be undone: {work}")]
    LaterWork { subject: String, work: String },
}

fn listed(changed: &[RuleChange]) -> String {
    changed.iter().map(RuleChange::to_string).join("; ")
}

impl NotAllowed {
    /// A few words, for a line of key hints.
    pub fn hint(&self) -> String {
        let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        match self {
            NotAllowed::DecisionInProgress => "a decision is in progress".to_owned(),
            NotAllowed::RunStarting => "a run is starting".to_owned(),
            NotAllowed::RunInProgress(run) => format!("run {run} in progress"),
            NotAllowed::NoRun { .. } => "needs a verdict".to_owned(),
            NotAllowed::Check(run) => format!("run {run} was a check"),
            NotAllowed::Foreign { run, .. } => format!("run {run} is foreign: judge again"),
            NotAllowed::ForeignDecision { .. } => "the last decision is foreign".to_owned(),
            NotAllowed::OtherKernel { run, .. } => format!("run {run} judged another kernel"),
            NotAllowed::NotJudged { .. } => "needs a verdict".to_owned(),
            NotAllowed::NoPass { .. } => "needs a passing verdict".to_owned(),
            NotAllowed::Unreadable { kernel, .. } => format!("{} cannot be read", file(kernel)),
            NotAllowed::Changed { files, .. } => match files.as_slice() {
                [only] => format!("{} is newer than the verdict", file(only)),
                several => format!("{} files are newer than the verdict", several.len()),
            },
            NotAllowed::Decided {
                status: Status::Keep,
                ..
            }
            | NotAllowed::KeptAlready { .. } => "kept already".to_owned(),
            NotAllowed::Decided { .. } => "discarded already".to_owned(),
            NotAllowed::HeldOut { .. } => "failed the held-out check".to_owned(),
            NotAllowed::Unmeasured { .. } => "the run measured nothing".to_owned(),
            NotAllowed::UncommittedInclude { include, .. } => {
                format!("{} is not committed", file(include))
            }
            NotAllowed::Rules { changed, .. } => match changed.as_slice() {
                [only] => format!("{} is not as in HEAD", file(&only.path)),
                several => format!("{} files of the rules are not as in HEAD", several.len()),
            },
            NotAllowed::OutsideInclude(outside) => match outside.is_macro {
                true => format!("{} includes a file by a macro", file(&outside.file)),
                false => format!("{} is outside of the repository", file(&outside.include)),
            },
            NotAllowed::Git(obstacle) => obstacle.hint(),
            NotAllowed::NoIncumbent { kernel } => format!("HEAD does not hold {}", file(kernel)),
            NotAllowed::IncumbentOnDisk { .. } | NotAllowed::IncumbentJudged { .. } => {
                "the incumbent's own bytes".to_owned()
            }
            NotAllowed::NothingDecided { .. } => "nothing was decided yet".to_owned(),
            NotAllowed::Damaged { run } => format!("the record of run {run} is damaged or gone"),
            // The hint is short: the remedy comes after the semicolon.
            NotAllowed::LaterWork { work, .. } => {
                work.split(';').next().unwrap_or_default().to_owned()
            }
        }
    }
}
