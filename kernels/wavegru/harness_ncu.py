"""`harness.py --ncu`: one launch under NVIDIA Nsight Compute, with metrics that exist on sm_90."""

import shlex
import shutil
import subprocess
import sys

from harness_launch import ENTRY

# What Nsight Compute measures: time, issue rate, stalls, caches, shared memory, registers. The names are of sm_90.
NCU_METRICS = """
    gpu__time_duration.sum sm__inst_executed.avg.per_cycle_active smsp__issue_active.avg.per_cycle_active
    sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active
    sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active sm__throughput.avg.pct_of_peak_sustained_elapsed
    lts__t_sector_hit_rate.pct lts__throughput.avg.pct_of_peak_sustained_elapsed dram__bytes_read.sum dram__bytes_write.sum
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum smsp__sass_inst_executed_op_local_ld.sum
    launch__registers_per_thread launch__shared_mem_per_block_dynamic launch__shared_mem_per_block_static
    smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio
    smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio
    smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio
    smsp__average_warps_issue_stalled_wait_per_issue_active.ratio
    smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio
    smsp__average_warps_issue_stalled_membar_per_issue_active.ratio
""".split()


def run(harness, folder):
    """Runs one launch of the harness under ncu, and prints the command first. Returns ncu's exit code."""
    command = ["ncu", "--target-processes", "all", "--clock-control", "none", "--kernel-name-base", "function"]
    command += ["-k", f"regex:^{ENTRY}$", "-c", "1", "--metrics", ",".join(NCU_METRICS)]
    command += [sys.executable, str(harness), str(folder), "--device", "cuda", "--one-launch"]
    print(shlex.join(command), flush=True)
    if shutil.which("ncu") is None:
        print("ncu is not on the path: it belongs to the CUDA toolkit. Run the command above on the GPU host.")
        return 64
    return subprocess.run(command).returncode
