//! The pane Kernel as built: the compiler's figures, the launch, and the distance to the floor.

use crate::format;
use crate::state::{Runs, ScreenData};
use crate::text::{fit, pad, printable};
use crate::widgets::evidence::device_state;
use crate::widgets::{Lines, bounds};
use lab_protocol::report::{Report, attribute};
use ratatui::text::{Line, Span};

/// Columns of the names.
const NAMES: usize = 18;

/// Returns the text as it fits into the pane. `file` is the kernel's file name.
pub fn note(data: ScreenData) -> String {
    let stale = match data.runs.is_stale() {
        true => format!(" · stale: {} has changed since", data.setup.file()),
        false => String::new(),
    };
    format!("{}{stale}", shown(data.runs).1)
}

/// The report that the pane shows, and its run. The last run stays until the run in progress has
/// been built.
fn shown(runs: &Runs) -> (Option<&Report>, String) {
    let built = runs
        .live()
        .filter(|live| live.report.value("build_s").is_some());
    match (built, &runs.last) {
        (Some(live), _) => (Some(&*live.report), format!("run {}", live.start.id)),
        (None, Some(last)) => (Some(&*last.report), format!("run {}", last.start.id)),
        (None, None) => (None, String::new()),
    }
}

/// All rows, cut to so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let theme = data.theme();
    let Some(report) = shown(data.runs).0 else {
        return Vec::new();
    };
    let facts = facts(report);
    if facts.is_empty() {
        return Vec::new();
    }
    let lines = facts.into_iter().map(|(name, value)| {
        Line::from(vec![
            Span::styled(pad(name, NAMES), theme.quiet()),
            Span::raw(fit(&value, columns.saturating_sub(NAMES))),
        ])
    });
    let state = device_state::line(report, theme).into_iter();
    let measured =
        state.flat_map(|line| [Line::styled("while it was measured", theme.quiet()), line]);
    lines.chain(measured).collect()
}

/// Extents without trailing ones: `132x1x1` is `132`.
fn extents(words: &str) -> &str {
    words.trim_end_matches("x1")
}

/// Names and values of what the harness reported.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    let mut tell = |name, value: Option<String>| out.extend(value.map(|value| (name, value)));
    let words = |key| report.value(key).map(printable);
    let bytes = |key| report.number(key).map(format::bytes);
    let reused = report
        .value("build_s")
        .and_then(|value| attribute(value, "reused"))
        .is_some();
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
        report
            .number("registers")
            .map(|n| format!("{n:.0} a thread, the most of its kernels")),
    );
    tell(
        "spills",
        report.number("spill_bytes").map(|n| match n > 0.0 {
            true => format!("! {} a thread go through local memory", format::bytes(n)),
            false => "none".to_owned(),
        }),
    );
    tell(
        "static shared",
        bytes("shared_bytes").map(|b| format!("{b} a block")),
    );
    tell("built for", report.built_for().map(printable));
    let launches = report.launches();
    let is_list = launches.iter().any(|launch| launch.entry.is_some());
    for launch in &launches {
        let cooperative = if launch.cooperative {
            ", cooperative"
        } else {
            ""
        };
        let (blocks, block) = (
            extents(&launch.grid),
            extents(launch.block.as_deref().unwrap_or("?")),
        );
        let entry = launch
            .entry
            .as_ref()
            .map(|entry| format!("{entry}: "))
            .unwrap_or_default();
        let cluster = launch
            .cluster
            .as_ref()
            .map(|of| format!(", clusters of {}", extents(of)));
        let maps = match launch.tensor_maps {
            0 => String::new(),
            1 => ", 1 tensor map".to_owned(),
            maps => format!(", {maps} tensor maps"),
        };
        let cluster = cluster.unwrap_or_default();
        let noun = if blocks == "1" { "block" } else { "blocks" };
        let shape =
            format!("{entry}{blocks} {noun} of {block} threads{cluster}{cooperative}{maps}");
        tell("launch", Some(printable(&shape)));
        let dynamic = launch.shared_bytes.filter(|bytes| !is_list || *bytes > 0);
        tell(
            "dynamic shared",
            dynamic.map(|b| format!("{} a block", format::bytes(b as f64))),
        );
        let blocks = launch
            .blocks_per_sm
            .map(|n| format!(" ({n} a multiprocessor)"))
            .unwrap_or_default();
        tell(
            "occupancy",
            launch
                .occupancy
                .map(|n| format!("{n} % of its threads{blocks}")),
        );
    }
    tell(
        "scratch",
        report.scratch().map(|scratch| {
            let what = match scratch.content.as_str() {
                "zeroed" => "zeroed in the time of the list",
                _ => "unset",
            };
            format!("{}, {what}", format::bytes(scratch.bytes as f64))
        }),
    );
    let as_usual = !is_list && (report.emulated() || report.launched_as() == Some("graph"));
    tell(
        "timed as",
        report
            .launched_as()
            .filter(|_| !as_usual)
            .map(|how| match how {
                "graph" => "one CUDA graph".to_owned(),
                _ => "plain launches, one after the other".to_owned(),
            }),
    );
    let kernel = report.number("kernel_us");
    tell(
        "kernel",
        kernel.map(|us| format!("{} µs", format::count(us))),
    );
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
    tell("estimate", bounds::describe(report));
    out
}
