//! The check before a keep: the built-in harness verifies the kernel once more, on held-out inputs: a seed and start
//! states that are in no file, and newly drawn values and shapes. So a kernel that is right only for the inputs of its runs
//! is not kept. Nothing is measured.

use crate::inputs::Inputs;
use crate::project::Project;
use crate::run::record::{HeldOut, Record};
use crate::run::verdict::{self, Facts, Outcome};
use crate::run::{Ending, Reason, RunId};
use crate::runner::announced::kept_results;
use crate::runner::follow::{Batch, Follow};
use crate::runner::process::{self, Control};
use crate::runner::spec::{self, RunSpec};
use crate::store::RunStore;
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use lab_protocol::Target;
use lab_protocol::report::Report;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

/// How the caller of a keep controls and follows the check.
pub struct RunContext<'a> {
    /// Ends the check; nothing is kept then.
    pub control: &'a Control,
    /// The executable with the lab's hidden subcommands.
    pub program: PathBuf,
    /// Receives what the harness prints.
    pub tell: &'a mut dyn FnMut(RunId, Batch),
}

/// Checks `inputs`, which must be the inputs of `record`. `None` where the caller ended the check. An error means that
/// the check could not be run or its log could not be written.
pub fn check(
    project: &Project,
    record: &Record,
    inputs: &Inputs,
    context: &mut RunContext,
) -> Result<Option<HeldOut>> {
    let (store, id) = (RunStore::new(&project.lab_dir), record.start.id);
    let tree = store.folder(id).join("held-out");
    let log = store.log(id);
    let file =
        File::options().append(true).open(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut follow = Follow::new(file, project.config.output_limit_mib << 20);
    follow.say("checking held-out inputs before the keep");

    // The run may have been on another device than lab.toml's.
    let device = record.emulated().then_some(Target::Cpu);
    let run_spec = RunSpec { device, program: context.program.clone(), ..RunSpec::new(Reason::Command) };
    let began = Timestamp::now();
    // A keep that was killed leaves its copy behind.
    let _ = fs::remove_dir_all(&tree);
    let started = inputs.write(project, &tree).and_then(|()| {
        let mut command = run_spec.judge(project, &tree);
        command.arg("--held-out");
        process::start(command, Stdio::null())
    });
    let ending = match started {
        Ok(running) => {
            let limits = spec::limits(project);
            process::follow(running, limits, context.control, &mut follow, |batch| (context.tell)(id, batch))
        }
        Err(error) => {
            follow.say(&format!("the harness could not be started: {error}"));
            Ending::NotStarted
        }
    };
    follow.finish().with_context(|| format!("{} is incomplete", log.display()))?;
    if follow.has_news() {
        (context.tell)(id, follow.batch());
    }
    let _ = fs::remove_dir_all(&tree);
    if ending == Ending::Superseded {
        return Ok(None);
    }
    // That says nothing about the kernel, so it is no outcome: the next keep checks again.
    ensure!(ending != Ending::NotStarted, "the held-out check could not run: {}", follow.last_words());
    let verdict = verdict::judge(&Facts {
        report: follow.report(),
        ending,
        external: false,
        changed: &[],
        objective: &project.config.objective,
        time_limit_s: project.config.time_limit_s,
        output_limit_mib: project.config.output_limit_mib,
        last_words: &follow.last_words(),
    });
    let why = match verdict.outcome {
        Outcome::Pass => String::new(),
        _ => format!("{}, {}", verdict.why, where_it_failed(follow.report())),
    };
    let results = kept_results(follow.report());
    Ok(Some(HeldOut { checked: began, outcome: verdict.outcome, why, results }))
}

fn where_it_failed(report: &Report) -> String {
    match (report.value("held_out_seed"), report.value("first_failure")) {
        (Some(seed), _) => format!("on a held-out start state (seed {seed})"),
        (None, Some(failure)) => format!("on held-out inputs ({failure})"),
        (None, None) => "on held-out inputs".to_owned(),
    }
}
