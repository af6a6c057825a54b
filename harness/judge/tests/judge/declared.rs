//! What a problem.toml can declare beside tensors and tolerances: structs, macros, scratch memory,
//! fixed inputs, drawn scalars, inputs that the reference does not accept, two kinds of launch.

use crate::support::{self, Folder, Judged};
use lab_protocol::{Exit, JudgeKind, JudgeRequest};

/// A walk over the cells of fixed weights. It chooses its own way, or it is given one.
const PROBLEM: &str = r#"
entry = "walk"
struct = "Walk"
macros = { LAB_N = "n" }
dims = ["n", "led"]
dependent_steps = "n"
exchanges = 1

[[tensor]]
name = "weights"
role = "in"
type = "f32"
shape = ["n"]
values = { uniform = { low = 0.0, high = 1.0 } }
fixed_seed = 3

[[tensor]]
name = "way"
role = "in"
type = "i32"
shape = ["n"]
values = { expected = { of = "path", low = 0, high = "n - 1" } }

[[tensor]]
name = "path"
role = "out"
type = "i32"
shape = ["n"]
gates = [
    { name = "path_mismatches", of = "mismatches", limit = 0 },
    { name = "path_first", of = "first_mismatch" },
    { name = "path_cells", of = "cells" },
]

[[tensor]]
name = "score"
role = "out"
type = "f32"
shape = ["n"]
gates = [
    { name = "score_max_diff", of = "largest", limit = 1e-5 },
    { name = "score_mean_diff", of = "mean", limit = 2e-6 },
    { name = "score_log_diff", of = "log", limit = 4e-6 },
]
after = ["path"]

[[tensor]]
name = "memory"
role = "scratch"
type = "i32"
shape = [16]

[[scalar]]
name = "n"
type = "i32"
value = "n"

[[scalar]]
name = "start"
type = "i32"
draw = { low = 0, high = "n - 1" }

[[scalar]]
name = "scale"
type = "f32"
draw = { low = 0.5, high = 1.5, except = [0.9, 1.1] }

[[accept]]
name = "gap"
least = 0.1

[objective]
samples = "n"
kernel_us_of = "sample"

[[workload]]
dims = { n = 96, led = 0 }
cpu = { n = 32 }
null = ["way"]
sets = 2

[[held_out]]
dims = { n = 96, led = 1 }
cpu = { n = 32 }
uncompared = ["path"]

[[check]]
dims = { n = 8, led = 0 }
null = ["way"]
"#;

const HEAD: &str = "#include \"lab.h\"\n#include <stdio.h>\n__device__ int launches;\n";

/// The walk. `extra` are further parameters, `more` is at the end of the body.
fn walk(extra: &str, more: &str) -> String {
    format!(
        "{HEAD}extern \"C\" __global__ void walk(const float* weights, const int* way, int* path, float* score, int* memory,\n\
         {extra}Walk walk) {{\n    int at = walk.start;\n    for (int i = 0; i < LAB_N; ++i) {{\n\
         \x20       score[i] = walk.scale * (0.1f + weights[at]);\n        const int next = way ? way[i] : (5 * at + int(7 * weights[at]) + 1) % walk.n;\n\
         \x20       path[i] = next;\n        at = next;\n    }}\n    {more}\n}}\n\
         LAB_LAUNCH(walk) {{ launch.block[0] = 1; }}\n"
    )
}

/// The reference does not accept starts at small weights.
fn reference() -> String {
    walk("float* gap, ", "*gap = weights[walk.start];")
}

fn folder(kernel: &str) -> Folder {
    Folder::new(&[
        ("problem.toml", PROBLEM),
        ("reference.cu", &reference()),
        ("kernel.cu", kernel),
    ])
}

/// Judges the right kernel with `old` replaced by `new`.
#[track_caller]
fn judge(old: &str, new: &str) -> Judged {
    let kernel = walk("", "");
    assert_eq!(kernel.matches(old).count(), 1, "{old}");
    folder(&kernel.replace(old, new)).judge()
}

fn failing(judged: &Judged) -> Vec<String> {
    let gates = judged.report.gates().into_iter();
    gates
        .filter(|gate| !gate.passes())
        .map(|gate| gate.name)
        .collect()
}

#[test]
fn a_right_kernel_passes_gates_under_their_names_and_is_timed_by_the_sample() {
    let judged = folder(&walk("", "")).judge();
    judged
        .expect(Exit::Passed)
        .expect_in("path_mismatches", "0 limit=0")
        .expect_in("path_first", "-1")
        .expect_in("score_max_diff", " limit=1e-5");
    assert!(
        judged.log.contains("\nworkload: n=32 led=0 "),
        "{}",
        judged.log
    );
    let number = |key: &str| {
        judged
            .value(key)
            .split(' ')
            .next()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    assert!(number("gap") >= 0.1, "{}", judged.log);
    assert!(
        (number("kernel_us") * number("throughput_sps") / 1e6 - 1.0).abs() < 1e-2,
        "{}",
        judged.log
    );
    assert_eq!(judged.report.series("score_max_diff").unwrap().len(), 32);
    assert!(
        judged.report.value("path_error").is_none() && judged.report.value("score_error").is_none()
    );
}

#[test]
fn a_kernel_that_ignores_a_drawn_scalar_fails() {
    let judged = judge("walk.scale * (", "1.2f * (");
    judged.expect(Exit::Wrong);
    assert_eq!(
        failing(&judged),
        ["score_max_diff", "score_mean_diff", "score_log_diff"],
        "{}",
        judged.log
    );
    // Neighbouring sets have values from both halves of the range.
    judge(
        "walk.scale * (",
        "(walk.scale < 1.0f ? walk.scale : 1.3f) * (",
    )
    .expect(Exit::Wrong);
    judge(
        "walk.scale * (",
        "(walk.scale > 1.0f ? walk.scale : 0.7f) * (",
    )
    .expect(Exit::Wrong);
}

#[test]
fn an_output_after_a_wrong_one_is_not_compared() {
    let judged = judge(
        "int(7 * weights[at]) + 1",
        "int(7 * weights[at]) + (way ? 1 : 2)",
    );
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "path[0] is ");
    assert_eq!(failing(&judged), ["path_mismatches"], "{}", judged.log);
    judged.expect_in("path_first", "0");
}

/// The logarithm shows a small error of a small number, which the difference does not.
#[test]
fn each_named_gate_finds_what_it_is_for() {
    let judged = judge("walk.scale * (", "(i == 5) * 8e-6f + walk.scale * (");
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "score_log_diff is ");
    assert_eq!(failing(&judged), ["score_log_diff"], "{}", judged.log);
    let judged = judge("walk.scale * (", "2.5e-6f + walk.scale * (");
    assert_eq!(
        failing(&judged),
        ["score_mean_diff", "score_log_diff"],
        "{}",
        judged.log
    );
    let judged = judge(
        "path[i] = next;",
        "path[i] = next; score[i] = i == 7 ? 0.0f / 0.0f : score[i];",
    );
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "score[7] is NaN");
    assert!(
        failing(&judged).contains(&"score_max_diff".to_owned()),
        "{}",
        judged.log
    );
}

#[test]
fn fixed_inputs_must_not_change_and_scratch_memory_is_zero() {
    let judged = judge(
        "int at = walk.start;",
        "int at = walk.start; const_cast<float*>(weights)[3] = 0.5f;",
    );
    judged
        .expect(Exit::Wrong)
        .expect_in("inputs_changed", "limit=0")
        .expect_in("first_failure", "changed its input weights[3]; n=32 led=");
    let says = "int at = walk.start; if (memory[5]) printf(\"memory is used\\n\"); memory[5] = 1;";
    let judged = judge("int at = walk.start;", says);
    judged.expect(Exit::Passed);
    assert!(!judged.log.contains("memory is used"), "{}", judged.log);
}

/// What a launch computes of fixed inputs would make the next one faster.
#[test]
fn each_timed_launch_of_fixed_inputs_has_a_module_of_its_own() {
    let says = "int at = walk.start; if (launches++) printf(\"launched before\\n\");";
    let judged = judge("int at = walk.start;", says);
    judged.expect(Exit::Passed);
    let (checked, timed) = judged.log.split_once("stage: measure").unwrap();
    assert!(checked.contains("launched before"), "{}", judged.log);
    assert!(!timed.contains("launched before"), "{}", judged.log);
}

/// Launches of one kind say nothing of the other kind.
#[test]
fn the_module_is_loaded_anew_between_launches_of_two_kinds() {
    let says = "int at = walk.start; if (launches && (launches > 1) != bool(way)) printf(\"knows\\n\"); launches = way ? 2 : 1;";
    let judged = judge("int at = walk.start;", says);
    judged.expect(Exit::Passed);
    assert!(!judged.log.contains("| knows"), "{}", judged.log);
}

#[test]
fn a_reference_that_accepts_no_inputs_says_which_limit_they_broke() {
    let folder = folder(&walk("", ""));
    let none = PROBLEM.replace("least = 0.1", "least = 2");
    std::fs::write(folder.path().join("problem.toml"), &none).unwrap();
    let judged = folder.judge();
    judged
        .expect(Exit::NOT_JUDGED)
        .expect_in("stopped", "1000 sets of inputs were drawn for n=32 led=")
        .expect_in("stopped", "the limits of [[accept]] 'gap' in problem.toml");
    // A wish is given up after some draws.
    let wish = none.replace("least = 2", "least = 2\nattempts = 3");
    std::fs::write(folder.path().join("problem.toml"), wish).unwrap();
    folder.judge().expect(Exit::Passed);
}

#[test]
fn a_sealed_check_passes_and_the_tools_watch_the_small_workload() {
    let folder = folder(&walk("", ""));
    let sealed = support::run(JudgeRequest {
        kind: JudgeKind::SealedCheck { runs: 2 },
        ..folder.options()
    });
    sealed.expect(Exit::Passed).expect_no_measure();
    let checked = support::run(JudgeRequest {
        kind: JudgeKind::Check {
            tools: Vec::new(),
            sanitizer: None,
        },
        ..folder.options()
    });
    checked
        .expect(Exit::Passed)
        .expect_in("check_size", "n=8 led=0");
}

/// A program for the host, with threads, takes the place of reference.cu on the cpu device.
#[test]
fn a_native_reference_runs_on_the_cpu_device() {
    let folder = folder(&walk("", ""));
    let native = r#"#include "lab.h"
#include <thread>
#include <vector>
static float score_of(float scale, float weight) { return scale * (0.1f + weight); }
extern "C" __global__ void walk(const float* weights, const int*, int* path, float* score, int*, float* gap, Walk walk) {
    std::vector<int> from(walk.n);
    int at = walk.start;
    for (int i = 0; i < walk.n; ++i) {
        from[i] = at;
        path[i] = at = (5 * at + int(7 * weights[at]) + 1) % walk.n;
    }
    std::vector<std::thread> threads;
    for (int half = 0; half < 2; ++half) {
        threads.emplace_back([&, half] {
            for (int i = half; i < walk.n; i += 2) score[i] = score_of(walk.scale, weights[from[i]]);
        });
    }
    for (std::thread& thread : threads) thread.join();
    *gap = weights[walk.start];
}
LAB_LAUNCH(walk) {}
"#;
    std::fs::write(folder.path().join("reference.cpp"), native).unwrap();
    std::fs::write(folder.path().join("reference.cu"), "no C++\n").unwrap();
    folder.judge().expect(Exit::Passed);
    std::fs::write(
        folder.path().join("reference.cpp"),
        native.replace("0.1f", "0.2f"),
    )
    .unwrap();
    folder.judge().expect(Exit::Wrong);
    std::fs::write(
        folder.path().join("reference.cpp"),
        native.replace(" path[", " paths["),
    )
    .unwrap();
    folder
        .judge()
        .expect(Exit::NOT_JUDGED)
        .expect_in("stopped", "reference.cpp");
}
