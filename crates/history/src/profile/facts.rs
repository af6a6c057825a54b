//! The figures of a profile by what they mean. The names are those of Nsight Compute.

use lab_protocol::profile::Profile;
use lab_text::figures::{count, figure};

/// How near a part of the chip is to its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// As in `DRAM`.
    pub part: &'static str,
    /// Percent of what it can sustain.
    pub percent: f64,
}

/// The parts of the chip in the order in which they are shown, with their metrics.
const LOADS: [(&str, &str); 5] = [
    ("SM", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    (
        "memory",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "DRAM",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    ("L2", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L1", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
];

/// How near each part of the chip is to its limit ("speed of light").
pub fn loads(profile: &Profile) -> Vec<Load> {
    let load = |(part, metric)| {
        Some(Load {
            part,
            percent: profile.value(metric)?,
        })
    };
    LOADS.into_iter().filter_map(load).collect()
}

/// The duration of the launch in microseconds, at the clock of the profile.
pub fn microseconds(profile: &Profile) -> Option<f64> {
    Some(profile.value("gpu__time_duration.sum")? / 1000.0)
}

/// The clock of the multiprocessors in MHz.
pub fn clock_mhz(profile: &Profile) -> Option<f64> {
    Some(profile.value("sm__cycles_elapsed.avg.per_second")? / 1e6)
}

/// How many warps there were, how many could be, and what limits them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Percent of a multiprocessor's warps that were active.
    pub achieved: Option<f64>,
    /// Percent that fit at once.
    pub possible: Option<f64>,
    /// As in `registers`; several where they limit alike.
    pub limiters: Vec<String>,
    pub registers: Option<f64>,
    /// Rounds of blocks on each multiprocessor.
    pub waves: Option<f64>,
}

/// What limits the blocks on a multiprocessor, with the metrics of how many fit.
const LIMITS: [(&str, &str); 4] = [
    ("registers", "launch__occupancy_limit_registers"),
    ("shared memory", "launch__occupancy_limit_shared_mem"),
    ("blocks", "launch__occupancy_limit_blocks"),
    ("warps", "launch__occupancy_limit_warps"),
];

/// The occupancy, of the counters if there are some, else of the image.
pub fn occupancy(profile: &Profile) -> Occupancy {
    let limits: Vec<(&str, f64)> = LIMITS
        .into_iter()
        .filter_map(|(what, metric)| Some((what, profile.value(metric)?)))
        .collect();
    let least = limits
        .iter()
        .map(|(_, blocks)| *blocks)
        .fold(f64::INFINITY, f64::min);
    let counted = limits
        .iter()
        .filter(|(_, blocks)| *blocks == least)
        .map(|(what, _)| (*what).to_owned());
    let mut limiters: Vec<String> = counted.collect();
    let of_image = profile.image.occupancy.as_ref();
    if let (true, Some(of_image)) = (limiters.is_empty(), of_image) {
        limiters.push(of_image.limiter.clone());
    }
    Occupancy {
        achieved: profile.value("sm__warps_active.avg.pct_of_peak_sustained_active"),
        possible: profile
            .value("sm__maximum_warps_per_active_cycle_pct")
            .or(of_image.map(|o| o.percent)),
        limiters,
        registers: profile
            .value("launch__registers_per_thread")
            .or(profile.image.registers.map(f64::from)),
        waves: profile.value("launch__waves_per_multiprocessor"),
    }
}

/// Why warps waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    /// The profiler's word, as in `long_scoreboard`.
    pub reason: String,
    /// Percent of the cycles that warps spent between two instructions.
    pub percent: f64,
}

/// Why warps waited, by share, the most frequent first. `selected` is the cycle in which a warp
/// issues.
pub fn stalls(profile: &Profile) -> Vec<Stall> {
    let cycles: Vec<(&str, f64)> = profile
        .metrics
        .iter()
        .filter_map(|(name, metric)| {
            let reason = name.strip_prefix("smsp__average_warps_issue_stalled_")?;
            Some((
                reason.strip_suffix("_per_issue_active.ratio")?,
                metric.value,
            ))
        })
        // These metrics exist for parts of a reason, too.
        .filter(|(reason, _)| !reason.contains('.') && !reason.ends_with("_not_issued"))
        .collect();
    let sum: f64 = cycles.iter().map(|(_, cycles)| cycles).sum();
    let mut shares: Vec<Stall> = cycles
        .into_iter()
        .filter(|(_, cycles)| sum > 0.0 && *cycles > 0.0)
        .map(|(reason, cycles)| Stall {
            reason: reason.to_owned(),
            percent: 100.0 * cycles / sum,
        })
        .collect();
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    shares
}

/// What a reason means and what helps, in a few words; `None` for a reason that the lab does not
/// know. From the chapter "Statistical Sampler" of the manual of Nsight Compute.
pub fn meaning(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "barrier" => "waits at a barrier for other warps of the block",
        "branch_resolving" => "waits for the target of a branch",
        "dispatch_stall" => "the dispatcher holds the instruction back",
        "drain" => "waits at its end for stores to memory",
        "gmma" => "waits for a warpgroup's matrix instruction",
        "imc_miss" => "waits for the cache of constants",
        "lg_throttle" => "too many accesses to global or local memory are queued",
        "long_scoreboard" => "waits for data from L1, L2 or DRAM",
        "math_pipe_throttle" => "waits for an arithmetic pipe that is busy",
        "membar" => "waits at a memory fence",
        "mio_throttle" => "too many instructions for shared memory and the like are queued",
        "no_instruction" => "waits for its next instruction",
        "not_selected" => "is ready, and another warp issued",
        "selected" => "issues an instruction",
        "short_scoreboard" => "waits for data from shared memory and the like",
        "sleeping" => "sleeps by its own wish",
        "tex_throttle" => "too many texture accesses are queued",
        "wait" => "waits for a fixed number of cycles between two instructions",
        _ => return None,
    })
}

/// The word of a stall's metric for the shorter one in the columns of the source page, as
/// `short_scoreboard` for `short_sb`.
pub fn reason(column: &str) -> &str {
    match column {
        "branch_resolve" => "branch_resolving",
        "dispatch" => "dispatch_stall",
        "imc" => "imc_miss",
        "lg" => "lg_throttle",
        "long_sb" => "long_scoreboard",
        "math" => "math_pipe_throttle",
        "mio" => "mio_throttle",
        "no_inst" => "no_instruction",
        "short_sb" => "short_scoreboard",
        "sleep" => "sleeping",
        "tex" => "tex_throttle",
        other => other,
    }
}

/// One row of the memory table.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRow {
    /// As in `DRAM read`.
    pub what: &'static str,
    /// With its unit.
    pub says: String,
}

/// What moved between the chip and its memory, and how the caches did.
pub fn memory(profile: &Profile) -> Vec<MemoryRow> {
    let value = |metric: &str| profile.value(metric);
    let rows = [
        ("DRAM read", value("dram__bytes_read.sum").map(bytes)),
        ("DRAM written", value("dram__bytes_write.sum").map(bytes)),
        (
            "DRAM rate",
            value("dram__bytes.sum.per_second").map(|rate| format!("{}/s", bytes(rate))),
        ),
        ("L2 hits", value("lts__t_sector_hit_rate.pct").map(percent)),
        (
            "L1 hits",
            value("l1tex__t_sector_hit_rate.pct").map(percent),
        ),
        (
            "shared memory bank conflicts",
            value("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum").map(count),
        ),
        (
            "spilled loads",
            value("smsp__sass_inst_executed_op_local_ld.sum")
                .filter(|n| *n > 0.0)
                .map(count),
        ),
    ];
    rows.into_iter()
        .filter_map(|(what, says)| Some(MemoryRow { what, says: says? }))
        .collect()
}

/// How busy the pipe of the Tensor Cores was, in percent of its peak.
pub fn tensor_pipe(profile: &Profile) -> Option<f64> {
    [
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    ]
    .into_iter()
    .find_map(|metric| profile.value(metric))
}

/// Bytes with a decimal unit, as memory rates are given.
pub fn bytes(value: f64) -> String {
    with_unit(value, &["B", "kB", "MB", "GB", "TB"])
}

/// Operations, with a unit.
pub fn operations(value: f64) -> String {
    with_unit(
        value,
        &["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"],
    )
}

/// Operations in a second, with a unit.
pub fn flops(value: f64) -> String {
    format!("{}/s", operations(value))
}

fn with_unit(mut value: f64, units: &[&str]) -> String {
    let mut at = 0;
    while value.abs() >= 1000.0 && at + 1 < units.len() {
        (value, at) = (value / 1000.0, at + 1);
    }
    format!("{} {}", figure(value), units[at])
}

/// A percentage as it is shown.
pub fn percent(value: f64) -> String {
    format!(
        "{} %",
        if value < 9.95 {
            format!("{value:.1}")
        } else {
            format!("{value:.0}")
        }
    )
}
