//! What dialogs show besides their own text.

use crate::model::Model;
use crate::prelude::*;
use itertools::Itertools;
use lab_run::RunId;
use lab_run::experiment::{Experiment, Status};
use lab_run::verdict::Outcome;

/// What the history and the present screen know of a kernel, in a few words.
pub(super) fn about_kernel(model: &Model, kernel: &str) -> String {
    // A change of the rules is a row, and no experiment.
    let is_of_it =
        |e: &&Experiment| e.kernel.as_deref() == Some(kernel) && e.row.status != Status::Rules;
    let here = (kernel == model.setup.kernel).then(|| "this screen".to_owned());
    let count = match model.repository.experiments.iter().filter(is_of_it).count() {
        0 => None,
        count => Some(format::counted(count, "experiment")),
    };
    [here, count].into_iter().flatten().join(", ")
}

/// Keys, each with a word.
pub(super) fn keys(model: &Model, words: &[(Action, &str)]) -> Vec<Span<'static>> {
    let keymap = &model.appearance.keymap;
    let spans = |(action, word): &(Action, &str)| {
        [keymap.key(*action).key(), Span::raw(format!(" {word}    "))]
    };
    words.iter().flat_map(spans).collect()
}

/// What the dialog of a keep of this run asks, and what the keep does besides.
pub(super) fn keep_question(model: &Model, run: RunId) -> String {
    let repository = &model.repository;
    let incumbent = repository.snapshot().and_then(|s| s.incumbent.as_ref());
    let present = repository.present();
    let first = present.map_or(&[][..], |present| &present.rules.first);
    let live = model.runs.live().map(|live| &*live.start);
    let last = model.runs.last.as_ref().map(|last| &last.start);
    let mut starts = live.into_iter().chain(last);
    let start = starts.find(|start| start.id == run);
    let is_held = start.is_some_and(|start| incumbent == Some(&start.blob));
    let mut text = String::from("What did you try? ");
    text.push_str(if is_held && first.is_empty() {
        "HEAD holds these bytes already: a row is written, and no commit is made."
    } else {
        "This becomes the commit's subject."
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
pub(super) fn verdict_line(model: &Model, action: Action, run: RunId) -> Line<'static> {
    if action == Action::Discard && model.discards_unjudged(run) {
        return Line::styled("∅ no verdict", WARN);
    }
    let Some(last) = model.runs.last_if(run) else {
        if model.awaited_run(action) == Some(run) {
            let name = action.binding().name;
            let text = format!("run {run} is in progress: the {name} waits for its verdict");
            return Line::styled(text, ACCENT);
        }
        return Line::styled("a newer run has ended meanwhile", WARN);
    };
    let verdict = &last.verdict;
    let word = format!("{} {}", verdict.sign(), verdict.word());
    let mut line = Line::from(Span::styled(word, style::verdict(verdict.outcome)));
    if verdict.outcome != Outcome::Pass {
        line.push_span(format!("  {}", printable(&verdict.why)));
        return line;
    }
    if let Some(measure) = verdict.objective {
        let unit = model.setup.objective.unit();
        line.push_span(format!("  {} {unit}", format::count(measure.value)).strong());
    }
    if verdict.emulated {
        line.push_span("  emulated".warn());
    }
    if !verdict.caveats.is_empty() {
        line.push_span("  caveated".warn());
    }
    if let Some(change) = verdict.change {
        let words = model.setup.in_words(&change);
        line.push_span(format!("  {words} vs {}", change.against()));
    }
    line
}
