//! How fast a kernel was beside its peers on each workload, as bars with their intervals: what the
//! evidence of a decision holds.

use crate::chart::{Chart, RIGHT, TOP};
use lab_board::{Board, Decision, RATIO, words};
use lab_protocol::report::Measure;
use lab_text::axis::{Axis, Scale};

/// Workloads of a chart at most.
const MOST: usize = 60;

/// Peers have these in turn.
const CLASSES: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];

/// The height of a bar, and the distance of two workloads.
const BAR: f64 = 7.0;
const GAP: f64 = 8.0;

/// The width of a letter, and the most letters of a workload's name.
const LETTER: f64 = 7.0;
const LETTERS: usize = 40;

/// A workload with the ratio to each peer.
struct Row<'a> {
    label: String,
    ratios: Vec<(&'a str, Measure)>,
}

fn rows<'a>(decision: &Decision, board: &'a Board) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for id in &decision.evidence {
        let of = board.evidence.get(id).map(|held| &held.evidence);
        let Some(of) = of.filter(|of| !of.emulated) else {
            continue;
        };
        for (key, workload) in &of.workloads {
            let ratios = workload.figures.iter().filter_map(|(metric, ratio)| {
                let bare = metric.strip_prefix(RATIO)?;
                let name = of.peer(metric).map_or(bare, |peer| &peer.name);
                Some((name, *ratio))
            });
            let label = match decision.evidence.len() {
                1 => key.clone(),
                _ => format!("{id} {key}"),
            };
            rows.push(Row {
                label: label.chars().take(LETTERS).collect(),
                ratios: ratios.collect(),
            });
        }
    }
    rows.retain(|row| !row.ratios.is_empty());
    rows
}

/// `None` if no evidence from a GPU has a ratio.
pub fn of(decision: &Decision, board: &Board) -> Option<Chart> {
    let mut rows = rows(decision, board);
    let left_out = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    let letters = rows.iter().map(|row| row.label.chars().count());
    let left = letters.max()? as f64 * LETTER + 16.0;
    let all = rows.iter().flat_map(|row| &row.ratios);
    let ends = |of: Measure| [of.low, of.high, Some(of.value)];
    let values = all.clone().flat_map(|(_, ratio)| ends(*ratio)).flatten();
    let axis = Axis::over(values.chain([1.0]), Scale::Log);
    let x = |value: f64| {
        let at = left + axis.share(value).clamp(0.0, 1.0) * (RIGHT - left);
        (at * 10.0).round() / 10.0
    };
    let bottom = TOP + all.count() as f64 * BAR + rows.len() as f64 * GAP;
    let title = format!("{}: speed beside each peer", decision.title);
    let mut chart = Chart::empty(format!("d-{}-bars", decision.id), title, bottom);
    for tick in axis.ticks(8) {
        let at = x(tick.value);
        chart.line("grid", format!("M{at} {TOP}V{bottom}"));
        chart.text("mid", (at, bottom + 19.0), tick.label + "×");
    }
    let (mut y, mut peers) = (TOP, Vec::new());
    for Row { label, ratios } in &rows {
        y += GAP / 2.0;
        let middle = y + ratios.len() as f64 * BAR / 2.0;
        chart.text("end", (left - 8.0, middle + 4.0), label.clone());
        for (name, ratio) in ratios {
            let class = class_of(name, &mut peers);
            let at = y + BAR / 2.0;
            let path = format!("M{} {at}H{}", x(1.0), x(ratio.value));
            let title = format!("{label} beside {name}: {}", words::figure(RATIO, ratio));
            chart.mark(class, path, title, String::new());
            if let Some((low, high)) = ratio.low.zip(ratio.high) {
                chart.line("ends", format!("M{} {at}H{}", x(low), x(high)));
            }
            y += BAR;
        }
        y += GAP / 2.0;
    }
    chart.line("base", format!("M{} {TOP}V{bottom}", x(1.0)));
    for (nth, name) in peers.iter().enumerate() {
        chart.name(CLASSES[nth % CLASSES.len()], (*name).to_owned());
    }
    chart.description = "A bar to the right of 1: the kernel is faster.".to_owned();
    if left_out > 0 {
        chart.description += &format!(" {left_out} more workloads are in the evidence.");
    }
    Some(chart)
}

/// The class of a peer's bars: in turns, as the peers come.
fn class_of<'a>(name: &'a str, peers: &mut Vec<&'a str>) -> &'static str {
    let nth = peers.iter().position(|peer| *peer == name);
    let nth = nth.unwrap_or_else(|| {
        peers.push(name);
        peers.len() - 1
    });
    CLASSES[nth % CLASSES.len()]
}
