//! The counters of the quick set. Each was seen on compute capability 9.0. A chip or an ncu that
//! lacks one reports it as missing.

/// Counters of the quick set, by ncu's names.
pub const QUICK: [&str; 33] = [
    // Time and clocks.
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.avg.per_second",
    "dram__cycles_elapsed.avg.per_second",
    // How near the launch is to the limits of the chip.
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    // Memory.
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__bytes.sum.per_second",
    "dram__bytes.sum.peak_sustained",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    // Occupancy.
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "launch__registers_per_thread",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_warps",
    "launch__waves_per_multiprocessor",
    // Issue and pipes.
    "sm__inst_executed.avg.per_cycle_active",
    "smsp__issue_active.avg.per_cycle_active",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
    // Floating-point work, for the roofline.
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed",
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained",
    // Spills.
    "smsp__sass_inst_executed_op_local_ld.sum",
];

/// Why warps wait, one metric each, where `<>` stands for the reason.
const STALL: &str = "smsp__average_warps_issue_stalled_<>_per_issue_active.ratio";

/// The reasons of [`STALL`].
const STALLS: &str = "\
    barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard \
    math_pipe_throttle membar mio_throttle no_instruction not_selected selected short_scoreboard \
    sleeping tex_throttle wait";

/// The metric of a launch's duration, in nanoseconds.
pub const DURATION: &str = "gpu__time_duration.sum";

/// The metric that counts the replays of a launch.
pub const PASSES: &str = "profiler__replayer_passes";

/// Every counter of the quick set, those of the stalls last.
pub fn quick() -> Vec<String> {
    let stalls = STALLS.split(' ').map(|reason| STALL.replace("<>", reason));
    QUICK
        .iter()
        .map(|name| (*name).to_owned())
        .chain(stalls)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_counter_is_asked_for_twice() {
        let all = quick();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(
            all.contains(
                &"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio".to_owned()
            )
        );
    }
}
