//! The pane Device over the last minutes: clock, temperature, power and memory as charts, and who
//! uses it.
//!
//! ```text
//! ━ Device ━ NVIDIA H200 · 1,980 MHz · 41 °C · 320 W ━━━━━━━━━━━━━━━━━━━━━━━━
//!  SM clock                              Temperature
//!  2,000 MHz ┤⠤⠤⠤⠤⠤⠤⠤⠤                    90 °C ┤┄┄┄┄┄┄┄┄┄┄ slows down at 92
//!    …                                     …
//!  processes  1234  lab (this run)   0.6 GiB   83 % busy
//! ```

use crate::chart::{Axis, AxisId, Chart, ReferenceLine, Scale, Series, SeriesShape};
use crate::format;
use crate::keymap::Action;
use crate::state::{DeviceHistory, Now, Runs, ScreenSettings};
use crate::text::{fit, printable, wrap};
use crate::theme::Theme;
use crate::widgets::text_pane::draw_text;
use crate::widgets::{PaneSlot, ScrolledText};
use lab_protocol::telemetry::{Process, Reading};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

/// Least rows of a chart.
const CHART_ROWS: u16 = 6;

/// Least columns for two charts side by side.
const WIDE: u16 = 100;

/// Most processes that are listed.
const PROCESSES: usize = 6;

const GIB: f64 = (1u64 << 30) as f64;

/// One figure that a device reports.
struct Gauge {
    name: &'static str,
    unit: &'static str,
    value: fn(&Reading) -> Option<f64>,
}

const GAUGES: [Gauge; 4] = [
    Gauge {
        name: "SM clock",
        unit: "MHz",
        value: |r| r.sm_clock_mhz.map(f64::from),
    },
    Gauge {
        name: "Temperature",
        unit: "°C",
        value: |r| r.temperature_c.map(f64::from),
    },
    Gauge {
        name: "Power",
        unit: "W",
        value: |r| r.power_w,
    },
    Gauge {
        name: "Memory",
        unit: "GiB",
        value: |r| r.memory.map(|(used, _)| used as f64 / GIB),
    },
];

/// What the pane shows.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    pub history: &'a DeviceHistory,
    pub runs: &'a Runs,
    /// The harness is external.
    pub external: bool,
    pub now: Now,
}

impl<'a> Device<'a> {
    /// The newest reading, once a run has named its GPU.
    fn newest(&self) -> Option<&'a Reading> {
        self.history.newest().filter(|_| self.runs.gpu().is_some())
    }
}

/// Returns the list of processes as it fits below the charts.
pub fn draw(
    frame: &mut Frame,
    slot: PaneSlot,
    data: Device,
    text: ScrolledText,
    appearance: &ScreenSettings,
) -> ScrolledText {
    let theme = &appearance.theme;
    let note = data.history.newest().map(summary).unwrap_or_default();
    let inner = slot.draw_title(frame, &note, theme);
    let Some(newest) = data.newest() else {
        let rows = wrap(&absent(data, appearance), usize::from(inner.width));
        for (row, text) in rows.into_iter().take(usize::from(inner.height)).enumerate() {
            let place = Rect {
                y: inner.y + row as u16,
                height: 1,
                ..inner
            };
            frame.render_widget(Line::styled(text, theme.quiet()), place);
        }
        return text;
    };
    let processes = processes(newest, theme);
    let listed = (processes.len() as u16).min(inner.height / 3);
    let [charts, list] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(listed)]).areas(inner);
    draw_charts(frame, charts, data, appearance);
    draw_text(frame, slot, list, processes, text, theme)
}

/// The rows of the list below the charts.
pub fn rows(data: Device, theme: &Theme) -> Vec<Line<'static>> {
    data.newest()
        .map(|reading| processes(reading, theme))
        .unwrap_or_default()
}

/// Why no state is shown.
fn absent(data: Device, appearance: &ScreenSettings) -> String {
    match (&data.history.absent, &data.runs.last) {
        (Some(why), _) => format!("the device reports no state: {why}"),
        (None, Some(last)) if last.verdict.emulated => {
            "the emulated cpu device has no clock, no temperature and no power".to_owned()
        }
        (None, _) if data.runs.gpu().is_some() => "reading …".to_owned(),
        _ if data.external => {
            "an external harness names no GPU unless it prints `device_uuid: GPU-…`, as `nvidia-smi -L` lists it"
                .to_owned()
        }
        _ if !data.runs.is_idle() => "no run has named its GPU yet: the run in progress will".to_owned(),
        _ => {
            let rerun = appearance.keymap.way(Action::Rerun);
            format!("no run has named its GPU yet: {rerun} starts a run")
        }
    }
}

/// The newest reading in one row.
fn summary(reading: &Reading) -> String {
    let mut facts = Vec::new();
    let mut tell = |value: Option<f64>, unit: &str| {
        facts.extend(value.map(|value| format!("{} {unit}", format::gate(value.round()))));
    };
    tell(reading.sm_clock_mhz.map(f64::from), "MHz");
    tell(reading.temperature_c.map(f64::from), "°C");
    tell(reading.power_w, "W");
    let brakes: Vec<&str> = reading
        .throttle_reasons
        .iter()
        .map(|reason| reason.word())
        .collect();
    if reading.idle {
        facts.push("idle".to_owned());
    }
    if !brakes.is_empty() {
        facts.push(format!("held back by {}", brakes.join(", ")));
    }
    facts.join(" · ")
}

fn draw_charts(frame: &mut Frame, area: Rect, data: Device, appearance: &ScreenSettings) {
    let readings = &data.history.readings;
    let is_reported = |g: &&Gauge| readings.iter().any(|(_, r)| (g.value)(r).is_some());
    let gauges: Vec<&Gauge> = GAUGES.iter().filter(is_reported).collect();
    let columns = if area.width >= WIDE && gauges.len() > 1 {
        2
    } else {
        1
    };
    // Where not all fit the first ones are drawn. A zoomed pane has room for all.
    let rows = gauges
        .len()
        .div_ceil(columns)
        .min(usize::from(area.height / CHART_ROWS))
        .max(1);
    let bands = Layout::vertical(vec![Constraint::Fill(1); rows]).split(area);
    for (at, gauge) in gauges.into_iter().take(rows * columns).enumerate() {
        let cells = Layout::horizontal(vec![Constraint::Fill(1); columns])
            .spacing(2)
            .split(bands[at / columns]);
        draw_gauge(frame, cells[at % columns], data, gauge, appearance);
    }
}

fn draw_gauge(
    frame: &mut Frame,
    area: Rect,
    data: Device,
    gauge: &Gauge,
    appearance: &ScreenSettings,
) {
    let theme = &appearance.theme;
    let readings = &data.history.readings;
    let latest = readings.back().map_or(data.now, |(at, _)| *at);
    // Seconds before the newest reading: the curve does not move until the next reading.
    let points: Vec<(f64, f64)> = readings
        .iter()
        .filter_map(|(at, r)| {
            Some((
                -(latest.saturating_sub(*at).as_secs_f64()),
                (gauge.value)(r)?,
            ))
        })
        .collect();
    let Some((_, value)) = points.last().copied() else {
        return;
    };
    let (low, high) = points.iter().fold((value, value), |(low, high), (_, v)| {
        (low.min(*v), high.max(*v))
    });
    let title = Line::from(vec![
        Span::styled(format!("{} ", gauge.name), theme.strong()),
        Span::styled(
            format!(
                "{} {}  {} … {}",
                figure(value),
                gauge.unit,
                figure(low),
                figure(high)
            ),
            theme.quiet(),
        ),
    ]);
    frame.render_widget(
        title,
        Rect {
            height: area.height.min(1),
            ..area
        },
    );
    let from = points.first().map_or(-60.0, |(at, _)| at.min(-60.0));
    let slowdown = data
        .history
        .slowdown_c
        .map(f64::from)
        .filter(|_| gauge.unit == "°C");
    // A limit far above the curve would flatten it, so it is left out.
    let level = slowdown.filter(|limit| high > limit - 25.0);
    let level = level.map(|at| ReferenceLine {
        axis: AxisId::Y,
        at,
        name: format!("slows down at {at:.0}"),
        style: theme.warn(),
    });
    let values = points
        .iter()
        .map(|(_, v)| *v)
        .chain(level.iter().map(|l| l.at));
    let chart = Chart {
        x: Axis::between(from, 0.0, Scale::Linear).unit("s"),
        y: Axis::over(values, Scale::Linear).unit(gauge.unit),
        series: vec![Series {
            name: String::new(),
            style: theme.accent(),
            shape: SeriesShape::Line(&points),
        }],
        reference_lines: level.into_iter().collect(),
        cursor: None,
    };
    let below = Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    };
    chart.render(below, frame.buffer_mut(), theme, appearance.symbols);
}

fn figure(value: f64) -> String {
    format::gate(if value >= 100.0 {
        value.round()
    } else {
        (value * 10.0).round() / 10.0
    })
}

/// The processes that have the device open: this lab's first, then those that use it most.
fn processes(reading: &Reading, theme: &Theme) -> Vec<Line<'static>> {
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
        let whose = if process.own {
            "● this lab's"
        } else {
            "! foreign   "
        };
        let style = if process.own {
            theme.good()
        } else {
            theme.warn()
        };
        let busy = process
            .busy
            .map(|busy| format!("  {busy} % busy"))
            .unwrap_or_default();
        let memory = process
            .memory
            .map(|bytes| format!("  {}", format::bytes(bytes as f64)))
            .unwrap_or_default();
        Line::from(vec![
            Span::styled(format!("{whose} "), style),
            Span::raw(format!(
                "{:>8}  {}{memory}{busy}",
                process.pid,
                fit(&name, 32)
            )),
        ])
    });
    let none = all.is_empty() && reading.processes.is_some();
    let none = none.then(|| Line::styled("no process uses it now", theme.quiet()));
    let more = (more > 0).then(|| Line::styled(format!("and {more} more"), theme.quiet()));
    memory
        .into_iter()
        .chain(rows)
        .chain(none)
        .chain(more)
        .collect()
}
