//! Keep, discard and undo, by the user's word or, where that is asked for, by rule.

use super::super::draft::Draft;
use super::super::effect::Effect;
use super::super::keymap::Action;
use super::super::overlay::Overlay;
use super::super::status::Level;
use super::super::text::printable;
use super::{App, Deciding};
use crate::request::Request;
use lab_core::config::Config;
use lab_core::decide::auto::{self, Auto};
use lab_core::decide::policy::{Discard, Newer};
use lab_core::decide::{Refusal, Undoable, Undone};
use lab_core::history::tested as trailers;
use lab_core::message::{self, Message};
use lab_core::repo::short;
use lab_core::run::RunId;
use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;

impl App {
    /// Asks for the words that the keep is written down with.
    pub(super) fn describe_keep(&mut self) {
        let Some(last) = &self.last else { return };
        let run = last.start.id;
        self.overlays.push(Overlay::Keep { draft: self.drafts.keep(run, self.said_of(run)) });
    }

    /// Asks for the words of a discard; first, where other bytes than the judged ones would go, whether they may.
    pub(super) fn describe_discard(&mut self) {
        let Some(last) = &self.last else { return };
        let run = last.start.id;
        let kernel = &self.setup.kernel;
        let question = match self.allowed().discard {
            Ok(Discard::Run(_)) => return self.open_discard(run, false),
            Ok(Discard::Unjudged { unreadable: true, .. }) => {
                format!("{kernel} cannot be read. Put the incumbent's back? No row is written.")
            }
            Ok(Discard::Unjudged { .. }) => format!(
                "No verdict belongs to the present bytes of {kernel}. Discard them unjudged? They are kept in git, \
                 but no row is written."
            ),
            Ok(Discard::AlsoNewer(run, Newer::Unreadable(_))) => format!(
                "{kernel} cannot be read. Discard what run {run} judged, and put the incumbent's back? What was \
                 judged is kept in git."
            ),
            Ok(Discard::AlsoNewer(run, Newer::Changed(_))) => format!(
                "{kernel} has changed since run {run} judged it. Discard the newer bytes too? Both are kept in git."
            ),
            Err(why) => return self.say(Level::Warning, why.to_string()),
        };
        self.ask_discard(question);
    }

    pub(super) fn ask_discard(&mut self, text: String) {
        let Some(run) = self.last.as_ref().map(|last| last.start.id) else { return };
        self.ask(Overlay::DiscardNewer { run, text });
    }

    pub(super) fn open_discard(&mut self, run: RunId, confirmed: bool) {
        let draft = self.drafts.discard(run, self.said_of(run));
        self.overlays.push(Overlay::Discard { draft, confirmed });
    }

    /// What the verdict of the last run says, where it is this one.
    fn said_of(&self, run: RunId) -> String {
        let record = self.last.as_ref().map(|last| &*last.record).filter(|record| record.start.id == run);
        record.map(|record| self.tested(record)).unwrap_or_default()
    }

    fn tested(&self, record: &Record) -> String {
        let (objective, goal) = (self.setup.objective.clone(), self.setup.goal);
        trailers::tested(record, &self.history, &Config { objective, goal, ..Config::default() })
    }

    pub(super) fn accept_keep(&mut self, mut draft: Draft) -> Vec<Effect> {
        draft.complete();
        draft.problem = if draft.subject().is_empty() {
            Some("say what you tried: it becomes the commit's subject".to_owned())
        } else {
            self.not_any_more(Action::Keep, draft.run).or_else(|| draft.wrong())
        };
        if draft.problem.is_some() {
            self.overlays.push(Overlay::Keep { draft });
            return Vec::new();
        }
        self.deciding = Some(Deciding::Keep);
        let request = Request::Keep { run: draft.run, message: draft.message("") };
        // It may be refused yet.
        self.drafts.put_keep(draft);
        vec![Effect::Ask(request)]
    }

    pub(super) fn accept_discard(&mut self, mut draft: Draft, confirmed: bool) -> Vec<Effect> {
        draft.complete();
        draft.problem = self.not_any_more(Action::Discard, draft.run).or_else(|| draft.wrong());
        if draft.problem.is_some() {
            self.overlays.push(Overlay::Discard { draft, confirmed });
            return Vec::new();
        }
        self.deciding = Some(Deciding::Discard);
        let message = draft.message(&self.own_words());
        let request = Request::Discard { run: draft.run, message, confirmed };
        self.drafts.put_discard(draft);
        vec![Effect::Ask(request)]
    }

    /// Why the run that a dialog is about can no longer be decided: the world went on while it was open.
    fn not_any_more(&self, action: Action, run: RunId) -> Option<String> {
        let last = self.last.as_ref().map(|last| last.start.id);
        if last != Some(run) {
            return Some(
                "a newer run has judged newer bytes: close this and look again; your words stay".to_owned(),
            );
        }
        self.usable(action).err()
    }

    /// The description of a discard that nobody described: what the run came to.
    pub fn own_words(&self) -> String {
        match &self.last {
            Some(last) if !last.verdict.why.is_empty() => printable(&last.verdict.why).into_owned(),
            _ => "no reason given".to_owned(),
        }
    }

    /// What undoing the last decision would do, to be answered.
    pub(super) fn on_undoable(&mut self, undoable: Result<Undoable, String>) -> Vec<Effect> {
        match undoable {
            Ok(Undoable { run, question, .. }) if self.is_calm().is_ok() => {
                self.overlays.retain(|overlay| !matches!(overlay, Overlay::Undo { .. }));
                self.ask(Overlay::Undo { run, text: printable(&question).into_owned() });
            }
            Ok(_) => {}
            Err(why) => self.say(Level::Warning, format!("undo: {why}")),
        }
        Vec::new()
    }

    pub(super) fn undo(&mut self, run: RunId) -> Vec<Effect> {
        if let Err(why) = self.is_calm() {
            self.refuse(Deciding::Undo, why);
            return Vec::new();
        }
        self.deciding = Some(Deciding::Undo);
        vec![Effect::Ask(Request::Undo(run))]
    }

    pub(super) fn on_undone(&mut self, result: Result<Undone, Refusal>) -> Vec<Effect> {
        self.deciding = None;
        self.whole = None;
        match result {
            Ok(undone) => {
                if let Some(last) = self.last.as_mut().filter(|last| last.start.id == undone.run) {
                    last.decided = None;
                }
                let (run, word) = (undone.run, undone.status.word());
                let mut text =
                    format!("run {run} is undecided again: {word} {} is undone", short(&undone.commit));
                for note in &undone.notes {
                    text.push_str(&format!(" · {note}"));
                }
                self.say(Level::Info, text);
            }
            Err(refusal) => self.refuse(Deciding::Undo, refusal.to_string()),
        }
        vec![Effect::Refresh]
    }

    pub(super) fn toggle_auto(&mut self) {
        self.auto = !self.auto;
        match self.auto {
            true => self.say(Level::Info, auto::RULE),
            false => {
                let (keep, discard) = (self.keymap.way(Action::Keep), self.keymap.way(Action::Discard));
                self.say(Level::Info, format!("auto-decide is off: {keep} keeps, {discard} discards"));
            }
        }
    }

    /// Decides by rule about the run that has just ended, where it is the one that the look at the disk is about.
    pub(super) fn decide_by_rule(&mut self) -> Vec<Effect> {
        let looked_at = self.status.as_ref().and_then(|status| status.last.as_ref()).map(|r| r.start.id);
        let Some(run) = self.to_be_ruled.take_if(|run| Some(*run) == looked_at) else { return Vec::new() };
        let last = self.last.as_ref().filter(|last| self.auto && last.start.id == run);
        let Some(record) = last.map(|last| last.record.clone()) else { return Vec::new() };
        let incumbent = self.status.as_ref().and_then(|status| status.snapshot.incumbent.as_deref());
        let message = Message::new(&ruled_words(&record), [(message::Key::Tested, self.tested(&record))]);
        let ruled = match auto::decide(&record, incumbent) {
            Auto::Leave(why) => Err(why),
            // Whoever has a dialog open is about to decide.
            _ if !self.overlays.is_empty() => Err("a dialog is open".to_owned()),
            Auto::Keep => {
                self.usable(Action::Keep).map(|()| (Deciding::Keep, Request::Keep { run, message }))
            }
            Auto::Discard => {
                let request = Request::Discard { run, message, confirmed: false };
                self.usable(Action::Discard).map(|()| (Deciding::Discard, request))
            }
        };
        match ruled {
            Err(why) => {
                self.say(Level::Info, format!("auto-decide leaves run {run} to you: {why}"));
                Vec::new()
            }
            Ok((what, request)) => {
                self.deciding = Some(what);
                self.by_rule = true;
                vec![Effect::Ask(request)]
            }
        }
    }
}

/// What a run is called that nobody described: that it was decided by rule, and by what.
fn ruled_words(record: &Record) -> String {
    let verdict = record.verdict.as_ref();
    match verdict.and_then(|v| v.change).filter(|_| verdict.is_some_and(|v| v.outcome == Outcome::Pass)) {
        Some(change) => format!("auto: {} vs {}", change.words(), change.against()),
        None => format!("auto: {}", verdict.map_or("", |v| v.why.as_str())),
    }
}
