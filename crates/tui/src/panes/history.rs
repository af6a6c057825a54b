//! The pane Throughput: every experiment as a mark, the best so far as a step line. Kept
//! experiments are prominent, discarded ones faint; a crash and a wrong result are signs on the
//! ground line.

mod peer_lines;

use crate::chart::{Axis, AxisId, Chart, Cursor, ReferenceLine, Scale, Series, SeriesShape};
use crate::prelude::*;
use crate::state::Runs;
use crate::state::chart_points::{ChartPoints, nearest, place, range};
use crate::state::repository::Other;
use crate::widgets::bounds;
use lab_protocol::report::Measure;
use lab_run::experiment::{Experiment, Status};
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
    /// The plot of the last frame, for clicks.
    plot: Option<HistoryPlot>,
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
        let next = match closer {
            true => round.take_while(|n| *n < shown).last().or(self.newest),
            false => round.find(|n| *n > shown),
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

    pub fn set_plot(&mut self, plot: Option<HistoryPlot>) {
        self.plot = plot;
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
    let data = canvas.data;
    let mut inner = canvas.draw_title(&note(data, state));
    if let Some(line) = bounds_words(data.runs).filter(|_| inner.height >= 6) {
        inner.height -= 1;
        let line = Line::styled(format!("  {line}"), QUIET);
        canvas
            .frame
            .render_widget(line, row_of(inner, inner.bottom()));
    }
    let count = data.repository.comparable().len();
    if count == 0 {
        match data.repository.loaded {
            true => canvas.draw_hint(inner, &nothing(data)),
            false => canvas.draw_hint(inner, "reading …"),
        }
        return None;
    }
    let selected = data.repository.position(data.selection.key.as_ref());
    let [chart, detail] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inner);
    let plot = draw_chart(canvas.frame.buffer_mut(), chart, data, state, selected);
    let shown = selected.unwrap_or(count - 1);
    if let Some(experiment) = data.repository.nth_comparable(shown) {
        let line = describe(experiment, shown, data, selected.is_some());
        canvas.frame.render_widget(line, detail);
    }
    plot
}

/// Why the chart is empty: on which device nothing was decided, whose experiments there are, how to
/// see them, and how to make one.
fn nothing(data: ScreenData) -> String {
    let way = |action| data.appearance.keymap.way(action);
    let decide = format!(
        "{} keeps one, {} discards one",
        way(Action::Keep),
        way(Action::Discard)
    );
    let others = &data.repository.comparable().others;
    if others.is_empty() {
        return format!("no experiment yet: {decide}");
    }
    let device = data
        .repository
        .present_device(data.runs.last.as_ref(), data.setup);
    let here = device
        .and_then(|(device, _)| device)
        .map_or(String::new(), |name| format!(" on {name}"));
    let counted = others.iter().filter_map(|(other, count)| match other {
        Other::Kernel(name) | Other::Device(name) => Some(format!("{count} of {name}")),
        Other::UnknownDevice | Other::UnknownKernel => None,
    });
    let counted: Vec<String> = counted.collect();
    let mut text = format!("no experiment of this kernel{here} yet: {decide}.");
    if !counted.is_empty() {
        text.push_str(&format!(
            " There are {}: {} shows them.",
            counted.join(", "),
            way(Action::Results)
        ));
    }
    let number = |wanted: Other| {
        others
            .iter()
            .find(|(other, _)| *other == wanted)
            .map_or(0, |(_, count)| *count)
    };
    let (device, problem) = (number(Other::UnknownDevice), number(Other::UnknownKernel));
    // Only a record names the device, and the problem where git does not hold the commit.
    if device + problem > 0 {
        let have = if device + problem == 1 {
            "1 row has".to_owned()
        } else {
            format!("{} rows have", device + problem)
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

/// The bounds of the run in progress once its harness has printed them, else of the last run.
fn bounds_words(runs: &Runs) -> Option<String> {
    let live = runs
        .live()
        .filter(|live| live.report.value("of_estimate").is_some());
    match (live, &runs.last) {
        (Some(live), _) => bounds::describe(&live.report),
        (None, Some(last)) => bounds::describe(&last.report),
        (None, None) => None,
    }
}

fn note(data: ScreenData, state: &HistoryState) -> String {
    let objective = data
        .repository
        .comparable()
        .points
        .objective(&data.setup.objective);
    let unit = objective.unit();
    let count = data.repository.comparable().len();
    let noun = if count == 1 {
        "experiment"
    } else {
        "experiments"
    };
    let newest = count
        .checked_sub(1)
        .and_then(|at| data.repository.nth_comparable(at));
    let emulated = if newest.is_some_and(|e| e.emulated) {
        " · emulated times"
    } else {
        ""
    };
    let log = if state.scale == Scale::Log {
        " · log scale"
    } else {
        ""
    };
    let elsewhere: usize = data
        .repository
        .comparable()
        .others
        .iter()
        .map(|(_, count)| count)
        .sum();
    let elsewhere = if elsewhere == 0 {
        String::new()
    } else {
        format!(" · {elsewhere} not comparable")
    };
    match (count, state.newest.filter(|newest| *newest < count)) {
        (0, _) => unit.to_owned(),
        (_, None) => format!("{unit}{log} · {count} {noun}{emulated}{elsewhere}"),
        (_, Some(newest)) => {
            format!("{unit}{log} · {newest} of {count} {noun}{emulated}{elsewhere}")
        }
    }
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

fn draw_chart(
    buffer: &mut Buffer,
    area: Rect,
    data: ScreenData,
    state: &HistoryState,
    selected: Option<usize>,
) -> Option<HistoryPlot> {
    let ScreenData {
        repository,
        runs,
        setup,
        ..
    } = data;
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

    let must: Vec<f64> = now
        .iter()
        .flat_map(|m| [Some(m.value), m.low, m.high])
        .flatten()
        .collect();
    let objective = points.objective(&setup.objective);
    let last = runs.last.as_ref();
    let bounds = last
        .map(|last| bounds::reference_lines(&last.report, &objective))
        .unwrap_or_default();
    let bounds: Vec<(f64, String)> = bounds.into_iter().chain(peer_lines(data)).collect();
    let ends: Vec<f64> = bounds.iter().map(|(at, _)| *at).collect();

    let crowded = shown.len() > CROWDED * usize::from(area.width);
    let discarded = if crowded { ["·", "."] } else { ["○", "o"] };
    let pending: Vec<(f64, f64)> = now.iter().map(|m| (next, m.value)).collect();
    let spans: Vec<(f64, f64, f64)> = now
        .iter()
        .filter_map(|m| Some((next, m.low?, m.high?)))
        .collect();
    let chosen = selected.and_then(|at| Some((at, repository.nth_comparable(at)?)));
    let highlighted: Vec<(f64, f64)> = chosen
        .filter(|(at, _)| shown.contains(at))
        .map(|(at, experiment)| {
            (
                place(at),
                points.figure(experiment).unwrap_or(f64::NEG_INFINITY),
            )
        })
        .into_iter()
        .collect();
    let status = chosen.map_or(Status::Keep, |(_, experiment)| experiment.row.status);
    let counts = chosen.is_some_and(|(_, experiment)| experiment.counts());
    let is_wrong = !counts
        && !matches!(status, Status::Crash | Status::Rules)
        && highlighted.iter().any(|(_, y)| *y == f64::NEG_INFINITY);
    let cursor_sign = if is_wrong { WRONG[0] } else { mark(status) };

    let counted = |name: &str, count: usize| {
        if count == 0 {
            String::new()
        } else {
            format!("{name} {count}")
        }
    };
    let series = |name: String, style, shape| Series { name, style, shape };
    let best_name = points.best(shown.end - 1).map_or(String::new(), |best| {
        format!("best {}", format::count(best))
    });
    let undecided = if pending.is_empty() {
        String::new()
    } else {
        "not decided".to_owned()
    };
    let signs = |status, ascii, points| SeriesShape::Marks(mark(status), ascii, points);
    let chart = Chart {
        x: Axis::between(place(shown.start) - 0.5, end + 0.5, Scale::Linear).named("experiment"),
        y: range(&must, points.reach(&shown), &ends, state.scale),
        series: vec![
            series(best_name, GOOD, SeriesShape::Step(&steps)),
            series(
                counted("discarded", kinds.discarded.len()),
                style::experiment(Status::Discard),
                SeriesShape::Marks(discarded[0], discarded[1], kinds.discarded),
            ),
            series(
                counted("wrong", kinds.wrong.len()),
                WARN,
                SeriesShape::Marks(WRONG[0], WRONG[1], kinds.wrong),
            ),
            series(
                counted("crash", kinds.crashed.len()),
                style::experiment(Status::Crash),
                signs(Status::Crash, "x", kinds.crashed),
            ),
            series(
                counted("kept", kinds.kept.len()),
                style::experiment(Status::Keep),
                signs(Status::Keep, "O", kinds.kept),
            ),
            series(String::new(), STRONG, SeriesShape::Spans(&spans)),
            series(undecided, STRONG, SeriesShape::Marks("◆", "?", &pending)),
            series(
                String::new(),
                style::experiment(status).patch(SELECTED),
                SeriesShape::Marks(cursor_sign, "@", &highlighted),
            ),
        ],
        reference_lines: bounds
            .into_iter()
            .map(|(at, name)| ReferenceLine {
                axis: AxisId::Y,
                at,
                name,
                style: QUIET,
            })
            .collect(),
        cursor: chosen.map(|(at, experiment)| Cursor {
            x: place(at),
            text: read_out(experiment, at, points),
        }),
    };
    let plot = chart.render(area, buffer, data.appearance.symbols)?;
    Some(HistoryPlot {
        area: plot,
        x: chart.x,
        shown,
    })
}

/// `12: 60.9k`; an experiment without a figure has a word instead.
fn read_out(experiment: &Experiment, at: usize, points: &ChartPoints) -> String {
    match points.figure(experiment) {
        Some(value) => format!("{}: {}", at + 1, format::count(value)),
        None if experiment.row.status == Status::Crash => format!("{}: crash", at + 1),
        None if experiment.row.status == Status::Rules => format!("{}: other rules", at + 1),
        None if experiment.counts() => format!("{}: of another measure", at + 1),
        None => format!("{}: wrong", at + 1),
    }
}

/// The figure of a verdict that is not decided yet.
fn undecided(data: ScreenData) -> Option<Measure> {
    let runs = data.runs;
    let last = runs
        .last
        .as_ref()
        .filter(|last| last.decided.is_none() && !runs.is_stale())?;
    let status = data.repository.status.as_ref();
    let is_experiment =
        status.is_none_or(|s| s.snapshot.incumbent.as_ref() != Some(&last.start.blob));
    figure_of(last, &data.repository.comparable().points).filter(|_| is_experiment)
}

/// One row about one experiment:
/// `▸ 5 of 8  9f8e7d4 ○ discard  60,900 sps  -0.6 % vs best  unroll by 8`.
fn describe(
    experiment: &Experiment,
    at: usize,
    data: ScreenData,
    is_selected: bool,
) -> Line<'static> {
    let comparable = data.repository.comparable();
    let row = &experiment.row;
    let figure = comparable.points.figure(experiment);
    let objective = comparable.points.objective(&data.setup.objective);
    let number = match figure {
        Some(value) => format!("{} {}", format::count(value), objective.unit()),
        None if row.status == Status::Rules => String::new(),
        None => row.correctness.to_string(),
    };
    let before = at
        .checked_sub(1)
        .and_then(|before| comparable.points.best(before))
        .filter(|best| *best != 0.0);
    let before = before.filter(|_| comparable.points.is_beside_best(experiment));
    let change = before.zip(figure).map(|(best, value)| value / best - 1.0);
    let mut spans = vec![Span::styled(
        if is_selected {
            data.appearance.symbols.pick("▸ ", "> ")
        } else {
            "  "
        },
        ACCENT,
    )];
    if is_selected {
        spans.push(format!("{} of {}  ", at + 1, comparable.len()).quiet());
    }
    spans.extend([
        printable(&row.commit).accent(),
        Span::styled(
            format!(" {} {}", mark(row.status), row.status.word()),
            style::experiment(row.status),
        ),
        format!("  {number}").strong(),
    ]);
    if let Some(change) = change {
        let words = format!("  {} vs the best before", format::percent(change));
        spans.push(words.quiet());
    }
    spans.push(Span::raw(format!("  {}", printable(&row.description))));
    if let Some(decided) = experiment.decided.filter(|_| is_selected) {
        spans.push(format!("  {}", format::date(decided, &data.appearance.zone)).quiet());
    }
    Line::from(spans)
}
