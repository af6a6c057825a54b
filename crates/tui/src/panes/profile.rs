//! The pane Profile: what the counters of one launch say, or why there are none.

mod image;
mod roofline;

use crate::prelude::*;
use jiff::Timestamp;
use lab_history::profile::facts::{self, percent};
use lab_history::profile::least;
use lab_protocol::profile::{Origin, Profile};
use lab_text::age;
use lab_text::figures::{figure, thousands};

/// Columns of the names before bars and figures.
const NAMES: usize = 20;
/// Columns of a bar, and of the percentage after it.
const BAR: usize = 20;
const PERCENT: usize = 7;

/// Returns the text as it fits into the pane.
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
            let incumbent = data
                .profiles
                .view
                .as_ref()
                .and_then(|view| view.incumbent.as_ref());
            out.extend(paragraph(&head(
                profile,
                data.repository.time_of_day(data.now),
            )));
            out.extend(of_profile(profile, incumbent, columns));
        }
        Some(Err(why)) => out.extend(paragraph(&format!("✗ {why}"))),
        Some(Ok(None)) | None if data.profiles.running.is_none() => {
            let key = data.appearance.keymap.way(Action::Profile);
            out.extend(paragraph(&match is_stale(data) {
                true => format!("no profile of this experiment. {key} profiles the bytes on disk, which are others: restore it first"),
                false => format!("no profile of these bytes: {key} makes one"),
            }));
        }
        Some(Ok(None)) | None => {}
    }
    out
}

/// The kernel and its workload, what made the profile and when, at which clock.
fn head(profile: &Profile, at: Option<Timestamp>) -> String {
    let mut parts = vec![
        profile.entry.clone(),
        profile.workload.clone(),
        profile.device.clone(),
    ];
    parts.extend(facts::microseconds(profile).map(|us| format!("{} µs", figure(us))));
    parts.extend(facts::clock_mhz(profile).map(|mhz| format!("at {} MHz", thousands(mhz.round()))));
    match &profile.origin {
        Origin::Counters { tool, set, .. } => parts.push(format!("{tool}, set {}", set.name())),
        Origin::Image { why } => parts.push(format!("no counters, only the built image: {why}")),
    }
    let taken = profile
        .taken_unix_s
        .and_then(|s| Timestamp::from_second(i64::try_from(s).ok()?).ok());
    parts.extend(taken.zip(at).map(|(taken, at)| age::since(taken, at)));
    parts.join(" · ")
}

fn of_profile(profile: &Profile, incumbent: Option<&Profile>, columns: usize) -> Lines {
    let heading = |text: &'static str| [Line::default(), Line::styled(text, STRONG)];
    let plain = |text: &str| paragraph(text, columns, Style::new());
    let mut out = Vec::new();
    let loads = facts::loads(profile);
    if !loads.is_empty() {
        out.extend(heading(
            "Speed of light: percent of what each part can sustain",
        ));
        out.extend(
            loads
                .iter()
                .map(|load| bar(load.part, load.percent, "", columns)),
        );
        out.extend(facts::tensor_pipe(profile).map(|busy| bar("Tensor Cores", busy, "", columns)));
    }
    let least = least::lines(profile);
    if !least.is_empty() {
        out.extend(heading(
            "Against the floor: what the workload costs at least",
        ));
        out.extend(least.iter().flat_map(|text| plain(text)));
    }
    let roofline = roofline::rows(profile, incumbent, columns);
    if !roofline.is_empty() {
        out.extend(heading(
            "Roofline: work for each byte of DRAM, under the dense limits of the card",
        ));
        out.extend(roofline);
    }
    let occupancy = occupancy(profile);
    if !occupancy.is_empty() {
        out.extend(heading("Occupancy"));
        out.extend(plain(&occupancy));
    }
    let stalls = facts::stalls(profile);
    if !stalls.is_empty() {
        out.extend(heading("Warps: what they did in each cycle, by share"));
        let shown = stalls.iter().filter(|stall| stall.percent >= 1.0);
        out.extend(shown.map(|stall| {
            let meaning = facts::meaning(&stall.reason).unwrap_or_default();
            bar(&stall.reason, stall.percent, meaning, columns)
        }));
    }
    let memory = facts::memory(profile);
    if !memory.is_empty() {
        out.extend(heading("Memory"));
        out.extend(
            memory.iter().map(|row| {
                Line::from(vec![pad(row.what, 30).quiet(), Span::raw(row.says.clone())])
            }),
        );
    }
    out.extend(image::rows(profile, columns));
    if !profile.findings.is_empty() {
        out.extend(heading(
            "Findings of the profiler: its estimates overlap, never add them up",
        ));
        for found in &profile.findings {
            let sign = if found.is_advice { "→" } else { "·" };
            let gain = found
                .estimated_gain
                .map(|gain| format!(" (estimate {})", percent(gain)));
            let text = format!(
                "{sign} {}{}: {}",
                found.rule,
                gain.unwrap_or_default(),
                found.text
            );
            out.extend(plain(&text));
        }
    }
    let quiet = |text| paragraph(text, columns, QUIET);
    if !profile.differences.is_empty() {
        out.extend(heading("Not as in a run"));
        out.extend(profile.differences.iter().flat_map(|text| quiet(text)));
    }
    if !profile.missing.is_empty() {
        out.extend(heading("Missing in the report"));
        out.extend(profile.missing.iter().flat_map(|text| quiet(text)));
    }
    out
}

/// A name, a bar of its percentage, the figure, and what it means where there is room.
fn bar(name: &str, share: f64, meaning: &str, columns: usize) -> Line<'static> {
    let full = ((share.clamp(0.0, 100.0) / 100.0) * BAR as f64).round() as usize;
    let room = columns.saturating_sub(NAMES + BAR + PERCENT + 2);
    let meaning = if crate::text::width(meaning) <= room {
        meaning
    } else {
        ""
    };
    Line::from(vec![
        pad(&printable(name), NAMES).quiet(),
        "█".repeat(full).accent(),
        "·".repeat(BAR - full).quiet(),
        Span::raw(pad_left(&percent(share), PERCENT)),
        format!("  {meaning}").trim_end().to_owned().quiet(),
    ])
}

fn occupancy(profile: &Profile) -> String {
    let found = facts::occupancy(profile);
    let parts = [
        found
            .achieved
            .map(|achieved| format!("{} of the warps were active", percent(achieved))),
        found
            .possible
            .map(|possible| format!("{} fit at once", percent(possible))),
        (!found.limiters.is_empty())
            .then(|| format!("limited by {}", found.limiters.join(" and "))),
        found
            .registers
            .map(|registers| format!("{registers:.0} registers a thread")),
        found.waves.map(|waves| format!("{waves:.2} waves")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
