//! What the tools do, in plain functions without the protocol: each gets the project as it is now
//! and returns an answer. They call what the commands call, so that the same rules hold.

use super::answer::Answer;
use super::jobs::Job;
use super::tools::{
    CheckArguments, DecideArguments, JudgeArguments, MeasureArguments, UndoOrRestoreArguments,
};
use crate::cli::check::CheckAnswer;
use crate::cli::decide::{decided_line, default_run, refused_decision};
use crate::cli::json::Resumed;
use crate::cli::json::answer::{KnownAs, RunAnswer};
use crate::cli::json::decision::{LastDecision, NewDecision};
use crate::cli::restore::{RestoreAnswer, restored_line};
use crate::cli::undo::{UndoAnswer, undone_line};
use crate::cli::verdict::Judged;
use crate::cli::{check, clean, run};
use crate::confinement;
use anyhow::{Result, ensure};
use lab_decide::{Decided, Refusal};
use lab_git::{Repo, short, typed_message};
use lab_history::JudgedBefore;
use lab_project::Project;
use lab_protocol::report::Diagnostic;
use lab_run::message::Message;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunId};
use lab_runner::execute::{self, NotRun};
use lab_runner::held_out::RunContext;
use lab_runner::spec::{RunSpec, own_program};
use lab_runner::{Batch, RunEvent, job as runner, process};
use lab_store::{RunIndex, RunSummary};
use lab_sweep::slurm;
use lab_system::random;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Most workloads in the answer of a run.
const WORKLOADS: usize = 4;

/// What such an answer leaves out of a workload: how the times scatter, and what follows from its
/// time.
const OF_A_WORKLOAD: [&str; 12] = [
    "bytes",
    "flops",
    "gbps",
    "gflops",
    "high_us",
    "latency_us",
    "low_us",
    "mad_us",
    "n",
    "ratio_high",
    "ratio_low",
    "samples",
];

/// What to do about an error or a refusal: if its text names a command, what that means to a client.
pub fn next_of(why: &str) -> &'static str {
    match why.contains("`lab ") {
        true => {
            "The text says what to do. In it, `lab run` is the tool judge with \"unless_known\": false; other commands are tools of \
             the same name, or a person's to run."
        }
        false => "The text says why. Call the tool again once that is mended.",
    }
}

/// The answer about what failed or was refused.
pub fn not_done(why: &str) -> Answer {
    Answer::error(why, next_of(why))
}

/// Judges the present bytes. A kernel that was judged before gets that verdict, unless it is asked
/// for anew.
pub fn judge(project: &Project, asked: JudgeArguments, job: &Job) -> Result<Answer> {
    let notes = resumed(project);
    if asked.unless_known.unwrap_or(true)
        && let Some(answer) = known(project, &asked)
    {
        return Ok(noted(answer, notes));
    }
    let spec = confinement::spec(Reason::Command, asked.device);
    execute(project, spec, notes, job)
}

/// Judges the present bytes with the long measurement of lab.toml.
pub fn measure(project: &Project, asked: MeasureArguments, job: &Job) -> Result<Answer> {
    let spec = RunSpec {
        peers: !asked.no_peers,
        ..confinement::spec(Reason::Measure, asked.device)
    };
    execute(project, spec, resumed(project), job)
}

/// Goes on with the decision of a lab that was killed, and tells what was done.
fn resumed(project: &Project) -> Vec<String> {
    let resumed = lab_decide::resume_decision(project).map(|resumed| Some(resumed?.0));
    resumed
        .unwrap_or_else(|error| Some(format!("{error:#}")))
        .into_iter()
        .collect()
}

/// Runs the tools that watch each memory access of the present bytes.
pub fn check(project: &Project, asked: CheckArguments, job: &Job) -> Result<Answer> {
    let spec = check::spec(project, asked.device, asked.tools)?;
    let record = run_job(project, spec, &mut RunIndex::new(project), job)?;
    let index = RunIndex::open(project);
    let Some(judged) = Judged::of(project, None, &index, &record) else {
        return Ok(Answer::error(
            "the check has no result",
            "Call check again.",
        ));
    };
    let checked = CheckAnswer::of(&judged);
    let outcome = judged.verdict.outcome;
    let next = match outcome {
        Outcome::Pass => "A check is no verdict: call judge.",
        _ => "Mend the kernel, then call check or judge.",
    };
    Ok(Answer::new(
        &checked.line(&judged),
        next,
        Checked {
            run: record.start.id,
            outcome,
            tools: &checked.tools,
            size: checked.size.as_deref(),
            findings: &checked.findings,
        },
    ))
}

/// What the client does not know of a check.
#[derive(JsonSchema, Serialize)]
pub struct Checked<'a> {
    run: RunId,
    outcome: Outcome,
    tools: &'a [String],
    size: Option<&'a str>,
    findings: &'a [Diagnostic],
}

fn execute(project: &Project, spec: RunSpec, notes: Vec<String>, job: &Job) -> Result<Answer> {
    let mut index = RunIndex::new(project);
    let record = run_job(project, spec, &mut index, job)?;
    index.refresh();
    let repo = Repo::open(project).ok();
    let Some(judged) = Judged::of(project, repo.as_ref(), &index, &record) else {
        return Ok(Answer::error("the run has no verdict", "Call judge again."));
    };
    Ok(noted(news(&judged), notes))
}

/// The answer with what was done before it.
fn noted(answer: Answer, notes: Vec<String>) -> Answer {
    match notes.is_empty() {
        true => answer,
        false => answer.with("notes", notes),
    }
}

/// Executes a run, whose number and last line the job tells.
fn run_job(
    project: &Project,
    spec: RunSpec,
    index: &mut RunIndex,
    job: &Job,
) -> Result<Record, NotRun> {
    if spec.reason == Reason::Measure {
        // It is what `lab bench --verdict` does.
        let name = format!("lab-bench-{:016x}", random::number());
        if let Some(srun) = slurm::job(project, &name, spec.device)? {
            return on_a_node(project, &spec, (srun, &name), index, job);
        }
    }
    execute::execute(
        None,
        project,
        &spec,
        index,
        &job.control,
        |event| match event {
            RunEvent::Started(start) | RunEvent::Joined(start) => {
                job.change(|state| state.run = Some(start.id));
            }
            RunEvent::Progress(_, batch) => follow(job, &batch),
            _ => {}
        },
    )
}

/// Has Slurm measure on a node, and returns the record that was made there.
fn on_a_node(
    project: &Project,
    spec: &RunSpec,
    (mut srun, name): (Command, &str),
    index: &mut RunIndex,
    job: &Job,
) -> Result<Record, NotRun> {
    index.refresh();
    let before = index.newest().next().map(|run| run.id);
    srun.args(["bench", "--verdict", "--executor=local"]);
    srun.args((!spec.peers).then_some("--no-peers"));
    srun.args(spec.device.map(|device| format!("--device={device}")));
    srun.arg(&project.kernel).current_dir(&project.root);
    let running = process::start(srun, Stdio::null())
        .map_err(|error| NotRun::Refused(slurm::not_started("srun", &error)))?;
    // The log of the run has all that it prints.
    let log = File::options().write(true).open("/dev/null");
    let mut output = runner::Job::follow(project, log.map_err(anyhow::Error::from)?);
    let tell = |batch| follow(job, &batch);
    process::follow(running, Duration::MAX, &job.control, &mut output, tell);
    if job.control.is_ended() {
        // What Slurm cannot end now ends with the time of the job.
        let _ = slurm::cancel(name);
    }
    index.refresh();
    let made = |run: &RunSummary| {
        let is_of = run.kernel == project.kernel_name && run.reason == spec.reason;
        is_of && Some(run.id) > before
    };
    let why = || format!("no node made a run: {}", output.last_words());
    index.find(made).ok_or_else(|| NotRun::Refused(why()))
}

/// The arguments of a call are wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Wrong(pub String);

/// The answer about a tool that failed.
pub fn failed(project: &Project, error: &anyhow::Error) -> Answer {
    if let Some(Wrong(why)) = error.downcast_ref() {
        return Answer::wrong(why);
    }
    if let Some(refusal) = error.downcast_ref() {
        return refused(project, refusal);
    }
    match error.downcast_ref() {
        Some(why @ NotRun::NeedsTrust(_)) => Answer::error(
            &why.to_string(),
            "A person must run `lab trust` in a terminal there. No tool can do that.",
        ),
        Some(why) => not_done(&why.to_string()),
        None => not_done(&lab_git::told(error)),
    }
}

/// What a verdict says that the client does not know: without the gates that pass, what names the
/// bytes, what is null or empty, and all but some workloads and their figures. The tool `experiment`
/// tells all.
fn news(judged: &Judged) -> Answer {
    let mut run = serde_json::to_value(RunAnswer::of(judged)).unwrap_or_default();
    let mut left_out = 0;
    if let Some(keys) = run.as_object_mut() {
        keys.retain(|key, _| !["blob", "fingerprint", "log", "started"].contains(&key.as_str()));
        if let Some(gates) = keys.get_mut("gates").and_then(Value::as_array_mut) {
            gates.retain(|gate| gate["pass"] != true);
        }
        if let Some(rows) = keys.get_mut("workloads").and_then(Value::as_array_mut) {
            left_out = rows.len().saturating_sub(WORKLOADS);
            rows.sort_by(|a, b| {
                let [a, b] = [a, b].map(badness);
                a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1))
            });
            rows.truncate(WORKLOADS);
            for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                // The name has them.
                let dimensions = row.remove("dimensions").unwrap_or_default();
                row.retain(|key, value| dimensions.get(key) != Some(&*value));
                row.retain(|key, _| !OF_A_WORKLOAD.contains(&key.as_str()));
            }
        }
    }
    leave_out_empty(&mut run);
    let mut answer = of_run(judged, run);
    if left_out > 0 {
        answer.left_out.insert("workloads".to_owned(), left_out);
    }
    answer
}

/// The rank of a workload in an answer, and its time: the wrong ones first, then the slowest beside the
/// incumbent. Those of the same rank stand by their times, the longest first.
fn badness(workload: &Value) -> (f64, f64) {
    let rank = match workload["correctness"].as_str() {
        Some("fail" | "crash") => 0.0,
        _ => workload["ratio"].as_f64().unwrap_or(1.0),
    };
    (rank, workload["kernel_us"].as_f64().unwrap_or_default())
}

fn leave_out_empty(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out_empty),
        Value::Object(keys) => {
            keys.values_mut().for_each(leave_out_empty);
            keys.retain(|_, value| match value {
                Value::Null => false,
                Value::Array(items) => !items.is_empty(),
                Value::String(text) => !text.is_empty(),
                _ => true,
            });
        }
        _ => {}
    }
}

/// The whole answer about a run that has ended.
pub fn answer(judged: &Judged) -> Answer {
    of_run(judged, RunAnswer::of(judged))
}

fn of_run(judged: &Judged, run: impl Serialize) -> Answer {
    let mut answer = Answer::new(&judged.summary(), &judged.next_call(), run);
    if judged.verdict.outcome != Outcome::NotJudged {
        let id = judged.record.start.id;
        answer.resources = ["run.log", "diff"]
            .map(|name| format!("lab://run/{id}/{name}"))
            .into();
    }
    answer
}

/// The verdict of an earlier run on the same kernel; `None` if there is none.
fn known(project: &Project, asked: &JudgeArguments) -> Option<Answer> {
    let index = RunIndex::open(project);
    let JudgedBefore { record, same_bytes } = run::known(project, &index, asked.device)?;
    let repo = Repo::open(project).ok();
    let judged = Judged::of(project, repo.as_ref(), &index, &record)?;
    let run = record.start.id;
    let known_as = KnownAs { run, same_bytes };
    let mut known = format!(
        "not judged again, because run {run} judged {} against the incumbent of its time",
        known_as.same()
    );
    if let Some(decision) = &record.decision {
        let (word, what) = (decision.status.word(), &decision.description);
        known += &format!("; run {run} is decided: {word} '{what}'");
    }
    let next = match (same_bytes, record.decision.is_some()) {
        (true, false) => format!(
            "{} To judge it again, call judge with \"unless_known\": false.",
            judged.next_call()
        ),
        _ => "Edit the kernel and call judge. To keep or discard this one, call judge with \"unless_known\": false: its run can be \
              decided."
            .to_owned(),
    };
    Some(news(&judged).with("known_as", known_as).said(&known, &next))
}

/// Remembers the last line that is not for drawing.
pub fn follow(job: &Job, batch: &Batch) {
    if let Some(line) = batch.for_people().rfind(|text| !text.is_empty()) {
        job.change(|state| line.clone_into(&mut state.line));
    }
}

/// Keeps a run, after the held-out check.
pub fn keep(project: &Project, asked: DecideArguments, job: &Job) -> Result<Answer> {
    let why = "`unjudged` is an argument of discard: a keep needs a verdict";
    ensure!(!asked.unjudged, Wrong(why.to_owned()));
    let mut tell = |id, batch: Batch| {
        job.change(|state| state.run = Some(id));
        follow(job, &batch);
    };
    let mut context = RunContext {
        control: &job.control,
        program: own_program(),
        tell: &mut tell,
        by_rule: false,
    };
    decided(project, &asked, |index, run, message| {
        lab_decide::keep(project, index, run, message, &mut context)
    })
}

/// Discards a run.
pub fn discard(project: &Project, asked: DecideArguments, _: &Job) -> Result<Answer> {
    decided(project, &asked, |index, run, message| {
        lab_decide::discard(project, index, run, message, asked.unjudged)
    })
}

/// Decides the run that was asked for, which is chosen once, and answers what came of it.
fn decided(
    project: &Project,
    asked: &DecideArguments,
    act: impl FnOnce(&mut RunIndex, Option<RunId>, &Message) -> Result<Decided, Refusal>,
) -> Result<Answer> {
    let trailers = asked.trailers().map_err(Wrong)?;
    let repo = Repo::open(project)?;
    let mut index = RunIndex::open(project);
    let run = asked
        .run
        .map(RunId)
        .or_else(|| default_run(project, &index));
    let message = typed_message(&asked.message, trailers);
    let message = lab_decide::with_tested(message, &repo, &mut index, run);
    Ok(match act(&mut index, run, &message) {
        Ok(decided) => {
            let mut report = NewDecision::of(project, &decided);
            report.notes.extend(clean::after_a_decision(&repo));
            let next = "Edit the kernel, then call judge.";
            Answer::new(&decided_line(project, &decided), next, report)
        }
        Err(refusal) => {
            refused(project, &refusal).with_all(refused_decision(project, run, &refusal))
        }
    })
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
        refusal => not_done(&refusal.to_string()),
    }
}

/// Takes the last decision back, or puts an older kernel on disk.
pub fn undo_or_restore(
    project: &Project,
    UndoOrRestoreArguments { restore, run }: UndoOrRestoreArguments,
    job: &Job,
) -> Result<Answer> {
    let Some(name) = restore else {
        // Which one it is, the client says: it may be another one than the client knows of.
        let Some(run) = run else {
            let last = lab_decide::undoable(&Repo::open(project)?, &RunIndex::open(project))?;
            let next = format!(
                "Call undo_or_restore with \"run\": {} for that.",
                last.last.run
            );
            let why = format!(
                "nothing was undone without `run`. It would {}",
                last.question
            );
            return Ok(Answer::error(&why, &next));
        };
        // Told before it counts as done, so that no second undo follows one that nobody was told
        // of.
        let tell = |undone: &lab_decide::Undone| {
            let next =
                "The run is open again: keep it, discard it, or edit the kernel and call judge.";
            let undo = UndoAnswer::of(project, undone);
            job.tell(Answer::new(&undone_line(project, undone), next, undo));
        };
        lab_decide::undo(project, Some(RunId(run)), tell)?;
        // The job has its answer.
        return Ok(Answer::new("undone", "", ()));
    };
    if run.is_some() {
        return Ok(Answer::error(
            "`run` says which decision to undo, and `restore` undoes none",
            "Give one of the two.",
        ));
    }
    let named = lab_decide::named(&Repo::open(project)?, &name)?;
    if let Some(kernel) = named.kernel.filter(|kernel| *kernel != project.kernel_name) {
        let why = format!(
            "{name} is about {kernel}, and this server is about {}: nothing was restored",
            project.kernel_name
        );
        let next = "Call history for the experiments of this kernel.";
        return Ok(Answer::error(&why, next));
    }
    let restored = lab_decide::restore(project, &named.commit)?;
    let mut summary = restored_line(project, &restored);
    if let Some(saved) = &restored.saved {
        let saved = short(saved);
        summary += &format!("; the bytes that were on disk are saved as {saved}");
    }
    let restored = RestoreAnswer::of(project, restored, None);
    Ok(Answer::new(
        &summary,
        "Edit the kernel or call judge.",
        restored,
    ))
}
