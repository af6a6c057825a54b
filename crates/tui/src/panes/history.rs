//! The pane Throughput: every experiment as a mark, the best so far as a step line. Kept
//! experiments are prominent, discarded ones faint; a crash and a wrong result are signs on the
//! ground line.

mod detail;
pub mod one_workload;
mod peer_lines;

use crate::chart::{Axis, AxisId, Chart, Cursor, ReferenceLine, Scale, Series, SeriesShape};
use crate::prelude::*;
use crate::state::FinishedRun;
use crate::state::repository::Other;
use crate::widgets::{bounds, in_short};
use lab_history::bounds::reference_lines;
use lab_history::chart_points::{ChartPoints, nearest, place, range};
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::{Measure, Report};
use lab_run::experiment::{Experiment, Status};
use one_workload::WorkloadTimes;
use peer_lines::{figure_of, peer_lines};
use std::ops::Range;

/// Most columns between two experiments: a few experiments leave room for more.
const STEP: usize = 8;

/// With more experiments for each column than this, a discarded one is only a dot.
const CROWDED: usize = 2;

/// The sign of a wrong result, and the same in ASCII.
const WRONG: [&str; 2] = ["×", "%"];

#[derive(Clone, Debug, Default)]
pub struct HistoryState {
    /// Only the newest so many; `None` shows all.
    pub newest: Option<usize>,
    pub scale: Scale,
    /// The workload that is charted in place of the whole.
    pub workload: Option<WorkloadTimes>,
    /// The plot of the last frame, for clicks.
    pub plot: Option<HistoryPlot>,
}

/// Where these experiments were drawn, and over which axis.
#[derive(Clone, Debug)]
pub struct HistoryPlot {
    area: Rect,
    x: Axis,
    shown: Range<usize>,
}

impl HistoryState {
    /// Shows fewer or more of `count` experiments: 5, 10, 20, 50, 100 …
    pub fn zoom(&mut self, closer: bool, count: usize) {
        let shown = self.newest.unwrap_or(count).min(count);
        let mut round = (0..).flat_map(|power| {
            [5, 10, 20].map(|n: usize| n.saturating_mul(10usize.saturating_pow(power)))
        });
        let next = if closer {
            round.take_while(|n| *n < shown).last().or(self.newest)
        } else {
            round.find(|n| *n > shown)
        };
        self.newest = next.filter(|n| *n < count);
    }

    /// The experiment whose mark is nearest to a cell of the plot, counted from the oldest.
    pub fn experiment_at(&self, place: Position) -> Option<usize> {
        let HistoryPlot { area, x, shown } = self.plot.as_ref()?;
        // The ground line with the crashes is the row below the plot.
        let reach = Rect {
            height: area.height + 1,
            ..*area
        };
        let share = f64::from(place.x.checked_sub(area.x)?) / f64::from(area.width.max(2) - 1);
        let nearest = nearest(x.at(share)).clamp(shown.start, shown.end.checked_sub(1)?);
        reach.contains(place).then_some(nearest)
    }

    pub fn toggle_scale(&mut self) {
        self.scale = match self.scale {
            Scale::Linear => Scale::Log,
            Scale::Log => Scale::Linear,
        };
    }
}

/// Returns the plot, where one was drawn.
pub fn draw(canvas: &mut Canvas, state: &HistoryState) -> Option<HistoryPlot> {
    if let Some(workload) = &state.workload {
        return one_workload::draw(canvas, state, workload);
    }
    let data = canvas.data;
    let title = printable(objective(data).title());
    let mut inner = canvas.draw_titled(&title, &note(data, state));
    // The bounds of the run in progress once its harness has printed them, else of the last run.
    let has_bounds = |report: &Report| report.value("of_estimate").is_some();
    let report = data.runs.report_if(has_bounds);
    let is_here = data.repository.comparable().elsewhere.is_none();
    let report = report.filter(|_| is_here);
    let bounds = report.and_then(|(_, report)| bounds::describe(report));
    if let Some(bounds) = bounds.filter(|_| inner.height >= 6) {
        inner.height -= 1;
        let line = Line::styled(format!("  {bounds}"), QUIET);
        let place = row_of(inner, inner.bottom());
        draw_rows(canvas.frame, place, [line]);
    }
    let count = data.repository.comparable().len();
    if count == 0 {
        if data.repository.loaded {
            canvas.draw_hint(inner, &nothing(data));
        } else {
            canvas.draw_hint(inner, "reading …");
        }
        return None;
    }
    let selected = data.repository.position(data.selection.key.as_ref());
    let [chart, detail] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inner);
    let plot = draw_chart(canvas.frame.buffer_mut(), chart, data, state, selected);
    let shown = selected.unwrap_or(count - 1);
    if let Some(experiment) = data.repository.nth_comparable(shown) {
        let mut line = detail::row(experiment, shown, data, selected.is_some());
        if !is_here {
            line = Line::styled(line.to_string(), QUIET);
        }
        draw_rows(canvas.frame, detail, [line]);
    }
    plot
}

/// Why the chart is empty: on which device nothing was decided, whose experiments there are, how to
/// see them, and how to make one.
fn nothing(data: ScreenData) -> String {
    let decide = how_to_decide(data);
    let others = &data.repository.comparable().others;
    if others.is_empty() {
        return format!("no experiment yet: {decide}");
    }
    let repository = data.repository;
    let device = repository.present_device(data.runs.last.as_ref(), data.setup);
    let device = device.and_then(|(device, _)| device);
    let here = device.map_or(String::new(), |name| format!(" on {name}"));
    let counted = others.iter().filter_map(|(other, count)| match other {
        Other::Kernel(name) | Other::Device(name) => Some(format!("{count} of {name}")),
        Other::UnknownDevice | Other::UnknownKernel => None,
    });
    let counted: Vec<String> = counted.collect();
    let mut text = format!("no experiment of this kernel{here} yet: {decide}.");
    if !counted.is_empty() {
        let (counted, mut way) = (counted.join(", "), data.way(Action::Results));
        // The table shows the experiments of this kernel alone at first.
        if others
            .iter()
            .any(|(other, _)| matches!(other, Other::Kernel(_)))
        {
            way.push_str(&format!(", then {},", data.way(Action::AllProblems)));
        }
        text.push_str(&format!(" There are {counted}: {way} shows them."));
    }
    let number = |wanted: Other| {
        let found = others.iter().find(|(other, _)| *other == wanted);
        found.map_or(0, |(_, count)| *count)
    };
    let (device, problem) = (number(Other::UnknownDevice), number(Other::UnknownKernel));
    // Only a record names the device, and the problem where git does not hold the commit.
    if device + problem > 0 {
        let have = match device + problem {
            1 => "1 row has".to_owned(),
            count => format!("{count} rows have"),
        };
        let also = match (device, problem) {
            (_, 0) => String::new(),
            (0, _) => " and problem".to_owned(),
            (_, count) => format!(" (of {count} also the problem)"),
        };
        text.push_str(&format!(
            " {have} no record here, and only a record names the device{also}: `lab fetch` in a shell fetches the records \
             of other clones."
        ));
    }
    printable(text.trim_end_matches('.'))
}

/// The objective that the chart's measure is of.
fn objective(data: ScreenData) -> Objective {
    let points = &data.repository.comparable().points;
    points.objective(&data.setup.objective)
}

fn note(data: ScreenData, state: &HistoryState) -> String {
    let comparable = data.repository.comparable();
    let unit = objective(data).unit().to_owned();
    let Some(newest) = comparable.len().checked_sub(1) else {
        return unit;
    };
    let count = format::counted(comparable.points.experiments(), "experiment");
    let count = match state.newest.filter(|newest| *newest < comparable.len()) {
        None => count,
        Some(newest) => format!("{newest} of {count}"),
    };
    let newest = data.repository.nth_comparable(newest);
    let is_emulated = newest.is_some_and(|e| e.emulated);
    let goal = newest.map_or(data.setup.goal, |e| e.goal(data.setup.goal));
    let direction = match goal {
        Goal::Maximize => "",
        Goal::Minimize => "less is better",
    };
    let is_log = state.scale == Scale::Log;
    let log = if is_log { " · log scale" } else { "" };
    let emulated = if is_emulated { "emulated times" } else { "" };
    let elsewhere = match comparable.others.iter().map(|(_, count)| count).sum() {
        0 => String::new(),
        count => format!("{count} not comparable"),
    };
    let [direction, emulated] = [direction, emulated].map(str::to_owned);
    let device = comparable.elsewhere.as_deref();
    let device = device.map(|name| format!("{}, not this device", printable(in_short(name))));
    joined([
        unit + log,
        device.unwrap_or_default(),
        direction,
        count,
        emulated,
        elsewhere,
    ])
}

/// The indices that are shown: the newest, or as many around the selected one where that is older.
fn window(newest: Option<usize>, count: usize, selected: Option<usize>) -> Range<usize> {
    let fits = newest.unwrap_or(count).clamp(1, count);
    let end = match selected.filter(|at| at + fits < count) {
        Some(at) => (at + fits / 2 + 1).clamp(fits, count),
        None => count,
    };
    end - fits..end
}

/// Marks in one style; the second sign is in ASCII.
fn marks<'p>(
    name: String,
    style: Style,
    [sign, ascii]: [&'static str; 2],
    points: &'p [(f64, f64)],
) -> Series<'p> {
    let shape = SeriesShape::Marks(sign, ascii, points);
    Series { name, style, shape }
}

/// Marks, with their number in the legend.
fn counted<'p>(
    name: &str,
    style: Style,
    signs: [&'static str; 2],
    points: &'p [(f64, f64)],
) -> Series<'p> {
    let name = match points.len() {
        0 => String::new(),
        count => format!("{name} {count}"),
    };
    marks(name, style, signs, points)
}

fn draw_chart(
    buffer: &mut Buffer,
    area: Rect,
    data: ScreenData,
    state: &HistoryState,
    selected: Option<usize>,
) -> Option<HistoryPlot> {
    let repository = data.repository;
    let points = &repository.comparable().points;
    let count = repository.comparable().len();
    let shown = window(state.newest, count, selected);
    let kinds = points.kinds(&shown);
    let now = undecided(data).filter(|_| shown.end == count);
    let next = place(shown.end);
    let end = next.max(place(shown.start) + (usize::from(area.width) / STEP) as f64);
    let mut steps = points.steps(&shown);
    // The line of the best continues to the end of the chart.
    steps.extend(steps.last().map(|(_, y)| (end, *y)));

    let must = now.iter().flat_map(|m| [Some(m.value), m.low, m.high]);
    let must: Vec<f64> = must.flatten().collect();
    let bounds = |last: &FinishedRun| reference_lines(&last.report, &objective(data));
    let is_here = repository.comparable().elsewhere.is_none();
    let last = data.runs.last.as_ref().filter(|_| is_here);
    let bounds = last.map(bounds).unwrap_or_default();
    let bounds: Vec<(f64, String)> = bounds.into_iter().chain(peer_lines(data)).collect();
    let ends: Vec<f64> = bounds.iter().map(|(at, _)| *at).collect();

    let is_crowded = shown.len() > CROWDED * usize::from(area.width);
    let discarded = if is_crowded {
        ["·", "."]
    } else {
        ["○", "o"]
    };
    let pending: Vec<(f64, f64)> = now.iter().map(|m| (next, m.value)).collect();
    let spans = now.iter().filter_map(|m| Some((next, m.low?, m.high?)));
    let spans: Vec<(f64, f64, f64)> = spans.collect();
    let chosen = selected.and_then(|at| Some((at, repository.nth_comparable(at)?)));
    let highlighted = chosen.filter(|(at, _)| shown.contains(at)).map(|(at, e)| {
        let figure = points.figure(e).unwrap_or(f64::NEG_INFINITY);
        (place(at), figure)
    });
    let status = chosen.map_or(Status::Keep, |(_, experiment)| experiment.row.status);
    let counts = chosen.is_some_and(|(_, experiment)| experiment.counts());
    let is_wrong = !counts
        && !matches!(status, Status::Crash | Status::Rules)
        && highlighted.is_some_and(|(_, y)| y == f64::NEG_INFINITY);
    let cursor_sign = if is_wrong { WRONG[0] } else { mark(status) };
    let highlighted: Vec<(f64, f64)> = highlighted.into_iter().collect();

    // A line across the figures where the rules changed: those on its sides do not compare.
    let changes = kinds.rules.iter().map(|(at, _)| ReferenceLine {
        axis: AxisId::X,
        at: *at,
        name: String::new(),
        style: WARN,
    });
    let series = |name: String, style, shape| Series { name, style, shape };
    let best = points.best(shown.end - 1);
    let best = best.map_or(String::new(), |best| {
        format!("best {}", format::count(best))
    });
    let undecided = if pending.is_empty() {
        ""
    } else {
        "not decided"
    };
    let [keep, discard, crash] =
        [Status::Keep, Status::Discard, Status::Crash].map(style::experiment);
    let mut chart = Chart {
        x: Axis::between(place(shown.start) - 0.5, end + 0.5, Scale::Linear)
            .named("experiment")
            .whole(),
        y: range(&must, points.reach(&shown), &ends, state.scale),
        series: vec![
            series(best, GOOD, SeriesShape::Step(&steps)),
            counted("discarded", discard, discarded, kinds.discarded),
            counted("foreign", WARN, ["◇", "f"], kinds.foreign),
            counted("rules", WARN, [mark(Status::Rules), "="], kinds.rules),
            counted("wrong", WARN, WRONG, kinds.wrong),
            counted("crash", crash, [mark(Status::Crash), "x"], kinds.crashed),
            counted("kept", keep, [mark(Status::Keep), "O"], kinds.kept),
            series(String::new(), STRONG, SeriesShape::Spans(&spans)),
            marks(undecided.to_owned(), STRONG, ["◆", "?"], &pending),
            marks(
                String::new(),
                style::experiment(status).patch(SELECTED),
                [cursor_sign, "@"],
                &highlighted,
            ),
        ],
        reference_lines: bounds.into_iter().map(level).chain(changes).collect(),
        cursor: chosen.map(|(at, experiment)| Cursor {
            x: place(at),
            text: format!("{}: {}", at + 1, read_out(experiment, points)),
        }),
    };
    if !is_here {
        // The figures of another device are only looked at.
        chart.series.iter_mut().for_each(|one| one.style = QUIET);
    }
    let plot = chart.render(area, buffer, data.appearance.symbols)?;
    Some(HistoryPlot {
        area: plot,
        x: chart.x,
        shown,
    })
}

/// The line of a floor, an estimate or a peer.
fn level((at, name): (f64, String)) -> ReferenceLine {
    ReferenceLine {
        axis: AxisId::Y,
        at,
        name,
        style: QUIET,
    }
}

/// `60.9k`; an experiment without a figure has a word instead.
fn read_out(experiment: &Experiment, points: &ChartPoints) -> String {
    let word = match experiment.row.status {
        Status::Crash => "crash",
        Status::Rules => "other rules",
        _ if experiment.counts() => "of another measure",
        _ => "wrong",
    };
    let figure = points.figure(experiment).map(format::count);
    figure.unwrap_or_else(|| word.to_owned())
}

/// The figure of a verdict that is not decided yet.
fn undecided(data: ScreenData) -> Option<Measure> {
    let (runs, repository) = (data.runs, data.repository);
    let last = runs.last.as_ref();
    let is_here = repository.comparable().elsewhere.is_none();
    let last = last.filter(|last| is_here && last.decided.is_none() && !runs.is_stale())?;
    let incumbent = repository.snapshot().and_then(|s| s.incumbent.as_ref());
    let is_experiment = incumbent != Some(&last.start.blob);
    figure_of(last, &repository.comparable().points).filter(|_| is_experiment)
}
