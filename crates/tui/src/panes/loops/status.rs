//! The pane Loop: what the loop does, what it has brought, what is left of its budget, and what a
//! person can do.
//!
//! ```text
//! ━ Loop ━ turn 12 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
//!  now         the command edits · 34 s
//!  lane        kernels/rmsnorm/kernel.cu on main · NVIDIA H200
//!  experiments 40, 18 an hour: 3 kept, 30 discarded, 2 crashed, 5 left
//!  best so far 165,210 sps, run 15: two fewer loads
//!  budget      40 of 200 experiments · 2 h 10 min of 8 h
//!  last turn   turn 11: discarded run 41
//! ```

use super::{lanes, rate, time};
use crate::prelude::*;
use lab_auto::{LoopView, OnDisk, Phase, Request, State, TurnOutcome};

/// Columns of the names.
const NAMES: usize = 12;

/// Returns the text as it fits into the pane.
pub fn note(data: ScreenData) -> String {
    let view = data.loops.view();
    let turn = view.and_then(|view| Some(format!("turn {}", view.state.as_ref()?.turn)));
    match view.map_or(0, |view| view.lanes.len()) {
        0 => turn.unwrap_or_default(),
        1 => "1 lane".to_owned(),
        count => format!("{count} lanes"),
    }
}

/// One row or several: a name, and what stands behind it.
struct Fact {
    name: &'static str,
    text: String,
    style: Style,
}

/// All rows, wrapped to so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let mut rows = Vec::new();
    if let Some(view) = data.loops.view() {
        let now = data.loops.time(data.now).unwrap_or(view.at);
        rows = lanes::rows(&view.lanes, now, &data.setup.objective, columns);
    }
    if !rows.is_empty() {
        rows.push(Line::default());
    }
    let facts = match &data.loops.read {
        None => vec![fact("", "the loop's files are read …".to_owned(), QUIET)],
        Some(Err(why)) => vec![fact("", printable(why), BAD)],
        Some(Ok(view)) => match &view.state {
            None if view.lanes.is_empty() => what_a_loop_is(data, view),
            None => of_lanes(data, view),
            Some(state) => of_loop(data, view, state),
        },
    };
    rows.extend(facts.into_iter().flat_map(|fact| laid_out(fact, columns)));
    rows
}

fn fact(name: &'static str, text: String, style: Style) -> Fact {
    Fact { name, text, style }
}

fn laid_out(fact: Fact, columns: usize) -> Lines {
    let indent = if fact.name.is_empty() { 0 } else { NAMES };
    if fact.text.is_empty() {
        return vec![Line::default()];
    }
    let rows = wrap(&fact.text, columns.saturating_sub(indent))
        .into_iter()
        .enumerate();
    let line = |(at, row)| {
        let name = if at == 0 { fact.name } else { "" };
        Line::from(vec![
            pad(name, indent).quiet(),
            Span::styled(row, fact.style),
        ])
    };
    rows.map(line).collect()
}

/// For a kernel on which no loop has worked.
fn what_a_loop_is(data: ScreenData, view: &LoopView) -> Vec<Fact> {
    let line = format!("lab auto{} --hours 8 -- COMMAND", view.kernel_option);
    let text = |text: &str| fact("", text.to_owned(), TEXT);
    vec![
        fact(
            "",
            format!(
                "No loop has worked on {} yet.",
                printable(&data.setup.kernel)
            ),
            STRONG,
        ),
        text(
            "A loop runs a command again and again. In each turn the command edits the kernel. lab judges the edit, keeps or \
             discards it by rule, and tells the command what came of it.",
        ),
        text(""),
        text("Start one in another terminal:"),
        fact("", printable(&line), KEY),
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
    vec![fact("", printable(&text), QUIET)]
}

fn of_loop(data: ScreenData, view: &LoopView, state: &State) -> Vec<Fact> {
    let now = data.loops.time(data.now).unwrap_or(view.at);
    let mut facts = Vec::new();
    facts.push(fact(
        "now",
        doing(view, state, now),
        doing_style(view, state),
    ));
    facts.extend(by_hand(data, view, state));
    let branch = view.branch.as_deref().unwrap_or("a detached HEAD");
    let device = view
        .device
        .as_deref()
        .map(|device| format!(" · {device}"))
        .unwrap_or_default();
    let lane = format!("{} on {branch}{device}", state.kernel);
    facts.push(fact("lane", printable(&lane), TEXT));
    facts.push(fact("experiments", experiments(view, state, now), TEXT));
    if state.plateau {
        let text = format!(
            "{} turns in a row brought no keep",
            state.counts.discards_in_a_row
        );
        facts.push(fact("plateau", text, WARN));
    }
    facts.push(fact("best so far", best(data, view), TEXT));
    facts.push(fact("budget", budget(view, state, now), TEXT));
    if let Some(turn) = &state.last_turn {
        facts.push(fact(
            "last turn",
            printable(&turn.in_words()),
            outcome_style(turn.outcome),
        ));
        let errors = turn
            .answer_error
            .iter()
            .map(|error| fact("answer", printable(error), WARN));
        facts.extend(errors);
        facts.extend(
            turn.noticed
                .iter()
                .map(|line| fact("noticed", printable(line), WARN)),
        );
        if let Some(first) = turn.ignored.first() {
            let more = match turn.ignored.len() {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            facts.push(fact(
                "ignored",
                format!("{}{more}", printable(first)),
                QUIET,
            ));
        }
    }
    facts.extend(
        state
            .trouble
            .iter()
            .map(|why| fact("failed", printable(why), WARN)),
    );
    facts
}

/// What the loop does now, and what it was asked for.
fn doing(view: &LoopView, state: &State, now: jiff::Timestamp) -> String {
    if !view.running {
        return match &state.ended {
            Some(why) => format!("ended after turn {}: {}", state.turn, printable(why)),
            None => format!(
                "killed in turn {}; the next `lab auto` goes on from there",
                state.turn
            ),
        };
    }
    let doing = match state.phase {
        Phase::Starting => "between two turns",
        Phase::WaitingForPerson => "waits for you",
        Phase::Editing => "the command edits",
        Phase::Judging => "judges the edit",
        Phase::BackingOff => "waits after a failure",
        Phase::Paused => "paused",
        Phase::Ended => "ends",
    };
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
    let [keep, discard] =
        [Action::Keep, Action::Discard].map(|action| data.appearance.keymap.way(action));
    let text = format!(
        "▲ {file} is not the incumbent: a person has edited it. {waits}. To hand back, keep the edit ({keep}) or discard it \
         ({discard}), which puts the incumbent back; the loop then goes on.",
    );
    Some(fact("by hand", printable(&text), WARN))
}

fn experiments(view: &LoopView, state: &State, now: jiff::Timestamp) -> String {
    let counts = &state.counts;
    let rate = view
        .rate(now)
        .map(|hourly| format!(", {} an hour", rate(hourly)));
    let rate = rate.unwrap_or_default();
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
    let decided: Vec<String> = decided
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let colon = if decided.is_empty() { "" } else { ": " };
    format!("{}{rate}{colon}{}", counts.experiments, decided.join(", "))
}

/// The incumbent: the loop keeps only what is faster.
fn best(data: ScreenData, view: &LoopView) -> String {
    let Some(run) = &view.incumbent else {
        return "the incumbent, which no run has judged yet".to_owned();
    };
    let figure = run.objective.map(|measure| {
        let about = if run.emulated { "~" } else { "" };
        format!(
            "{about}{} {}, ",
            format::count(measure.value),
            data.setup.objective.unit()
        )
    });
    let description = match run.description.as_str() {
        "" => String::new(),
        text => format!(": {}", printable(text)),
    };
    format!("{}run {}{description}", figure.unwrap_or_default(), run.id)
}

fn budget(view: &LoopView, state: &State, now: jiff::Timestamp) -> String {
    let (budget, counts) = (&state.budget, &state.counts);
    let spent = time(view.seconds(now));
    let mut parts = vec![match budget.hours {
        Some(hours) => format!("{spent} of {}", time(hours * 3600.0)),
        None => spent,
    }];
    parts.extend(
        budget
            .experiments
            .map(|most| format!("{} of {most} experiments", counts.experiments)),
    );
    match budget.cost {
        Some(most) => parts.push(format!(
            "cost {} of {}",
            format::count(counts.cost),
            format::count(most)
        )),
        None if counts.cost > 0.0 => parts.push(format!("cost {}", format::count(counts.cost))),
        None => {}
    }
    parts.extend(budget.until_floor.map(|percent| {
        let floor = state
            .bounds
            .as_ref()
            .map(|bounds| format!(" (now {:.1} %)", bounds.of_floor));
        format!(
            "until the floor is {percent} % of the time{}",
            floor.unwrap_or_default()
        )
    }));
    let no_limit = budget.hours.is_none()
        && budget.experiments.is_none()
        && budget.cost.is_none()
        && budget.until_floor.is_none();
    if no_limit {
        parts.push("no limit".to_owned());
    }
    parts.join(" · ")
}

fn outcome_style(outcome: TurnOutcome) -> Style {
    match outcome {
        TurnOutcome::Kept => GOOD,
        TurnOutcome::Crash | TurnOutcome::Failed => BAD,
        TurnOutcome::Left => WARN,
        TurnOutcome::Discarded | TurnOutcome::Known | TurnOutcome::Nothing => TEXT,
    }
}
