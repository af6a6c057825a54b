//! The panes of the view Sweep: how far the newest sweep is, what each constant matters, a map over two
//! of them, and all its points.
//!
//! ```text
//! sweep 2: 18 of 24 points: 14 passed; 2 slower, ended early; 2 wrong
//! about 40 s left for all points
//!
//! BLOCK  ██████████████  62 % of the variance
//! ROWS   ███             14 %
//!
//! BLOCK down, ROWS across (% of the best, ✗ not correct, · not tried, – excluded)
//!         1    2    4
//!  64    98  100   87
//! 128     ✗    ·    –
//! ```

use crate::prelude::*;
use lab_protocol::Language;
use lab_run::verdict::with_ends;
use lab_sweep::record::SweepParameter;
use lab_sweep::summary::{self, Heat, HeatMap, NO_BEST, PointCounts};
use lab_sweep::{FOREIGN, PointOutcome, Sweep, SweepPoint, SweepStart, SweepView};
use lab_text::age::in_words;
use lab_text::figures;

/// What stands where the kernel has no sweep.
pub fn nothing(data: ScreenData) -> String {
    let comment = Language::of(&data.setup.kernel).comment();
    format!("`lab sweep` tries the values of the tune lines: `{comment} lab: tune NAME = 64, 128`")
}

/// Columns of the longest bar of a constant.
const BAR: f64 = 24.0;
/// From this part of the best on a cell of the map counts as good, and below that one as bad.
const NEAR: f64 = 0.98;
const FAR: f64 = 0.8;

fn shown(data: ScreenData<'_>) -> Option<&SweepView> {
    data.repository.sweep.as_deref()
}

pub fn note(data: ScreenData) -> String {
    let devices = shown(data).map(|view| printable(&view.sweep.devices()));
    devices.unwrap_or_default()
}

/// The sweep with the map over the pair of constants that comes after so many others, in so many
/// columns.
pub fn rows(data: ScreenData, pair: usize, columns: usize) -> Lines {
    let Some(view) = shown(data) else {
        return Vec::new();
    };
    let sweep = &view.sweep;
    let mut lines = progress(view, columns);
    lines.extend(importance(sweep));
    let pairs = summary::pairs(sweep);
    if let Some(pair) = pairs.get(pair % pairs.len().max(1)) {
        lines.extend(map(&HeatMap::of(sweep, *pair), columns));
    }
    lines
}

fn progress(view: &SweepView, columns: usize) -> Lines {
    let Sweep { start, points } = &view.sweep;
    let counts = PointCounts::of(points).in_words();
    let (done, all, kernel) = (points.len(), start.points, printable(&start.kernel));
    let first = format!("sweep {}: {done} of {all} points: {counts}", start.sweep);
    let mut lines = paragraph(&first, columns, STRONG);
    if !view.sweep.is_own() {
        lines.extend(paragraph(FOREIGN, columns, WARN));
    }
    let how = match (view.in_progress, view.time_left()) {
        (true, Some(left)) => format!("about {} left for all points", in_words(left)),
        (true, None) => "it goes on".to_owned(),
        (false, _) if view.left() > 0 => {
            let option = start.executor_option();
            format!("it ended early: `lab sweep {kernel}{option}` goes on")
        }
        (false, _) => match summary::ranked(points).first() {
            Some(best) if best.emulated => {
                format!("{NO_BEST}. `lab sweep {kernel} --apply N` writes point N")
            }
            Some(SweepPoint { number, .. }) => format!(
                "`lab sweep {kernel} --apply {number}` writes point {number} into the kernel"
            ),
            None => "no point passed: correct the kernel or its tune lines".to_owned(),
        },
    };
    lines.extend(paragraph(&how, columns, QUIET));
    if let Some(jobs) = &view.jobs {
        let style = if jobs.lost > 0 { WARN } else { QUIET };
        lines.extend(paragraph(&jobs.in_words(), columns, style));
    }
    if view.sweep.is_emulated() {
        let text = "the device is emulated: these times say nothing about a GPU";
        lines.extend(paragraph(text, columns, WARN));
    }
    lines
}

/// A bar for each constant: the part of the variance that it explains.
fn importance(sweep: &Sweep) -> Lines {
    let parts = summary::importance(sweep);
    let names = widest(parts.iter().map(|part| &*part.name));
    let row = |(at, part): (usize, &summary::Importance)| {
        let bar = "█".repeat((part.explained * BAR).round() as usize);
        let what = if at == 0 { " of the variance" } else { "" };
        Line::from(vec![
            Span::raw(format!("{}  ", pad(&part.name, names))),
            Span::styled(pad(&bar, BAR as usize), ACCENT),
            Span::raw(format!("  {:.0} %{what}", 100.0 * part.explained)),
        ])
    };
    let rows = parts.iter().enumerate().map(row);
    let blank = (!parts.is_empty()).then(Line::default);
    blank.into_iter().chain(rows).collect()
}

fn map(map: &HeatMap, room: usize) -> Lines {
    let first = widest(map.rows.iter().map(String::as_str));
    let wide = widest(map.columns.iter().map(String::as_str)).max(3) + 2;
    let columns = map.columns.iter().map(|value| pad_left(value, wide));
    let columns = format!("{}{}", " ".repeat(first), columns.collect::<String>());
    let mut lines = vec![Line::default()];
    lines.extend(paragraph(&map.head, room, QUIET));
    lines.push(Line::styled(columns, QUIET));
    for (value, cells) in map.rows.iter().zip(&map.cells) {
        let mut line = Line::styled(pad_left(value, first), QUIET);
        line.extend(cells.iter().map(|heat| cell(*heat, wide)));
        lines.push(line);
    }
    lines
}

fn cell(heat: Heat, wide: usize) -> Span<'static> {
    let style = match heat {
        Heat::Unknown | Heat::Excluded => QUIET,
        Heat::Bad => BAD,
        Heat::Correct => GOOD,
        Heat::Best(part) if part >= NEAR => GOOD,
        Heat::Best(part) if part >= FAR => TEXT,
        Heat::Best(_) => WARN,
    };
    Span::styled(pad_left(&heat.sign(), wide), style)
}

/// The list of all points.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointsState {
    pub list: ListState,
    /// The number of the point that was selected last; at first none, and the best one counts.
    pub chosen: Option<u32>,
}

impl PointsState {
    /// The row of the selected point.
    pub fn row(&self, points: &[&SweepPoint]) -> usize {
        let is_chosen = |point: &&SweepPoint| Some(point.number) == self.chosen;
        points.iter().position(is_chosen).unwrap_or(0)
    }

    /// Moves the selection by so many rows.
    pub fn select(&mut self, by: isize, points: &[&SweepPoint]) {
        let selected = self.row(points);
        self.list = ListState {
            selected,
            ..self.list
        };
        self.list.select(by, points.len());
        self.chosen = points.get(self.list.selected).map(|point| point.number);
    }

    /// Returns the list as it fits.
    pub fn draw(&self, canvas: &mut Canvas) -> ListState {
        let area = canvas.draw_title("");
        let points = canvas.data.repository.points();
        let selected = self.row(&points);
        let list = ListState {
            selected,
            ..self.list
        };
        let view = shown(canvas.data);
        if points.is_empty() {
            let hint = Line::styled("the points are listed here, the best first", QUIET);
            draw_rows(canvas.frame, area, [hint]);
        }
        canvas.draw_list(area, list, points.len(), true, |at| {
            let row = view.map(|view| row(&view.sweep.start, points[at], area.width.into()));
            row.unwrap_or_default()
        })
    }
}

/// A point in so many columns.
pub fn row(start: &SweepStart, point: &SweepPoint, columns: usize) -> Line<'static> {
    let values =
        |it: &SweepParameter| it.name.len() + 2 + widest(it.values.iter().map(String::as_str));
    let names = start.parameters.iter().map(values).sum::<usize>();
    let (said, style) = result(point);
    let values = pad(&printable(&start.in_words(point)), names);
    let text = format!("{:>4}  {values} ", point.number);
    let room = columns.saturating_sub(width(&text));
    Line::from(vec![
        Span::raw(text),
        Span::styled(fit(&printable(&said), room), style),
    ])
}

/// The figure of a point and its change against the incumbent, or why it has none.
fn result(point: &SweepPoint) -> (String, Style) {
    let word = point.outcome.word();
    match (&point.figure, point.outcome) {
        (Some(figure), PointOutcome::Pass) => {
            let unit = figure.objective.unit();
            let about = if point.emulated { "~" } else { "" };
            let figure = with_ends(&figure.measure, figures::count);
            let text = format!("{about}{figure} {unit}");
            let change = point.improvement().map(|change| change.to_string());
            (joined([text, change.unwrap_or_default()]), TEXT)
        }
        (_, PointOutcome::Pass | PointOutcome::Slower) => (word.to_owned(), QUIET),
        _ => (format!("{word}: {}", point.why), BAD),
    }
}
