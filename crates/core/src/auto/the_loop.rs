//! The loop itself: turn after turn, with waits, budgets and requests between them.

use super::candidate::{Came, Judging, is_incumbent};
use super::command::{Edit, Edited, TURN_ENDED};
use super::files::{Files, read_state};
use super::hints::{self, Told};
use super::lanes::device_name;
use super::patches;
use super::requests::Request;
use super::state::{Budget, Candidate, Counts, Phase, State, TurnOutcome};
use super::turn;
use crate::decide;
use crate::project::Project;
use crate::repo::{self, Repo};
use crate::run::RunId;
use crate::run::record::Record;
use crate::runner::execute::{NotRun, inputs_of};
use crate::runner::process::Control;
use crate::runner::spec::RunSpec;
use crate::store::RunIndex;
use anyhow::{Result, bail};
use jiff::Timestamp;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often a waiting loop looks for a person's save and for requests.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Who edits the kernel.
#[derive(Clone, Debug)]
pub enum Editor {
    /// A program and its arguments.
    Command(Vec<String>),
    /// The patches of a folder, one a turn, by name.
    Patches(PathBuf),
}

/// The options of `lab auto`.
#[derive(Clone, Debug)]
pub struct Options {
    pub editor: Editor,
    pub budget: Budget,
    pub turn_limit: Duration,
    /// How many crashes in a row the command may mend.
    pub mend: u32,
    /// Failures in a row after which the loop ends.
    pub give_up: u32,
    /// The wait after the first failure. It doubles with each further one.
    pub back_off: Duration,
    /// Discards in a row that are a plateau.
    pub plateau: u32,
}

/// A loop, and what it works with.
pub struct Auto<'a> {
    pub project: &'a Project,
    pub options: &'a Options,
    pub spec: &'a RunSpec,
    pub control: &'a Control,
    /// Returns a record as `lab run --json` prints it.
    pub report: &'a dyn Fn(&RunIndex, &Record) -> Value,
    /// Called after each turn, and at each wait.
    pub tell: &'a mut dyn FnMut(&State),
}

/// How a loop ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// A budget is spent, or a person asked for the end.
    Done(String),
    /// It failed too often in a row.
    GaveUp(String),
    /// A signal ended it. What was not decided is decided by the next loop.
    Stopped,
}

/// Runs the loop until it ends. An error means that it could not start, or could not write its own files.
pub fn run(auto: &mut Auto) -> Result<Ended> {
    let files = Files::of(auto.project)?;
    files.create()?;
    let _lock = files.lock(auto.project)?;
    let state = begin(auto)?;
    let mut running = Running { files: &files, state, began: Instant::now(), earlier: 0.0 };
    running.earlier = running.state.counts.seconds;
    // A request to a loop that has ended is not for this one.
    let _ = files.take_request();
    running.enter(auto, Phase::Starting)?;
    let ended = running.turns(auto)?;
    running.state.ended = Some(match &ended {
        Ended::Done(why) | Ended::GaveUp(why) => why.clone(),
        Ended::Stopped => "a signal ended it".to_owned(),
    });
    running.enter(auto, Phase::Ended)?;
    Ok(ended)
}

/// Checks that the loop can work, completes what an earlier lab began, and returns the state to go on from.
fn begin(auto: &Auto) -> Result<State> {
    let project = auto.project;
    decide::resume_decision(project)?;
    if repo::incumbent(&Repo::open(project)?, project)?.is_none() {
        bail!(
            "HEAD does not hold {}, so there is no incumbent to beat: commit it (`git add`, `git commit`), or `lab run{}` and `lab keep{} -m TEXT`",
            project.kernel_name,
            project.argument,
            project.argument
        );
    }
    match inputs_of(project, auto.spec) {
        // The kernel's file is a person's matter: the loop waits.
        Ok(_) | Err(NotRun::Kernel(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let budget = auto.options.budget.clone();
    Ok(match read_state(project)? {
        // It was killed, or a signal ended it while a kernel was judged. The same budget goes on; another one begins.
        Some(old) if old.ended.is_none() || old.candidate.is_some() => {
            let counts = if old.budget == budget { old.counts.clone() } else { Counts::default() };
            let counts = Counts { failures_in_a_row: 0, ..counts };
            State { process: std::process::id(), budget, counts, ended: None, ..old }
        }
        Some(old) => State { last_turn: old.last_turn, ..State::new(&project.kernel_name, budget, old.turn) },
        None => State::new(&project.kernel_name, budget, 0),
    })
}

/// A loop in progress.
struct Running<'a> {
    files: &'a Files,
    state: State,
    began: Instant,
    /// Seconds of this budget in earlier processes.
    earlier: f64,
}

impl Running<'_> {
    /// Writes the state with a new phase.
    fn enter(&mut self, auto: &mut Auto, phase: Phase) -> Result<()> {
        let is_new = self.state.phase != phase;
        (self.state.phase, self.state.since) = (phase, Timestamp::now());
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.files.write_state(&self.state)?;
        if is_new && matches!(phase, Phase::WaitingForPerson | Phase::BackingOff | Phase::Paused) {
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
            if let Some(ended) = self.between(auto)? {
                return Ok(ended);
            }
            if let Some(ended) = self.edit(auto, &mut index)? {
                return Ok(ended);
            }
        }
    }

    /// Takes the candidate to its end. Returns how the loop ended, if it did.
    fn judge(
        &mut self,
        auto: &mut Auto,
        index: &mut RunIndex,
        candidate: &Candidate,
    ) -> Result<Option<Ended>> {
        self.enter(auto, Phase::Judging)?;
        let (project, files, spec) = (auto.project, self.files, auto.spec);
        let (came, is_ended) = turn::endable(files, self.state.turn, auto.control, |control| {
            let judging = Judging { project, files, spec, control };
            let came = judging.finish(index, candidate);
            came.and_then(|came| judging.put_back(candidate).map(|()| came))
        })?;
        match came {
            Ok(Came::Stopped | Came::Trouble(_)) if is_ended && !auto.control.is_ended() => {
                self.state.count(
                    candidate.told.clone().ended(TurnOutcome::Failed, TURN_ENDED),
                    0,
                    auto.options.plateau,
                );
                self.state.counts.failures_in_a_row = 0;
                self.enter(auto, Phase::Starting)?;
                (auto.tell)(&self.state);
                Ok(None)
            }
            Ok(Came::Ended(told)) => {
                let is_judged = told.run.is_some_and(|run| run > candidate.after);
                self.state.counts.experiments += u64::from(is_judged);
                self.state.counts.cost += candidate.answer.cost.unwrap_or(0.0);
                self.state.count(told, auto.options.mend, auto.options.plateau);
                self.enter(auto, Phase::Starting)?;
                (auto.tell)(&self.state);
                Ok(None)
            }
            Ok(Came::Stopped) => Ok(Some(Ended::Stopped)),
            Ok(Came::Person) => self.wait_for_incumbent(auto),
            Ok(Came::Trouble(why)) => self.trouble(auto, &why),
            Err(error) => self.trouble(auto, &format!("{error:#}")),
        }
    }

    /// Notes a failure that no turn is to blame for, and waits.
    fn trouble(&mut self, auto: &mut Auto, why: &str) -> Result<Option<Ended>> {
        self.state.counts.failures_in_a_row += 1;
        if let Some(candidate) = &mut self.state.candidate {
            candidate.told.why = why.to_owned();
        }
        self.back_off(auto, why)
    }

    /// What comes between two turns: requests, the budget, a person's edit.
    fn between(&mut self, auto: &mut Auto) -> Result<Option<Ended>> {
        if let Some(ended) = self.requests(auto)? {
            return Ok(Some(ended));
        }
        if let Some(why) = self.spent() {
            return Ok(Some(Ended::Done(why)));
        }
        if auto.control.is_ended() {
            return Ok(Some(Ended::Stopped));
        }
        self.wait_for_incumbent(auto)
    }

    /// Which budget is spent.
    fn spent(&mut self) -> Option<String> {
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.state.spent()
    }

    /// Does what a person asked for. A pause lasts until the next request.
    fn requests(&mut self, auto: &mut Auto) -> Result<Option<Ended>> {
        let mut is_paused = false;
        loop {
            match self.files.take_request().as_deref().and_then(Request::parse) {
                Some(Request::Stop) => return Ok(Some(Ended::Done("a person stopped it".to_owned()))),
                Some(Request::Pause) => {
                    is_paused = true;
                    self.enter(auto, Phase::Paused)?;
                }
                Some(Request::Resume) => is_paused = false,
                // The step in progress reads that request elsewhere.
                Some(Request::EndTurn) | None => {}
            }
            if !is_paused {
                return Ok(None);
            }
            if auto.control.wait(LOOK_EVERY) {
                return Ok(Some(Ended::Stopped));
            }
        }
    }

    /// Waits while the kernel's file is not the incumbent: a person edits it, or left a run.
    fn wait_for_incumbent(&mut self, auto: &mut Auto) -> Result<Option<Ended>> {
        while !is_incumbent(auto.project)? {
            if self.state.phase != Phase::WaitingForPerson {
                self.enter(auto, Phase::WaitingForPerson)?;
            }
            if let Some(ended) = self.requests(auto)? {
                return Ok(Some(ended));
            }
            if let Some(why) = self.spent() {
                return Ok(Some(Ended::Done(why)));
            }
            if auto.control.wait(LOOK_EVERY) {
                return Ok(Some(Ended::Stopped));
            }
        }
        Ok(None)
    }

    /// Has the kernel edited once.
    fn edit(&mut self, auto: &mut Auto, index: &mut RunIndex) -> Result<Option<Ended>> {
        self.state.turn += 1;
        self.enter(auto, Phase::Editing)?;
        index.refresh();
        let mut is_ended = false;
        let edited = match &auto.options.editor {
            Editor::Command(words) => {
                let ran = turn::endable(self.files, self.state.turn, auto.control, |control| {
                    self.run_command(auto, index, words, control)
                });
                ran.and_then(|(edited, by_person)| {
                    is_ended = by_person;
                    edited
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
        match edited {
            Ok(Edited::Stopped) => Ok(Some(Ended::Stopped)),
            Ok(Edited::Kernel { bytes, answer, told }) => {
                self.files.write_candidate(&bytes)?;
                let hash = blake3::hash(&bytes).to_hex().to_string();
                index.refresh();
                let after = index.newest().next().map_or(RunId(0), |run| run.id);
                self.state.candidate = Some(Candidate { hash, after, answer, told });
                Ok(None)
            }
            Ok(Edited::Without { told, cost }) => {
                let why = told.why.clone();
                self.state.counts.cost += cost;
                self.state.count(told, auto.options.mend, auto.options.plateau);
                (auto.tell)(&self.state);
                match &auto.options.editor {
                    Editor::Command(_) if !is_ended => self.back_off(auto, &why),
                    // The next turn may do better, and there is nothing to wait for.
                    Editor::Command(_) | Editor::Patches(_) => {
                        self.state.counts.failures_in_a_row = 0;
                        Ok(None)
                    }
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
        let crashed = self.state.mending.as_deref().and_then(|hash| self.files.candidate(hash));
        let turn_limit_s = options.turn_limit.as_secs_f64();
        let told = Told { mend: options.mend, turn_limit_s, report: auto.report };
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
            device: &device_name(auto.spec.device.unwrap_or(auto.project.config.device)),
        };
        edit.run()
    }

    /// Waits after a failure, longer after each further one. Ends the loop after too many.
    fn back_off(&mut self, auto: &mut Auto, why: &str) -> Result<Option<Ended>> {
        let failures = self.state.counts.failures_in_a_row;
        if failures >= auto.options.give_up {
            return Ok(Some(Ended::GaveUp(format!("{failures} failures in a row, the last: {why}"))));
        }
        self.enter(auto, Phase::BackingOff)?;
        let wait = auto.options.back_off.saturating_mul(1 << failures.saturating_sub(1).min(16));
        Ok(auto.control.wait(wait.min(LONGEST_WAIT)).then_some(Ended::Stopped))
    }
}
