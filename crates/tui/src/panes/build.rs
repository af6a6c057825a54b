//! What the compiler made of the kernel, how it is launched, and how near that comes to the floor.

use super::super::app::{App, Rows, Running};
use super::super::format;
use super::super::text::{fit, pad, printable};
use super::correctness::device_state;
use super::history::bounds;
use super::{Pane, seen, titled};
use lab_protocol::report::{Report, attribute, first_word};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Result lines that only this view shows.
pub const KEYS: [&str; 2] = ["launch", "device_uuid"];

/// Columns of the names.
const NAMES: usize = 18;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let (report, of) = shown(app);
    let stale = match app.is_stale() {
        true => format!(" · stale: {} has changed since", app.setup.file()),
        false => String::new(),
    };
    let note = format!("{of}{stale}");
    let is_empty = report.is_none_or(|report| facts(report).is_empty());
    let inner = titled(frame, area, app, Pane::Build, &note);
    if is_empty {
        let text = "what the compiler made of the kernel is shown here";
        frame.render_widget(Line::styled(text, app.theme.quiet()), inner);
        return;
    }
    let lines = lines(app, usize::from(inner.width));
    let first = app.panes.build.fit(usize::from(inner.width), usize::from(inner.height), lines.len());
    let (needle, marked) = (app.needle(Pane::Build), app.panes.build.marked());
    for ((at, line), y) in lines.into_iter().enumerate().skip(first).zip(inner.top()..inner.bottom()) {
        let line = seen(line, needle, marked == Some(at), &app.theme);
        frame.render_widget(line, Rect { y, height: 1, ..inner });
    }
}

/// As they were cut at the last frame.
pub fn rows(app: &App) -> Rows<'_> {
    let lines = lines(app, app.panes.build.columns());
    Rows::new(lines.len(), move |at| lines.get(at).map(Line::to_string).unwrap_or_default().into())
}

/// What was built, and of which run that is.
fn shown(app: &App) -> (Option<&Report>, String) {
    match (&app.running, &app.last) {
        // Not before it is built: what was known stays until then.
        (Running::Live(live), _) if live.report.value("build_s").is_some() => {
            (Some(&*live.report), format!("run {}", live.start.id))
        }
        (_, Some(last)) => (Some(&*last.report), format!("run {}", last.start.id)),
        _ => (None, String::new()),
    }
}

fn lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    let Some(report) = shown(app).0 else { return Vec::new() };
    let lines = facts(report).into_iter().map(|(name, value)| {
        Line::from(vec![
            Span::styled(pad(name, NAMES), app.theme.quiet()),
            Span::raw(fit(&value, columns.saturating_sub(NAMES)).into_owned()),
        ])
    });
    let state = device_state(report, &app.theme).into_iter();
    let measured = state.flat_map(|line| [Line::styled("while it was measured", app.theme.quiet()), line]);
    lines.chain(measured).collect()
}

/// `132x1x1` is 132.
fn extents(words: &str) -> &str {
    words.trim_end_matches("x1")
}

/// Names and values; what a harness does not tell is left out.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut tell = |name, value: Option<String>| out.extend(value.map(|value| (name, value)));
    let words = |key| report.value(key).map(|value| printable(value).into_owned());
    let bytes = |key| report.number(key).map(format::bytes);
    let reused = report.value("build_s").and_then(|value| attribute(value, "reused")).is_some();
    tell(
        "build",
        report.number("build_s").map(|s| match reused {
            true => "from the cache: these bytes were built before".to_owned(),
            false => format::seconds(s),
        }),
    );
    tell("compiler", words("compiler"));
    tell("driver", words("driver"));
    tell(
        "registers",
        report.number("registers").map(|n| format!("{n:.0} a thread, the most of its kernels")),
    );
    tell(
        "spills",
        report.number("spill_bytes").map(|n| match n > 0.0 {
            true => format!("! {} a thread go through local memory", format::bytes(n)),
            false => "none".to_owned(),
        }),
    );
    tell("static shared", bytes("shared_bytes").map(|b| format!("{b} a block")));
    if let Some(launch) = report.value("launch") {
        let of = |name| attribute(launch, name);
        let cooperative = if of("cooperative").is_some() { ", cooperative" } else { "" };
        let block = of("block").unwrap_or("?");
        let (blocks, block) = (extents(first_word(launch)), extents(block));
        let shape = format!("{blocks} blocks of {block} threads{cooperative}");
        tell("launch", Some(printable(&shape).into_owned()));
        let dynamic = of("shared_bytes").and_then(|b| b.parse().ok()).map(format::bytes);
        tell("dynamic shared", dynamic.map(|b| format!("{b} a block")));
        let blocks = of("blocks_per_sm").map(|n| format!(" ({n} a multiprocessor)")).unwrap_or_default();
        tell(
            "occupancy",
            of("occupancy").map(|n| printable(&format!("{n} % of its threads{blocks}")).into_owned()),
        );
    }
    let kernel = report.number("kernel_us");
    tell("kernel", kernel.map(|us| format!("{} µs", format::count(us))));
    let floor = report.number("floor_us").zip(kernel);
    tell(
        "floor",
        floor.map(|(floor, us)| {
            format!(
                "{} µs: this is {:.0} % of it, no time can be below",
                format::count(floor),
                us / floor * 100.0
            )
        }),
    );
    tell("estimate", bounds::in_words(report));
    out
}
