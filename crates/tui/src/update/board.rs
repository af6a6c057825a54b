//! The views Decisions and Sweep: when the board and the sweep are read, and the run behind a figure.

use crate::model::Model;
use crate::panes::sweep::PointsState;
use crate::request::ViewRequest;
use crate::views::{Pane, View};
use lab_board::{Decision, Evidence, EvidenceKind, Source};
use lab_run::RunId;
use lab_run::experiment::Experiment;
use lab_sweep::SweepView;

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

    /// Shows the run behind the selected decision in Results, its profile in Device, or its bench or
    /// sweep in place of the decision: that of the first figure that the claim cites, if it is here.
    pub(super) fn open_evidence(&mut self) {
        if self.close_record() {
            return;
        }
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let Some(decision) = decision else {
            return self.inform("no decision is selected");
        };
        let found = self.evidence_of(decision).find_map(|it| match it.kind {
            EvidenceKind::Bench | EvidenceKind::Sweep => Some((None, it)),
            _ => Some((Some(self.run_behind(it)?.key()), it)),
        });
        let other = self.evidence_of(decision).next();
        match found.map(|(key, it)| (key, it.source(), it.measured)) {
            Some((Some(key), source, _)) => {
                self.select(Some(key));
                self.show_selected_problem();
                self.show(match source {
                    Source::Profile(_) => View::Device,
                    _ => View::Results,
                });
            }
            Some((None, source, made)) => self.load(ViewRequest::Record(source, made)),
            None => self.inform(match other {
                Some(it) => format!("run {} is no experiment of this clone", it.number),
                None => "it has no evidence yet".to_owned(),
            }),
        }
    }

    pub(super) fn on_record(&mut self, source: Source, lines: Option<Vec<String>>) {
        let decision = self.repository.decisions().get(self.panes.board.selected);
        let is_behind = |it: &Decision| self.evidence_of(it).any(|it| it.source() == source);
        if !decision.is_some_and(is_behind) {
            // Another decision was selected meanwhile.
            return;
        }
        if lines.is_none() {
            let option = source.to_string().replace(' ', " --show ");
            let why = format!("it is {source}: `lab {option}` shows it where it was made");
            return self.inform(why);
        }
        self.repository.record = lines;
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

    /// What its claim cites, then what it lists.
    fn evidence_of<'m>(&'m self, decision: &'m Decision) -> impl Iterator<Item = &'m Evidence> {
        let board = self.repository.board.as_ref();
        let board = board.and_then(|board| board.as_ref().ok());
        let cited = decision.claim.cited().map(|figure| &figure.evidence);
        let ids = cited.chain(&decision.evidence);
        ids.filter_map(move |id| board?.evidence.get(id).map(|held| &held.evidence))
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
