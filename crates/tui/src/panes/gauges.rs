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
use crate::prelude::*;
use crate::state::Now;
use itertools::Itertools;
use lab_protocol::report::Report;
use lab_protocol::telemetry::{Process, Reading};

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

/// Draws the charts. Returns the area below them, for the list of processes; without a reading the
/// whole area, for the reason.
pub fn draw(canvas: &mut Canvas, area: Rect) -> Rect {
    let data = canvas.data;
    let Some(newest) = newest(data) else {
        canvas.draw_hint(area, &absent(data));
        return Rect { height: 0, ..area };
    };
    let listed = (processes(newest).len() + data.device.others.len()) as u16;
    let listed = listed.min(area.height / 3);
    let [charts, list] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(listed)]).areas(area);
    draw_charts(canvas.frame, charts, data);
    list
}

pub fn note(data: ScreenData) -> String {
    data.device.newest().map(summary).unwrap_or_default()
}

/// The newest reading of the GPU of the newest run.
fn newest(data: ScreenData<'_>) -> Option<&Reading> {
    let newest = data.device.newest();
    newest.filter(|_| data.runs.gpu().is_some())
}

/// The rows of the list below the charts.
pub fn rows(data: ScreenData) -> Lines {
    let mut rows = newest(data).map(processes).unwrap_or_default();
    let others = data.device.others.iter();
    rows.extend(others.map(|(name, reading)| other_gpu(name, reading)));
    rows
}

/// Another GPU of the machine, and who uses it: `GPU 1 NVIDIA H200  12 of 139 GiB  815 train.py 12 %`.
fn other_gpu(name: &str, reading: &Reading) -> Line<'static> {
    let mut line = Line::from(format!("GPU {}", printable(name)).strong());
    line.extend(memory(reading).map(|memory| format!("  {memory}").quiet()));
    let processes = reading.processes.as_deref().unwrap_or_default();
    if processes.is_empty() && reading.processes.is_some() {
        line.push_span("  free".good());
    }
    for process in processes {
        let busy = process
            .busy
            .map_or(String::new(), |busy| format!(" {busy} %"));
        line.push_span(format!(
            "  {} {}{busy}",
            process.pid,
            printable(&process.name)
        ));
    }
    line
}

fn memory(reading: &Reading) -> Option<String> {
    let (used, total) = reading.memory?;
    let [used, total] = [used, total].map(|bytes| figure(bytes as f64 / GIB));
    Some(format!("{used} of {total} GiB"))
}

/// Why no state is shown.
fn absent(data: ScreenData) -> String {
    match &data.device.absent {
        Some(why) => format!("the device reports no state: {why}"),
        None if data.runs.report().is_some_and(Report::emulated) => {
            "the emulated cpu device has no clock, no temperature and no power".to_owned()
        }
        None if data.runs.gpu().is_some() => "reading …".to_owned(),
        _ if data.setup.external.is_some() => {
            "an external harness names no GPU unless it prints `device_uuid: GPU-…`, as `nvidia-smi -L` lists it"
                .to_owned()
        }
        _ if !data.runs.is_idle() => "no run has named its GPU yet: the run in progress will".to_owned(),
        _ => {
            let rerun = data.way(Action::Rerun);
            format!("no run has named its GPU yet: {rerun} starts a run")
        }
    }
}

/// The newest reading in one row.
fn summary(reading: &Reading) -> String {
    let fact = |value: Option<f64>, unit: &str| {
        let value = format::gate(value?.round());
        Some(format!("{value} {unit}"))
    };
    let reasons = reading.throttle_reasons.iter();
    let reasons = reasons.map(|reason| reason.word()).join(", ");
    let facts = [
        fact(reading.sm_clock_mhz.map(f64::from), "MHz"),
        fact(reading.temperature_c.map(f64::from), "°C"),
        fact(reading.power_w, "W"),
        reading.idle.then(|| "idle".to_owned()),
        (!reasons.is_empty()).then(|| format!("held back by {reasons}")),
    ];
    joined(facts.into_iter().flatten())
}

fn draw_charts(frame: &mut Frame, area: Rect, data: ScreenData) {
    let readings = &data.device.readings;
    let is_reported = |g: &&Gauge| readings.iter().any(|(_, r)| (g.value)(r).is_some());
    let gauges: Vec<&Gauge> = GAUGES.iter().filter(is_reported).collect();
    let columns = 1 + usize::from(area.width >= WIDE && gauges.len() > 1);
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
        draw_gauge(frame, cells[at % columns], data, gauge);
    }
}

fn draw_gauge(frame: &mut Frame, area: Rect, data: ScreenData, gauge: &Gauge) {
    let readings = &data.device.readings;
    let latest = readings.back().map_or(data.now, |(at, _)| *at);
    // Seconds before the newest reading: the curve does not move until the next reading.
    let point = |(at, reading): &(Now, Reading)| {
        let before = latest.saturating_sub(*at).as_secs_f64();
        Some((-before, (gauge.value)(reading)?))
    };
    let points: Vec<(f64, f64)> = readings.iter().filter_map(point).collect();
    let (Some((first, _)), Some((_, value))) = (points.first(), points.last()) else {
        return;
    };
    let values = || points.iter().map(|(_, value)| *value);
    let (low, high) = (
        values().fold(*value, f64::min),
        values().fold(*value, f64::max),
    );
    let [value, least, most] = [*value, low, high].map(figure);
    let title = Line::from(vec![
        format!("{} ", gauge.name).strong(),
        format!("{value} {}  {least} … {most}", gauge.unit).quiet(),
    ]);
    draw_rows(frame, area, [title]);
    let slowdown = data.device.slowdown_c.map(f64::from);
    // A limit far above the curve would flatten it, so it is left out.
    let level = slowdown.filter(|limit| gauge.unit == "°C" && high > limit - 25.0);
    let chart = Chart {
        x: Axis::between(first.min(-60.0), 0.0, Scale::Linear).unit("s"),
        y: Axis::over(values().chain(level), Scale::Linear).unit(gauge.unit),
        series: vec![Series {
            name: String::new(),
            style: ACCENT,
            shape: SeriesShape::Line(&points),
        }],
        reference_lines: level
            .map(|at| ReferenceLine {
                axis: AxisId::Y,
                at,
                name: format!("slows down at {at:.0}"),
                style: WARN,
            })
            .into_iter()
            .collect(),
        cursor: None,
    };
    let [_, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    chart.render(below, frame.buffer_mut(), data.appearance.symbols);
}

fn figure(value: f64) -> String {
    format::gate(if value >= 100.0 {
        value.round()
    } else {
        (value * 10.0).round() / 10.0
    })
}

/// The processes that have the device open: this lab's first, then those that use it most.
fn processes(reading: &Reading) -> Lines {
    let memory = memory(reading).map(|memory| format!("memory {memory}"));
    let mut all: Vec<&Process> = reading.processes.iter().flatten().collect();
    all.sort_by_key(|p| (!p.own, std::cmp::Reverse(p.busy), p.pid));
    let more = all.len().saturating_sub(PROCESSES);
    let none = all.is_empty() && reading.processes.is_some();
    let below = match more {
        0 => none.then(|| "no process uses it now".to_owned()),
        more => Some(format!("and {more} more")),
    };
    let quiet = |text| Line::styled(text, QUIET);
    let shown = all.into_iter().take(PROCESSES).map(of_process);
    let lines = memory.map(quiet).into_iter().chain(shown);
    lines.chain(below.map(quiet)).collect()
}

fn of_process(process: &Process) -> Line<'static> {
    let name = match process.name.as_str() {
        "" => "(its name cannot be read)".to_owned(),
        name => printable(name),
    };
    let whose = if process.own {
        "● this lab's ".good()
    } else {
        "! foreign    ".warn()
    };
    let mut text = format!("{:>8}  {}", process.pid, fit(&name, 32));
    let memory = process.memory.map(|bytes| format::bytes(bytes as f64));
    text.extend(memory.map(|memory| format!("  {memory}")));
    text.extend(process.busy.map(|busy| format!("  {busy} % busy")));
    Line::from(vec![whose, Span::raw(text)])
}
