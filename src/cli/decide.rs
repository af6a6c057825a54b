//! `lab keep` and `lab discard`: decide the last run.

use super::interrupt::controlled;
use super::json::Resumed;
use super::json::decision::{DecisionAnswer, DecisionReport, LastDecision, RefusedDecision};
use super::live::{HarnessLines, Printed};
use super::output::{FAILED, failed_with};
use super::{JsonArg, KernelArg, answer, complain, is_json, refused, say, say_below};
use anyhow::Result;
use clap::Args;
use lab_decide::{Decided, Refusal, Ruling, with_tested};
use lab_git::{Repo, short, typed_message};
use lab_project::Project;
use lab_protocol::Exit;
use lab_protocol::report::Asked;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::inputs;
use lab_run::message::{self, Message, Trailer, TrailerKey};
use lab_run::record::Record;
use lab_runner::held_out::RunContext;
use lab_runner::spec::own_program;
use lab_store::{RunIndex, RunStore};
use std::process::ExitCode;

/// The options that keep and discard share.
#[derive(Args, Debug)]
pub struct KeepArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
    #[command(flatten)]
    trailers: TrailerArgs,
    /// The run to decide [default: the newest run of the present bytes]
    #[arg(long, value_name = "N")]
    run: Option<u64>,
    #[command(flatten)]
    json: JsonArg,
}

/// What a decision is about, and the index in which it was found: the decision itself reads only
/// what is newer.
struct Opened {
    repo: Repo,
    index: RunIndex,
    run: Option<RunId>,
    message: Message,
}

impl KeepArgs {
    fn opened(&self) -> Result<Opened> {
        let project = self.kernel.open()?;
        let repo = Repo::open(&project)?;
        // The run is chosen once, so that the trailer Tested is about the run that is decided, even
        // if another run ends meanwhile.
        let mut index = RunIndex::open(&project);
        index.require_listed()?;
        let run = self
            .run
            .map(RunId)
            .or_else(|| default_run(&project, &index));
        let message = self.trailers.message(&repo, &mut index, &self.message, run);
        Ok(Opened {
            repo,
            index,
            run,
            message,
        })
    }
}

#[derive(Args, Debug)]
pub struct DiscardArgs {
    #[command(flatten)]
    what: KeepArgs,
    /// Discard also if the present bytes are newer than the verdict or have none; they are saved
    /// first
    #[arg(long)]
    unjudged: bool,
}

/// What an experiment was expected to do, and what it taught: two trailers with options of their
/// own.
#[derive(Args, Clone, Debug, Default)]
pub struct LearnedArgs {
    /// What the change was expected to do, and why; the trailer Hypothesis
    #[arg(long, value_name = "TEXT", value_parser = message::value)]
    hypothesis: Option<String>,
    /// What the result teaches for later attempts; the trailer Lesson
    #[arg(long, value_name = "TEXT", value_parser = message::value)]
    lesson: Option<String>,
}

impl LearnedArgs {
    pub fn trailers(&self) -> impl Iterator<Item = Trailer> {
        let given = [
            (TrailerKey::Hypothesis, &self.hypothesis),
            (TrailerKey::Lesson, &self.lesson),
        ];
        given
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.clone()?)))
    }
}

/// The trailers of the commit message.
#[derive(Args, Debug)]
pub struct TrailerArgs {
    /// Hypothesis, Lesson, Constraint, Rejected, Confidence, Scope-risk, Reversibility, Directive,
    /// Tested, Not-tested, or another
    #[arg(long, value_name = "'KEY: VALUE'", value_parser = message::trailer)]
    trailer: Vec<Trailer>,
    #[command(flatten)]
    learned: LearnedArgs,
    /// Leave out the trailer Tested that lab fills in from the verdict
    #[arg(long)]
    no_tested: bool,
}

impl TrailerArgs {
    fn message(
        &self,
        repo: &Repo,
        index: &mut RunIndex,
        subject: &str,
        run: Option<RunId>,
    ) -> Message {
        let more = self.learned.trailers().chain(self.trailer.iter().cloned());
        let message = typed_message(subject, more);
        if self.no_tested {
            return message;
        }
        with_tested(message, repo, index, run)
    }
}

/// The run that a decision without a number is about.
pub fn default_run(project: &Project, index: &RunIndex) -> Option<RunId> {
    let present = inputs::read(project).ok().map(|inputs| inputs.fingerprint);
    lab_decide::default_run(project, index, present.as_ref()).map(|run| run.start.id)
}

pub fn keep(options: &KeepArgs) -> Result<ExitCode> {
    let mut opened = options.opened()?;
    let Opened {
        repo,
        index,
        run,
        message,
    } = &mut opened;
    let lines = check_lines(&repo.project, index);
    let kept = with_check(lines, false, |asked| {
        lab_decide::keep(&repo.project, index, *run, message, asked)
    })?;
    Ok(report(&opened, kept))
}

pub fn discard(options: &DiscardArgs) -> Result<ExitCode> {
    let mut opened = options.what.opened()?;
    let Opened {
        repo,
        index,
        run,
        message,
    } = &mut opened;
    let unjudged = options.unjudged;
    let discarded = lab_decide::discard(&repo.project, index, *run, message, unjudged);
    Ok(report(&opened, discarded))
}

/// Prints the lines of a held-out check.
fn check_lines(project: &Project, index: &RunIndex) -> HarnessLines {
    HarnessLines::new(Printed::Text).after(Asked::HeldOut, project, index)
}

/// Calls `act` with what a held-out check needs, and prints the lines of the check.
fn with_check<T>(
    mut lines: HarnessLines,
    by_rule: bool,
    act: impl FnOnce(&mut RunContext) -> T,
) -> Result<T> {
    let control = controlled()?;
    let mut tell = |_, batch| lines.print(&batch);
    Ok(act(&mut RunContext {
        control: &control,
        program: own_program(),
        tell: &mut tell,
        by_rule,
    }))
}

/// Reports what came of a decision.
fn report(opened: &Opened, result: std::result::Result<Decided, Refusal>) -> ExitCode {
    let Opened {
        repo, index, run, ..
    } = opened;
    let project = &repo.project;
    match result {
        Ok(decided) if is_json() => {
            super::clean::after_a_decision(repo);
            answer(Exit::Passed, DecisionAnswer::of(project, index, &decided))
        }
        Ok(decided) => {
            tell(Some(repo), project, &decided);
            ExitCode::SUCCESS
        }
        Err(Refusal::Resumed {
            text,
            is_as_asked: true,
        }) if is_json() => answer(Exit::Passed, Resumed::new(&text, LastDecision::of(project))),
        Err(refusal) if is_json() => failed_with(
            &refusal.to_string(),
            FAILED,
            refused_decision(project, *run, &refusal),
        ),
        Err(refusal) => refused(&refusal),
    }
}

/// What stands after a decision about `run` was refused.
pub fn refused_decision(
    project: &Project,
    run: Option<RunId>,
    refusal: &Refusal,
) -> RefusedDecision {
    let record = run.and_then(|id| RunStore::of(project).read(id).ok());
    let state = match (refusal, record) {
        (Refusal::Resumed { .. }, _) => "other_completed",
        (_, None) => "no_run",
        (_, Some(record)) if record.decision.is_some() => "decided",
        (_, Some(_)) => "undecided",
    };
    RefusedDecision {
        state,
        last_decision: LastDecision::of(project),
    }
}

/// A decision in one line.
pub fn decided_line(project: &Project, decided: &Decided) -> String {
    let (kernel, commit) = (&project.kernel_name, short(&decided.commit));
    let word = decided.status.word();
    match (decided.run, &decided.row) {
        (None, _) => format!("{word} unjudged bytes of {kernel}: {commit}"),
        (Some(run), Some(_)) => format!("{word} run {run} of {kernel}: {commit}"),
        // It was decided before.
        (Some(_), None) => format!("{kernel} holds the incumbent's bytes again"),
    }
}

/// Prints a decision for people.
fn tell(repo: Option<&Repo>, project: &Project, decided: &Decided) {
    say(&decided_line(project, decided));
    say_below(&decided.notes);
    say_below(repo.and_then(super::clean::after_a_decision));
}

/// Decides a run by rule, and prints the lines of the held-out check.
pub fn by_rule(
    repo: &Repo,
    index: &mut RunIndex,
    record: &Record,
    subject: &str,
    learned: &LearnedArgs,
) -> RulingReport {
    let run = Some(record.start.id);
    let message = typed_message(subject, learned.trailers());
    let message = with_tested(message, repo, index, run);
    let lines = check_lines(&repo.project, index);
    let ruling = with_check(lines, true, |asked| {
        lab_decide::by_rule(repo, index, record, &message, asked)
    });
    ruling.map_or_else(|error| RulingReport::failed(&error), RulingReport)
}

/// What a command tells of a ruling.
pub struct RulingReport(Ruling);

impl RulingReport {
    /// The rule could not be asked.
    pub fn failed(error: &anyhow::Error) -> RulingReport {
        RulingReport(Ruling::Failed(lab_git::told(error)))
    }

    /// The exit code of `lab run --decide`.
    pub fn exit(&self) -> Exit {
        match &self.0 {
            Ruling::Decided(decided) if decided.status == Status::Keep => Exit::Kept,
            Ruling::Decided(_) => Exit::Discarded,
            Ruling::Left(_) | Ruling::Failed(_) => Exit::Left,
        }
    }

    /// What the user should know besides.
    pub fn notes(&self) -> &[String] {
        match &self.0 {
            Ruling::Decided(decided) => &decided.notes,
            Ruling::Left(_) | Ruling::Failed(_) => &[],
        }
    }

    /// Prints it for people.
    pub fn tell(&self, repo: Option<&Repo>, project: &Project) {
        match &self.0 {
            Ruling::Decided(decided) => tell(repo, project, decided),
            Ruling::Left(why) => say(&format!("  left to you: {why}")),
            Ruling::Failed(why) => {
                complain(why);
                say("  left to you: the decision was refused");
            }
        }
    }

    /// The decision for programs. Reads the record again, which holds the decision now.
    pub fn as_report(&self, project: &Project, record: &Record) -> DecisionReport {
        let now = RunStore::of(project).read(record.start.id);
        let record = now.as_ref().unwrap_or(record);
        match &self.0 {
            Ruling::Decided(decided) => DecisionReport::of(decided, Some(record)),
            Ruling::Left(why) | Ruling::Failed(why) => DecisionReport::left(why, record),
        }
    }
}
