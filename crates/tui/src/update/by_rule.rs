//! Decisions by rule: the question before, the switch, and the decision about a run that has ended.

use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{About, Overlay};
use crate::request::Change;
use crate::state::{FinishedRun, Setup};
use lab_decide::auto::{self, AutoDecision, Enough};
use lab_run::message::{self, Message};
use lab_run::verdict::{Outcome, Verdict};

impl Model {
    /// Decides by rule no longer, or asks whether to.
    pub(super) fn toggle_rule(&mut self) {
        if std::mem::take(&mut self.decision.auto) {
            let (keep, discard) = (self.way(Action::Keep), self.way(Action::Discard));
            self.inform(format!("you decide: {keep} keeps, {discard} discards"));
            return;
        }
        let (rule, way) = (auto::rule(&self.setup.auto), self.way(Action::ByRule));
        let last = self.runs.last.as_ref();
        let device = self.repository.present_device(last, &self.setup);
        let is_emulated = device.is_some_and(|(_, is_emulated)| is_emulated);
        // Emulated times are not compared, so nothing is faster there.
        let here = match is_emulated && !self.setup.auto.keep_correct {
            true => {
                " On this device, which is emulated, nothing is faster: the rule keeps nothing there, unless lab.toml says \
                 auto.keep_correct = true."
            }
            false => "",
        };
        let text = format!(
            "Each run of a save is then decided without a question, and a discard puts the incumbent's bytes back over your edit \
             (it stays in git). {rule}.{here} {way} again ends it."
        );
        let about = About::Rule;
        self.ask_question(Overlay::Question { text, about });
    }

    /// Decides by rule about the run that has just ended, once the repository was looked at after
    /// its end.
    pub(super) fn decide_by_rule(&mut self) {
        let status = self.repository.status.as_ref();
        let ended = status.and_then(|status| status.ended);
        let awaiting = &mut self.decision.awaiting_rule;
        let Some(run) = awaiting.take_if(|run| Some(*run) <= ended) else {
            return;
        };
        // The loop decides its runs itself.
        if !self.decision.auto || self.decision.follows.is_some() || self.loops.running {
            return;
        }
        let last = self.runs.last.as_ref();
        let Some(last) = last.filter(|last| last.start.id == run) else {
            return;
        };
        match self.change_by_rule(last) {
            Err(why) => {
                self.inform(format!("the rule leaves run {run} to you: {why}"));
            }
            Ok(change) => {
                self.decision.by_rule = true;
                self.change(change);
            }
        }
    }

    /// The change that the rule makes after a run, or why the rule leaves the run to the user.
    fn change_by_rule(&self, last: &FinishedRun) -> Result<Change, String> {
        let snapshot = self.repository.snapshot();
        let incumbent = snapshot.and_then(|snapshot| snapshot.incumbent.as_deref());
        let present = self.repository.present();
        let at_same = present.is_some_and(|present| {
            present.keeps_at_same && present.fingerprint == last.start.fingerprint
        });
        let enough = Enough {
            at_same,
            correct: self.setup.auto.keep_correct,
        };
        let decision = auto::decide(&last.record, incumbent, enough);
        if let AutoDecision::Leave(why) = decision {
            return Err(why);
        }
        // A user with an open dialog is about to decide.
        if !self.overlays.is_empty() {
            return Err("a dialog is open".to_owned());
        }
        let run = last.start.id;
        let message = Message::new(
            &rule_description(&last.verdict, &self.setup),
            [(message::TrailerKey::Tested, self.tested(last))],
        );
        let change = match decision {
            AutoDecision::Keep => Change::Keep {
                run,
                message,
                by_rule: true,
            },
            _ => Change::Discard {
                run,
                message,
                confirmed: false,
            },
        };
        self.usable(change.action())?;
        Ok(change)
    }
}

/// The description of a run that was decided by rule: the rule and its reason.
fn rule_description(verdict: &Verdict, setup: &Setup) -> String {
    match verdict.change {
        Some(change) if verdict.outcome == Outcome::Pass => {
            let words = setup.in_words(&change);
            format!("by rule: {words} vs {}", change.against())
        }
        _ => format!("by rule: {}", verdict.why),
    }
}
