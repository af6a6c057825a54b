//! The verdict: one word, one colour, one number, the change against the
//! incumbent. While a run is in progress, its stage; the last verdict stays beside it.

mod figures;

use super::big_letters;
use super::head::which_run;
use crate::chart::SymbolSet;
use crate::model::Model;
use crate::prelude::*;
use crate::state::{FinishedRun, LiveRun, Running};
use figures::{before_void, change_style, figures, peers_behind, qualifies, so_far, third_line};
use lab_protocol::report::{Asked, time_left};
use lab_protocol::report::{Report, Stage};
use lab_run::Reason;
use lab_run::experiment::Status;
use lab_run::verdict::Outcome;
use lab_text::age::in_words;
use std::time::Duration;

/// Least columns of a screen without a head that names the kernel, and most of the name there.
const NAMED: u16 = 60;
const NAME: usize = 16;
/// Cells of the progress bar.
const BAR: u64 = 16;

/// Draws three rows of big letters, and three lines of text beside them.
pub(super) fn draw_large(model: &Model, frame: &mut Frame, area: Rect) {
    let mut x = area.x + 2;
    let second = Line::from(second_line(model));
    for (at, (text, style)) in big_words(model).into_iter().enumerate() {
        // Nobody can read letters that are made of `#`, `_` and `"`: the text beside them says it all.
        let is_ascii = model.appearance.symbols == SymbolSet::Ascii;
        let Some(rows) = big_letters::rows(&text).filter(|_| !is_ascii) else {
            continue;
        };
        let columns = big_letters::width(&text) as u16;
        // The text beside the letters needs 40 columns. Figures stand in it too, with their interval:
        // large ones must not push it off the screen.
        let beside = if at == 0 {
            40
        } else {
            40.max(second.width() as u16 + 5)
        };
        if x + columns + beside > area.right() {
            continue;
        }
        for (line, y) in rows.iter().zip(area.y + 1..) {
            frame.buffer_mut().set_string(x, y, line, style);
        }
        x += columns + 4;
    }
    let beside = Rect {
        x,
        y: area.y + 1,
        width: area.right().saturating_sub(x + 1),
        height: area.height.saturating_sub(1),
    };
    let lines = [first_line(model).into(), second, third_line(model).into()];
    draw_rows(frame, beside, lines);
}

fn big_words(model: &Model) -> Vec<(String, Style)> {
    let last = match (&model.runs.running, &model.runs.last) {
        (Running::Live(live), _) => return vec![(stage_word(live).to_uppercase(), ACCENT)],
        (Running::Asked(..), _) => return vec![("START".to_owned(), ACCENT)],
        (Running::No, None) => return Vec::new(),
        (Running::No, Some(last)) => last,
    };
    let verdict = &last.verdict;
    // Times of the emulated device say nothing about a GPU, so they are not shown big.
    let counts = verdict.outcome == Outcome::Pass && !verdict.emulated;
    let figure = verdict.figure(&model.setup.objective).filter(|_| counts);
    let mut words = vec![(verdict.word().to_owned(), style::verdict(verdict.outcome))];
    words.extend(figure.map(|figure| (format::count(figure.measure.value), STRONG)));
    words.extend(verdict.change.map(|change| {
        let better = change.improvement(model.setup.goal).ratio;
        let text = format::percent(better).replace(' ', "");
        (text, change_style(model, &change))
    }));
    if model.runs.is_stale() {
        words.iter_mut().for_each(|(_, style)| *style = QUIET);
    }
    words
}

/// The progress of a run or check, else the verdict's sign and word; then its tags.
fn first_line(model: &Model) -> Vec<Span<'static>> {
    let mut line = match (&model.runs.running, &model.runs.last) {
        _ if model.decision.held_out.is_some() => progress(model),
        (Running::No, Some(last)) => verdict_word(model, last),
        (Running::No, None) => vec![nothing_yet(model)],
        _ => progress(model),
    };
    line.extend(tags(model));
    line.extend(explained(model));
    line
}

fn second_line(model: &Model) -> Vec<Span<'static>> {
    let Some(last) = &model.runs.last else {
        return so_far(model).unwrap_or_default();
    };
    if model.runs.is_idle() {
        let mut line = figures(model, last);
        // The third line has something more urgent to say.
        if qualifies(model).is_some() {
            line.extend(peers_behind(model, last));
        }
        return line;
    }
    so_far(model).unwrap_or_else(|| {
        let mut line = vec!["last  ".quiet()];
        line.extend(verdict_word(model, last));
        line.push(Span::raw("  "));
        line.extend(figures(model, last));
        line
    })
}

/// Draws all of it in one row. The head, where there is one, already names the run.
pub(super) fn draw_line(model: &Model, frame: &mut Frame, area: Rect, has_head: bool) {
    let mut line = vec![Span::raw(" ")];
    // Without a head this row is the only one that can name the kernel.
    if !has_head && area.width >= NAMED {
        line.push(format!("{}  ", fit(&model.setup.name, NAME)).strong());
    }
    match (&model.runs.running, &model.runs.last) {
        _ if model.decision.held_out.is_some() => {
            line.extend(progress(model));
            line.extend(tags(model));
            line.extend(explained(model));
        }
        (Running::No, Some(last)) => {
            let verdict = &last.verdict;
            let style = if model.runs.is_stale() {
                QUIET
            } else {
                style::verdict_block(verdict.outcome)
            };
            let word = format!(" {} {} ", verdict.sign(), verdict.word());
            line.push(Span::styled(word, style));
            line.extend(stale(model));
            // The tags come before the figures, so that a narrow screen does not cut them off.
            line.extend(tags(model));
            line.push(Span::raw("  "));
            if let Some(before) = before_void(model) {
                line.extend(before);
                line.push(Span::raw("  "));
            }
            line.extend(figures(model, last));
            line.extend(peers_behind(model, last));
        }
        (Running::No, None) => line.push(nothing_yet(model)),
        (_, last) => {
            line.extend(progress(model));
            if let Some(last) = last {
                line.push("  last ".quiet());
                line.extend(verdict_word(model, last));
            }
            line.extend(tags(model));
        }
    }
    let line = Line::from(line);
    let used = line.width() as u16;
    draw_rows(frame, area, [line]);
    let room = area.width.saturating_sub(used);
    let [right, ..] = which_run(model);
    if !has_head && width(&right) + 3 < usize::from(room) {
        let place = Rect {
            x: area.x + used,
            width: room,
            ..area
        };
        let right = Line::styled(format!("{right} "), QUIET);
        frame.render_widget(right.right_aligned(), place);
    }
}

fn nothing_yet(model: &Model) -> Span<'static> {
    let rerun = model.way(Action::Rerun);
    let runs = &model.runs;
    match (&runs.present, runs.untrusted, model.repository.loaded) {
        (_, Some(subject), _) => {
            format!("no verdict: {subject} is not trusted, {rerun} asks again  ").warn()
        }
        (Some(Err(why)), ..) => format!("no verdict: {}  ", printable(why)).warn(),
        (_, _, false) => "reading the repository …  ".quiet(),
        _ if runs.other_screen.is_some() => "no verdict yet: another screen judges  ".quiet(),
        _ if runs.cannot_start => {
            format!("no verdict: the run could not start, {rerun} says why  ").warn()
        }
        _ => {
            let file = model.setup.file();
            format!("no verdict yet: save {file}, or press {rerun}  ").quiet()
        }
    }
}

fn verdict_word(model: &Model, last: &FinishedRun) -> Vec<Span<'static>> {
    let verdict = &last.verdict;
    let style = if model.runs.is_stale() {
        QUIET
    } else {
        style::verdict(verdict.outcome)
    };
    let word = format!("{} {}", verdict.sign(), verdict.word());
    let mut spans = vec![Span::styled(word, style)];
    spans.extend(stale(model));
    spans
}

/// The mark of a verdict about other bytes than those on disk.
fn stale(model: &Model) -> Option<Span<'static>> {
    model.runs.is_stale().then(|| "  stale".warn())
}

/// Words that qualify the verdict, so that nothing depends on colour alone.
fn tags(model: &Model) -> Vec<Span<'static>> {
    let runs = &model.runs;
    let ended = runs.last.as_ref().filter(|_| runs.is_idle());
    let decided = ended.and_then(|last| last.decided);
    let is_kept = decided == Some(Status::Keep);
    let is_foreign = ended.is_some_and(|last| last.record.is_foreign());
    let report = runs.report();
    let passed = ended.filter(|last| last.verdict.outcome == Outcome::Pass);
    let has_caveat = report.is_some_and(|r| !r.caveats().is_empty());
    let judged = passed.and_then(|last| last.verdict.judged);
    let judged = judged.filter(|judged| judged.judged < judged.of);
    let part = judged.map(|some| format!("{} of {} workloads", some.judged, some.of));
    let follows = model.decision.follows;
    let follows = follows.map(|(action, _)| format!("a {} follows", action.binding().name));
    let all = [
        (
            model.decision.auto,
            " RULE DECIDES ",
            style::verdict_block(Outcome::Void),
        ),
        (is_kept, "kept", GOOD),
        (decided.is_some() && !is_kept, "discarded", QUIET),
        (is_foreign, "foreign", WARN),
        (report.is_some_and(Report::emulated), "emulated", WARN),
        (passed.is_some() && has_caveat, "caveated", WARN),
        (part.is_some(), part.as_deref().unwrap_or_default(), QUIET),
        (model.setup.external.is_some(), "external", ACCENT),
        (runs.other_screen.is_some(), "only shown", WARN),
        (runs.paused && runs.other_screen.is_none(), "paused", WARN),
        (
            follows.is_some(),
            follows.as_deref().unwrap_or_default(),
            ACCENT,
        ),
        (runs.check_follows, "a check follows", ACCENT),
    ];
    let set = all.into_iter().filter(|(is_set, ..)| *is_set);
    set.flat_map(|(_, word, style)| [Span::raw("  "), Span::styled(word.to_owned(), style)])
        .collect()
}

/// `◐ VERIFY  ▰▰▰▱▱▱ 3/10  2.3 s`, of a run or of the held-out check before a keep.
fn progress(model: &Model) -> Vec<Span<'static>> {
    let held_out = model.decision.held_out.as_ref();
    let since = |began| model.now.saturating_sub(began);
    let (word, elapsed, done) = match (&model.runs.running, held_out) {
        (_, Some(checking)) => (
            "held out",
            since(checking.began),
            checking.report.progress(),
        ),
        (Running::Live(live), _) => (
            stage_word(live),
            live.elapsed(model.now),
            live.report.progress(),
        ),
        (Running::Asked(Reason::Restored, asked), _) => ("restored", since(*asked), None),
        (Running::Asked(_, asked), _) => ("start", since(*asked), None),
        (Running::No, None) => return Vec::new(),
    };
    let turn = ["◐", "◓", "◑", "◒"][(model.now.as_millis() / 500 % 4) as usize];
    let mut line = vec![format!("{turn} {}", word.to_uppercase()).key()];
    if let Some((done, all)) = done.filter(|(_, all)| *all > 0) {
        let full = (done.min(all).saturating_mul(BAR) / all).min(BAR);
        line.push(format!("  {}", "▰".repeat(full as usize)).accent());
        line.push("▱".repeat((BAR - full) as usize).quiet());
        line.push(Span::raw(format!(" {done}/{all}")));
    }
    let time = format::elapsed(elapsed);
    let time = match left(model, elapsed) {
        Some(left) => fit(&format!("{time}, {left}"), 36),
        None => fit(&time, 14),
    };
    line.push(Span::raw(format!("  {time}")));
    if held_out.is_some() {
        let cancel = model.way(Action::Close);
        line.push(format!("  {cancel} cancels").quiet());
    }
    line
}

/// What the held-out check before a keep does. The way out and the tags come before it: a narrow
/// screen cuts it off.
fn explained(model: &Model) -> Option<Span<'static>> {
    let inputs = match model.decision.held_out.as_ref()?.sealed_runs {
        1 => "held-out inputs".to_owned(),
        runs => format!("{runs} sealed runs"),
    };
    Some(format!("  {inputs}, then the commit").quiet())
}

/// How long the stage of the run or of the held-out check still takes, after so long.
fn left(model: &Model, elapsed: Duration) -> Option<String> {
    let (asked, report) = match (&model.decision.held_out, &model.runs.running) {
        (Some(checking), _) => (Asked::HeldOut, &checking.report),
        (None, Running::Live(live)) if live.start.is_check() => (Asked::Check, &live.report),
        (None, Running::Live(live)) => (Asked::Run, &live.report),
        (None, Running::Asked(..) | Running::No) => return None,
    };
    let times = &model.runs.stage_times;
    let left = time_left(report, times.of(asked, report), elapsed);
    let left = left.map(|left| format!("about {} left", in_words(left)));
    let is_first = times.is_first(asked, report, elapsed);
    left.or_else(|| is_first.then(|| "the first here: no time known".to_owned()))
}

fn stage_word(live: &LiveRun) -> &'static str {
    live.report.stage().map_or("start", Stage::word)
}
