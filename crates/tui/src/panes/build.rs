//! The pane Kernel as built: the compiler's figures, the launch, and the distance to the floor.

use crate::prelude::*;
use crate::state::Runs;
use crate::widgets::bounds;
use crate::widgets::evidence::{device_state, is_cached};
use lab_history::bounds::has_several;
use lab_protocol::report::{LaunchLine, Report, TargetLine};
use lab_run::RunId;

/// Columns of the names.
const NAMES: usize = 18;

/// The run that the pane shows, and whether it is of other bytes than those on disk.
pub fn note(data: ScreenData) -> String {
    let run = shown(data.runs).map(|(run, _)| format!("run {run}"));
    let stale = format!("stale: {} has changed since", data.setup.file());
    let stale = Some(stale).filter(|_| data.runs.is_stale());
    joined([run.unwrap_or_default(), stale.unwrap_or_default()])
}

/// The report that the pane shows, and its run. The last run stays until the run in progress has
/// been built.
fn shown(runs: &Runs) -> Option<(RunId, &Report)> {
    runs.report_if(|report| report.value("build_s").is_some())
}

/// All rows, cut to so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let Some((_, report)) = shown(data.runs) else {
        return Vec::new();
    };
    let row = |(name, value): (&str, String)| {
        let value = fit(&value, columns.saturating_sub(NAMES));
        Line::from(vec![pad(name, NAMES).quiet(), Span::raw(value)])
    };
    let mut rows: Lines = facts(report).into_iter().map(row).collect();
    if let Some(state) = device_state::line(report).filter(|_| !rows.is_empty()) {
        rows.extend([Line::styled("while it was measured", QUIET), state]);
    }
    rows
}

/// Names and values of what the harness reported.
fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let words = |key| report.value(key).map(printable);
    let number = |key| report.number(key);
    let built = number("build_s").map(|s| {
        if is_cached(report) {
            "from the cache: these bytes were built before".to_owned()
        } else {
            format::seconds(s)
        }
    });
    let registers = number("registers");
    let spills = number("spill_bytes").map(|n| {
        if n > 0.0 {
            format!("! {} a thread go through local memory", format::bytes(n))
        } else {
            "none".to_owned()
        }
    });
    let shared = number("shared_bytes");
    let mut all = vec![
        ("build", built),
        ("compiler", words("compiler")),
        ("driver", words("driver")),
        (
            "registers",
            registers.map(|n| format!("{n:.0} a thread, the most of its kernels")),
        ),
        ("spills", spills),
        (
            "static shared",
            shared.map(|n| format!("{} a block", format::bytes(n))),
        ),
        ("built for", report.built_for().map(printable)),
    ];
    all.extend(report.targets().iter().map(of_target));
    let launches = report.launches();
    let is_list = launches.iter().any(|launch| launch.entry.is_some());
    all.extend(
        launches
            .iter()
            .flat_map(|launch| of_launch(launch, is_list)),
    );
    let scratch = report.scratch().map(|scratch| {
        let what = match scratch.content.as_str() {
            "zeroed" => "zeroed in the time of the list",
            _ => "unset",
        };
        format!("{}, {what}", format::bytes(scratch.bytes as f64))
    });
    let launched_as = report.launched_as();
    let as_usual = !is_list && (report.emulated() || launched_as == Some("graph"));
    let timed_as = launched_as.filter(|_| !as_usual).map(|how| match how {
        "graph" => "one CUDA graph".to_owned(),
        _ => "plain launches, one after the other".to_owned(),
    });
    let kernel = number("kernel_us");
    let floor = number("floor_us").zip(kernel);
    let floor = floor.map(|(floor, us)| {
        if has_several(report) {
            "each workload has its own: see the pane Workloads".to_owned()
        } else {
            let (bound, share) = (format::us(floor), floor / us * 100.0);
            format!("{bound}, no time can be below: {share:.0} % of its speed is reached")
        }
    });
    all.extend([
        ("scratch", scratch),
        ("timed as", timed_as),
        ("kernel", kernel.map(format::us)),
        ("floor", floor),
        ("estimate", bounds::describe(report)),
    ]);
    let known = |(name, value): (_, Option<String>)| Some((name, value?));
    all.into_iter().filter_map(known).collect()
}

/// What the kernel needs on another architecture.
fn of_target(target: &TargetLine) -> (&'static str, Option<String>) {
    let number = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let needs = if target.builds {
        let spills = match target.spill_bytes {
            Some(0) => "no spills".to_owned(),
            Some(bytes) => format!("! {} spilled", format::bytes(bytes as f64)),
            None => "? spilled".to_owned(),
        };
        let shared = target.shared_bytes.unwrap_or(0) as f64;
        let (registers, shared) = (number(target.registers), format::bytes(shared));
        format!("{registers} registers, {spills}, {shared} shared")
    } else {
        "! does not build".to_owned()
    };
    let text = format!("{}: {needs}", target.arch);
    ("target", Some(printable(&text)))
}

/// Extents without trailing ones: `132x1x1` is `132`.
fn extents(words: &str) -> &str {
    words.trim_end_matches("x1")
}

/// The shape of a launch, which may be one of a list, and what it takes on a multiprocessor.
fn of_launch(launch: &LaunchLine, is_list: bool) -> [(&'static str, Option<String>); 3] {
    let entry = launch.entry.as_ref().map(|entry| format!("{entry}: "));
    let blocks = extents(&launch.grid);
    let noun = if blocks == "1" { "block" } else { "blocks" };
    let block = extents(launch.block.as_deref().unwrap_or("?"));
    let mut shape = format!(
        "{}{blocks} {noun} of {block} threads",
        entry.unwrap_or_default()
    );
    if let Some(cluster) = &launch.cluster {
        shape += &format!(", clusters of {}", extents(cluster));
    }
    if launch.cooperative {
        shape += ", cooperative";
    }
    if launch.times > 1 {
        shape += &format!(", {} times", launch.times);
    }
    if launch.tensor_maps > 0 {
        let maps = format::counted(launch.tensor_maps as usize, "tensor map");
        shape += &format!(", {maps}");
    }
    let dynamic = launch.shared_bytes.filter(|bytes| !is_list || *bytes > 0);
    let resident = launch.blocks_per_sm;
    let resident = resident.map(|n| format!(" ({n} a multiprocessor)"));
    let resident = resident.unwrap_or_default();
    let occupancy = launch.occupancy;
    [
        ("launch", Some(printable(&shape))),
        (
            "dynamic shared",
            dynamic.map(|b| format!("{} a block", format::bytes(b as f64))),
        ),
        (
            "occupancy",
            occupancy.map(|n| format!("{n} % of its threads{resident}")),
        ),
    ]
}
