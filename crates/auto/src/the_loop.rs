//! The loop itself: turn after turn, with waits, budgets and requests between them.

use super::begin::{begin, claim};
use super::candidate::keep_ended;
use super::command::{self, TURN_ENDED};
use super::disk;
use super::files::Files;
use super::judged_by::JudgedBy;
use super::options::{Auto, Editor, Ended, Stop};
use super::progress;
use super::running::{Came, Edited, Running};
use super::state::{Candidate, LastTurn, LeftRun, Phase, TurnOutcome};
use super::{patches, turn};
use anyhow::{Context, Result};
use lab_git::Repo;
use lab_run::verdict::Outcome;
use lab_run::{RunId, inputs};
use lab_runner::ready::Ready;
use lab_runner::standby::Owner;
use lab_store::{RunIndex, RunSummary};
use std::convert::Infallible;
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
pub fn run(auto: Auto) -> Result<Ended> {
    let project = auto.project;
    let files = Files::of(project)?;
    let locks = Some(claim(project, &files)?);
    let state = begin(&auto)?;
    let mut running = Running {
        auto,
        files: &files,
        locks,
        judged_by: JudgedBy::now(project)?,
        earlier: state.counts.seconds,
        state,
        began: Instant::now(),
        head: None,
        ready: Ready::new(Owner::Loop, 0),
        index: RunIndex::open(project),
        tree: None,
    };
    // A request to a loop that has ended is not for this one.
    let _ = files.take_request();
    running.keep_half_done()?;
    running.enter(Phase::Starting)?;
    let ended = match running.turns() {
        Err(Stop::Ended(ended)) => ended,
        Err(Stop::Failed(error)) => return Err(error),
    };
    running.state.ended = Some(match &ended {
        Ended::Done(why) | Ended::GaveUp(why) => why.clone(),
        Ended::Stopped => "a signal ended it".to_owned(),
    });
    running.enter(Phase::Ended)?;
    Ok(ended)
}

impl Running<'_, '_> {
    /// Keeps the edit during which an earlier loop was killed.
    fn keep_half_done(&mut self) -> Result<()> {
        if self.state.candidate.is_some() {
            return command::end_turn(self.files);
        }
        if let Some(told) = command::keep_half_done(self.auto.project, self.files)? {
            self.state.last_turn = Some(told);
            self.files.write_state(&self.state)?;
            (self.auto.tell)(&self.state);
        }
        Ok(())
    }

    /// Takes the locks again where somebody removed their files. The error says that another loop
    /// has begun since.
    fn hold_locks(&mut self) -> Result<()> {
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
        let locks = self.files.lock(self.auto.project);
        self.locks = Some(locks.context("somebody removed the files of this loop")?);
        Ok(())
    }

    /// Writes the state with a new phase.
    pub(super) fn enter(&mut self, phase: Phase) -> Result<()> {
        self.hold_locks()?;
        let is_new = self.state.phase != phase;
        (self.state.phase, self.state.since) = (phase, lab_run::now());
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.files.write_state(&self.state)?;
        if is_new
            && matches!(
                phase,
                Phase::WaitingForPerson | Phase::BackingOff | Phase::Paused
            )
        {
            (self.auto.tell)(&self.state);
        }
        Ok(())
    }

    fn turns(&mut self) -> Result<Infallible, Stop> {
        loop {
            if let Some(candidate) = self.state.candidate.clone() {
                self.judge(&candidate)?;
                continue;
            }
            self.look();
            self.clean();
            self.between()?;
            self.edit()?;
        }
    }

    /// Bounds what old runs take on disk and in memory, from time to time.
    fn clean(&mut self) {
        if !self.state.turn.is_multiple_of(CLEAN_EVERY) {
            return;
        }
        if self.index.in_memory() > MOST_SUMMARIES {
            self.index.forget_summaries();
        }
        // Another lane that has the lock cuts the same logs just now.
        if let Ok(mut cut) = self.auto.cut.try_lock() {
            let from = (*cut).max(RunId(self.state.cleaned));
            *cut = disk::cut_logs(self.auto.project, &self.index, from);
            self.state.cleaned = cut.0;
        }
    }

    /// Reads where the loop stands, if HEAD moved since.
    fn look(&mut self) {
        let (project, target) = (self.auto.project, self.target().to_string());
        let index = &mut self.index;
        let head = Repo::open(project)
            .ok()
            .and_then(|repo| lab_git::head(&repo).ok()?.commit);
        index.refresh();
        // A disk that was full may have room again; else the next turn tries.
        let _ = lab_decide::append_owed(project, index);
        self.state = std::mem::take(&mut self.state).follow(index);
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

    /// Takes the candidate to its end.
    fn judge(&mut self, candidate: &Candidate) -> Result<(), Stop> {
        self.enter(Phase::Judging)?;
        if let Err(error) = command::end_turn(self.files) {
            return self.trouble(&lab_git::told(&error));
        }
        let (files, whole, turn) = (self.files, self.auto.control, self.state.turn);
        let (came, is_ended) = turn::endable(files, turn, whole, |control| {
            let came = self.finish(candidate, control)?;
            self.put_back(candidate).map(|()| came)
        })?;
        let came = came.map(|came| self.repeated(came));
        let came = came.and_then(|came| self.leave(candidate, &came).map(|()| came));
        match came {
            Ok(Came::Stopped | Came::Trouble(_)) if is_ended && !whole.is_ended() => {
                let mut told = candidate
                    .told
                    .clone()
                    .ended(TurnOutcome::Failed, TURN_ENDED);
                if let Err(error) = keep_ended(self.auto.project, files, candidate, &mut told) {
                    return self.trouble(&lab_git::told(&error));
                }
                self.state.counts.cost += candidate.answer.cost.unwrap_or(0.0);
                Ok(self.end_turn(told, false)?)
            }
            Ok(Came::Ended(told)) => {
                self.state.counts.cost += candidate.answer.cost.unwrap_or(0.0);
                let (why, is_command) = (told.why.clone(), self.edits_by_command());
                self.end_turn(told, is_command)?;
                match self.state.counts.failures_in_a_row {
                    0 => Ok(()),
                    _ => self.back_off(&why),
                }
            }
            Ok(Came::Undecided(told)) => self.trouble(&told.why),
            Ok(Came::Stopped) => Err(Ended::Stopped.into()),
            Ok(Came::Person) => self.wait_for_incumbent(),
            Ok(Came::Trouble(why)) => self.trouble(&why),
            Err(error) => self.trouble(&lab_git::told(&error)),
        }
    }

    /// A command may fail in the same way for ever; a list of patches ends.
    fn edits_by_command(&self) -> bool {
        matches!(self.auto.options.editor, Editor::Command(_))
    }

    /// Counts a turn that has ended, writes the state, and then tells it. A turn that
    /// `counts_as_failure` may be one of those after which the loop gives up.
    fn end_turn(&mut self, told: LastTurn, counts_as_failure: bool) -> Result<()> {
        self.state
            .count(told, self.auto.options.mend, self.auto.options.plateau);
        if !counts_as_failure {
            self.state.counts.failures_in_a_row = 0;
        }
        self.enter(Phase::Starting)?;
        (self.auto.tell)(&self.state);
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
    fn leave(&mut self, candidate: &Candidate, came: &Came) -> Result<()> {
        let Came::Ended(told) = came else {
            return Ok(());
        };
        let Some(run) = told.run.filter(|_| told.outcome == TurnOutcome::Left) else {
            return Ok(());
        };
        let message = candidate.answer.message(told.turn);
        lab_decide::leave(self.auto.project, run, &message)?;
        let (description, why) = (message.subject().to_owned(), told.why.clone());
        self.state.note_left(LeftRun {
            run,
            description,
            why,
        });
        Ok(())
    }

    /// Notes a failure that no turn is to blame for, and waits.
    pub(super) fn trouble(&mut self, why: &str) -> Result<(), Stop> {
        self.state.counts.failures_in_a_row += 1;
        self.state.trouble = Some(why.to_owned());
        if let Some(candidate) = &mut self.state.candidate {
            candidate.told.why = why.to_owned();
        }
        self.back_off(why)
    }

    /// Has the kernel edited once.
    fn edit(&mut self) -> Result<(), Stop> {
        self.state.turn += 1;
        self.enter(Phase::Editing)?;
        self.ready.prepare(self.auto.project, self.auto.spec);
        self.index.refresh();
        let mut is_ended = false;
        let began = Instant::now();
        let edited = match &self.auto.options.editor {
            Editor::Command(words) => {
                let (turn, whole) = (self.state.turn, self.auto.control);
                let ran = turn::endable(self.files, turn, whole, |control| {
                    self.run_command(words, control)
                });
                ran.and_then(|(edited, by_person)| {
                    is_ended = by_person;
                    edited
                })
            }
            Editor::Patches(folder) => match patches::next(folder, self.state.patch.as_deref())? {
                None => {
                    self.state.turn -= 1;
                    return Err(Ended::Done("the last patch is done".to_owned()).into());
                }
                Some(name) => {
                    let edited = patches::apply(self.auto.project, folder, &name, self.state.turn);
                    self.state.patch = Some(name);
                    edited
                }
            },
        };
        self.ready.note_edit(began.elapsed().as_secs_f64());
        match edited {
            Ok(Edited::Stopped(told)) => {
                self.state.last_turn = Some(told);
                Err(Ended::Stopped.into())
            }
            Ok(Edited::Kernel {
                bytes,
                answer,
                told,
            }) => {
                self.hold_locks()?;
                self.files.write_candidate(&bytes)?;
                let hash = inputs::hash_of(&bytes);
                self.index.refresh();
                // The number of a run in progress is free again where that run is withdrawn.
                let judged = |run: &&RunSummary| run.outcome().is_some_and(Outcome::is_verdict);
                let after = self.index.newest().find(judged);
                let after = after.map_or(RunId(0), |run| run.id);
                self.state.candidate = Some(Candidate {
                    hash,
                    after,
                    answer,
                    told,
                });
                self.judged_by.next_kernel();
                Ok(())
            }
            Ok(Edited::Without {
                told,
                cost,
                cannot_start,
            }) => {
                let why = told.why.clone();
                self.state.counts.cost += cost;
                let may_repeat = self.edits_by_command() && !is_ended;
                self.end_turn(told, may_repeat)?;
                // What is not there at the first turn will not be there at the next.
                if cannot_start && self.state.counts.are_of_one_failure() {
                    return Err(Ended::GaveUp(why).into());
                }
                match may_repeat {
                    true => self.back_off(&why),
                    // The next turn may do better, and there is nothing to wait for.
                    false => Ok(()),
                }
            }
            Err(error) => self.trouble(&lab_git::told(&error)),
        }
    }
}
