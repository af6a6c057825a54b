//! The pane Profile: what the counters of one launch say, or why there are none.

mod image;
mod roofline;

use crate::prelude::*;
use itertools::Itertools;
use jiff::Timestamp;
use lab_history::profile::facts::{self, percent};
use lab_history::profile::least;
use lab_protocol::profile::{Origin, Profile};
use lab_protocol::report::Report;
use lab_text::age;
use lab_text::figures::{figure, thousands};

/// Columns of the names before bars and figures.
const NAMES: usize = 20;
/// Columns of a bar, and of the percentage after it.
const BAR: usize = 20;
const PERCENT: usize = 7;

/// The run of the profile.
pub fn note(data: ScreenData) -> String {
    match data.profiles.shown() {
        Some((run, _)) if is_stale(data) => {
            format!("run {run} · of other bytes than those on disk")
        }
        Some((run, _)) => format!("run {run}"),
        None => String::new(),
    }
}

/// The profile is of other bytes than those on disk.
fn is_stale(data: ScreenData) -> bool {
    let view = data.profiles.view.as_ref();
    let shown = view.and_then(|view| view.fingerprint.as_ref());
    shown.is_some() && shown != data.present()
}

/// All rows at this width.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let paragraph = |text: &str| paragraph(text, columns, Style::new());
    let mut out = Vec::new();
    if data.profiles.running.is_some() {
        out.push(Line::styled("a profile is being made …", ACCENT));
    }
    if let Some(why) = &data.profiles.failed {
        out.extend(paragraph(&format!("✗ no profile: {why}")));
    }
    match data.profiles.view.as_ref().map(|view| &view.profile) {
        Some(Ok(Some((_, profile)))) => {
            let view = data.profiles.view.as_ref();
            let incumbent = view.and_then(|view| view.incumbent.as_ref());
            let head = head(profile, data.repository.time_of_day(data.now));
            out.extend(paragraph(&head));
            let sections = sections(profile, incumbent, columns);
            out.extend(sections.into_iter().flat_map(headed));
        }
        Some(Err(why)) => out.extend(paragraph(&format!("✗ {why}"))),
        Some(Ok(None)) | None if data.setup.is_python() => {
            out.extend(paragraph(
                "no profile: `lab profile` profiles CUDA C++, and this kernel is Python",
            ));
        }
        Some(Ok(None)) | None if data.profiles.running.is_none() => {
            let key = data.way(Action::Profile);
            // A cpu has no counters.
            let is_emulated = data.runs.report().is_some_and(Report::emulated);
            let on = if is_emulated {
                " on a machine with an NVIDIA GPU"
            } else {
                ""
            };
            out.extend(paragraph(&match is_stale(data) {
                true => format!("no profile of this experiment. {key} profiles the bytes on disk, which are others: restore it first"),
                false => format!("no profile of these bytes: {key} makes one{on}"),
            }));
        }
        Some(Ok(None)) | None => {}
    }
    out
}

/// The kernel and its workload, what made the profile and when, at which clock.
fn head(profile: &Profile, at: Option<Timestamp>) -> String {
    let time = facts::microseconds(profile).map(|us| format!("{} µs", figure(us)));
    let clock = facts::clock_mhz(profile).map(|mhz| format!("at {} MHz", thousands(mhz.round())));
    let origin = match &profile.origin {
        Origin::Counters { tool, set, .. } => format!("{tool}, set {}", set.name()),
        Origin::Image { why } => format!("no counters, only the built image: {why}"),
    };
    let seconds = profile.taken_unix_s.and_then(|s| i64::try_from(s).ok());
    let taken = seconds.and_then(|s| Timestamp::from_second(s).ok());
    let age = taken.zip(at).map(|(taken, at)| age::since(taken, at));
    let parts = [
        Some(profile.entry.clone()),
        Some(profile.workload.clone()),
        Some(profile.device.clone()),
        time,
        clock,
        Some(origin),
        age,
    ];
    parts.into_iter().flatten().join(" · ")
}

/// A heading and the lines below it.
type Headed = (&'static str, Lines);

/// Lines below a blank row and their heading; without a heading right below the lines before.
/// Nothing where there are no lines.
fn headed((heading, lines): Headed) -> Lines {
    if heading.is_empty() || lines.is_empty() {
        return lines;
    }
    let mut out = vec![Line::default(), Line::styled(heading, STRONG)];
    out.extend(lines);
    out
}

fn sections(profile: &Profile, incumbent: Option<&Profile>, columns: usize) -> Vec<Headed> {
    let texts = |texts: &[String], style| -> Lines {
        let texts = texts.iter();
        texts
            .flat_map(|text| paragraph(text, columns, style))
            .collect()
    };
    let plain = |all: &[String]| texts(all, Style::new());
    let loads = facts::loads(profile);
    let tensor = facts::tensor_pipe(profile).filter(|_| !loads.is_empty());
    let loads = loads
        .iter()
        .map(|load| bar(load.part, load.percent, "", columns));
    let loads = loads.chain(tensor.map(|busy| bar("Tensor Cores", busy, "", columns)));
    let stalls = facts::stalls(profile);
    let stalls = stalls.iter().filter(|stall| stall.percent >= 1.0);
    let stalls = stalls.map(|stall| {
        let meaning = facts::meaning(&stall.reason).unwrap_or_default();
        bar(&stall.reason, stall.percent, meaning, columns)
    });
    let memory = facts::memory(profile);
    let memory = memory
        .iter()
        .map(|row| Line::from(vec![pad(row.what, 30).quiet(), row.says.clone().into()]));
    let findings = profile.findings.iter().map(|found| {
        let sign = if found.is_advice { "→" } else { "·" };
        let gain = found.estimated_gain;
        let gain = gain.map(|gain| format!(" (estimate {})", percent(gain)));
        let (rule, gain) = (&found.rule, gain.unwrap_or_default());
        format!("{sign} {rule}{gain}: {}", found.text)
    });
    let findings: Vec<String> = findings.collect();
    let mut all = vec![
        (
            "Speed of light: percent of what each part can sustain",
            loads.collect(),
        ),
        (
            "Against the floor: what the workload costs at least",
            plain(&least::lines(profile)),
        ),
        (
            "Roofline: work for each byte of DRAM, under the dense limits of the card",
            roofline::rows(profile, incumbent, columns),
        ),
        ("Occupancy", plain(&[occupancy(profile)])),
        (
            "Warps: what they did in each cycle, by share",
            stalls.collect(),
        ),
        ("Memory", memory.collect()),
    ];
    all.extend(image::sections(profile, columns));
    all.extend([
        (
            "Findings of the profiler: its estimates overlap, never add them up",
            plain(&findings),
        ),
        ("Not as in a run", texts(&profile.differences, QUIET)),
        ("Missing in the report", texts(&profile.missing, QUIET)),
    ]);
    all
}

/// A name, a bar of its percentage, the figure, and what it means where there is room.
fn bar(name: &str, share: f64, meaning: &str, columns: usize) -> Line<'static> {
    let full = ((share.clamp(0.0, 100.0) / 100.0) * BAR as f64).round() as usize;
    let room = columns.saturating_sub(NAMES + BAR + PERCENT + 2);
    let meaning = Some(meaning).filter(|meaning| width(meaning) <= room);
    let meaning = format!("  {}", meaning.unwrap_or_default());
    Line::from(vec![
        pad(&printable(name), NAMES).quiet(),
        "█".repeat(full).accent(),
        "·".repeat(BAR - full).quiet(),
        Span::raw(pad_left(&percent(share), PERCENT)),
        meaning.trim_end().to_owned().quiet(),
    ])
}

fn occupancy(profile: &Profile) -> String {
    let found = facts::occupancy(profile);
    let limiters = found.limiters.join(" and ");
    let parts = [
        found
            .achieved
            .map(|share| format!("{} of the warps were active", percent(share))),
        found
            .possible
            .map(|share| format!("{} fit at once", percent(share))),
        (!limiters.is_empty()).then(|| format!("limited by {limiters}")),
        found
            .registers
            .map(|registers| format!("{registers:.0} registers a thread")),
        found.waves.map(|waves| format!("{waves:.2} waves")),
    ];
    parts.into_iter().flatten().join(", ")
}
