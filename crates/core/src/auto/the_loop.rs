//! The loop itself: turn after turn, with waits, budgets and requests between them.

use super::begin::begin;
use super::candidate::{Came, Judging, keep_ended};
use super::command::{self, Edit, Edited, TURN_ENDED};
use super::disk;
use super::files::{Files, Locks};
use super::hints::{self, Told};
use super::judged_by::JudgedBy;
use super::lanes::device_name;
use super::options::{Auto, Editor, Ended};
use super::progress;
use super::ready::Ready;
use super::state::{Candidate, LastTurn, LeftRun, Phase, State, TurnOutcome};
use super::{patches, turn};
use crate::decide;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::runner::process::Control;
use crate::store::RunIndex;
use anyhow::{Context, Result};
use jiff::Timestamp;
use lab_protocol::Target;
use std::time::Instant;

/// How often a decision that failed is tried again.
const DECISION_TRIES: u32 = 3;

/// Turns between two clean-ups.
const CLEAN_EVERY: u64 = 16;

/// Summaries of runs in memory from which on a clean-up frees them. The digest for a command reads
/// the newest 1,000.
const MOST_SUMMARIES: usize = 3_000;

/// Runs the loop until it ends. An error means that it could not start, or could not write its own
/// files.
pub fn run(auto: &mut Auto) -> Result<Ended> {
    let files = Files::of(auto.project)?;
    files.create()?;
    let locks = Some(files.lock(auto.project)?);
    let state = begin(auto)?;
    let judged_by = JudgedBy::now(auto.project)?;
    let mut running = Running {
        files: &files,
        locks,
        judged_by,
        state,
        began: Instant::now(),
        earlier: 0.0,
        head: None,
        ready: Ready::default(),
    };
    running.earlier = running.state.counts.seconds;
    // A request to a loop that has ended is not for this one.
    let _ = files.take_request();
    running.keep_half_done(auto)?;
    running.enter(auto, Phase::Starting)?;
    let ended = running.turns(auto)?;
    running.state.ended = Some(match &ended {
        Ended::Done(why) | Ended::GaveUp(why) => why.clone(),
        Ended::Stopped => "a signal ended it".to_owned(),
    });
    running.enter(auto, Phase::Ended)?;
    Ok(ended)
}

/// A loop in progress.
pub(super) struct Running<'a> {
    pub(super) files: &'a Files,
    locks: Option<Locks>,
    /// The harness, which must be as it was when the loop began.
    judged_by: JudgedBy,
    pub(super) state: State,
    pub(super) began: Instant,
    /// Seconds of this budget in earlier processes.
    pub(super) earlier: f64,
    /// The commit of HEAD when it was last looked where the loop stands.
    head: Option<String>,
    /// The judge of the next kernel.
    ready: Ready,
}

impl Running<'_> {
    /// Keeps the edit during which an earlier loop was killed.
    fn keep_half_done(&mut self, auto: &mut Auto) -> Result<()> {
        if self.state.candidate.is_some() {
            return command::end_turn(self.files);
        }
        if let Some(told) = command::keep_half_done(auto.project, self.files)? {
            self.state.last_turn = Some(told);
            self.files.write_state(&self.state)?;
            (auto.tell)(&self.state);
        }
        Ok(())
    }

    /// Takes the locks again where somebody removed their files. The error says that another loop
    /// has begun since.
    fn hold_locks(&mut self, auto: &Auto) -> Result<()> {
        if self
            .locks
            .as_ref()
            .is_some_and(|locks| self.files.are_held(locks))
        {
            return Ok(());
        }
        self.files.create()?;
        // One of them may be there still: nobody could take it again, this loop included.
        self.locks = None;
        let locks = self.files.lock(auto.project);
        self.locks = Some(locks.context("somebody removed the files of this loop")?);
        Ok(())
    }

    /// Writes the state with a new phase.
    pub(super) fn enter(&mut self, auto: &mut Auto, phase: Phase) -> Result<()> {
        self.hold_locks(auto)?;
        let is_new = self.state.phase != phase;
        (self.state.phase, self.state.since) = (phase, Timestamp::now());
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.files.write_state(&self.state)?;
        if is_new
            && matches!(
                phase,
                Phase::WaitingForPerson | Phase::BackingOff | Phase::Paused
            )
        {
            (auto.tell)(&self.state);
        }
        Ok(())
    }

    fn turns(&mut self, auto: &mut Auto) -> Result<Ended> {
        let mut index = RunIndex::open(auto.project);
        loop {
            if let Some(candidate) = self.state.candidate.clone() {
                if let Some(ended) = self.judge(auto, &mut index, &candidate)? {
                    return Ok(ended);
                }
                continue;
            }
            self.look(auto, &mut index);
            self.clean(auto, &mut index);
            if let Some(ended) = self.between(auto)? {
                return Ok(ended);
            }
            if let Some(ended) = self.edit(auto, &mut index)? {
                return Ok(ended);
            }
        }
    }

    /// Bounds what old runs take on disk and in memory, from time to time.
    fn clean(&mut self, auto: &Auto, index: &mut RunIndex) {
        if !self.state.turn.is_multiple_of(CLEAN_EVERY) {
            return;
        }
        if index.in_memory() > MOST_SUMMARIES {
            index.forget_summaries();
        }
        // Another lane that has the lock cuts the same logs just now.
        if let Ok(mut cut) = auto.cut.try_lock() {
            *cut = disk::cut_logs(auto.project, index, (*cut).max(RunId(self.state.cleaned)));
            self.state.cleaned = cut.0;
        }
    }

    /// Reads where the loop stands, if HEAD moved since.
    fn look(&mut self, auto: &Auto, index: &mut RunIndex) {
        let (project, target) = (auto.project, target(auto).to_string());
        let head = Repo::open(project)
            .ok()
            .and_then(|repo| repo::head(&repo).ok()?.commit);
        index.refresh();
        // A disk that was full may have room again; else the next turn tries.
        let _ = decide::append_owed(project, index);
        if self.head.is_none() || self.head != head {
            (self.state.best, self.state.bounds) = (
                progress::best(project, index, &target),
                progress::bounds(project, index, &target),
            );
            self.head = head;
        }
        self.state.older_kept = if self.state.plateau {
            progress::older_kept(project, index, &target)
        } else {
            Vec::new()
        };
    }

    /// Takes the candidate to its end. Returns how the loop ended, if it did.
    fn judge(
        &mut self,
        auto: &mut Auto,
        index: &mut RunIndex,
        candidate: &Candidate,
    ) -> Result<Option<Ended>> {
        self.enter(auto, Phase::Judging)?;
        if let Err(error) = command::end_turn(self.files) {
            return self.trouble(auto, &format!("{error:#}"));
        }
        let (project, files, spec, ready) = (auto.project, self.files, auto.spec, &mut self.ready);
        let judged_by = &mut self.judged_by;
        let turn::Step { came, is_ended } =
            turn::endable(files, self.state.turn, auto.control, |control| {
                let mut judging = Judging {
                    project,
                    files,
                    spec,
                    ready,
                    judged_by,
                    control,
                };
                let came = judging.finish(index, candidate);
                came.and_then(|came| judging.put_back(candidate).map(|()| came))
            })?;
        let came = came.map(|came| self.repeated(came));
        let came = came.and_then(|came| self.leave(auto, candidate, &came).map(|()| came));
        match came {
            Ok(Came::Stopped | Came::Trouble(_)) if is_ended && !auto.control.is_ended() => {
                let mut told = candidate
                    .told
                    .clone()
                    .ended(TurnOutcome::Failed, TURN_ENDED);
                if let Err(error) = keep_ended(project, files, candidate, &mut told) {
                    return self.trouble(auto, &format!("{error:#}"));
                }
                self.state.counts.cost += candidate.answer.cost.unwrap_or(0.0);
                self.end_turn(auto, told, false)?;
                Ok(None)
            }
            Ok(Came::Ended(told)) => {
                let is_judged = told.run.is_some_and(|run| run > candidate.after);
                self.state.counts.experiments += u64::from(is_judged);
                self.state.counts.cost += candidate.answer.cost.unwrap_or(0.0);
                self.end_turn(auto, told, true)?;
                Ok(None)
            }
            Ok(Came::Undecided(told)) => self.trouble(auto, &told.why),
            Ok(Came::Stopped) => Ok(Some(Ended::Stopped)),
            Ok(Came::Person) => self.wait_for_incumbent(auto),
            Ok(Came::Trouble(why)) => self.trouble(auto, &why),
            Err(error) => self.trouble(auto, &format!("{error:#}")),
        }
    }

    /// Counts a turn that has ended, writes the state, and then tells it. A turn that
    /// `counts_as_failure` may be one of those after which the loop gives up.
    fn end_turn(&mut self, auto: &mut Auto, told: LastTurn, counts_as_failure: bool) -> Result<()> {
        self.state
            .count(told, auto.options.mend, auto.options.plateau);
        if !counts_as_failure {
            self.state.counts.failures_in_a_row = 0;
        }
        self.enter(auto, Phase::Starting)?;
        (auto.tell)(&self.state);
        Ok(())
    }

    /// A decision that failed is tried again, as long as that may help. After that the run is left
    /// to a person.
    fn repeated(&self, came: Came) -> Came {
        match came {
            Came::Undecided(told) if self.state.counts.failures_in_a_row < DECISION_TRIES => {
                Came::Trouble(told.why)
            }
            Came::Undecided(told) => Came::Ended(told),
            came => came,
        }
    }

    /// Keeps what the command said of a run that is left to a person.
    fn leave(&mut self, auto: &Auto, candidate: &Candidate, came: &Came) -> Result<()> {
        let Came::Ended(told) = came else {
            return Ok(());
        };
        let Some(run) = told.run.filter(|_| told.outcome == TurnOutcome::Left) else {
            return Ok(());
        };
        let message = candidate.answer.message(told.turn);
        decide::leave(auto.project, run, &message)?;
        let (description, why) = (message.subject().to_owned(), told.why.clone());
        self.state.note_left(LeftRun {
            run,
            description,
            why,
        });
        Ok(())
    }

    /// Notes a failure that no turn is to blame for, and waits.
    pub(super) fn trouble(&mut self, auto: &mut Auto, why: &str) -> Result<Option<Ended>> {
        self.state.counts.failures_in_a_row += 1;
        self.state.trouble = Some(why.to_owned());
        if let Some(candidate) = &mut self.state.candidate {
            candidate.told.why = why.to_owned();
        }
        self.back_off(auto, why)
    }

    /// Has the kernel edited once.
    fn edit(&mut self, auto: &mut Auto, index: &mut RunIndex) -> Result<Option<Ended>> {
        self.state.turn += 1;
        self.enter(auto, Phase::Editing)?;
        self.ready.prepare(auto.project, auto.spec);
        index.refresh();
        let mut is_ended = false;
        let began = Instant::now();
        let edited = match &auto.options.editor {
            Editor::Command(words) => {
                let ran = turn::endable(self.files, self.state.turn, auto.control, |control| {
                    self.run_command(auto, index, words, control)
                });
                ran.and_then(|step| {
                    is_ended = step.is_ended;
                    step.came
                })
            }
            Editor::Patches(folder) => match patches::next(folder, self.state.patch.as_deref())? {
                None => {
                    self.state.turn -= 1;
                    return Ok(Some(Ended::Done("the last patch is done".to_owned())));
                }
                Some(name) => {
                    let edited = patches::apply(auto.project, folder, &name, self.state.turn);
                    self.state.patch = Some(name);
                    edited
                }
            },
        };
        self.ready.note_edit(began.elapsed().as_secs_f64());
        match edited {
            Ok(Edited::Stopped(told)) => {
                self.state.last_turn = Some(told);
                Ok(Some(Ended::Stopped))
            }
            Ok(Edited::Kernel {
                bytes,
                answer,
                told,
            }) => {
                self.hold_locks(auto)?;
                self.files.write_candidate(&bytes)?;
                let hash = blake3::hash(&bytes).to_hex().to_string();
                index.refresh();
                let after = index.newest().next().map_or(RunId(0), |run| run.id);
                self.state.candidate = Some(Candidate {
                    hash,
                    after,
                    answer,
                    told,
                });
                self.judged_by.next_kernel();
                Ok(None)
            }
            Ok(Edited::Without { told, cost }) => {
                let why = told.why.clone();
                self.state.counts.cost += cost;
                let is_command = matches!(auto.options.editor, Editor::Command(_));
                self.end_turn(auto, told, is_command && !is_ended)?;
                match &auto.options.editor {
                    Editor::Command(_) if !is_ended => self.back_off(auto, &why),
                    // The next turn may do better, and there is nothing to wait for.
                    Editor::Command(_) | Editor::Patches(_) => Ok(None),
                }
            }
            Err(error) => self.trouble(auto, &format!("{error:#}")),
        }
    }

    /// Runs the user's command once.
    fn run_command(
        &self,
        auto: &Auto,
        index: &RunIndex,
        words: &[String],
        control: &Control,
    ) -> Result<Edited> {
        let options = auto.options;
        let crashed = self
            .state
            .mending
            .as_deref()
            .and_then(|hash| self.files.candidate(hash));
        let turn_limit_s = options.turn_limit.as_secs_f64();
        let told = Told {
            mend: options.mend,
            turn_limit_s,
            report: auto.report,
        };
        let state = hints::of(auto.project, index, &self.state, &told)?;
        let edit = Edit {
            project: auto.project,
            files: self.files,
            words,
            limit: options.turn_limit,
            turn: self.state.turn,
            attempt: self.state.counts.mended,
            from: crashed.as_deref(),
            state: &state,
            control,
            whole: auto.control,
            device: &device_name(target(auto)),
        };
        edit.run()
    }
}

/// The device as it was asked for.
fn target(auto: &Auto) -> Target {
    auto.spec.device.unwrap_or(auto.project.config.device)
}
