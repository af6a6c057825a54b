//! What the screen makes of runs and saves.

use super::super::effect::Effect;
use super::super::event::LastLog;
use super::super::overlay::Overlay;
use super::super::status::Level;
use super::{App, Judged, Live, Running};
use crate::request::Request;
use lab_core::inputs::Inputs;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Reason, RunId};
use lab_core::runner::{Batch, RunEvent};
use lab_core::watch::WatchEvent;
use lab_protocol::report::Report;
use std::sync::Arc;

impl App {
    pub(super) fn start(&mut self, reason: Reason) -> Vec<Effect> {
        self.start_on(reason, None)
    }

    fn start_on(&mut self, reason: Reason, inputs: Option<Arc<Inputs>>) -> Vec<Effect> {
        self.running = Running::Asked(reason, self.now);
        vec![Effect::StartRun(reason, inputs)]
    }

    /// None begins while a decision is carried out: the look after it sees to what is then on disk.
    pub(super) fn start_once_decided(&mut self, reason: Reason) -> Vec<Effect> {
        if self.deciding.is_some() {
            self.saved_meanwhile = true;
            return vec![Effect::Refresh];
        }
        self.start(reason)
    }

    pub(super) fn on_run(&mut self, event: RunEvent) -> Vec<Effect> {
        if self.is_late(&event) {
            self.dirty = false;
            return Vec::new();
        }
        match event {
            RunEvent::Started(start) => {
                self.newest = Some(start.id);
                self.log.start(start.id);
                self.panes.correctness.scroll = 0;
                let report = Arc::new(Report::default());
                self.running = Running::Live(Live { start, began: self.now, report });
                Vec::new()
            }
            RunEvent::Progress(_, batch) => {
                self.on_batch(batch);
                Vec::new()
            }
            RunEvent::Ended(record) => {
                // Somebody waits for it: it is drawn at once, as a key is.
                self.urgent = true;
                let (began, report) = match std::mem::take(&mut self.running) {
                    // It knows the diagnostics, which no record holds.
                    Running::Live(live) => (live.began, live.report),
                    _ => (self.now, Arc::new(record.report())),
                };
                let run = record.start.id;
                self.to_be_ruled = Some(run).filter(|_| !record.start.is_check());
                let void = record.verdict.as_ref().is_some_and(|verdict| verdict.outcome == Outcome::Void);
                match record.start.is_check() {
                    // A check that was ended has nothing to say.
                    true if void => {}
                    true => self.check = Judged::of(*record, report),
                    false => self.last = Judged::of(*record, report).or(self.last.take()),
                }
                [Effect::Refresh].into_iter().chain(self.call(run, began)).collect()
            }
            RunEvent::NotStarted { why, .. } => {
                self.running = Running::No;
                self.say(Level::Error, why);
                vec![Effect::Refresh]
            }
            RunEvent::NoStandby { why } => {
                self.say(Level::Warning, why);
                Vec::new()
            }
            RunEvent::NeedsTrust { command, .. } => {
                self.running = Running::No;
                self.untrusted = Some(command.clone());
                self.overlays.retain(|o| !matches!(o, Overlay::Trust { .. }));
                self.ask(Overlay::Trust { command });
                Vec::new()
            }
        }
    }

    /// The one place where messages of other runs than the present one are dropped. Once a newer run
    /// is asked for, the older one has nothing to say any more.
    fn is_late(&self, event: &RunEvent) -> bool {
        let is_live = |id: RunId| matches!(&self.running, Running::Live(live) if live.start.id == id);
        match event {
            RunEvent::Started(start) => self.newest.is_some_and(|newest| start.id <= newest),
            RunEvent::Progress(id, _) => !is_live(*id),
            RunEvent::Ended(record) => !is_live(record.start.id),
            RunEvent::NoStandby { .. } => false,
            RunEvent::NotStarted { .. } | RunEvent::NeedsTrust { .. } => {
                !matches!(self.running, Running::Asked(..))
            }
        }
    }

    fn on_batch(&mut self, batch: Batch) {
        self.log.push(batch.skipped, batch.lines);
        if let (Running::Live(live), Some(report)) = (&mut self.running, batch.report) {
            live.report = report;
        }
    }

    pub(super) fn on_last_log(&mut self, loaded: LastLog) -> Vec<Effect> {
        if let Some(check) = self.check.as_mut().filter(|check| check.start.id == loaded.run) {
            check.report = loaded.report;
            return Vec::new();
        }
        let idle = matches!(self.running, Running::No);
        if let Some(last) = self.last.as_mut().filter(|last| idle && last.start.id == loaded.run) {
            last.report = loaded.report;
            self.log.start(loaded.run);
            self.log.push(0, loaded.lines);
        }
        Vec::new()
    }

    pub(super) fn on_watch(&mut self, event: WatchEvent) -> Vec<Effect> {
        match event {
            WatchEvent::Problem(why) => {
                self.say(Level::Warning, why);
                vec![Effect::Refresh]
            }
            WatchEvent::Surroundings => vec![Effect::Refresh],
            WatchEvent::Changed { config: true, inputs, .. } => {
                self.learn_present(Ok(inputs.fingerprint.clone()));
                vec![Effect::Ask(Request::Reopen)]
            }
            WatchEvent::Changed { inputs, .. } => {
                let fingerprint = inputs.fingerprint.clone();
                let known = match (&self.running, &self.last) {
                    (Running::Live(live), _) => live.start.fingerprint == fingerprint,
                    (Running::No, Some(last)) => last.start.fingerprint == fingerprint,
                    _ => false,
                };
                self.learn_present(Ok(fingerprint));
                // No run begins while a decision is carried out; the look after it sees to this save.
                self.saved_meanwhile |= self.deciding.is_some() && !self.paused;
                if known || self.paused || self.deciding.is_some() {
                    return vec![Effect::Refresh];
                }
                self.start_on(Reason::Saved, Some(inputs))
            }
        }
    }
}
