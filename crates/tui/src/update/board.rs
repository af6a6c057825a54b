//! The views Decisions and Sweep: when the board and the sweep are read, and the run behind a figure.

use crate::model::Model;
use crate::overlay::PickFrom;
use crate::panes::sweep::PointsState;
use crate::request::ViewRequest;
use crate::views::{Pane, View};
use jiff::Timestamp;
use lab_board::{Decision, Evidence, EvidenceKind, Held, Source, words};
use lab_run::RunId;
use lab_run::experiment::Experiment;
use lab_sweep::SweepView;
use std::collections::HashSet;

/// How far a time that evidence holds may be from the time in the row: evidence is rounded.
const ROUNDED: f64 = 1e-3;

impl Model {
    /// Reads the board where its view is shown.
    pub(super) fn load_board(&mut self) {
        if self.panes.view == View::Decisions {
            self.load(ViewRequest::Board);
        }
    }

    /// Reads the newest sweep where its view is shown.
    pub(super) fn load_sweep(&mut self) {
        if self.panes.view == View::Sweep {
            let known = self.repository.sweep.as_ref();
            let known = known.map(|it| (Box::new(it.sweep.start.clone()), it.read));
            self.load(ViewRequest::Sweep(known));
        }
    }

    pub(super) fn on_sweep(&mut self, news: Option<Box<SweepView>>) {
        match (&mut self.repository.sweep, news) {
            (Some(known), Some(news)) if known.sweep.start == news.sweep.start => known.take(*news),
            (known, news) => {
                *known = news;
                self.panes.points = PointsState::default();
            }
        }
    }

    /// Shows what is behind the selected decision; of several records, the one that is chosen.
    pub(super) fn open_evidence(&mut self) {
        if self.close_record() {
            return;
        }
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let Some(decision) = decision else {
            return self.inform("no decision is selected");
        };
        let mut records: Vec<(String, String)> = Vec::new();
        let mut seen = HashSet::new();
        for (id, held) in self.evidence_of(decision) {
            let it = &held.evidence;
            // The same record under two ids is one.
            let about = format!("{} of {}", it.source(), it.kernel);
            if seen.insert((it.record(), &it.kernel)) {
                records.push((id.clone(), about));
            }
        }
        match records.as_slice() {
            [] => self.inform("it has no evidence yet"),
            [(only, _)] => self.open_record_of(&only.clone()),
            _ => self.open_pick(PickFrom::Evidence(records)),
        }
    }

    /// Shows the run behind evidence in Results, its profile in Device, or its bench or sweep in place
    /// of the decision. What is not in this clone is shown as its evidence holds it.
    pub(super) fn open_record_of(&mut self, id: &str) {
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let mut evidence = decision.into_iter().flat_map(|it| self.evidence_of(it));
        let Some((_, held)) = evidence.find(|(of, _)| *of == id) else {
            return;
        };
        let it = &held.evidence;
        let (source, made) = (it.source(), it.measured);
        let run = self.run_behind(it).map(Experiment::key);
        drop(evidence);
        if matches!(source, Source::Bench(_) | Source::Sweep(_)) {
            return self.load(ViewRequest::Record(source, made));
        }
        match run {
            Some(key) => {
                self.select(Some(key));
                self.show_selected_problem();
                self.show(match source {
                    Source::Profile(_) => View::Device,
                    _ => View::Results,
                });
            }
            None => self.on_record(source, made, None),
        }
    }

    /// Shows a record, or without it what its evidence holds.
    pub(super) fn on_record(
        &mut self,
        source: Source,
        made: Timestamp,
        lines: Option<Vec<String>>,
    ) {
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let mut evidence = decision.into_iter().flat_map(|it| self.evidence_of(it));
        let is_it = |it: &Evidence| it.source() == source && it.measured == made;
        let Some((id, held)) = evidence.find(|(_, it)| is_it(&it.evidence)) else {
            // Another decision was selected meanwhile.
            return;
        };
        let lines = lines.unwrap_or_else(|| words::record(id, held));
        drop(evidence);
        self.repository.record = Some(lines);
        self.panes.text_mut(Pane::Decision).show(0);
        self.panes.set_focus(Pane::Decision);
    }

    /// Shows the decision again in place of its record. Returns whether a record was shown.
    pub(super) fn close_record(&mut self) -> bool {
        let was_shown = self.repository.record.take().is_some();
        if was_shown {
            self.panes.text_mut(Pane::Decision).show(0);
            self.panes.set_focus(Pane::Board);
        }
        was_shown
    }

    /// What its claim cites, then what it lists: each with its id.
    fn evidence_of<'m>(
        &'m self,
        decision: &'m Decision,
    ) -> impl Iterator<Item = (&'m String, &'m Held)> {
        let board = self.repository.board.as_ref();
        let board = board.and_then(|board| board.as_ref().ok());
        let cited = decision.claim.cited().map(|figure| &figure.evidence);
        let ids = cited.chain(&decision.evidence);
        ids.filter_map(move |id| Some((id, board?.evidence.get(id)?)))
    }

    /// The run of this clone that evidence was made of. Another lab's run may have the same number, so
    /// device and time must be the same too.
    fn run_behind(&self, evidence: &Evidence) -> Option<&Experiment> {
        let is_run = matches!(
            evidence.kind,
            EvidenceKind::Experiment | EvidenceKind::Profile
        );
        let run = is_run.then_some(RunId(evidence.number))?;
        let mut experiments = self.repository.experiments.iter();
        let is_as_long = |it: &Experiment| {
            let us = evidence.figures.get("us");
            us.is_none_or(|us| (us.value / it.row.kernel_us - 1.0).abs() < ROUNDED)
        };
        experiments.find(|it| {
            let is_same = it.run == Some(run) && it.is_about(&evidence.kernel);
            is_same && it.device == evidence.device && is_as_long(it)
        })
    }
}
