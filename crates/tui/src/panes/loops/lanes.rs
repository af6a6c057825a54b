//! The lanes in the pane Loop: what each lane does, the results of its turns, experiments an hour,
//! and the best kept experiment. In a wide pane that is one row for a lane, in a narrow one two or
//! three.
//!
//! ```text
//! lane     turn  does            runs  an hour  kept  disc. crash  left  best so far
//! cuda:0     12  edits 34 s        40       18     3     30     2     5  165,210 sps, run 15: two fewer loads
//! cuda:1      9  judges 2 s        31       14     0     31     0     0  none kept yet
//! ```

use super::{described, rate, time};
use crate::prelude::*;
use jiff::Timestamp;
use lab_auto::{Best, LaneView, Phase};
use lab_project::objective::Objective;

/// Columns of what stands in every pane, each with its name. The lane comes before them.
const COLUMNS: [(&str, usize); 4] = [("turn", 6), ("does", 15), ("runs", 7), ("an hour", 9)];

/// Columns of the verdicts in a wide pane. The best experiment stands behind them.
const VERDICTS: [(&str, usize); 4] = [("kept", 6), ("disc.", 7), ("crash", 6), ("left", 6)];

/// From so many columns on a pane is wide.
const WIDE: usize = 96;

/// The header and the rows of each lane; nothing where there are no lanes.
pub fn rows(lanes: &[LaneView], now: Timestamp, objective: &Objective, columns: usize) -> Lines {
    if lanes.is_empty() {
        return Vec::new();
    }
    let names = lanes.iter().map(|lane| width(&printable(&lane.device)));
    let names = names.max().unwrap_or(0).max(4);
    let mut header = pad("lane", names);
    header.extend(COLUMNS.map(|(name, columns)| match name {
        "does" => format!("  {}", pad(name, columns - 2)),
        _ => pad_left(name, columns),
    }));
    if columns >= WIDE {
        header.extend(VERDICTS.map(|(name, columns)| pad_left(name, columns)));
        header += "  best so far";
    }
    let header = Line::styled(fit(&header, columns), QUIET);
    let of_lane = |lane: &LaneView| of_lane(lane, names, now, objective, columns);
    std::iter::once(header)
        .chain(lanes.iter().flat_map(of_lane))
        .collect()
}

fn of_lane(
    lane: &LaneView,
    names: usize,
    now: Timestamp,
    objective: &Objective,
    columns: usize,
) -> Lines {
    let name = pad(&printable(&lane.device), names);
    let (does, style) = does(lane, now);
    let Some(state) = lane.known() else {
        let text = format!("  {}", fit(&does, columns.saturating_sub(names + 2)));
        return vec![Line::from(vec![Span::raw(name), Span::styled(text, style)])];
    };
    let counts = &state.counts;
    let [turn, doing, runs, hourly] = COLUMNS.map(|(_, columns)| columns);
    let mut figures = pad_left(&counts.experiments.to_string(), runs);
    figures += &pad_left(&lane.rate(now).map(rate).unwrap_or_default(), hourly);
    let verdicts = [counts.kept, counts.discarded, counts.crashed, counts.left];
    let best = best(state.best.as_ref(), objective);
    let mut below = Vec::new();
    if columns >= WIDE {
        let verdicts = verdicts.iter().zip(VERDICTS);
        figures.extend(verdicts.map(|(count, (_, columns))| pad_left(&count.to_string(), columns)));
        let used = names + turn + doing + width(&figures) + 2;
        figures += &format!("  {}", fit(&best, columns.saturating_sub(used)));
    } else {
        let [kept, discarded, crashed, left] = verdicts;
        let text = format!(
            "{kept} kept, {discarded} discarded, {crashed} crashed, {left} left · best: {best}"
        );
        below = wrap(&text, columns.saturating_sub(2));
    }
    let turn = pad_left(&state.turn.to_string(), turn);
    let first = Line::from(vec![
        Span::raw(name + &turn),
        Span::styled(format!("  {}", pad(&does, doing - 2)), style),
        Span::raw(figures),
    ]);
    let below = below.into_iter().map(|row| Line::raw(format!("  {row}")));
    std::iter::once(first).chain(below).collect()
}

/// What a lane does, and for how long.
fn does(lane: &LaneView, now: Timestamp) -> (String, Style) {
    let state = match &lane.state {
        Err(why) => return (printable(why), BAD),
        Ok(None) => return ("has not begun".to_owned(), QUIET),
        Ok(Some(state)) => state,
    };
    if !lane.running {
        return match state.ended {
            Some(_) => ("ended".to_owned(), QUIET),
            None => ("killed".to_owned(), BAD),
        };
    }
    let (word, style) = match state.phase {
        Phase::Starting => ("between", ACCENT),
        Phase::Editing => ("edits", ACCENT),
        Phase::Judging => ("judges", ACCENT),
        Phase::WaitingForPerson => ("waits for you", WARN),
        Phase::BackingOff => ("waits", WARN),
        Phase::Paused => ("paused", WARN),
        Phase::Ended => ("ends", QUIET),
    };
    let since = now.duration_since(state.since).as_secs_f64();
    let text = match state.phase {
        Phase::WaitingForPerson => word.to_owned(),
        _ => format!("{word} {}", time(since)),
    };
    (text, style)
}

/// The best kept experiment.
fn best(best: Option<&Best>, objective: &Objective) -> String {
    let Some(best) = best else {
        return "none kept yet".to_owned();
    };
    let unit = if best.objective == objective.to_string() {
        objective.unit()
    } else {
        &best.objective
    };
    let (figure, unit) = (format::count(best.value), printable(unit));
    let description = described(&best.description);
    format!("{figure} {unit}, run {}{description}", best.run)
}
