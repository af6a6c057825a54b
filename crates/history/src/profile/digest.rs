//! A profile in at most 30 lines, for a person in a hurry or an agent.

use super::facts::{self, bytes, flops, percent};
use super::least;
use super::lines::{self, hottest};
use super::roofline;
use itertools::Itertools;
use lab_protocol::profile::{Finding, Origin, Profile};
use lab_text::figures::{figure, thousands};

/// Most lines of a digest.
pub const MOST: usize = 30;

/// Most findings and hot lines in it.
const FINDINGS: usize = 6;
const HOT_LINES: usize = 8;

/// Most characters of one finding.
const FINDING: usize = 220;

/// The digest.
pub fn digest(profile: &Profile) -> Vec<String> {
    let mut all = vec![headline(profile)];
    all.extend(origin(profile));
    let loads = facts::loads(profile).into_iter();
    let loads = loads.map(|load| format!("{} {}", load.part, percent(load.percent)));
    all.extend(listed("of what it can sustain", loads));
    all.extend(least::lines(profile));
    all.extend(roofline_line(profile));
    all.extend(occupancy_line(profile));
    let stalls = facts::stalls(profile).into_iter().take(5);
    let stalls = stalls.map(|stall| format!("{} {}", stall.reason, percent(stall.percent)));
    all.extend(listed("warps", stalls));
    let memory = facts::memory(profile).into_iter();
    all.extend(listed(
        "memory",
        memory.map(|row| format!("{} {}", row.what, row.says)),
    ));
    if let Some(busy) = facts::tensor_pipe(profile) {
        all.push(format!("Tensor Cores: {} of their peak", percent(busy)));
    }
    all.extend(image_lines(profile));
    for hot in hottest(profile).iter().take(HOT_LINES) {
        all.push(format!(
            "{}:{}  {}",
            hot.line.file,
            hot.line.line,
            lines::words(hot)
        ));
    }
    let mut findings: Vec<&Finding> = profile
        .findings
        .iter()
        .filter(|found| found.is_advice)
        .collect();
    findings.sort_by(|a, b| {
        b.estimated_gain
            .unwrap_or(0.0)
            .total_cmp(&a.estimated_gain.unwrap_or(0.0))
    });
    for found in findings.iter().take(FINDINGS) {
        all.push(finding(found));
    }
    all.extend(
        profile
            .differences
            .iter()
            .map(|text| format!("not as in a run: {text}")),
    );
    if !profile.missing.is_empty() {
        all.push(format!("not in the report: {}", profile.missing.join("; ")));
    }
    all.truncate(MOST);
    all
}

/// A line with the items after its name; `None` without items.
fn listed(name: &str, items: impl IntoIterator<Item = String>) -> Option<String> {
    lab_text::listed(items).map(|items| format!("{name}: {items}"))
}

/// The kernel, the workload, the device and the time.
fn headline(profile: &Profile) -> String {
    let time = facts::microseconds(profile)
        .map(|us| format!(": {} µs", figure(us)))
        .unwrap_or_default();
    let clock = facts::clock_mhz(profile)
        .map(|mhz| format!(" at {} MHz", thousands(mhz.round())))
        .unwrap_or_default();
    let Profile {
        entry,
        workload,
        device,
        arch,
        ..
    } = profile;
    // The image of the cpu device has no target.
    let arch = if arch.is_empty() {
        String::new()
    } else {
        format!(" ({arch})")
    };
    format!("{entry}, {workload}, {device}{arch}{time}{clock}")
}

fn origin(profile: &Profile) -> Vec<String> {
    match &profile.origin {
        Origin::Counters {
            tool,
            set,
            passes,
            took_ms,
            ..
        } => {
            let passes = passes
                .map(|passes| format!(", {passes} passes"))
                .unwrap_or_default();
            let mut all = vec![format!(
                "{tool}, set {}{passes}, {:.1} s",
                set.name(),
                *took_ms as f64 / 1000.0
            )];
            if profile.kernels.len() > 1 {
                let mut each = profile.kernels.iter().map(|kernel| {
                    let us = kernel
                        .us
                        .map(|us| format!(" {} µs", figure(us)))
                        .unwrap_or_default();
                    format!("{}{us}", kernel.entry)
                });
                all.push(format!("the launch is a list: {}", each.join(", ")));
            }
            all
        }
        Origin::Image { why } => vec![format!(
            "nothing ran, this is what the built image says: {why}"
        )],
    }
}

fn roofline_line(profile: &Profile) -> Option<String> {
    let found = roofline::of(profile)?;
    let roof = if found.is_memory_bound() {
        "DRAM"
    } else {
        &*found.pipe
    };
    Some(format!(
        "roofline: {} FLOP for each byte of DRAM; {}, {} of the {} that {roof} allows; DRAM {}/s of {}/s",
        figure(found.intensity),
        flops(found.achieved),
        percent(100.0 * found.achieved / found.roof()),
        flops(found.roof()),
        bytes(found.moved),
        bytes(found.bandwidth),
    ))
}

fn occupancy_line(profile: &Profile) -> Option<String> {
    let found = facts::occupancy(profile);
    let mut parts = Vec::new();
    parts.extend(
        found
            .achieved
            .map(|achieved| format!("{} of the warps active", percent(achieved))),
    );
    parts.extend(
        found
            .possible
            .map(|possible| format!("{} fit at once", percent(possible))),
    );
    if !found.limiters.is_empty() {
        parts.push(format!("limited by {}", found.limiters.join(" and ")));
    }
    parts.extend(
        found
            .registers
            .map(|registers| format!("{registers:.0} registers")),
    );
    parts.extend(found.waves.map(|waves| format!("{waves:.2} waves")));
    listed("occupancy", parts)
}

/// Spills, and the instructions of the image where nothing was counted.
fn image_lines(profile: &Profile) -> Vec<String> {
    let image = &profile.image;
    let mut all = Vec::new();
    if let Some(spilled) = image.spill_bytes.filter(|bytes| *bytes > 0) {
        all.push(format!("each thread spills {spilled} bytes"));
    }
    if matches!(profile.origin, Origin::Image { .. }) && !image.mix.is_empty() {
        let mix = image.mix.iter().take(8);
        all.extend(listed(
            "instructions",
            mix.map(|(kind, count)| format!("{kind} {count}")),
        ));
        all.extend(image.loops.iter().take(6).map(|found| {
            let place = found
                .line
                .map(|line| format!(" at line {line}"))
                .unwrap_or_default();
            format!("a loop of {} instructions{place}", found.instructions.len())
        }));
    }
    all
}

/// A finding in one line, with the profiler's estimate.
pub fn finding(found: &Finding) -> String {
    let gain = found
        .estimated_gain
        .map(|gain| format!("{} estimated (estimates overlap): ", percent(gain)))
        .unwrap_or_default();
    let text = found.text.split_whitespace().join(" ");
    let short: String = text.chars().take(FINDING).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}: {gain}{short}{more}", found.rule)
}
