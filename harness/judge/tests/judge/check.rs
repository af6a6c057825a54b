//! `lab check` on the cpu device: each planted mistake is reported at its line, and a correct
//! kernel is clean.

use crate::support::{Folder, Judged, options, run, write_script};
use crate::toy::{PROBLEM, SHARED, kernel};
use lab_protocol::Exit;
use lab_protocol::{JudgeKind, JudgeRequest};
use lab_protocol::{Target, Tool};

fn checked(kernel: &str, tools: &[Tool]) -> Judged {
    let folder = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", kernel)]);
    let mut options = folder.options();
    options.kind = JudgeKind::Check {
        tools: tools.to_vec(),
        sanitizer: None,
    };
    run(options)
}

/// Checks that one tool reports these findings for a kernel with this body, as `file:line message`.
#[track_caller]
fn check(tool: Tool, body: &str, wanted: &[&str]) {
    let judged = checked(&kernel(body), &[tool]);
    let found: Vec<String> = judged
        .report
        .diagnostics()
        .iter()
        .map(|d| format!("{}:{} {}", d.file, d.line, who(&d.message)))
        .collect();
    assert_eq!(found, wanted, "{}", judged.log);
    let gate = format!("{}_findings", tool.name());
    judged.expect_in(&gate, &format!("{} limit=0", wanted.len()));
    judged.expect(if wanted.is_empty() {
        Exit::Passed
    } else {
        Exit::Wrong
    });
}

/// Replaces thread and block numbers, because the order of threads differs: `thread (5,0,0)`
/// becomes `thread T`.
fn who(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (") {
        let (name, end) = if before.ends_with("thread") {
            ("T", 0)
        } else {
            ("B", 0)
        };
        let close = after.find(')').map_or(end, |at| at + 1);
        out += &format!("{before} {name}");
        rest = &after[close..];
    }
    out + rest
}

#[test]
fn a_missing_block_barrier_races() {
    let body = |barrier: &str| format!("{SHARED}\ns[t] = x[i];\n{barrier}\ny[i] = s[63 - t];");
    check(Tool::Race, &body("__syncthreads();"), &[]);
    let wanted = "kernel.cu:8 [race] thread T of block B reads shared memory that thread T writes at line 6: no \
                  __syncthreads() lies between";
    check(Tool::Race, &body(""), &[wanted]);
    // A barrier of the warp is not enough.
    check(Tool::Race, &body("__syncwarp();"), &[wanted]);
}

#[test]
fn a_missing_warp_barrier_races_and_a_shuffle_is_none() {
    let body = |barrier: &str| format!("{SHARED}\ns[t] = x[i];\n{barrier}\ny[i] = s[t ^ 1];");
    check(Tool::Race, &body("__syncwarp();"), &[]);
    let wanted = "kernel.cu:8 [race] thread T of block B reads shared memory that thread T writes at line 6: no \
                  __syncwarp() or __syncthreads() lies between";
    check(Tool::Race, &body(""), &[wanted]);
    check(
        Tool::Race,
        &body("y[i] = __shfl_xor_sync(0xffffffffu, x[i], 1);"),
        &[wanted],
    );
}

#[test]
fn threads_that_write_the_same_value_do_not_race() {
    let body = |value: &str| format!("{SHARED}\ns[0] = {value};\n__syncthreads();\ny[i] = s[0];");
    check(Tool::Race, &body("x[0]"), &[]);
    let wanted = "kernel.cu:6 [race] thread T of block B writes shared memory that thread T writes at the same line: ";
    check(
        Tool::Race,
        &body("x[t]"),
        &[&format!("{wanted}no __syncthreads() lies between")],
    );
}

#[test]
fn a_lost_update_races() {
    let body = format!(
        "{SHARED}\nif (t == 0) s[0] = 0;\n__syncthreads();\ns[0] += 1;\n__syncthreads();\ny[i] = s[0];"
    );
    let wanted = "kernel.cu:8 [race] thread T of block B reads shared memory that thread T writes at the same line: no \
                  __syncthreads() lies between";
    check(Tool::Race, &body, &[wanted]);
}

#[test]
fn a_missing_grid_barrier_races() {
    let body = |barrier: &str| {
        format!("{SHARED}\ny[i] = x[i];\n{barrier}\ns[t] = y[n - 1 - i]; y[i] = s[t];")
    };
    let both = "cg::this_grid().sync(); const float v = y[n - 1 - i]; cg::this_grid().sync(); y[i] = v; return;";
    check(Tool::Race, &body(both), &[]);
    let wanted = [
        "kernel.cu:8 [race] thread T of block B reads global memory that thread T of block B writes at line 6: no \
         grid-wide barrier lies between",
        "kernel.cu:8 [race] thread T of block B reads global memory that thread T of block B writes at the same line: no \
         grid-wide barrier lies between",
    ];
    check(Tool::Race, &body("__syncthreads();"), &wanted);
}

#[test]
fn correct_exchanges_between_blocks_are_clean() {
    // lab.h's barrier, a flag between fences, a count of blocks by an atomic, and tagged words.
    let arrivals = "__device__ unsigned arrivals, flag, ticket;\n__device__ float all[4]; __device__ unsigned long long word[4];\n";
    let body = "
        const int t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
        y[i] = x[i];
        lab_grid_barrier(&arrivals);
        const float other = y[n - 1 - i];
        lab_grid_barrier(&arrivals);
        if (b == 0) y[t] = other;
        __threadfence();
        __syncthreads();
        if (b == 0 && t == 0) { __threadfence(); *(volatile unsigned*)&flag = 1; }
        if (b == 1) {
            if (t == 0) { while (lab_poll(&flag) != 1) {} __threadfence(); }
            __syncthreads();
            y[64 + t] = y[t];
        }
        if (t == 0) {
            all[b] = other;
            __threadfence();
            if (atomicAdd(&ticket, 1u) == 3) { __threadfence(); float sum = 0; for (int k = 0; k < 4; ++k) sum += all[k]; y[128] = sum; }
            lab_store_tagged(&word[b], other, 1);
        }
        if (t == 1) y[128 + 64 * (b / 2) + b + 1] = lab_load_tagged(&word[(b + 1) % 4], 1);";
    let source = kernel(body).replace("extern \"C\"", &format!("{arrivals}extern \"C\""));
    let judged = checked(&source, &[Tool::Race]);
    judged
        .expect(Exit::Passed)
        .expect_in("race_findings", "0 limit=0");
    // The same without the fence and the barrier that the flag needs.
    let hasty = source.replace(
        "while (lab_poll(&flag) != 1) {} __threadfence(); }\n            __syncthreads();",
        "while (lab_poll(&flag) != 1) {} }",
    );
    assert_ne!(hasty, source);
    let judged = checked(&hasty, &[Tool::Race]);
    judged.expect(Exit::Wrong);
    assert!(
        judged.log.contains("no grid-wide barrier lies between"),
        "{}",
        judged.log
    );
}

#[test]
fn an_access_behind_the_end_is_named() {
    check(
        Tool::Address,
        &format!("{SHARED}\ns[t] = x[i];\n__syncthreads();\ny[i] = s[63 - t];"),
        &[],
    );
    check(
        Tool::Address,
        &format!(
            "{SHARED}\ns[t] = x[i];\ny[i + 1] = 1;\n__syncthreads();\ny[i] = s[t];\nif (t == 63) s[t + 1] = 0;"
        ),
        &[
            "kernel.cu:7 [address] heap-buffer-overflow: a write of size 4, 0 bytes after 1024-byte region",
            "kernel.cu:10 [address] heap-buffer-overflow: a write of size 4, 0 bytes after 256-byte region",
        ],
    );
    check(
        Tool::Address,
        "float own[4];\nfor (int k = 0; k < 4; ++k) own[k] = x[k];\n__syncthreads();\ny[threadIdx.x] = own[n / 64 + threadIdx.x % 2];",
        &["kernel.cu:8 [address] stack-buffer-overflow: a read of size 4, of a local variable"],
    );
}

#[test]
fn a_wild_store_ends_the_kernel_and_is_found_all_the_same() {
    check(
        Tool::Address,
        "if (threadIdx.x == 5) *(float*)(x + (1ull << 44)) = 1;",
        &["kernel.cu:5 [address] an access to memory that is not there"],
    );
}

#[test]
fn the_committed_kernels_are_clean() {
    for name in ["rmsnorm", "wavegru"] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../kernels")
            .join(name);
        let judged = run(JudgeRequest {
            kind: JudgeKind::Check {
                tools: Vec::new(),
                sanitizer: None,
            },
            ..options(&folder)
        });
        judged
            .expect(Exit::Passed)
            .expect_in("check", "address, race clean");
        assert!(judged.report.diagnostics().is_empty(), "{}", judged.log);
    }
}

/// A compute-sanitizer that runs the program it is given, and then writes a report that a real one
/// wrote for another kernel.
const SANITIZER: &str = r#"#!/bin/sh
while true; do
    case "$1" in
    --tool) tool=$2; shift 2 ;;
    --log-file) log=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
    esac
done
"$@"
status=$?
if [ -f "$(dirname "$0")/$tool" ]; then cat "$(dirname "$0")/$tool" > "$log"; fi
exit $status
"#;

const CLEAN: &str = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";

fn under_a_sanitizer(tells: &[(&str, &str)]) -> Judged {
    let files = [
        ("problem.toml", PROBLEM),
        ("kernel.cu", &kernel("y[threadIdx.x] = x[0];")),
    ];
    let folder = Folder::new(&[&files, tells].concat());
    let sanitizer = folder.path().join("sanitizer");
    write_script(&sanitizer, SANITIZER);
    let mut options = folder.options();
    options.kind = JudgeKind::Check {
        tools: Tool::of(Target::Cuda(0)).to_vec(),
        sanitizer: Some(sanitizer),
    };
    run(options)
}

#[test]
fn each_tool_of_compute_sanitizer_runs_and_its_findings_are_written() {
    let all = ["memcheck", "racecheck", "initcheck", "synccheck"];
    let clean = under_a_sanitizer(&all.map(|tool| (tool, CLEAN)));
    clean
        .expect(Exit::Passed)
        .expect_in("check", "memcheck, racecheck, initcheck, synccheck clean");
    let race = "\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at toy+0x90 in /c/snapshots/.tmp1/kernel.cu:41
=========     and Read access at toy+0x100 in /c/snapshots/.tmp1/kernel.cu:51 [508 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";
    let mut tells = all.map(|tool| (tool, CLEAN));
    tells[1].1 = race;
    let found = under_a_sanitizer(&tells);
    found
        .expect(Exit::Wrong)
        .expect_in("racecheck_findings", "1 limit=0")
        .expect_in("synccheck_findings", "0 limit=0");
    let told: Vec<_> = found
        .report
        .diagnostics()
        .iter()
        .map(|d| (d.file.as_str(), d.line, d.message.as_str()))
        .collect();
    let message = "[racecheck] a write of shared memory races with a read at line 51";
    assert_eq!(told, [("kernel.cu", 41, message)], "{}", found.log);
}

#[test]
fn a_tool_that_does_not_finish_is_not_clean_and_stops_no_other() {
    let judged = under_a_sanitizer(&[
        ("memcheck", CLEAN),
        ("initcheck", CLEAN),
        ("synccheck", CLEAN),
    ]);
    judged.expect(Exit::Crashed);
    judged.expect_in(
        "stopped",
        "racecheck did not finish: compute-sanitizer wrote no summary",
    );
    judged.expect_in("synccheck_findings", "0 limit=0");
}
