//! The view Source: what is read for it and when, whose messages stand in it, and its keys.

use super::super::effect::Effect;
use super::super::highlight::Highlighted;
use super::super::panes::Pane;
use super::super::source::{Against, Asked, Messages, Source, Which, of_kernel};
use super::super::status::Level;
use super::{App, Judged, Running};
use crate::request::Spot;
use crate::request::ViewRequest as Wish;
use lab_core::run::experiment::Experiment;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Fingerprint, RunId};
use lab_protocol::report::{Report, Severity, Stage};
use std::sync::Arc;

impl App {
    /// Has kernel.cu read anew where it, or what it is compared with, is another than what is shown.
    pub(super) fn look_at_source(&mut self) -> Option<Effect> {
        if !self.panes.shows(Pane::Source) {
            return None;
        }
        self.place_messages();
        let asked = self.wanted_source();
        if self.panes.source.asked.as_ref() == Some(&asked) {
            return None;
        }
        self.panes.source.asked = Some(asked.clone());
        Some(Effect::Read(Wish::Source(asked)))
    }

    fn wanted_source(&self) -> Asked {
        let chosen = self.chosen.clone().filter(|_| self.panes.source.against_chosen);
        let present = self.present.as_ref().and_then(|present| present.as_ref().ok());
        let is_older = |of: &&(RunId, &Fingerprint, &Report)| Some(of.1) != present;
        Asked {
            against: chosen.map_or(Against::Incumbent, Against::Experiment),
            runs: self.speakers().iter().filter(is_older).map(|(run, ..)| *run).collect(),
            present: present.cloned(),
            head: self.status.as_ref().and_then(|status| status.head.commit.clone()),
            around: self.panes.around,
        }
    }

    /// The runs whose compilers and tools have something to say of kernel.cu: the one that goes on once its build has
    /// spoken, else the last; and the last check, unless what it found is of bytes that a verdict has come after.
    fn speakers<'a>(&'a self) -> Vec<(RunId, &'a Fingerprint, &'a Report)> {
        let live = match &self.running {
            Running::Live(live) => Some((&*live.start, &*live.report)),
            _ => None,
        };
        let has_spoken = |report: &Report| {
            !report.diagnostics().is_empty() || report.stage().is_some_and(|stage| stage > Stage::Build)
        };
        let of = |ended: Option<&'a Judged>, check: bool| {
            let live = live.filter(|(start, report)| start.is_check() == check && has_spoken(report));
            live.or_else(|| ended.map(|judged| (&judged.start, &*judged.report)))
        };
        let last = self.last.as_ref().map(|last| last.start.id);
        let check = self.checked().or(self.check.as_ref().filter(|check| Some(check.start.id) > last));
        let all = [of(self.last.as_ref(), false), of(check, true)].into_iter().flatten();
        let all = all.map(|(start, report)| (start.id, &start.fingerprint, report));
        all.filter(|(.., report)| !report.diagnostics().is_empty()).collect()
    }

    /// Puts the messages at their lines, where there are others than before.
    fn place_messages(&mut self) {
        let speakers = self.speakers();
        let runs: Vec<_> =
            speakers.iter().map(|(run, _, report)| (*run, report.diagnostics().len())).collect();
        if self.panes.source.has_placed(&runs) {
            return;
        }
        let Some(source) = self.panes.source.source() else { return };
        let messages = Messages::of(source, speakers, &self.setup.kernel);
        self.panes.source.place(runs, messages);
    }

    /// An answer to an older wish is dropped.
    pub(super) fn on_source(&mut self, source: Source) -> Vec<Effect> {
        if self.panes.source.asked.as_ref() != Some(&source.asked) {
            self.dirty = false;
            return Vec::new();
        }
        self.panes.source.take(source);
        self.panes.source.texts().map(|(which, text)| Effect::Colour(which, text)).collect()
    }

    pub(super) fn on_coloured(&mut self, which: Which, text: &Arc<[u8]>, found: Highlighted) -> Vec<Effect> {
        let is_shown = self.panes.source.take_colours(which, text, found);
        self.dirty = is_shown && self.panes.shows(Pane::Source);
        Vec::new()
    }

    /// Compares with the chosen experiment, or with the incumbent again.
    pub(super) fn switch_base(&mut self) {
        if self.chosen().is_none() {
            // What the table marks as long as nothing is chosen.
            self.chosen = self.topmost().map(Experiment::key);
            self.panes.source.against_chosen = false;
        }
        if self.chosen.is_none() {
            self.say(Level::Warning, "no experiment to compare with yet");
            return;
        }
        self.panes.source.against_chosen = !self.panes.source.against_chosen;
    }

    pub(super) fn step_mark(&mut self, forward: bool) {
        if !self.panes.source.step_mark(forward) {
            self.say(Level::Info, "no message, and nothing changed");
        }
    }

    pub(super) fn step_edit(&mut self, forward: bool) {
        if !self.panes.source.step_change(forward) {
            self.say(Level::Info, "nothing changed");
        }
    }

    /// Where an editor is to open: at the cursor where the source is looked at, else where the build failed.
    pub(super) fn editor_spot(&self) -> Option<Spot> {
        let at_cursor = self.panes.source.line().filter(|_| self.panes.focus() == Pane::Source);
        let Some(line) = at_cursor else { return self.first_error() };
        // The cursor has no column; a message at its line has.
        let message = self.panes.source.messages_at(line as usize - 1).first();
        Some(Spot { line, column: message.and_then(|message| message.column) })
    }

    /// The cursor's place as compilers write it, with what they say of it.
    pub(super) fn source_place(&self) -> String {
        let Some(line) = self.panes.source.line() else { return self.setup.kernel.clone() };
        let place = format!("{}:{line}", self.setup.kernel);
        let words = self.panes.source.messages_at(line as usize - 1).iter();
        let words: Vec<String> = words.map(|m| format!("{place}: {}: {}", m.word(), m.text)).collect();
        if words.is_empty() { place } else { words.join("\n") }
    }

    /// A command of the user's does not say that it was the build that failed, but shows a compiler's errors.
    fn first_error(&self) -> Option<Spot> {
        let failed = |run: &&Judged| run.verdict.outcome != Outcome::Pass;
        let last = self.last.as_ref().filter(failed).or(self.checked().filter(failed))?;
        let errors = last.report.diagnostics().iter().filter(|d| d.severity == Severity::Error);
        errors
            .filter(|d| of_kernel(&d.file, &self.setup.kernel))
            .map(|d| Spot { line: d.line, column: d.column })
            .next()
    }
}
