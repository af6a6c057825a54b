//! What dialogs show besides their own text.

use crate::format;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::Overlay;
use crate::palette::PaletteRows;
use crate::state::{Repository, Runs, ScreenSettings, Setup};
use crate::text::printable;
use crate::theme::Theme;
use crate::views::View;
use lab_core::history::kernels::ListedKernel;
use lab_core::run::RunId;
use lab_core::run::experiment::{Experiment, Status};
use lab_core::run::verdict::Outcome;
use ratatui::text::{Line, Span};

/// What dialogs show besides their own text.
pub(super) struct Dialog<'a> {
    pub(super) appearance: &'a ScreenSettings,
    setup: &'a Setup,
    pub(super) runs: &'a Runs,
    repository: &'a Repository,
    pub(super) view: View,
    pub(super) list: ListRows<'a>,
    /// The description of a discard for which nothing is typed.
    pub(super) default_description: String,
}

/// The list below the line that is typed into.
pub(super) enum ListRows<'a> {
    None,
    Palette(PaletteRows),
    /// Indices of the themes that match.
    Themes(Vec<usize>),
    /// The kernels that match; `None` while they are looked for.
    Kernels(Option<Vec<&'a ListedKernel>>),
}

impl<'a> Dialog<'a> {
    pub(super) fn of(model: &'a Model) -> Self {
        let list = match model.overlays.last() {
            Some(Overlay::Palette(pick)) => {
                ListRows::Palette(model.palette_rows(pick.input.value()))
            }
            Some(Overlay::Themes { pick, .. }) => {
                ListRows::Themes(model.fitting_themes(pick.input.value()))
            }
            Some(Overlay::Kernels { pick, kernels }) => {
                let fitting = Model::fitting_kernels(pick.input.value(), kernels.as_ref());
                ListRows::Kernels(kernels.is_some().then_some(fitting))
            }
            _ => ListRows::None,
        };
        Dialog {
            appearance: &model.appearance,
            setup: &model.setup,
            runs: &model.runs,
            repository: &model.repository,
            view: model.panes.view,
            list,
            default_description: model.default_description(),
        }
    }

    /// The best kept experiment of a kernel as the history knows it: on the device of the newest
    /// one, over as many workloads and of the same measure, and a GPU's before one of an emulated
    /// device. `None` if nothing was kept.
    pub(super) fn best_of(&self, kernel: &ListedKernel) -> Option<&'a Experiment> {
        let is_kept = |e: &&Experiment| {
            e.kernel.as_deref() == Some(kernel.name.as_str()) && e.is_kept() && e.figure().is_some()
        };
        let kept = || self.repository.experiments.iter().filter(is_kept);
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
        let experiments = &self.repository.experiments;
        // A change of the rules is a row, and no experiment.
        let of_it = experiments.iter().filter(|experiment| {
            experiment.kernel.as_deref() == Some(kernel) && experiment.row.status != Status::Rules
        });
        let count = match of_it.count() {
            0 => String::new(),
            1 => "1 experiment".to_owned(),
            many => format!("{many} experiments"),
        };
        match (kernel == self.setup.kernel, count.is_empty()) {
            (true, true) => "this screen".to_owned(),
            (true, false) => format!("this screen, {count}"),
            (false, _) => count,
        }
    }

    pub(super) fn theme(&self) -> &'a Theme {
        &self.appearance.theme
    }

    /// Keys, each with a word.
    pub(super) fn keys(&self, words: &[(Action, &str)]) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        for (action, word) in words {
            spans.push(Span::styled(
                self.appearance.keymap.key(*action),
                self.theme().key(),
            ));
            spans.push(Span::raw(format!(" {word}    ")));
        }
        spans
    }

    /// What the dialog of a keep asks, and what the keep does besides.
    pub(super) fn keep_question(&self) -> String {
        let snapshot = self
            .repository
            .status
            .as_ref()
            .map(|status| &status.snapshot);
        let incumbent = snapshot.and_then(|snapshot| snapshot.incumbent.as_ref());
        let present = snapshot.and_then(|snapshot| snapshot.present.as_ref().ok());
        let first = present
            .map(|present| present.rules.first.as_slice())
            .unwrap_or_default();
        let is_held = self
            .runs
            .last
            .as_ref()
            .is_some_and(|last| incumbent == Some(&last.start.blob));
        let mut text = String::from("What did you try? ");
        // The description goes into the row and the record.
        text.push_str(match is_held && first.is_empty() {
            true => "HEAD holds these bytes already: a row is written, and no commit is made.",
            false => "This becomes the commit's subject.",
        });
        if !first.is_empty() {
            let names = printable(&first.join(", ")).into_owned();
            text.push_str(&format!(
                " The first keep also commits the rules of the problem: {names}."
            ));
        }
        if let Some(runs) = present
            .map(|present| present.sealed_runs)
            .filter(|runs| *runs > 1)
        {
            text.push_str(&format!(
                " A held-out check was failed before, so the kernel has to pass {runs} sealed runs first."
            ));
        }
        text
    }

    /// What the decision is about: the verdict and its figure.
    pub(super) fn verdict_line(&self, run: RunId) -> Line<'static> {
        let theme = self.theme();
        let Some(last) = self.runs.last_if(run) else {
            return Line::styled("a newer run has ended meanwhile", theme.warn());
        };
        let verdict = &last.verdict;
        let mut spans = vec![Span::styled(
            format!("{} {}", verdict.sign(), verdict.word()),
            theme.verdict(verdict.outcome),
        )];
        if verdict.outcome == Outcome::Pass {
            if let Some(measure) = verdict.objective {
                let unit = format::unit(&self.setup.objective);
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
