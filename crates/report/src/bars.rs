//! What the evidence of a decision holds, as bars with their intervals: how fast a kernel was beside
//! its peers on each workload, the time of what has no peer, the counters that a claim cites.

use crate::chart::{Chart, RIGHT, TOP};
use crate::labels::{self, Named};
use crate::letters::{fit, width};
use lab_board::{Board, Decision, Evidence, EvidenceKind, RATIO, words};
use lab_protocol::report::Measure;
use lab_text::axis::{Axis, Scale};
use std::collections::BTreeMap;

/// Workloads of a chart at most.
const MOST: usize = 60;

/// What is compared has these in turn.
const CLASSES: [&str; 8] = ["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"];

/// The height of a bar, and of one with its figure; the distance of two workloads.
const BAR: f64 = 7.0;
const BAR_WITH_FIGURE: f64 = 15.0;
const GAP: f64 = 8.0;

/// Units of the drawing below the bars of a panel: its numbers, and what they count.
const BELOW: f64 = 46.0;
const BETWEEN: f64 = 20.0;

/// Beyond this ratio of the largest to the smallest figure an axis is logarithmic.
const FAR: f64 = 100.0;

/// What a percentage is a part of ends with this.
const PERCENT: &str = "_pct";

/// The figures of a run that say how fast it was, the first one that it has.
const SPEEDS: [(&str, &str); 4] = [
    ("us", "µs"),
    ("sps", "samples/s"),
    ("tflops", "TFLOP/s"),
    ("gbps", "GB/s"),
];

/// Bars with an axis of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Panel {
    /// The speed over that of a peer.
    Ratios,
    /// A metric of [`SPEEDS`].
    Speeds(usize),
    /// Percentages of a profile.
    Percents,
}

/// A workload with its figures.
struct Row {
    named: Named,
    bars: Vec<Bar>,
}

struct Bar {
    /// The peer, or what was measured.
    of: String,
    metric: String,
    measure: Measure,
}

type Figures = BTreeMap<String, Measure>;

/// What tells the chart of a decision from that of every other decision. Empty without evidence.
pub fn key(decision: &Decision) -> String {
    let cited = decision.claim.cited();
    let cited = cited.filter(|it| it.metric.ends_with(PERCENT));
    let cited = cited.map(|it| format!("{}.{}", it.evidence, it.metric));
    let all = decision.evidence.iter().cloned().chain(cited);
    all.collect::<Vec<_>>().join(" ")
}

/// `None` if no evidence of a GPU holds a figure.
pub fn of(decision: &Decision, board: &Board) -> Option<Chart> {
    let mut panels: BTreeMap<Panel, Vec<Row>> = BTreeMap::new();
    let (mut count, mut left_out) = (0, 0);
    for id in &decision.evidence {
        let of = board.evidence.get(id).map(|held| &held.evidence);
        let Some(of) = of.filter(|of| !of.emulated) else {
            continue;
        };
        let panel = panel(of);
        for row in rows(decision, (id, of), panel) {
            match count < MOST {
                true => panels.entry(panel).or_default().push(row),
                false => left_out += 1,
            }
            count += 1;
        }
    }
    let all = panels.values().flatten();
    let named: Vec<Named> = all.map(|row| row.named.clone()).collect();
    let (labels, shared) = labels::of(&named);
    let widest = labels.iter().map(|label| width(label));
    let left = widest.reduce(f64::max)? + 16.0;
    let says = panels.keys().map(|panel| panel.says());
    let says = says.collect::<Vec<_>>().join(", ");
    let title = format!("{}: {says}", decision.title);
    let mut drawing = Drawing {
        chart: Chart::empty(format!("d-{}-bars", decision.id), title, TOP),
        names: Vec::new(),
        left,
        y: TOP,
    };
    let mut labels = labels.into_iter();
    for (panel, rows) in &panels {
        let rows = rows.iter().zip(labels.by_ref()).collect::<Vec<_>>();
        drawing.panel(*panel, &rows);
    }
    Some(drawing.end(&panels, &shared, left_out))
}

/// Where the figures of this evidence are drawn.
fn panel(of: &Evidence) -> Panel {
    let workloads = of.workloads.values().map(|it| &it.figures);
    let all = workloads.chain([&of.figures]);
    let has = |is_it: &dyn Fn(&String) -> bool| all.clone().any(|it| it.keys().any(is_it));
    let speed = SPEEDS
        .iter()
        .position(|(metric, _)| has(&|it| it == metric));
    match of.kind {
        EvidenceKind::Profile => Panel::Percents,
        _ if has(&|it| it.starts_with(RATIO)) => Panel::Ratios,
        _ => Panel::Speeds(speed.unwrap_or_default()),
    }
}

/// A row for each workload; of evidence without workloads one of all.
fn rows(decision: &Decision, (id, of): (&str, &Evidence), panel: Panel) -> Vec<Row> {
    let cited = decision.claim.cited().filter(|it| it.evidence == id);
    let cited: Vec<&str> = cited.map(|it| it.metric.as_str()).collect();
    let has_cited = cited.iter().any(|metric| metric.ends_with(PERCENT));
    let bar = |(metric, measure): (&String, &Measure)| {
        let name = match panel {
            Panel::Ratios => {
                let bare = metric.strip_prefix(RATIO)?;
                of.peer(metric).map_or(bare, |peer| &peer.name)
            }
            Panel::Speeds(nth) if metric == SPEEDS[nth].0 => "",
            Panel::Percents if !has_cited || cited.contains(&metric.as_str()) => {
                metric.strip_suffix(PERCENT)?
            }
            _ => return None,
        };
        Some(Bar {
            of: name.to_owned(),
            metric: metric.clone(),
            measure: *measure,
        })
    };
    let bars = |figures: &Figures| figures.iter().filter_map(bar).collect();
    let named = |key: &str, name: &str| Named {
        of: match decision.evidence.len() {
            1 => String::new(),
            _ => id.to_owned(),
        },
        key: key.to_owned(),
        name: name.to_owned(),
    };
    let workloads = of.workloads.iter().map(|(key, workload)| Row {
        named: named(key, &workload.name),
        bars: bars(&workload.figures),
    });
    let mut rows: Vec<Row> = workloads.filter(|row| !row.bars.is_empty()).collect();
    if rows.is_empty() {
        let named = named("all workloads", "all workloads");
        let bars: Vec<Bar> = bars(&of.figures);
        rows.extend((!bars.is_empty()).then_some(Row { named, bars }));
    }
    rows
}

impl Panel {
    /// What the chart shows.
    fn says(self) -> &'static str {
        match self {
            Panel::Ratios => "speed beside each peer",
            Panel::Speeds(0) => "time of a launch",
            Panel::Speeds(_) => "throughput",
            Panel::Percents => "counters of the profile",
        }
    }

    /// What its axis counts.
    fn unit(self) -> &'static str {
        match self {
            Panel::Ratios => "times as fast as the peer",
            Panel::Speeds(nth) => SPEEDS[nth].1,
            Panel::Percents => "% of what the device allows",
        }
    }

    /// The axis over these figures, and where bars begin.
    fn axis(self, values: impl Iterator<Item = f64> + Clone) -> (Axis, f64) {
        let most = values.clone().fold(0.0, f64::max);
        let above = values.clone().filter(|value| *value > 0.0);
        let least = above.reduce(f64::min).unwrap_or(1.0);
        match self {
            Panel::Ratios => (Axis::over(values.chain([1.0]), Scale::Log), 1.0),
            Panel::Percents => (Axis::between(0.0, most.max(100.0), Scale::Linear), 0.0),
            Panel::Speeds(_) if most > least * FAR => {
                let axis = Axis::over(values, Scale::Log);
                (axis, axis.low())
            }
            Panel::Speeds(_) => (Axis::between(0.0, most * 1.06, Scale::Linear), 0.0),
        }
    }
}

/// A chart that grows downwards.
struct Drawing {
    chart: Chart,
    /// Names in the legend.
    names: Vec<String>,
    left: f64,
    y: f64,
}

impl Drawing {
    fn panel(&mut self, panel: Panel, rows: &[(&Row, String)]) {
        if self.y > TOP {
            self.y += BETWEEN;
        }
        let all = rows.iter().flat_map(|(row, _)| &row.bars);
        let ends = |of: &Bar| [of.measure.low, of.measure.high, Some(of.measure.value)];
        let (axis, base) = panel.axis(all.clone().flat_map(ends).flatten());
        let has_figures = panel != Panel::Ratios;
        let figures = all
            .clone()
            .map(|bar| words::figure(&bar.metric, &bar.measure));
        let widest = figures.map(|figure| width(&figure)).fold(0.0, f64::max);
        let right = if has_figures {
            RIGHT - widest - 8.0
        } else {
            RIGHT
        };
        let left = self.left;
        let x = |value: f64| {
            let at = left + axis.share(value).clamp(0.0, 1.0) * (right - left);
            (at * 10.0).round() / 10.0
        };
        let each = if has_figures { BAR_WITH_FIGURE } else { BAR };
        let (top, bottom) = (
            self.y,
            self.y + all.count() as f64 * each + rows.len() as f64 * GAP,
        );
        for tick in axis.ticks(8) {
            let (at, mark) = (x(tick.value), if has_figures { "" } else { "×" });
            self.chart.line("grid", format!("M{at} {top}V{bottom}"));
            self.chart
                .text("mid", (at, bottom + 19.0), tick.label + mark);
        }
        for (row, label) in rows {
            self.y += GAP / 2.0;
            let middle = self.y + row.bars.len() as f64 * each / 2.0;
            self.chart
                .text("end", (left - 8.0, middle + 4.0), label.clone());
            for bar in &row.bars {
                self.bar(bar, row, (each, base), &x, has_figures);
            }
            self.y += GAP / 2.0;
        }
        self.chart
            .line("base", format!("M{} {top}V{bottom}", x(base)));
        let unit = panel.unit().to_owned();
        self.chart.text("end", (RIGHT, bottom + 38.0), unit);
        self.y = bottom + BELOW;
    }

    fn bar(
        &mut self,
        bar: &Bar,
        row: &Row,
        (each, base): (f64, f64),
        x: &impl Fn(f64) -> f64,
        has_figure: bool,
    ) {
        let class = self.class_of(&bar.of);
        let at = self.y + each / 2.0;
        let figure = words::figure(&bar.metric, &bar.measure);
        let whole = row.named.whole();
        let title = match (has_figure, bar.of.as_str()) {
            (false, peer) => format!("{whole} beside {peer}: {figure}"),
            (true, "") => format!("{whole}: {figure}"),
            (true, of) => format!("{whole}, {of}: {figure}"),
        };
        let Measure { value, low, high } = bar.measure;
        let path = format!("M{} {at}H{}", x(base), x(value));
        self.chart.mark(class, path, title, String::new());
        if let Some((low, high)) = low.zip(high) {
            let path = format!("M{} {at}H{}", x(low), x(high));
            self.chart.line("ends", path);
        }
        if has_figure {
            let end = x(high.map_or(value, |high| high.max(value))) + 6.0;
            self.chart.text("", (end, at + 4.0), figure);
        }
        self.y += each;
    }

    /// The class of the bars of a name: in turns, as the names come.
    fn class_of(&mut self, name: &str) -> &'static str {
        let nth = self.names.iter().position(|it| it == name);
        let nth = nth.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        CLASSES[nth % CLASSES.len()]
    }

    /// Adds the legend, and what the rows do not say.
    fn end(mut self, panels: &BTreeMap<Panel, Vec<Row>>, shared: &str, left_out: usize) -> Chart {
        for (nth, name) in self.names.iter().enumerate() {
            if !name.is_empty() {
                self.chart.name(CLASSES[nth % CLASSES.len()], name.clone());
            }
        }
        let mut says = Vec::new();
        if panels.contains_key(&Panel::Ratios) {
            let text = "A bar to the right of 1: the kernel is faster.";
            says.extend([
                text.to_owned(),
                "A black line is the 95 % interval.".to_owned(),
            ]);
        }
        let is_speed = |panel: &Panel| matches!(panel, Panel::Speeds(_));
        if panels.keys().any(is_speed) {
            let text = "The black line of a speed is its 95 % interval, or reaches from the fastest to \
                        the slowest run of a bench.";
            says.push(text.to_owned());
        }
        if !shared.is_empty() {
            let text = format!("each: {shared}");
            let text = fit(&text, RIGHT - 8.0);
            self.chart.text("", (8.0, self.y + 10.0), text);
            self.y += BETWEEN;
            says.push(format!("Each row is of {shared}."));
        }
        if left_out > 0 {
            says.push(format!("{left_out} more workloads are in the evidence."));
        }
        self.chart.description = says.join(" ");
        self.chart.height = self.y;
        self.chart
    }
}
