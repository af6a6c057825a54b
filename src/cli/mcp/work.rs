//! What the tools do, in plain functions without the protocol: each opens the project anew and
//! returns an answer. They call what the commands call, so that the same rules hold.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::{DecideArguments, UndoOrRestoreArguments};
use crate::cli::decide::{decided_line, default_run, refused_decision};
use crate::cli::json::Resumed;
use crate::cli::json::decision::{DecisionAnswer, LastDecision};
use crate::cli::json::run::RunReport;
use crate::cli::restore::{RestoreAnswer, restored_line};
use crate::cli::undo::{UndoAnswer, undone_line};
use crate::cli::{clean, measure, run};
use crate::confinement;
use anyhow::Result;
use lab_core::decide::auto::{self, AutoDecision};
use lab_core::decide::{self, Refusal};
use lab_core::history::names::resolve_name;
use lab_core::history::{JudgedBefore, judged_before};
use lab_core::inputs;
use lab_core::message::Message;
use lab_core::project::Project;
use lab_core::repo::{self, Repo, short};
use lab_core::run::RunId;
use lab_core::run::record::Record;
use lab_core::run::verdict::{Outcome, Verdict};
use lab_core::runner::execute::{self, NotRun};
use lab_core::runner::held_out::RunContext;
use lab_core::runner::spec::{RunSpec, own_program};
use lab_core::runner::{Batch, RunEvent};
use lab_core::store::RunIndex;
use serde_json::json;
use std::path::PathBuf;

/// What the commands in an error mean to a client.
pub const AS_TOOLS: &str = "The text says what to do. A command in it, such as `lab run`, is the tool judge here; others are tools of the same name, or \
     a person's to run.";

/// Where the server was started, and the kernel that it was started for.
#[derive(Clone, Debug)]
pub struct Workplace {
    from: PathBuf,
    kernel: Option<PathBuf>,
}

impl Workplace {
    pub fn new(from: PathBuf, kernel: Option<PathBuf>) -> Workplace {
        Workplace { from, kernel }
    }

    /// Opens the project as it is now: lab.toml may have changed.
    pub fn open(&self) -> Result<Project> {
        Project::open(&self.from, self.kernel.as_deref())
    }

    /// Does `work` with the project; an error is an answer too.
    pub fn with(&self, work: impl FnOnce(&Project) -> Result<Answer>) -> Answer {
        match self.open().and_then(|project| work(&project)) {
            Ok(answer) => answer,
            Err(error) => Answer::error(&format!("{error:#}"), AS_TOOLS),
        }
    }
}

/// Judges the present bytes as `spec` says. With `unless_known`, a kernel that was judged before
/// gets that verdict.
pub fn judge(project: &Project, spec: RunSpec, unless_known: bool, job: &Job) -> Result<Answer> {
    let resumed = match decide::resume_decision(project) {
        Ok(resumed) => resumed.map(|(text, _)| text),
        Err(error) => Some(format!("{error:#}")),
    };
    if let Some(answer) = unless_known.then(|| known(project, &spec)).flatten() {
        let resumed = resumed.into_iter().collect::<Vec<_>>();
        return Ok(if resumed.is_empty() {
            answer
        } else {
            answer.with("notes", resumed)
        });
    }
    let spec = RunSpec {
        confinement: confinement::missing,
        ..spec
    };
    let is_measurement = spec.reason == lab_core::run::Reason::Measure;
    let mut index = RunIndex::new(project);
    let record = execute::execute(
        project,
        &spec,
        &mut index,
        &job.control,
        |event| match event {
            RunEvent::Started(start) | RunEvent::Joined(start) => job.set_run(start.id),
            RunEvent::Progress(_, batch) => follow(job, &batch),
            _ => {}
        },
    );
    let record = match record {
        Ok(record) => record,
        Err(NotRun::NeedsTrust(request)) => {
            let next = "A person must run `lab trust` in a terminal there. No tool can do that.";
            return Ok(Answer::error(&request.to_string(), next));
        }
        Err(error) => return Ok(Answer::error(&error.to_string(), AS_TOOLS)),
    };
    let Some(verdict) = &record.verdict else {
        return Ok(Answer::error("the run has no verdict", "Call judge again."));
    };
    index.refresh();
    let mut answer = judged(project, &index, &record, verdict);
    if is_measurement {
        answer = answer.with("measured", measure::measured(&record));
    }
    Ok(answer.with("notes", resumed.into_iter().collect::<Vec<_>>()))
}

/// The answer about a run that has ended.
pub fn judged(project: &Project, index: &RunIndex, record: &Record, verdict: &Verdict) -> Answer {
    let mut summary = run::verdict_line(project, record, verdict);
    let report = record.report();
    if let Some(failure) = report
        .value("first_failure")
        .filter(|_| verdict.outcome == Outcome::Fail)
    {
        summary += &format!("; {failure}");
    }
    verdict
        .caveats
        .iter()
        .take(3)
        .for_each(|caveat| summary += &format!("; caveat: {caveat}"));
    let answer = Answer::new(
        &summary,
        &next(project, index, record, verdict),
        RunReport::of(project, index, record, verdict),
    );
    let id = record.start.id;
    match verdict.outcome {
        Outcome::NotJudged => answer,
        _ => answer.with(
            "resources",
            [
                format!("lab://run/{id}/run.log"),
                format!("lab://run/{id}/diff"),
            ],
        ),
    }
}

/// The verdict of an earlier run on the same kernel; `None` if there is none.
fn known(project: &Project, spec: &RunSpec) -> Option<Answer> {
    let present = inputs::read(project).ok()?;
    let target = spec.device.unwrap_or(project.config.device).to_string();
    let index = RunIndex::open(project);
    let JudgedBefore { record, same_bytes } = judged_before(project, &index, &present, &target)?;
    let verdict = record.verdict.as_ref()?;
    let id = record.start.id;
    let same = if same_bytes {
        "these bytes"
    } else {
        "the same kernel, comments and blanks aside"
    };
    let known = format!(
        "not judged again, because run {id} judged {same} against the incumbent of its time"
    );
    let answer = judged(project, &index, &record, verdict)
        .with("known_as", json!({ "run": id, "same_bytes": same_bytes }));
    let next = match (same_bytes, record.decision.is_some()) {
        (true, false) => format!(
            "{} To judge it again, call judge with \"unless_known\": false.",
            next(project, &index, &record, verdict)
        ),
        _ => "Edit the kernel and call judge; \"unless_known\": false judges this one again."
            .to_owned(),
    };
    Some(answer.said(&known, &next))
}

/// What a client can do after a verdict.
fn next(project: &Project, index: &RunIndex, record: &Record, verdict: &Verdict) -> String {
    let id = record.start.id;
    if record.decision.is_some() {
        return "The run is decided. Edit the kernel and call judge.".to_owned();
    }
    match verdict.outcome {
        Outcome::NotJudged => {
            "The kernel was not judged: mend what `why` says, then call judge again.".to_owned()
        }
        Outcome::Void => "No verdict belongs to these bytes: call judge again.".to_owned(),
        Outcome::Fail | Outcome::Crash => {
            format!("Mend the kernel and call judge again, or call discard with run {id}.")
        }
        Outcome::Pass => {
            let Ok(repo) = Repo::open(project) else {
                return "git's repository cannot be read: a person runs `lab doctor`.".to_owned();
            };
            let prospect = run::prospect(&repo, project, index, record);
            if let Some(kept) = prospect.kept_already {
                return format!("{kept}. Edit the kernel and call judge.");
            }
            if prospect.rules_changed {
                return "The rules are not as in HEAD, so nothing can be kept: a person commits them with `lab rules -m TEXT`, or \
                        take the change back."
                    .to_owned();
            }
            let (incumbent, at_same) = rule_facts(&repo, project).unwrap_or_default();
            match auto::decide(record, incumbent.as_deref(), at_same) {
                AutoDecision::Keep if at_same => {
                    format!(
                        "The rule keeps it, because it is faster, or as fast and shorter: call keep with run {id}."
                    )
                }
                AutoDecision::Keep => format!("It is correct and faster: call keep with run {id}."),
                AutoDecision::Discard => {
                    format!(
                        "It is not faster: call discard with run {id}, or keep it for another reason."
                    )
                }
                AutoDecision::Leave(why) => {
                    format!(
                        "The rule leaves it to you, because {why}: call keep or discard with run {id}."
                    )
                }
            }
        }
    }
}

/// The blob of the incumbent, and whether the rule keeps the present kernel if it is as fast.
fn rule_facts(repo: &Repo, project: &Project) -> Result<(Option<String>, bool)> {
    let at_same = inputs::read(project)
        .is_ok_and(|present| decide::keeps_at_same(repo, project, present.kernel()));
    Ok((repo::incumbent(repo, project)?, at_same))
}

/// Remembers the last line that is not for drawing.
pub fn follow(job: &Job, batch: &Batch) {
    let is_drawn = |text: &str| {
        text.split(':')
            .next()
            .is_some_and(|key| key.ends_with("_series") || key.ends_with("_histogram"))
    };
    if let Some(line) = batch
        .lines
        .iter()
        .rev()
        .find(|line| !line.text.is_empty() && !is_drawn(&line.text))
    {
        job.set_line(&line.text);
    }
}

/// Keeps a run, after the held-out check.
pub fn keep(project: &Project, arguments: &DecideArguments, job: &Job) -> Result<Answer> {
    let (mut index, run, message) = match about(project, arguments) {
        Ok(about) => about,
        Err(why) => {
            return Ok(Answer::error(
                &why,
                "Correct the arguments and call keep again.",
            ));
        }
    };
    let mut tell = |id, batch: Batch| {
        job.set_run(id);
        follow(job, &batch);
    };
    let mut context = RunContext {
        control: &job.control,
        program: own_program(),
        tell: &mut tell,
        by_rule: false,
    };
    let kept = decide::keep(project, &mut index, run, &message, &mut context);
    Ok(decided(project, &index, run, kept))
}

/// Discards a run.
pub fn discard(project: &Project, arguments: &DecideArguments) -> Result<Answer> {
    let (mut index, run, message) = match about(project, arguments) {
        Ok(about) => about,
        Err(why) => {
            return Ok(Answer::error(
                &why,
                "Correct the arguments and call discard again.",
            ));
        }
    };
    let discarded = decide::discard(project, &mut index, run, &message, arguments.unjudged);
    Ok(decided(project, &index, run, discarded))
}

/// The run that a decision is about, chosen once, and its message.
fn about(
    project: &Project,
    arguments: &DecideArguments,
) -> std::result::Result<(RunIndex, Option<RunId>, Message), String> {
    let trailers = arguments.trailers()?;
    let repo = Repo::open(project).map_err(|error| format!("{error:#}"))?;
    let mut index = RunIndex::open(project);
    let run = arguments
        .run
        .map(RunId)
        .or_else(|| default_run(project, &index));
    let message = Message::new(&arguments.message, trailers);
    let message = decide::with_tested(message, &repo, project, &mut index, run);
    Ok((index, run, message))
}

fn decided(
    project: &Project,
    index: &RunIndex,
    run: Option<RunId>,
    result: std::result::Result<decide::Decided, Refusal>,
) -> Answer {
    let refusal = match result {
        Ok(decided) => {
            let mut report = DecisionAnswer::of(project, index, &decided);
            report.notes.extend(
                Repo::open(project)
                    .ok()
                    .and_then(|repo| clean::after_a_decision(&repo)),
            );
            let next = "Edit the kernel, then call judge.";
            return Answer::new(&decided_line(project, &decided), next, report);
        }
        Err(refusal) => refusal,
    };
    refused(project, &refusal).with_all(refused_decision(project, run, &refusal))
}

/// The answer about a refusal. What an earlier lab began and this call asked for again is done:
/// that is no error.
fn refused(project: &Project, refusal: &Refusal) -> Answer {
    match refusal {
        Refusal::Resumed {
            text,
            is_as_asked: true,
        } => Answer::new(
            text,
            "It is done. Call history to see what stands.",
            Resumed::new(text, LastDecision::of(project)),
        ),
        Refusal::Ask(question) => Answer::error(
            question,
            "Call discard again with \"unjudged\": true if that is wanted.",
        ),
        refusal => Answer::error(&refusal.to_string(), AS_TOOLS),
    }
}

/// Takes the last decision back, or puts an older kernel on disk.
pub fn undo_or_restore(
    project: &Project,
    arguments: UndoOrRestoreArguments,
    job: &Job,
) -> Result<Answer> {
    let UndoOrRestoreArguments { restore, run } = arguments;
    let Some(name) = restore else {
        // Told before it counts as done, so that no second undo follows one that nobody was told
        // of.
        let tell = |undone: &decide::Undone| {
            let next = "The run is undecided again: keep it, discard it, or edit the kernel and call judge.";
            job.tell(Answer::new(
                &undone_line(project, undone),
                next,
                UndoAnswer::of(project, undone),
            ));
        };
        return Ok(match decide::undo_and_tell(project, run.map(RunId), tell) {
            // The job has its answer.
            Ok(_) => Answer::new("undone", "", ()),
            Err(refusal) => refused(project, &refusal),
        });
    };
    if run.is_some() {
        return Ok(Answer::error(
            "`run` says which decision to undo, and `restore` undoes none",
            "Give one of the two.",
        ));
    }
    let named = resolve_name(&Repo::open(project)?, project, &name)?;
    if let Some(kernel) = named.kernel.filter(|kernel| *kernel != project.kernel_name) {
        let why = format!(
            "{name} is about {kernel}, and this server is about {}: nothing was restored",
            project.kernel_name
        );
        return Ok(Answer::error(
            &why,
            "Call history for the experiments of this kernel.",
        ));
    }
    Ok(match decide::restore(project, &named.commit) {
        Ok(restored) => {
            let mut summary = restored_line(project, &restored);
            if let Some(saved) = &restored.saved {
                summary += &format!(
                    "; the bytes that were on disk are saved as {}",
                    short(saved)
                );
            }
            Answer::new(
                &summary,
                "Edit the kernel or call judge.",
                RestoreAnswer::of(project, restored, None),
            )
        }
        Err(refusal) => refused(project, &refusal),
    })
}
