//! The check before a keep: the built-in harness goes through its gates once more, on what no run has shown: a seed and
//! start states that stand in no file, values and shapes drawn anew. So a kernel that is right for what it was judged on, and for
//! nothing else, is not kept. Nothing is measured.

use crate::inputs::Inputs;
use crate::project::Project;
use crate::run::record::{HeldOut, Record};
use crate::run::verdict::{self, Facts, Outcome};
use crate::run::{Ending, Reason, RunId};
use crate::runner::announced::kept_results;
use crate::runner::follow::{Batch, Follow};
use crate::runner::process::{self, Control};
use crate::runner::spec::{self, RunSpec};
use crate::store::Records;
use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use lab_protocol::Target;
use lab_protocol::report::Report;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;

/// What the check needs of whoever asked for the keep.
pub struct Asked<'a> {
    /// Ends the check; then nothing is kept.
    pub control: &'a Control,
    /// The executable with the lab's hidden subcommands.
    pub program: PathBuf,
    pub tell: &'a mut dyn FnMut(RunId, Batch),
}

/// Checks the bytes of `record`, which `inputs` are. `None` where it was ended before its verdict.
pub fn check(
    project: &Project,
    record: &Record,
    inputs: &Inputs,
    asked: &mut Asked,
) -> Result<Option<HeldOut>> {
    let (records, id) = (Records::new(&project.lab_dir), record.start.id);
    let tree = records.folder(id).join("held-out");
    let log = records.log(id);
    let file =
        File::options().append(true).open(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut follow = Follow::new(file, project.config.output_limit_mib << 20);
    follow.say("before it is kept: the gates once more, on what no run has shown");

    // On the device that the run was on, also where that was not lab.toml's.
    let device = record.emulated().then_some(Target::Cpu);
    let run_spec = RunSpec { device, program: asked.program.clone(), ..RunSpec::new(Reason::Command) };
    let began = Timestamp::now();
    // Of a keep that was killed.
    let _ = fs::remove_dir_all(&tree);
    let started = inputs.write(project, &tree).and_then(|()| {
        let mut command = run_spec.judge(project, &tree);
        command.arg("--held-out");
        process::start(command, Stdio::null())
    });
    let ending = match started {
        Ok(running) => {
            let limits = spec::limits(project);
            process::follow(running, limits, asked.control, &mut follow, |batch| (asked.tell)(id, batch))
        }
        Err(error) => {
            follow.say(&format!("the harness could not be started: {error}"));
            Ending::NotStarted
        }
    };
    follow.finish().with_context(|| format!("{} is incomplete", log.display()))?;
    if follow.has_news() {
        (asked.tell)(id, follow.batch());
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
        (None, None) => "on what was held out".to_owned(),
    }
}
