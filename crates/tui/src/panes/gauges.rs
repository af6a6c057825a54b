//! The device over the last minutes: clock, temperature, power and memory as charts, and who uses it.
//!
//! ```text
//! ━ Device ━ NVIDIA H200 · 1,980 MHz · 41 °C · 320 W ━━━━━━━━━━━━━━━━━━━━━━━━
//!  SM clock                              Temperature
//!  2,000 MHz ┤⠤⠤⠤⠤⠤⠤⠤⠤                    90 °C ┤┄┄┄┄┄┄┄┄┄┄ slows down at 92
//!    …                                     …
//!  processes  1234  lab (this run)   0.6 GiB   83 % busy
//! ```

use super::super::app::{App, Rows, Running};
use super::super::chart::{Axis, Chart, Drawn, Level, On, Scale, Series};
use super::super::format;
use super::super::keymap::Action;
use super::super::text::{fit, printable};
use super::{Pane, seen, titled};
use lab_protocol::telemetry::{Process, Reading};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

/// Fewer rows than this show no curve.
const CHART_ROWS: u16 = 6;

/// From so many columns on two charts stand side by side.
const WIDE: u16 = 100;

/// Processes that are listed.
const PROCESSES: usize = 6;

const GIB: f64 = (1u64 << 30) as f64;

/// One figure that a device tells.
struct Gauge {
    name: &'static str,
    unit: &'static str,
    value: fn(&Reading) -> Option<f64>,
}

const GAUGES: [Gauge; 4] = [
    Gauge { name: "SM clock", unit: "MHz", value: |r| r.sm_clock_mhz.map(f64::from) },
    Gauge { name: "Temperature", unit: "°C", value: |r| r.temperature_c.map(f64::from) },
    Gauge { name: "Power", unit: "W", value: |r| r.power_w },
    Gauge { name: "Memory", unit: "GiB", value: |r| r.memory.map(|(used, _)| used as f64 / GIB) },
];

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let newest = app.device.readings.back().map(|(_, reading)| reading);
    let inner = titled(frame, area, app, Pane::Gauges, &newest.map(now).unwrap_or_default());
    let Some(newest) = newest.filter(|_| app.gpu().is_some()) else {
        let rows = super::super::text::wrap(&absent(app), usize::from(inner.width));
        for (row, text) in rows.into_iter().take(usize::from(inner.height)).enumerate() {
            let place = Rect { y: inner.y + row as u16, height: 1, ..inner };
            frame.render_widget(Line::styled(text, app.theme.quiet()), place);
        }
        return;
    };
    let processes = processes(newest, app);
    let listed = (processes.len() as u16).min(inner.height / 3);
    let [charts, list] = Layout::vertical([Constraint::Fill(1), Constraint::Length(listed)]).areas(inner);
    draw_charts(frame, charts, app);
    let first = app.panes.gauges.fit(usize::from(list.width), usize::from(list.height), processes.len());
    let (needle, marked) = (app.needle(Pane::Gauges), app.panes.gauges.marked());
    for ((at, line), y) in processes.into_iter().enumerate().skip(first).zip(list.top()..list.bottom()) {
        let line = seen(line, needle, marked == Some(at), &app.theme);
        frame.render_widget(line, Rect { y, height: 1, ..list });
    }
}

/// Of the charts there are none: the list below them is what is text.
pub fn rows(app: &App) -> Rows<'_> {
    let newest = app.device.readings.back().filter(|_| app.gpu().is_some());
    let lines = newest.map(|(_, reading)| processes(reading, app)).unwrap_or_default();
    Rows::new(lines.len(), move |at| lines.get(at).map(Line::to_string).unwrap_or_default().into())
}

/// Why there is nothing to see.
fn absent(app: &App) -> String {
    match (&app.device.absent, &app.last) {
        (Some(why), _) => format!("the device does not tell its state: {why}"),
        (None, Some(last)) if last.verdict.emulated => {
            "the emulated cpu device has no clocks, no temperature and no power to tell".to_owned()
        }
        (None, _) if app.gpu().is_some() => "reading …".to_owned(),
        _ if app.setup.external.is_some() => {
            "an external harness names no GPU unless it prints `device_uuid: GPU-…`, as `nvidia-smi -L` lists it"
                .to_owned()
        }
        _ if !matches!(app.running, Running::No) => {
            "no run has named its GPU yet: the one that goes on will".to_owned()
        }
        _ => {
            let rerun = app.keymap.way(Action::Rerun);
            format!("no run has named its GPU yet: {rerun} judges the kernel, and then this is known")
        }
    }
}

/// The newest reading in one row.
fn now(reading: &Reading) -> String {
    let mut facts = Vec::new();
    let mut tell = |value: Option<f64>, unit: &str| {
        facts.extend(value.map(|value| format!("{} {unit}", format::gate(value.round()))));
    };
    tell(reading.sm_clock_mhz.map(f64::from), "MHz");
    tell(reading.temperature_c.map(f64::from), "°C");
    tell(reading.power_w, "W");
    let brakes: Vec<&str> = reading.throttle_reasons.iter().map(|reason| reason.word()).collect();
    if reading.idle {
        facts.push("idle".to_owned());
    }
    if !brakes.is_empty() {
        facts.push(format!("held back by {}", brakes.join(", ")));
    }
    facts.join(" · ")
}

fn draw_charts(frame: &mut Frame, area: Rect, app: &App) {
    let told: Vec<&Gauge> =
        GAUGES.iter().filter(|g| app.device.readings.iter().any(|(_, r)| (g.value)(r).is_some())).collect();
    let columns = if area.width >= WIDE && told.len() > 1 { 2 } else { 1 };
    // Of more than fit the first ones are drawn: zoomed, the pane has room for all.
    let rows = told.len().div_ceil(columns).min(usize::from(area.height / CHART_ROWS)).max(1);
    let bands = Layout::vertical(vec![Constraint::Fill(1); rows]).split(area);
    for (at, gauge) in told.into_iter().take(rows * columns).enumerate() {
        let cells =
            Layout::horizontal(vec![Constraint::Fill(1); columns]).spacing(2).split(bands[at / columns]);
        draw_gauge(frame, cells[at % columns], app, gauge);
    }
}

fn draw_gauge(frame: &mut Frame, area: Rect, app: &App, gauge: &Gauge) {
    let theme = &app.theme;
    let latest = app.device.readings.back().map_or(app.now, |(at, _)| *at);
    // Seconds before the newest reading: the curve stands still while nothing new is heard.
    let points: Vec<(f64, f64)> = app
        .device
        .readings
        .iter()
        .filter_map(|(at, r)| Some((-(latest.saturating_sub(*at).as_secs_f64()), (gauge.value)(r)?)))
        .collect();
    let Some((_, value)) = points.last().copied() else { return };
    let (low, high) = points.iter().fold((value, value), |(low, high), (_, v)| (low.min(*v), high.max(*v)));
    let title = Line::from(vec![
        Span::styled(format!("{} ", gauge.name), theme.strong()),
        Span::styled(
            format!("{} {}  {} … {}", figure(value), gauge.unit, figure(low), figure(high)),
            theme.quiet(),
        ),
    ]);
    frame.render_widget(title, Rect { height: area.height.min(1), ..area });
    let from = points.first().map_or(-60.0, |(at, _)| at.min(-60.0));
    let slowdown = app.device.slowdown_c.map(f64::from).filter(|_| gauge.unit == "°C");
    // A limit far above is left out: the curve matters.
    let level = slowdown.filter(|limit| high > limit - 25.0);
    let level =
        level.map(|at| Level { on: On::Y, at, name: format!("slows down at {at:.0}"), style: theme.warn() });
    let values = points.iter().map(|(_, v)| *v).chain(level.iter().map(|l| l.at));
    let chart = Chart {
        x: Axis::between(from, 0.0, Scale::Linear).unit("s"),
        y: Axis::over(values, Scale::Linear).unit(gauge.unit),
        series: vec![Series { name: String::new(), style: theme.accent(), drawn: Drawn::Line(&points) }],
        levels: level.into_iter().collect(),
        cursor: None,
    };
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    chart.render(below, frame.buffer_mut(), theme, app.glyphs);
}

fn figure(value: f64) -> String {
    format::gate(if value >= 100.0 { value.round() } else { (value * 10.0).round() / 10.0 })
}

/// Who has the device open: ours first, then those that use it most.
fn processes(reading: &Reading, app: &App) -> Vec<Line<'static>> {
    let theme = &app.theme;
    let memory = reading.memory.map(|(used, total)| {
        let (used, total) = (figure(used as f64 / GIB), figure(total as f64 / GIB));
        Line::styled(format!("memory {used} of {total} GiB"), theme.quiet())
    });
    let mut all: Vec<&Process> = reading.processes.iter().flatten().collect();
    all.sort_by_key(|p| (!p.own, std::cmp::Reverse(p.busy), p.pid));
    let more = all.len().saturating_sub(PROCESSES);
    let rows = all.iter().take(PROCESSES).map(|process| {
        let name = if process.name.is_empty() {
            "(its name cannot be read)".into()
        } else {
            printable(&process.name)
        };
        let whose = if process.own { "● this lab's" } else { "! foreign   " };
        let style = if process.own { theme.good() } else { theme.warn() };
        let busy = process.busy.map(|busy| format!("  {busy} % busy")).unwrap_or_default();
        let memory =
            process.memory.map(|bytes| format!("  {}", format::bytes(bytes as f64))).unwrap_or_default();
        Line::from(vec![
            Span::styled(format!("{whose} "), style),
            Span::raw(format!("{:>8}  {}{memory}{busy}", process.pid, fit(&name, 32))),
        ])
    });
    let none = all.is_empty() && reading.processes.is_some();
    let none = none.then(|| Line::styled("no process uses it now", theme.quiet()));
    let more = (more > 0).then(|| Line::styled(format!("and {more} more"), theme.quiet()));
    memory.into_iter().chain(rows).chain(none).chain(more).collect()
}
