//! A decision by rule: `lab run --decide`, the screen with `[auto] decide`, and `lab auto` decide a
//! run here.

use super::auto::{self, AutoDecision, Enough};
use super::{Decided, Refusal, discard, is_undecided, judged_bytes, keep, keeps_at_same};
use lab_git::Repo;
use lab_history::tested;
use lab_run::RunId;
use lab_run::message::{Message, TrailerKey};
use lab_run::record::Record;
use lab_runner::held_out::RunContext;
use lab_store::RunIndex;

/// What the rule made of a run.
#[derive(Debug)]
pub enum Ruling {
    Decided(Decided),
    /// The user decides; the text says why.
    Left(String),
    /// The rule decided, and the decision was refused or failed: the user decides.
    Failed(String),
}

/// Decides a run by the rule of [`auto::decide`]. `asked` is for the held-out check of a keep.
pub fn by_rule(
    repo: &Repo,
    index: &mut RunIndex,
    record: &Record,
    message: &Message,
    asked: &mut RunContext,
) -> Ruling {
    let run = Some(record.start.id);
    let incumbent = lab_git::incumbent(repo).unwrap_or_default();
    let enough = Enough {
        at_same: judged_bytes(index.store(), record).is_ok_and(|bytes| keeps_at_same(repo, &bytes)),
        correct: repo.project.config.auto.keep_correct,
    };
    let decided = match auto::decide(record, incumbent.as_deref(), enough) {
        AutoDecision::Keep => keep(&repo.project, index, run, message, asked),
        AutoDecision::Discard => discard(&repo.project, index, run, message, false),
        AutoDecision::Leave(why) => return Ruling::Left(why),
    };
    match decided {
        Ok(decided) => Ruling::Decided(decided),
        Err(Refusal::Left(why)) => Ruling::Left(why),
        Err(refusal) => Ruling::Failed(refusal.to_string()),
    }
}

/// Returns the message with the trailer `Tested`, filled in from the run's verdict. Without a
/// verdict it is unchanged.
pub fn with_tested(
    message: Message,
    repo: &Repo,
    index: &mut RunIndex,
    run: Option<RunId>,
) -> Message {
    let record = run.and_then(|id| index.store().read(id).ok());
    let tested = record.filter(is_undecided).map(|record| {
        tested::tested_beside(&record, &repo.project.config, || {
            tested::best_in_ledger(repo, index, &record)
        })
    });
    message.with_default(TrailerKey::Tested, &tested.unwrap_or_default())
}
