//! Runs and saves.

use crate::effect::{Effect, Redraw};
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{Overlay, Reading};
use crate::reply::RunLog;
use crate::request::RepositoryRequest;
use crate::state::{FinishedRun, LiveRun, Running};
use crate::views::Pane;
use lab_protocol::report::{Asked, Report};
use lab_run::inputs::Inputs;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunStart};
use lab_runner::{Batch, RunEvent};
use lab_watch::WatchEvent;
use std::sync::Arc;
use std::time::Duration;

impl Model {
    pub(super) fn start(&mut self, reason: Reason) {
        self.start_on(reason, None);
    }

    /// Starts a run of these inputs; without them the runner reads the files.
    fn start_on(&mut self, reason: Reason, inputs: Option<Arc<Inputs>>) {
        self.runs.running = Running::Asked(reason, self.now);
        self.emit(Effect::StartRun(reason, inputs));
    }

    /// Starts a run, unless a decision is carried out: the look after the decision starts one for
    /// the bytes then on disk.
    pub(super) fn start_once_decided(&mut self, reason: Reason) {
        if self.decision.in_progress.is_some() {
            self.decision.saved_meanwhile = true;
            return self.emit(Effect::Refresh);
        }
        self.start(reason);
    }

    /// Asks for a check after the run in progress, or takes that back.
    pub(super) fn toggle_check(&mut self) {
        self.runs.check_follows = !self.runs.check_follows;
        let check = self.way(Action::Check);
        let text = if self.runs.check_follows {
            format!("a check follows this run; {check} again takes that back")
        } else {
            "no check follows this run".to_owned()
        };
        self.inform(text);
    }

    /// Starts the check that was asked for during a run, once neither a run nor a decision is in
    /// progress.
    pub(super) fn start_check_that_follows(&mut self) {
        let awaits_rule = self.decision.auto && self.decision.awaiting_rule.is_some();
        if awaits_rule || self.is_calm().is_err() || !std::mem::take(&mut self.runs.check_follows) {
            return;
        }
        let last = self.runs.last.as_ref();
        if last.is_some_and(|last| last.verdict.build_failed) && !self.runs.is_stale() {
            let text = format!("no check follows: {} does not build", self.setup.file());
            self.warn(text);
        } else {
            self.start(Reason::Check);
        }
    }

    pub(super) fn on_run(&mut self, event: RunEvent) {
        if self.runs.is_late(&event) {
            return self.ignore();
        }
        match event {
            RunEvent::Started(start) => self.follow_live(start, Duration::ZERO),
            RunEvent::Joined(start) => self.follow_live_since(start),
            RunEvent::Left(_) | RunEvent::Withdrawn => {
                self.runs.running = Running::No;
                self.emit(Effect::Refresh);
            }
            RunEvent::Progress(_, batch) => self.on_batch(batch),
            RunEvent::Ended(record) => self.on_ended(*record),
            RunEvent::NotStarted { why, .. } => {
                self.runs.running = Running::No;
                self.runs.cannot_start = true;
                self.fail(why);
                self.emit(Effect::Refresh);
            }
            RunEvent::NoStandby { why } => self.warn(why),
            RunEvent::NeedsTrust { request, .. } => {
                self.runs.running = Running::No;
                self.runs.untrusted = Some(request.subject());
                self.overlays
                    .retain(|o| !matches!(o, Overlay::Trust { .. }));
                self.ask_question(Overlay::Trust {
                    request,
                    reading: Reading::default(),
                });
            }
        }
    }

    /// Shows the run that the other screen judges.
    pub(super) fn follow_other(&mut self, start: RunStart) {
        self.emit(Effect::FollowRun(start.id));
        self.follow_live_since(Box::new(start));
    }

    /// Shows a run of another process, which goes on already.
    fn follow_live_since(&mut self, start: Box<RunStart>) {
        let now = self.repository.time_of_day(self.now);
        let age = now.map(|now| now.duration_since(start.started));
        let age = age.and_then(|age| age.try_into().ok());
        self.follow_live(start, age.unwrap_or_default());
    }

    fn follow_live(&mut self, start: Box<RunStart>, age: Duration) {
        self.runs.cannot_start = false;
        self.runs.newest = self.runs.newest.max(Some(start.id));
        let is_awaited = self
            .decision
            .follows
            .is_some_and(|(_, run)| run == start.id);
        if !is_awaited && !start.is_check() {
            self.withdraw("there is a newer run");
        }
        self.panes.start_log(start.id);
        self.panes.text_mut(Pane::Correctness).show(0);
        let report = Arc::new(Report::default());
        self.runs.running = Running::Live(LiveRun {
            start,
            began: self.now,
            age,
            report,
        });
    }

    fn on_ended(&mut self, record: Record) {
        // The user waits for the verdict: it is drawn at once.
        self.frame.redraw = Redraw::AtOnce;
        let (began, report) = match std::mem::take(&mut self.runs.running) {
            // The followed log has the diagnostics, which no record holds.
            Running::Live(live) => (live.began, live.report),
            _ => (self.now, Arc::new(record.report())),
        };
        let (run, is_check) = (record.start.id, record.start.is_check());
        let is = |outcome| {
            record
                .verdict
                .as_ref()
                .is_some_and(|verdict| verdict.outcome == outcome)
        };
        let (is_void, is_not_judged) = (is(Outcome::Void), is(Outcome::NotJudged));
        // A run of another process may be decided by now.
        let is_open = record.decision.is_none() && !is_check && !is_not_judged;
        self.decision.awaiting_rule = Some(run).filter(|_| is_open);
        if (is_void || is_not_judged) && self.decision.follows.is_some_and(|(_, of)| of == run) {
            self.withdraw(&format!("run {run} gave no verdict"));
        }
        if is_not_judged {
            self.runs.free_number(run);
            self.panes.log.forget_number();
        }
        let asked = match is_check {
            true => Asked::Check,
            false => Asked::Run,
        };
        self.runs.stage_times.learn(asked, &report);
        match (is_check, is_void) {
            // A check that was ended has no findings.
            (true, true) => {}
            (true, false) => self.runs.check = FinishedRun::of(record, report),
            (false, _) => {
                self.runs.take_last(FinishedRun::of(record, report));
                for overlay in &mut self.overlays {
                    if let (Overlay::Refused { newer, .. }, Some(last)) = (overlay, &self.runs.last)
                    {
                        let word = last.verdict.word();
                        *newer = format!("A newer run has ended since: {word}. Before it: ");
                    }
                }
            }
        }
        self.emit(Effect::Refresh);
        self.notify(run, began);
    }

    fn on_batch(&mut self, batch: Batch) {
        self.panes.push_log(batch.skipped, batch.lines);
        if let (Running::Live(live), Some(report)) = (&mut self.runs.running, batch.report) {
            live.report = report;
        }
    }

    pub(super) fn on_run_log(&mut self, loaded: RunLog) {
        let check = self.runs.check.as_mut();
        if let Some(check) = check.filter(|check| check.start.id == loaded.run) {
            check.report = loaded.report;
            return;
        }
        let idle = self.runs.is_idle();
        if let Some(last) = self.runs.last_of(loaded.run).filter(|_| idle) {
            last.report = loaded.report;
            self.panes.start_log(loaded.run);
            self.panes.push_log(0, loaded.lines);
        }
    }

    pub(super) fn on_watch(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Problem(why) => {
                self.warn(why);
                self.emit(Effect::Refresh);
            }
            // The message goes once the kernel can be read.
            WatchEvent::Unreadable(why) => {
                self.set_present(Err(why.clone()));
                self.warn(why);
                self.emit(Effect::Refresh);
            }
            WatchEvent::RepositoryChanged => {
                self.emit(Effect::Refresh);
                self.load_loop();
                self.load_board();
            }
            WatchEvent::Swept => self.load_sweep(),
            WatchEvent::Profiled => {
                // A view that shows the profile reads it again.
                self.profiles.made += 1;
            }
            WatchEvent::LoopChanged { running } => {
                self.loops.running = running;
                self.load_loop();
            }
            WatchEvent::Changed {
                config: true,
                inputs,
                ..
            } => {
                self.set_present(Ok(inputs.fingerprint.clone()));
                self.ask(RepositoryRequest::Reopen);
            }
            WatchEvent::Changed {
                inputs,
                beside_loop,
                ..
            } => {
                self.load_loop();
                let fingerprint = inputs.fingerprint.clone();
                let is_judged = match (&self.runs.running, &self.runs.last) {
                    (Running::Live(live), _) => live.start.fingerprint == fingerprint,
                    (Running::No, Some(last)) => last.start.fingerprint == fingerprint,
                    _ => false,
                };
                self.set_present(Ok(fingerprint));
                // No run begins while a decision is carried out; the look after it takes care of
                // this save. Beside a loop the look tells whether the bytes are judged: the loop
                // puts back what it was begun with.
                let waits = self.decision.in_progress.is_some() || beside_loop;
                self.decision.saved_meanwhile |= waits && !self.runs.paused;
                if is_judged || self.runs.paused || waits {
                    self.emit(Effect::Refresh);
                } else {
                    self.start_on(Reason::Saved, Some(inputs));
                }
            }
        }
    }
}
