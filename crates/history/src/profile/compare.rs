//! Two profiles beside one another: what moved.

use super::facts::{self, bytes, percent};
use super::roofline;
use lab_protocol::profile::Profile;
use lab_text::figures::{count, figure};

/// A figure of two profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// As in `DRAM read`.
    pub what: String,
    /// With its unit; `-` where a profile lacks it.
    pub before: String,
    pub after: String,
    /// How far it moved: the second over the first, or their difference where it is a percentage.
    /// `None` where one is missing.
    pub by: Option<By>,
}

/// How far a figure moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// The second over the first.
    Factor(f64),
    /// Percentage points.
    Points(f64),
}

impl By {
    /// As it is shown.
    pub fn words(self) -> String {
        match self {
            By::Factor(factor) => format!("{factor:.2}×"),
            By::Points(points) => format!("{points:+.1} points"),
        }
    }

    /// To put the largest moves first: a factor of two is as far as 50 points.
    fn size(self) -> f64 {
        match self {
            By::Factor(factor) if factor > 0.0 => factor.log2().abs(),
            By::Factor(_) => f64::INFINITY,
            By::Points(points) => points.abs() / 50.0,
        }
    }
}

/// A figure with its unit.
struct Named {
    what: String,
    value: f64,
    says: String,
    is_percent: bool,
}

fn plain(what: &str, value: Option<f64>, form: impl Fn(f64) -> String) -> Option<Named> {
    value.map(|value| Named {
        what: what.to_owned(),
        value,
        says: form(value),
        is_percent: false,
    })
}

fn share(what: &str, value: Option<f64>) -> Option<Named> {
    value.map(|value| Named {
        what: what.to_owned(),
        value,
        says: percent(value),
        is_percent: true,
    })
}

/// The figures that are compared.
fn figures(profile: &Profile) -> Vec<Named> {
    let value = |metric: &str| profile.value(metric);
    let occupancy = facts::occupancy(profile);
    let mut all = vec![
        plain("time", facts::microseconds(profile), |us| {
            format!("{} µs", figure(us))
        }),
        share("warps active", occupancy.achieved),
        share("warps that fit", occupancy.possible),
        plain("registers", occupancy.registers, |n| format!("{n:.0}")),
        plain(
            "spilled bytes",
            profile.image.spill_bytes.map(f64::from),
            |n| format!("{n:.0} B"),
        ),
        plain("DRAM read", value("dram__bytes_read.sum"), bytes),
        plain("DRAM written", value("dram__bytes_write.sum"), bytes),
        share("L2 hits", value("lts__t_sector_hit_rate.pct")),
        share("L1 hits", value("l1tex__t_sector_hit_rate.pct")),
        share("Tensor Cores", facts::tensor_pipe(profile)),
        plain(
            "instructions a cycle",
            value("sm__inst_executed.avg.per_cycle_active"),
            |n| format!("{n:.2}"),
        ),
        plain(
            "FLOP for each byte",
            roofline::of(profile).map(|found| found.intensity),
            figure,
        ),
        plain(
            "bank conflicts",
            value("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
            count,
        ),
    ];
    all.extend(
        facts::loads(profile)
            .into_iter()
            .map(|load| share(&format!("{} load", load.part), Some(load.percent))),
    );
    all.extend(
        facts::stalls(profile)
            .into_iter()
            .map(|stall| share(&format!("stall {}", stall.reason), Some(stall.percent))),
    );
    all.into_iter().flatten().collect()
}

/// What moved from `before` to `after`, the time first, then the largest moves. What is the same in
/// both is left out.
pub fn moved(before: &Profile, after: &Profile) -> Vec<Moved> {
    let (before, mut after) = (figures(before), figures(after));
    let mut all: Vec<Moved> = Vec::new();
    for old in before {
        let new = after
            .iter()
            .position(|new| new.what == old.what)
            .map(|at| after.remove(at));
        let Some(new) = new else {
            all.push(Moved {
                what: old.what,
                before: old.says,
                after: "-".into(),
                by: None,
            });
            continue;
        };
        if old.says == new.says {
            continue;
        }
        let by = match old.is_percent {
            true => Some(By::Points(new.value - old.value)),
            false => (old.value != 0.0).then(|| By::Factor(new.value / old.value)),
        };
        all.push(Moved {
            what: old.what,
            before: old.says,
            after: new.says,
            by,
        });
    }
    all.extend(after.into_iter().map(|new| Moved {
        what: new.what,
        before: "-".into(),
        after: new.says,
        by: None,
    }));
    let rank = |moved: &Moved| (moved.what != "time", moved.by.is_none());
    let size = |moved: &Moved| moved.by.map_or(0.0, By::size);
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    all
}

/// The instructions that a profile holds, in the order of their addresses, a line each; empty if it
/// holds none.
pub fn machine_code(profile: &Profile) -> String {
    let mut all: Vec<_> = profile.lines.iter().flat_map(|line| &line.sass).collect();
    all.sort_by_key(|instruction| instruction.address);
    all.iter().map(|it| format!("{}\n", it.text)).collect()
}

/// Why two profiles say little about one another; `None` where they may be compared.
pub fn caution(before: &Profile, after: &Profile) -> Option<String> {
    if before.workload != after.workload {
        return Some(format!(
            "other workloads: {} and {}",
            before.workload, after.workload
        ));
    }
    if before.device != after.device {
        return Some(format!(
            "other devices: {} and {}",
            before.device, after.device
        ));
    }
    match (facts::clock_mhz(before), facts::clock_mhz(after)) {
        (Some(a), Some(b)) if (a / b - 1.0).abs() > CLOCK => Some(format!(
            "other clocks: {a:.0} and {b:.0} MHz, so the times differ by that, too"
        )),
        _ => None,
    }
}

/// Clocks that differ by more than this fraction show in the times.
const CLOCK: f64 = 0.02;
