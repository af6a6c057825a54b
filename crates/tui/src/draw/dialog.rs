//! What dialogs show besides their own text.

use crate::format;
use crate::keymap::Action;
use crate::model::Model;
use crate::text::printable;
use crate::theme::Theme;
use lab_history::kernels::ListedKernel;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use lab_run::verdict::Outcome;
use ratatui::text::{Line, Span};

/// What dialogs show besides their own text.
pub(super) struct Dialog<'a> {
    pub(super) model: &'a Model,
}

impl<'a> Dialog<'a> {
    /// The best kept experiment of a kernel as the history knows it: on the device of the newest
    /// one, over as many workloads and of the same measure, and a GPU's before one of an emulated
    /// device. `None` if nothing was kept.
    pub(super) fn best_of(&self, kernel: &ListedKernel) -> Option<&'a Experiment> {
        let is_kept = |e: &&Experiment| {
            e.kernel.as_deref() == Some(kernel.name.as_str()) && e.is_kept() && e.figure().is_some()
        };
        let kept = || self.model.repository.experiments.iter().filter(is_kept);
        let newest = kept()
            .rfind(|e| !e.emulated)
            .or_else(|| kept().next_back())?;
        let alike = kept().filter(|e| {
            e.emulated == newest.emulated
                && e.device == newest.device
                && e.measured.part == newest.measured.part
                && e.measure() == newest.measure()
        });
        let goal = newest.goal(kernel.goal);
        let prefers = |a: &Experiment, b: &Experiment| {
            a.figure()
                .zip(b.figure())
                .is_some_and(|(a, b)| goal.prefers(a, b))
        };
        alike.reduce(|best, e| if prefers(e, best) { e } else { best })
    }

    /// What the history and the present screen know of a kernel, in a few words.
    pub(super) fn about_kernel(&self, kernel: &str) -> String {
        let experiments = &self.model.repository.experiments;
        // A change of the rules is a row, and no experiment.
        let of_it = experiments.iter().filter(|experiment| {
            experiment.kernel.as_deref() == Some(kernel) && experiment.row.status != Status::Rules
        });
        let count = match of_it.count() {
            0 => String::new(),
            1 => "1 experiment".to_owned(),
            many => format!("{many} experiments"),
        };
        match (kernel == self.model.setup.kernel, count.is_empty()) {
            (true, true) => "this screen".to_owned(),
            (true, false) => format!("this screen, {count}"),
            (false, _) => count,
        }
    }

    pub(super) fn theme(&self) -> &'a Theme {
        &self.model.appearance.theme
    }

    /// Keys, each with a word.
    pub(super) fn keys(&self, words: &[(Action, &str)]) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for (action, word) in words {
            spans.push(Span::styled(
                self.model.appearance.keymap.key(*action),
                self.theme().key(),
            ));
            spans.push(Span::raw(format!(" {word}    ")));
        }
        spans
    }

    /// What the dialog of a keep asks, and what the keep does besides.
    pub(super) fn keep_question(&self) -> String {
        let repository = &self.model.repository;
        let incumbent = repository.snapshot().and_then(|s| s.incumbent.as_ref());
        let present = repository.present();
        let first = present.map_or(&[][..], |present| &present.rules.first);
        let last = self.model.runs.last.as_ref();
        let is_held = last.is_some_and(|last| incumbent == Some(&last.start.blob));
        let mut text = String::from("What did you try? ");
        text.push_str(match is_held && first.is_empty() {
            true => "HEAD holds these bytes already: a row is written, and no commit is made.",
            false => "This becomes the commit's subject.",
        });
        if !first.is_empty() {
            let names = printable(&first.join(", "));
            text.push_str(&format!(
                " The first keep also commits the rules of the problem: {names}."
            ));
        }
        if let Some(runs) = present.map(|p| p.sealed_runs).filter(|runs| *runs > 1) {
            text.push_str(&format!(
                " A held-out check was failed before, so the kernel has to pass {runs} sealed runs first."
            ));
        }
        text
    }

    /// What the decision is about: the verdict and its figure.
    pub(super) fn verdict_line(&self, run: RunId) -> Line<'static> {
        let theme = self.theme();
        let Some(last) = self.model.runs.last_if(run) else {
            return Line::styled("a newer run has ended meanwhile", theme.warn());
        };
        let verdict = &last.verdict;
        let mut spans = vec![Span::styled(
            format!("{} {}", verdict.sign(), verdict.word()),
            theme.verdict(verdict.outcome),
        )];
        if verdict.outcome == Outcome::Pass {
            if let Some(measure) = verdict.objective {
                let unit = self.model.setup.objective.unit();
                spans.push(Span::styled(
                    format!("  {} {unit}", format::count(measure.value)),
                    theme.strong(),
                ));
            }
            if verdict.emulated {
                spans.push(Span::styled("  emulated", theme.warn()));
            }
            if let Some(change) = verdict.change {
                spans.push(Span::raw(format!("  {change} vs {}", change.against())));
            }
        } else {
            spans.push(Span::raw(format!("  {}", printable(&verdict.why))));
        }
        Line::from(spans)
    }
}
