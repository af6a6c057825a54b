//! The pane Loop: what the loop does, what it has brought, what is left of its budget, and what a
//! person can do.
//!
//! ```text
//! ━ Loop ━ turn 12 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
//!  now         the command edits · 34 s
//!  lane        kernels/rmsnorm/kernel.cu on main · NVIDIA H200
//!  experiments 40, 18 an hour: 3 kept, 30 discarded, 2 crashed, 5 left
//!  incumbent   165,210 sps, run 15: two fewer loads
//!  budget      40 of 200 experiments · 2 h 10 min of 8 h
//!  last turn   turn 11: discarded run 41
//! ```

use super::{described, lanes, rate, time};
use crate::prelude::*;
use jiff::Timestamp;
use lab_auto::{LoopView, OnDisk, Phase, Request, State, TurnOutcome};

/// Columns of the names.
const NAMES: usize = 12;

/// The turn of the loop, or how many lanes there are.
pub fn note(data: ScreenData) -> String {
    let view = data.loops.view();
    let turn = view.and_then(|view| Some(format!("turn {}", view.state.as_ref()?.turn)));
    match view.map_or(0, |view| view.lanes.len()) {
        0 => turn.unwrap_or_default(),
        count => format::counted(count, "lane"),
    }
}

/// One row or several: a name, what stands behind it, and the style of that.
type Fact = (&'static str, String, Style);

/// All rows, wrapped to so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let mut rows = Vec::new();
    if let Some(view) = data.loops.view() {
        rows = lanes::rows(&view.lanes, now(data, view), &data.setup.objective, columns);
    }
    if !rows.is_empty() {
        rows.push(Line::default());
    }
    let facts = match &data.loops.read {
        None => vec![("", "the loop's files are read …".to_owned(), QUIET)],
        Some(Err(why)) => vec![("", printable(why), BAD)],
        Some(Ok(view)) => match &view.state {
            None if view.lanes.is_empty() => what_a_loop_is(data, view),
            None => of_lanes(data, view),
            Some(state) => of_loop(data, view, state),
        },
    };
    rows.extend(facts.into_iter().flat_map(|fact| laid_out(fact, columns)));
    rows
}

fn now(data: ScreenData, view: &LoopView) -> Timestamp {
    data.loops.time(data.now).unwrap_or(view.at)
}

fn laid_out((name, text, style): Fact, columns: usize) -> Lines {
    let indent = if name.is_empty() { 0 } else { NAMES };
    match wrap(&text, columns.saturating_sub(indent)) {
        rows if rows.is_empty() => vec![Line::default()],
        rows => hanging(pad(name, indent).quiet(), rows, style),
    }
}

/// For a kernel on which no loop has worked.
fn what_a_loop_is(data: ScreenData, view: &LoopView) -> Vec<Fact> {
    let kernel = printable(&data.setup.kernel);
    let line = format!("lab auto{} --hours 8 -- COMMAND", view.kernel_option);
    let text = |text: &str| ("", text.to_owned(), TEXT);
    vec![
        ("", format!("No loop has worked on {kernel} yet."), STRONG),
        text(
            "A loop runs a command again and again. In each turn the command edits the kernel. lab judges the edit, keeps or \
             discards it by rule, and tells the command what came of it.",
        ),
        text(""),
        text("Start one in another terminal:"),
        ("", printable(&line), KEY),
        text(""),
        text(
            "`lab agent-guide` says what the command is told and what it may do. The loop shows here, and it goes on when this \
             screen is closed.",
        ),
    ]
}

/// For a kernel on which only lanes have worked.
fn of_lanes(data: ScreenData, view: &LoopView) -> Vec<Fact> {
    let argument = view.kernel_option.trim_start_matches(" --kernel");
    let text = format!(
        "The lanes work in .lab/lanes, each on its branch: `lab .lab/lanes/NAME/{}` shows the edit of one. Your branch and your kernel stay \
         as they are. `lab auto status{argument}` says more.",
        data.setup.kernel
    );
    vec![("", printable(&text), QUIET)]
}

fn of_loop(data: ScreenData, view: &LoopView, state: &State) -> Vec<Fact> {
    let now = now(data, view);
    let branch = view.branch.as_deref().unwrap_or("a detached HEAD");
    let mut lane = format!("{} on {branch}", state.kernel);
    lane.extend(view.device.iter().map(|device| format!(" · {device}")));
    let warned = |name, text: &String| (name, printable(text), WARN);
    let mut facts = vec![("now", doing(view, state, now), doing_style(view, state))];
    facts.extend(by_hand(data, view, state));
    facts.push(("lane", printable(&lane), TEXT));
    facts.push(("experiments", experiments(view, state, now), TEXT));
    if state.plateau {
        let discards = state.counts.discards_in_a_row;
        let text = format!("{discards} turns in a row brought no keep");
        facts.push(("plateau", text, WARN));
    }
    facts.push(("incumbent", incumbent(data, view), TEXT));
    facts.push(("budget", budget(view, state, now), TEXT));
    if let Some(turn) = &state.last_turn {
        let style = outcome_style(turn.outcome);
        facts.push(("last turn", printable(&turn.in_words()), style));
        let errors = turn.answer_error.iter();
        facts.extend(errors.map(|error| warned("answer", error)));
        facts.extend(turn.noticed.iter().map(|line| warned("noticed", line)));
        if let [first, others @ ..] = &turn.ignored[..] {
            let mut text = printable(first);
            if !others.is_empty() {
                text += &format!(" and {} more", others.len());
            }
            facts.push(("ignored", text, QUIET));
        }
    }
    facts.extend(state.trouble.iter().map(|why| warned("failed", why)));
    facts
}

/// What the loop does now, and what it was asked for.
fn doing(view: &LoopView, state: &State, now: Timestamp) -> String {
    let doing = printable(&state.doing(view.running));
    if !view.running {
        return doing;
    }
    let seconds = now.duration_since(state.since).as_secs().max(0);
    let mut text = format!("{doing} · {}", time(seconds as f64));
    match view.asked {
        Some(Request::Pause) if state.phase != Phase::Paused => text += " · pauses after this turn",
        Some(Request::Resume) if state.phase == Phase::Paused => text += " · goes on",
        Some(Request::Stop) => text += " · ends after this turn",
        _ => {}
    }
    if view.ends_turn && view.is_in_turn() {
        text += " · the turn is being ended";
    }
    text
}

fn doing_style(view: &LoopView, state: &State) -> Style {
    match state.phase {
        _ if !view.running => QUIET,
        Phase::WaitingForPerson | Phase::BackingOff | Phase::Paused => WARN,
        _ => ACCENT,
    }
}

/// What to do where other bytes than the loop's are in the kernel's file.
fn by_hand(data: ScreenData, view: &LoopView, state: &State) -> Option<Fact> {
    if !view.running || view.on_disk != OnDisk::Other {
        return None;
    }
    let file = data.setup.file();
    let waits = match state.phase {
        Phase::Editing => "The loop waits for you once its command has ended",
        Phase::Judging => "The loop waits for you once its run has ended",
        Phase::Paused => "The loop is paused, and waits for you once it goes on",
        _ => "The loop waits for you",
    };
    let [keep, discard] = [Action::Keep, Action::Discard].map(|action| data.way(action));
    let text = format!(
        "▲ {file} is not the incumbent: a person has edited it. {waits}. To hand back, keep the edit ({keep}) or discard it \
         ({discard}), which puts the incumbent back; the loop then goes on.",
    );
    Some(("by hand", printable(&text), WARN))
}

fn experiments(view: &LoopView, state: &State, now: Timestamp) -> String {
    let counts = &state.counts;
    let mut text = counts.experiments.to_string();
    text.extend(
        view.rate(now)
            .map(|hourly| format!(", {} an hour", rate(hourly))),
    );
    let decided = [
        (counts.kept, "kept"),
        (counts.discarded, "discarded"),
        (counts.crashed, "crashed"),
        (counts.left, "left to a person"),
        (counts.known, "known before"),
        (counts.nothing, "without a change"),
        (counts.failed, "failed"),
    ];
    let decided = decided.into_iter().filter(|(count, _)| *count > 0);
    for (at, (count, word)) in decided.enumerate() {
        let before = if at == 0 { ":" } else { "," };
        text += &format!("{before} {count} {word}");
    }
    text
}

/// The incumbent's figure. A rerun of an older figure may have been higher, so it is not called the
/// best.
fn incumbent(data: ScreenData, view: &LoopView) -> String {
    let Some(run) = &view.incumbent else {
        return "no run has judged it yet".to_owned();
    };
    let mut text = String::new();
    if let Some(measure) = run.objective {
        let about = if run.emulated { "~" } else { "" };
        let (figure, unit) = (format::count(measure.value), data.setup.objective.unit());
        text = format!("{about}{figure} {unit}, ");
    }
    format!("{text}run {}{}", run.id, described(&run.description))
}

fn budget(view: &LoopView, state: &State, now: Timestamp) -> String {
    let (budget, counts) = (&state.budget, &state.counts);
    let spent = time(view.seconds(now));
    let hours = budget.hours.map(|hours| time(hours * 3600.0));
    let experiments = budget.experiments;
    let cost = format::count(counts.cost);
    let floor = budget.until_floor.map(|percent| {
        let now = state.bounds.as_ref();
        let now = now.map(|bounds| format!(" (now {:.1} %)", bounds.of_floor));
        let now = now.unwrap_or_default();
        format!("until the floor is {percent} % of the time{now}")
    });
    let is_limited =
        hours.is_some() || experiments.is_some() || budget.cost.is_some() || floor.is_some();
    let parts = [
        Some(hours.map_or(spent.clone(), |hours| format!("{spent} of {hours}"))),
        experiments.map(|most| format!("{} of {most} experiments", counts.of_budget())),
        match budget.cost {
            Some(most) => Some(format!("cost {cost} of {}", format::count(most))),
            None => (counts.cost > 0.0).then(|| format!("cost {cost}")),
        },
        floor,
        (!is_limited).then(|| "no limit".to_owned()),
    ];
    joined(parts.into_iter().flatten())
}

fn outcome_style(outcome: TurnOutcome) -> Style {
    match outcome {
        TurnOutcome::Kept => GOOD,
        TurnOutcome::Crash | TurnOutcome::Failed => BAD,
        TurnOutcome::Left => WARN,
        TurnOutcome::Discarded | TurnOutcome::Known | TurnOutcome::Nothing => TEXT,
    }
}
