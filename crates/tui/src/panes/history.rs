//! Does it get faster? Every experiment as a mark, the best so far as a step line. Kept ones are
//! prominent, discarded ones faint, a crash and a wrong result are signs on the ground line.

pub(super) mod bounds;
mod points;

use super::super::app::App;
use super::super::chart::{Chart, Cursor, Drawn, Level, On, Scale, Series};
use super::super::format;
use super::super::keymap::Action;
use super::super::text::printable;
use super::commits::mark;
use super::{Pane, titled};
use crate::chart::Axis;
use lab_core::run::experiment::{Experiment, Status};
use lab_protocol::report::Measure;
pub use points::Course;
use points::{figure, place, range};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use std::ops::Range;

/// Result lines that this pane shows, in words.
pub use bounds::KEYS as BOUNDS;

/// At most so many columns lie between two experiments: few of them leave room for those to come.
const STEP: usize = 8;

/// So many experiments a column, and a discarded one is no more than a dot.
const CROWDED: usize = 2;

/// A result that was wrong, and its sign in ASCII.
const WRONG: [&str; 2] = ["×", "%"];

#[derive(Clone, Debug, Default)]
pub struct HistoryState {
    /// Only the newest so many; `None` shows all.
    pub newest: Option<usize>,
    pub scale: Scale,
    /// What was drawn at the last frame, and where.
    sight: Option<Sight>,
}

/// A plot of these experiments over its axis.
#[derive(Clone, Debug)]
struct Sight {
    plot: Rect,
    x: Axis,
    shown: Range<usize>,
}

impl HistoryState {
    /// Of `count` experiments fewer are shown, or more: 5, 10, 20, 50, 100 …
    pub fn zoom(&mut self, closer: bool, count: usize) {
        let shown = self.newest.unwrap_or(count).min(count);
        let mut round = (0..)
            .flat_map(|power| [5, 10, 20].map(|n: usize| n.saturating_mul(10usize.saturating_pow(power))));
        let next = match closer {
            true => round.take_while(|n| *n < shown).last().or(self.newest),
            false => round.find(|n| *n > shown),
        };
        self.newest = next.filter(|n| *n < count);
    }

    /// The experiment whose mark is nearest to a place in the plot, counted from the oldest.
    pub fn experiment_at(&self, place: Position) -> Option<usize> {
        let Sight { plot, x, shown } = self.sight.as_ref()?;
        // The ground line, where crashes stand, is the row below.
        let reach = Rect { height: plot.height + 1, ..*plot };
        let share = f64::from(place.x.checked_sub(plot.x)?) / f64::from(plot.width.max(2) - 1);
        let nearest = points::nearest(x.at(share)).clamp(shown.start, shown.end.checked_sub(1)?);
        reach.contains(place).then_some(nearest)
    }

    pub fn toggle_scale(&mut self) {
        self.scale = match self.scale {
            Scale::Linear => Scale::Log,
            Scale::Log => Scale::Linear,
        };
    }
}

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    app.panes.history.sight = None;
    let mut inner = titled(frame, area, app, Pane::History, &note(app));
    // Below everything else, where that leaves room for a chart.
    if let Some(line) = bounds::line(app).filter(|_| inner.height >= 6) {
        inner.height -= 1;
        frame.render_widget(line, Rect { y: inner.bottom(), height: 1, ..inner });
    }
    let count = app.comparable().len();
    if count == 0 {
        let way = |action| app.keymap.way(action);
        let none = format!(
            "no experiment yet: {} keeps one, {} discards one",
            way(Action::Keep),
            way(Action::Discard)
        );
        let text = if app.loaded { none } else { "reading …".to_owned() };
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let selected = app.chosen_among();
    let [chart, detail] = [
        Rect { height: inner.height.saturating_sub(1), ..inner },
        Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner },
    ];
    app.panes.history.sight = draw_chart(frame.buffer_mut(), chart, app, selected);
    let shown = selected.unwrap_or(count - 1);
    if let Some(experiment) = nth(app, shown) {
        frame.render_widget(describe(experiment, shown, app, selected.is_some()), detail);
    }
}

/// One of the experiments that are shown, counted from the oldest.
fn nth(app: &App, at: usize) -> Option<&Experiment> {
    app.history.get(app.comparable().place(at)?)
}

fn note(app: &App) -> String {
    let unit = format::unit(&app.setup.objective);
    let count = app.comparable().len();
    let noun = if count == 1 { "experiment" } else { "experiments" };
    let emulated = if count.checked_sub(1).and_then(|at| nth(app, at)).is_some_and(|e| e.emulated) {
        " · emulated times"
    } else {
        ""
    };
    let log = if app.panes.history.scale == Scale::Log { " · log scale" } else { "" };
    match (count, app.panes.history.newest.filter(|newest| *newest < count)) {
        (0, _) => unit.to_owned(),
        (_, None) => format!("{unit}{log} · {count} {noun}{emulated}"),
        (_, Some(newest)) => format!("{unit}{log} · {newest} of {count} {noun}{emulated}"),
    }
}

/// The newest, or as many around the selected one where that is older.
fn window(newest: Option<usize>, count: usize, selected: Option<usize>) -> Range<usize> {
    let fits = newest.unwrap_or(count).clamp(1, count);
    let end = match selected.filter(|at| at + fits < count) {
        Some(at) => (at + fits / 2 + 1).clamp(fits, count),
        None => count,
    };
    end - fits..end
}

fn draw_chart(buffer: &mut Buffer, area: Rect, app: &App, selected: Option<usize>) -> Option<Sight> {
    let theme = &app.theme;
    let scale = app.panes.history.scale;
    let course = &app.comparable().course;
    let count = app.comparable().len();
    let shown = window(app.panes.history.newest, count, selected);
    let kinds = course.kinds(&shown);
    let now = undecided(app).filter(|_| shown.end == count);
    let next = place(shown.end);
    let end = next.max(place(shown.start) + (usize::from(area.width) / STEP) as f64);
    let mut steps = course.steps(&shown);
    // The best holds until something better comes.
    steps.extend(steps.last().map(|(_, y)| (end, *y)));

    let must: Vec<f64> = now.iter().flat_map(|m| [Some(m.value), m.low, m.high]).flatten().collect();
    let bounds = bounds::levels(app);
    let ends: Vec<f64> = bounds.iter().map(|(at, _)| *at).collect();

    let crowded = shown.len() > CROWDED * usize::from(area.width);
    let discarded = if crowded { ["·", "."] } else { ["○", "o"] };
    let pending: Vec<(f64, f64)> = now.iter().map(|m| (next, m.value)).collect();
    let spans: Vec<(f64, f64, f64)> = now.iter().filter_map(|m| Some((next, m.low?, m.high?))).collect();
    let chosen = selected.and_then(|at| Some((at, nth(app, at)?)));
    let highlighted: Vec<(f64, f64)> = chosen
        .filter(|(at, _)| shown.contains(at))
        .map(|(at, experiment)| (place(at), figure(experiment).unwrap_or(f64::NEG_INFINITY)))
        .into_iter()
        .collect();
    let status = chosen.map_or(Status::Keep, |(_, experiment)| experiment.row.status);
    let is_wrong = status != Status::Crash && highlighted.iter().any(|(_, y)| *y == f64::NEG_INFINITY);
    let cursor_sign = if is_wrong { WRONG[0] } else { mark(status) };

    let counted =
        |name: &str, count: usize| if count == 0 { String::new() } else { format!("{name} {count}") };
    let series = |name: String, style, drawn| Series { name, style, drawn };
    let best_name =
        course.best(shown.end - 1).map_or(String::new(), |best| format!("best {}", format::short(best)));
    let undecided = if pending.is_empty() { String::new() } else { "not decided".to_owned() };
    let signs = |status, ascii, points| Drawn::Marks(mark(status), ascii, points);
    let chart = Chart {
        x: Axis::between(place(shown.start) - 0.5, end + 0.5, Scale::Linear).named("experiment"),
        y: range(&must, course.reach(&shown), &ends, scale),
        series: vec![
            series(best_name, theme.good(), Drawn::Step(&steps)),
            series(
                counted("discarded", kinds.discarded.len()),
                theme.experiment(Status::Discard),
                Drawn::Marks(discarded[0], discarded[1], kinds.discarded),
            ),
            series(
                counted("wrong", kinds.wrong.len()),
                theme.warn(),
                Drawn::Marks(WRONG[0], WRONG[1], kinds.wrong),
            ),
            series(
                counted("crash", kinds.crashed.len()),
                theme.experiment(Status::Crash),
                signs(Status::Crash, "x", kinds.crashed),
            ),
            series(
                counted("kept", kinds.kept.len()),
                theme.experiment(Status::Keep),
                signs(Status::Keep, "O", kinds.kept),
            ),
            series(String::new(), theme.strong(), Drawn::Spans(&spans)),
            series(undecided, theme.strong(), Drawn::Marks("◆", "?", &pending)),
            series(
                String::new(),
                theme.experiment(status).patch(theme.selected()),
                Drawn::Marks(cursor_sign, "@", &highlighted),
            ),
        ],
        levels: bounds
            .into_iter()
            .map(|(at, name)| Level { on: On::Y, at, name, style: theme.quiet() })
            .collect(),
        cursor: chosen.map(|(at, experiment)| Cursor { x: place(at), text: read_out(experiment, at) }),
    };
    let plot = chart.render(area, buffer, theme, app.glyphs)?;
    Some(Sight { plot, x: chart.x, shown })
}

/// `12: 60.9k`; what has no figure says why not.
fn read_out(experiment: &Experiment, at: usize) -> String {
    match figure(experiment) {
        Some(value) => format!("{}: {}", at + 1, format::count(value)),
        None if experiment.row.status == Status::Crash => format!("{}: crash", at + 1),
        None => format!("{}: wrong", at + 1),
    }
}

/// The figure of the verdict that waits to be kept or discarded.
fn undecided(app: &App) -> Option<Measure> {
    let last = app.last.as_ref().filter(|last| last.decided.is_none() && !app.is_stale())?;
    let is_experiment =
        app.status.as_ref().is_none_or(|s| s.snapshot.incumbent.as_ref() != Some(&last.start.blob));
    last.verdict.objective.filter(|_| is_experiment)
}

/// One row about one experiment: `▸ 5 of 8  9f8e7d4 ○ discard  60,900 sps  -0.6 % vs best  unroll by 8`.
fn describe(experiment: &Experiment, at: usize, app: &App, is_selected: bool) -> Line<'static> {
    let theme = &app.theme;
    let comparable = app.comparable();
    let row = &experiment.row;
    let number = match figure(experiment) {
        Some(value) => format!("{} {}", format::count(value), format::unit(&app.setup.objective)),
        None => row.correctness.to_string(),
    };
    let before =
        at.checked_sub(1).and_then(|before| comparable.course.best(before)).filter(|best| *best != 0.0);
    let change = before.zip(figure(experiment)).map(|(best, value)| value / best - 1.0);
    let mut spans =
        vec![Span::styled(if is_selected { app.glyphs.pick("▸ ", "> ") } else { "  " }, theme.accent())];
    if is_selected {
        spans.push(Span::styled(format!("{} of {}  ", at + 1, comparable.len()), theme.quiet()));
    }
    spans.extend([
        Span::styled(printable(&row.commit).into_owned(), theme.accent()),
        Span::styled(format!(" {} {}", mark(row.status), row.status.word()), theme.experiment(row.status)),
        Span::styled(format!("  {number}"), theme.strong()),
    ]);
    if let Some(change) = change {
        let words = format!("  {} vs the best before", format::percent(change));
        spans.push(Span::styled(words, theme.quiet()));
    }
    spans.push(Span::raw(format!("  {}", printable(&row.description))));
    if let Some(decided) = experiment.decided.filter(|_| is_selected) {
        spans.push(Span::styled(format!("  {}", format::date(decided, &app.zone)), theme.quiet()));
    }
    Line::from(spans)
}
