//! The check before a keep: the built-in harness verifies the kernel once more, on held-out inputs:
//! a seed and start states that are in no file, and newly drawn values and shapes. Such a check is
//! a *sealed run*. So a kernel that is right only for the inputs of its runs is not kept. Where the
//! harness times the kernel on them too, beside the incumbent, the speed there has to bear out what
//! the run claimed.

use crate::announced::kept_results;
use crate::follow::{Batch, Follow};
use crate::job::{Ended, Job};
use crate::process::Control;
use crate::spec::RunSpec;
use anyhow::{Context, Result, bail, ensure};
use lab_git::Repo;
use lab_project::Project;
use lab_protocol::report::Report;
use lab_protocol::{Exit, JudgeKind, Target, When, is_from_outside};
use lab_run::chosen::Chosen;
use lab_run::inputs::Inputs;
use lab_run::record::{HeldOut, Record, SealedFigures};
use lab_run::sealed::{self, Speeds};
use lab_run::verdict::{Outcome, Verdict, gate_in_words};
use lab_run::{Ending, Reason, RunId};
use lab_store::RunStore;
use lab_system::failure::Failure;
use lab_system::root::Access;
use lab_text::signal;
use std::path::{Path, PathBuf};

/// How the caller of a keep controls and follows the check.
pub struct RunContext<'a> {
    /// Ends the check; nothing is kept then.
    pub control: &'a Control,
    /// The executable with the lab's hidden subcommands.
    pub program: PathBuf,
    /// Receives what the harness prints.
    pub tell: &'a mut dyn FnMut(RunId, Batch),
    /// The automatic rule asks for the keep, and no person does. A check that comes out *mixed*
    /// ends such a keep.
    pub by_rule: bool,
}

/// Checks `inputs`, which must be the inputs of `record`, on this many sealed runs. `None` where
/// the caller ended the check. An error means that the check could not be run or its log could not
/// be written, or that it ended without saying anything about the kernel: the machine failed.
pub fn check(
    project: &Project,
    repo: &Repo,
    record: &Record,
    inputs: &Inputs,
    sealed_runs: u32,
    context: &mut RunContext,
) -> Result<Option<HeldOut>> {
    let store = RunStore::of(project);
    let log = store.log(record.start.id);
    let folder = store.folder(record.start.id).join("held-out");
    let checked = Check {
        project,
        repo,
        record,
        inputs,
        log: &log,
        folder: &folder,
    }
    .run(sealed_runs, context);
    let _ = store.files().remove_dir_all(&folder);
    checked
}

/// What the check is about.
struct Check<'a> {
    project: &'a Project,
    repo: &'a Repo,
    record: &'a Record,
    inputs: &'a Inputs,
    /// The run's log, to which the check appends.
    log: &'a Path,
    /// For the copies of the files. Removed after the check.
    folder: &'a Path,
}

impl Check<'_> {
    /// Starts the harness until it has passed as many sealed runs as were asked for: it may have
    /// fewer of them in stock.
    fn run(&self, wanted: u32, context: &mut RunContext) -> Result<Option<HeldOut>> {
        let began = lab_run::now();
        let (mut passed, mut measured, mut mixed, mut caveats) = (0, None, None, Vec::new());
        loop {
            let (follow, ended) = self.judge(wanted - passed, wanted, context)?;
            let (report, ending) = (follow.report(), ended.ending);
            // Who ends a check after it showed a failure does not get another draw for that.
            let failure = failure(report);
            if ending == Ending::Superseded && failure.is_none() {
                return Ok(None);
            }
            let verdict = match failure {
                Some(why) => Verdict::bare(Outcome::Fail, &why),
                None => ended.verdict(self.project, &follow),
            };
            let came_to = |outcome, why, passed| HeldOut {
                checked: began,
                outcome,
                why,
                results: kept_results(report),
                sealed_runs: passed,
                measured: None,
                mixed: None,
                caveats: report.caveats().to_vec(),
                tokens: Some(self.inputs.tokens()),
            };
            if verdict.outcome != Outcome::Pass {
                if let Some(why) = no_fault_of_the_kernel(ending, report) {
                    let why = why.trim_end_matches('.');
                    bail!(
                        "the held-out check could not run: {why}. That says nothing about the kernel: keep again"
                    );
                }
                let why = format!("{}, {}", verdict.why, where_it_failed(report));
                return Ok(Some(came_to(verdict.outcome, why, passed)));
            }
            if let Some(why) = self.contradiction(&verdict, report) {
                return Ok(Some(came_to(Outcome::Fail, why, passed)));
            }
            measured = measured.or_else(|| figures(&verdict));
            mixed = mixed.or_else(|| verdict.mixed().filter(|_| !verdict.emulated));
            for caveat in report.caveats() {
                if !caveats.contains(caveat) {
                    caveats.push(caveat.clone());
                }
            }
            // A harness that does not count them made one.
            let used = report
                .number("sealed_runs")
                .map_or(1, |runs| runs.max(0.0) as u32);
            ensure!(
                used > 0,
                "the held-out check could not run: no sealed run is in stock. An open screen makes new ones while \
                 nothing else is to do: keep again later"
            );
            passed = wanted.min(passed.saturating_add(used));
            if passed == wanted {
                return Ok(Some(HeldOut {
                    measured,
                    mixed,
                    caveats,
                    ..came_to(Outcome::Pass, String::new(), passed)
                }));
            }
        }
    }

    /// Runs the harness once on a copy of the inputs, beside the incumbent. Its result lines are
    /// its own: a harness that crashes must not inherit the verdict of the one before it.
    fn judge(
        &self,
        sealed_runs: u32,
        wanted: u32,
        context: &mut RunContext,
    ) -> Result<(Follow, Ended)> {
        let (project, id, log) = (self.project, self.record.start.id, self.log);
        let file = project.files().open(log, Access::Append);
        let file = file.cannot("write", log)?;
        let mut follow = Job::follow(project, file);
        follow.say(&match (sealed_runs, wanted) {
            (_, 1) => "checking held-out inputs before the keep".to_owned(),
            (left, all) => format!(
                "checking held-out inputs before the keep: sealed run {} of {all}, because a check was failed before",
                all - left + 1
            ),
        });
        // The run may have been on another device than lab.toml's.
        let device = self.record.emulated().then_some(Target::Cpu);
        let spec = RunSpec {
            device,
            program: context.program.clone(),
            ..RunSpec::new(Reason::Command)
        };
        // A keep that was killed leaves its copies behind.
        let _ = project.files().remove_dir_all(self.folder);
        let tree = self.folder.join("tree");
        let mut job = Job {
            run_dir: self.folder,
            incumbent: Some((self.repo, self.folder.join("incumbent"))),
            ..Job::of(project, &spec, self.inputs, &tree)
        };
        job.request.kind = JudgeKind::SealedCheck {
            runs: sealed_runs as usize,
        };
        // The sealed speed is compared with the run's, so the same workloads are timed.
        if self.record.start.reason == Reason::Measure {
            job.request.when = When::Measure;
        }
        let mut ended = job.run(None, &mut follow, context.control, |batch| {
            (context.tell)(id, batch);
        });
        if let Some(error) = ended.incomplete.take() {
            return Err(error).with_context(|| format!("{} is incomplete", log.display()));
        }
        // That says nothing about the kernel, so it is no outcome: the next keep checks again.
        ensure!(
            ended.ending != Ending::NotStarted,
            "the held-out check could not run: {}",
            follow.last_words()
        );
        Ok((follow, ended))
    }

    /// Why the sealed speed contradicts the run's verdict. Times of an emulated device say nothing.
    fn contradiction(&self, sealed: &Verdict, report: &Report) -> Option<String> {
        let of_run = self
            .record
            .verdict
            .as_ref()
            .filter(|of_run| !of_run.emulated && !sealed.emulated)?;
        let claimed = Speeds {
            comparison: self.record.report().comparison(),
            objective: of_run.objective,
        };
        let found = Speeds {
            comparison: report.comparison(),
            objective: sealed.objective,
        };
        sealed::contradiction(&claimed, &found, self.project.config.goal)
    }
}

fn figures(verdict: &Verdict) -> Option<SealedFigures> {
    let objective = verdict.objective.filter(|_| !verdict.emulated)?;
    let chosen = verdict.chosen.as_ref().and_then(Chosen::from_figure);
    Some(SealedFigures {
        objective,
        chosen,
        kernel_us: verdict.kernel_us,
        change: verdict.change,
    })
}

/// Why a check that did not pass says nothing about the kernel: the judge was lost, or the lab or
/// the machine failed. `None` if the kernel is at fault: it is wrong, it crashed, it hung, or it
/// printed without end.
fn no_fault_of_the_kernel(ending: Ending, report: &Report) -> Option<String> {
    let stopped = report.value("stopped");
    if failure(report).is_some() {
        return None;
    }
    match ending {
        Ending::Flooded => None,
        Ending::Exited(code) if code == Exit::Passed as i32 && report.correctness().is_some() => {
            None
        }
        Ending::Exited(code) if code == Exit::Crashed as i32 => match stopped {
            Some(why) if report.value("fault") == Some("lab") || is_from_outside(why) => {
                Some(why.to_owned())
            }
            Some(_) => None,
            None => Some("the judge ended without a verdict".to_owned()),
        },
        Ending::Exited(code) => Some(stopped.map_or_else(
            || format!("the judge ended with exit code {code}"),
            str::to_owned,
        )),
        Ending::Signalled(number) => {
            Some(format!("the judge was ended by {}", signal::name(number)))
        }
        Ending::TimedOut => Some("the judge did not end".to_owned()),
        Ending::Superseded | Ending::NotStarted | Ending::Unknown => {
            Some("the judge was lost".to_owned())
        }
    }
}

/// The gate that fails, or the word that the kernel is wrong; `None` if the harness has said
/// neither.
fn failure(report: &Report) -> Option<String> {
    let gate = report.failing_gate().as_ref().map(gate_in_words);
    gate.or_else(|| (report.correctness() == Some(false)).then(|| "correctness: fail".to_owned()))
}

fn where_it_failed(report: &Report) -> String {
    match report.value("first_failure") {
        Some(failure) => format!("on held-out inputs ({failure})"),
        None => "on held-out inputs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_of_the_kernel_is_told_from_one_of_the_machine() {
        let exited = Ending::Exited;
        for (ending, log, is_kernels) in [
            (exited(1), "correctness: fail", true),
            (exited(0), "x_diff: 2 limit=1\ncorrectness: pass", true),
            (
                exited(3),
                "stopped: the kernel crashed: its process was ended by SIGSEGV (an illegal access)",
                true,
            ),
            (
                exited(3),
                "stopped: the kernel did not end within 60 s: it hangs, or is far too slow",
                true,
            ),
            (Ending::Flooded, "", true),
            (
                exited(3),
                "stopped: the kernel crashed: its process was ended by SIGKILL (killed)",
                false,
            ),
            (exited(3), "fault: lab\nstopped: the disk is full", false),
            (exited(3), "", false),
            (exited(1), "", false),
            (exited(0), "", false),
            (exited(2), "stopped: kernel.cu does not build", false),
            (exited(64), "stopped: problem.toml:3: no", false),
            (exited(101), "", false),
            (Ending::Signalled(9), "", false),
            (Ending::Signalled(11), "correctness: fail", true),
            (Ending::Superseded, "x_diff: 2 limit=1", true),
            (Ending::Superseded, "x_diff: 1 limit=1", false),
            (Ending::TimedOut, "", false),
            (Ending::Unknown, "", false),
        ] {
            let why = no_fault_of_the_kernel(ending, &Report::read(log));
            assert_eq!(why.is_none(), is_kernels, "{ending:?} {log}: {why:?}");
        }
    }
}
