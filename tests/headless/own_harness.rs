//! A harness of the user's own: its environment, and how the lab reads its exit codes and its
//! figures.

use crate::lab::Lab;
use std::fs;
use std::path::Path;

/// The last value of a result line in run.log.
fn value(lab: &Lab, key: &str) -> String {
    let log = lab.read("run.log");
    let of = |line: &str| line.strip_prefix(&format!("{key}: ")).map(str::to_owned);
    log.lines()
        .filter_map(of)
        .next_back()
        .unwrap_or_else(|| panic!("no '{key}:' in {log}"))
}

const PASSES: &str =
    "echo 'device: Test GPU'; echo 'correctness: pass'; echo 'throughput_sps: 1000'";

#[test]
fn a_file_of_the_harness_is_no_kernel() {
    let lab = Lab::new();
    lab.lab("run harness.py")
        .is(64)
        .says("is a file of the harness")
        .says("the kernel is kernel.cu");
    lab.lab("run").is(0);
}

#[test]
fn it_gets_the_kernel_the_device_the_runs_folder_and_the_incumbent() {
    let lab = Lab::new();
    let asks = "echo \"kernel_is: $LAB_KERNEL\"; echo \"on: $LAB_DEVICE\"; echo \"run_dir: $LAB_RUN_DIR\"; \
                echo \"unbuffered: $PYTHONUNBUFFERED\"; echo \"held: ${LAB_INCUMBENT-unset}\"; \
                echo \"bytes: $(cat \"$LAB_INCUMBENT\" 2>&1)\"; echo mine > \"$LAB_RUN_DIR/profile.txt\"";
    lab.harness(&format!("{asks}; {PASSES}"));
    lab.write("kernel.cu", "// newer\n");
    lab.lab("run --device cpu").is(0);
    assert_eq!(
        value(&lab, "kernel_is"),
        lab.path("kernel.cu").display().to_string()
    );
    assert_eq!(
        (value(&lab, "on"), value(&lab, "unbuffered")),
        ("cpu".into(), "1".into())
    );
    assert_eq!(
        value(&lab, "run_dir"),
        lab.path(".lab/runs/1").display().to_string()
    );
    assert_eq!(value(&lab, "bytes"), "// the first");
    assert_ne!(
        value(&lab, "held"),
        lab.path("kernel.cu").display().to_string()
    );
    // A file that the harness writes beside the log stays.
    assert_eq!(lab.read(".lab/runs/1/profile.txt"), "mine\n");
    // The next run finds the incumbent's copy, and does not trust it.
    fs::write(value(&lab, "held"), "// of nobody\n").unwrap();
    lab.write("kernel.cu", "// tried\n");
    lab.lab("run").is(0);
    assert_eq!(value(&lab, "bytes"), "// the first");
    lab.write("kernel.cu", "// newer\n");
    lab.lab("run").is(0);
    // After a keep these bytes are the incumbent's.
    lab.lab("keep -m newer").is(0);
    lab.write("kernel.cu", "// newest\n");
    lab.lab("run").is(0);
    assert_eq!(
        (value(&lab, "bytes"), value(&lab, "on")),
        ("// newer".into(), "auto".into())
    );
}

#[test]
fn the_incumbent_lies_beside_what_it_includes() {
    let lab = Lab::new();
    fs::create_dir_all(lab.path("k")).unwrap();
    lab.write("k/tile.cuh", "// the tile in HEAD\n");
    lab.write("k/kernel.cu", "#include \"tile.cuh\"\n");
    lab.write(
        "lab.toml",
        "kernel = \"k/kernel.cu\"\nharness = \"uv run harness.py\"\n",
    );
    lab.git("add -A");
    lab.git("commit -qm k");
    lab.lab("trust --yes").is(0);
    lab.write("k/tile.cuh", "// newer\n");
    lab.harness(&format!(
        "echo \"tile: $(cat \"$(dirname \"$LAB_INCUMBENT\")/tile.cuh\")\"; {PASSES}"
    ));
    lab.lab("run").is(0);
    assert_eq!(value(&lab, "tile"), "// the tile in HEAD");
}

/// The example of a harness in C++ with make.
#[test]
fn a_harness_in_cpp_with_make_judges_builds_and_times_in_turns() {
    let lab = Lab::empty();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cpp-harness");
    for name in [
        "lab.toml",
        "Makefile",
        "judge.cpp",
        "kernel.cpp",
        ".gitignore",
    ] {
        fs::copy(example.join(name), lab.path(name)).unwrap();
    }
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust --yes").is(0);
    let slow = lab.read("kernel.cpp");
    lab.write("kernel.cpp", format!("// the same\n{slow}"));
    lab.lab("run").is(0).says("● PASS").says("y_error");
    let log = lab.read("run.log");
    assert!(
        log.lines()
            .filter(|line| line.starts_with("turns: "))
            .count()
            >= 10,
        "{log}"
    );
    // One pass over the cells in place of one for each.
    let fast = "extern \"C\" void prefix_sum(const float* x, float* y, int n) {\n    double sum = 0;\n    \
                for (int i = 0; i < n; i++) y[i] = (float)(sum += x[i]);\n}\n";
    lab.write("kernel.cpp", fast);
    let judged = lab.lab("run --json").is(0).json();
    assert_eq!(judged["speed"], "faster", "{judged:#}");
    lab.write("kernel.cpp", fast.replace("sum += x[i]", "sum = x[i]"));
    lab.lab("run").is(1).says("✗ FAIL");
    // The compiler's message stands at its line, be it of the kernel or of the harness.
    lab.write("kernel.cpp", fast.replace("double sum", "doble sum"));
    let broken = lab.lab("run --json").is(2).json();
    assert_eq!(broken["outcome"], "build_error");
    let message = &broken["diagnostics"][0];
    assert_eq!(
        (&message["file"], &message["line"]),
        (&"kernel.cpp".into(), &2.into()),
        "{broken:#}"
    );
    lab.write("kernel.cpp", fast);
    lab.write(
        "judge.cpp",
        lab.read("judge.cpp").replace("int main()", "int main("),
    );
    lab.lab("run").is(2).says("✗ BUILD ERROR").says("judge.cpp");
}

#[test]
fn without_an_incumbent_the_variable_is_not_set() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.harness(&format!(
        "echo \"held: ${{LAB_INCUMBENT-unset}}\"; {PASSES}"
    ));
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    // Not even in the environment of the process that started the lab.
    let output = lab
        .sh("LAB_INCUMBENT=/etc/passwd exec \"$LAB\" run --log")
        .is(0);
    assert!(output.out.contains("held: unset"), "{output:?}");
}

#[test]
fn its_exit_codes_are_read_as_documented() {
    let lab = Lab::new();
    for (script, code, says) in [
        (
            "echo 'correctness: pass'; echo 'throughput_sps: 5'",
            0,
            "● PASS",
        ),
        ("echo 'correctness: fail'; exit 1", 1, "✗ FAIL"),
        ("echo 'correctness: fail'", 1, "✗ FAIL"),
        (
            "echo 'correctness: yes'",
            1,
            "'correctness: yes' is neither pass nor fail",
        ),
        ("exit 2", 2, "✗ BUILD ERROR"),
        ("echo 'build: failed'; exit 1", 2, "✗ BUILD ERROR"),
        ("exit 1", 3, "☠ CRASH"),
        ("exit 3", 3, "☠ CRASH"),
        ("echo 'correctness: pass'; exit 3", 3, "☠ CRASH"),
        ("echo 'correctness: pass'", 3, "● PASS"),
        ("kill -SEGV $$", 3, "☠ CRASH"),
        ("kill -KILL $$", 64, "– NOT JUDGED"),
        ("exit 64", 64, "– NOT JUDGED"),
        ("exit 126", 64, "– NOT JUDGED"),
        ("nvcccc kernel.cu || exit 127", 64, "– NOT JUDGED"),
    ] {
        lab.harness(script);
        lab.lab("run").is(code).says(says);
    }
}

#[test]
fn a_speed_ratio_of_its_own_is_shown_and_decides() {
    let lab = Lab::new();
    let printing = |lines: &str| lab.harness(&format!("{PASSES}; {lines}"));
    lab.write("kernel.cu", "// faster\n");
    printing("echo 'speed_ratio: 1.0213 low=1.0190 high=1.0236'; echo 'speed: faster'");
    lab.lab("run")
        .is(0)
        .says("faster +2.1 % (+1.9 … +2.4) vs incumbent");
    lab.lab("run --decide -m faster").says("keep run 2");
    lab.write("kernel.cu", "// slower\n");
    printing("echo 'speed_ratio: 0.95 low=0.94 high=0.96'; echo 'speed: slower'");
    lab.lab("run --decide -m slower").says("discard run 3");
    // A ratio without a verdict or without its interval does not decide.
    for lines in [
        "echo 'speed_ratio: 1.5 low=1.4 high=1.6'",
        "echo 'speed_ratio: 1.5'; echo 'speed: faster'",
    ] {
        lab.write("kernel.cu", format!("// {}\n", lines.len()));
        printing(lines);
        lab.lab("run --decide -m x").says("left to you");
    }
    // With several workloads, the ratio says which mean it is.
    printing(
        "echo 'speed_ratio: 1.0213 low=1.0190 high=1.0236 aggregate=worst workloads=3'; echo 'speed: faster'",
    );
    lab.lab("run")
        .is(0)
        .says("faster +2.1 % (+1.9 … +2.4), worst of 3 vs incumbent");
    let worst = serde_json::json!({ "name": "worst", "workloads": 3 });
    assert_eq!(lab.lab("run --json").json()["ratio_aggregate"], worst);
    // The harness takes the ratio back, as after a failure of the incumbent.
    printing(
        "echo 'speed_ratio: 1.5 low=1.4 high=1.6'; echo 'speed: faster'; echo 'speed_ratio: nan'; echo 'speed: none'",
    );
    assert!(lab.lab("run --json").json()["speed"].is_null());
}

#[test]
fn a_time_that_the_harness_does_not_print_is_no_zero() {
    let lab = Lab::new();
    lab.harness("echo 'correctness: pass'; echo 'throughput_sps: 5'");
    lab.write("kernel.cu", "// tried\n");
    lab.lab("run").is(0);
    lab.lab("keep -m tried").is(0);
    lab.lab("log").is(0).says("  5 sps          - µs  tried");
    let log = lab.lab("log --json").is(0).json();
    assert!(log["experiments"][0]["kernel_us"].is_null());
}

#[test]
fn a_hint_names_no_discard_of_the_incumbents_own_bytes() {
    let lab = Lab::new();
    let hints = |lab: &Lab| lab.lab("run").says("● PASS").out;
    // The rules are not as in HEAD.
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[measure]\nsame_within = 5\n",
    );
    lab.lab("trust --yes").is(0);
    let own = hints(&lab);
    assert!(own.contains("`lab rules -m TEXT`"), "{own}");
    assert!(!own.contains("lab discard"), "{own}");
    // Nothing was measured.
    lab.harness("echo 'correctness: pass'");
    let own = hints(&lab);
    assert!(!own.contains("lab discard"), "{own}");
    // Of other bytes there is something to discard, as said.
    lab.write("kernel.cu", "// tried\n");
    let other = hints(&lab);
    assert!(
        other.contains("so it cannot be kept; `lab discard -m TEXT` puts the incumbent back"),
        "{other}"
    );
    lab.lab("discard -m tried").is(0);
}

#[test]
fn a_quiet_run_prints_its_verdict_in_one_line_and_nothing_else() {
    let lab = Lab::new();
    lab.harness(&format!("echo 'a word of the harness'; {PASSES}"));
    let run = lab.lab("run --quiet").is(0);
    assert_eq!(
        (run.out.lines().count(), run.err.as_str()),
        (1, ""),
        "{run:?}"
    );
    assert!(
        run.out.starts_with("● PASS  run 1 of kernel.cu  1,000 sps"),
        "{run:?}"
    );
    let known = lab.lab("run -q --unless-known").is(0);
    assert_eq!(known.out, run.out);
    lab.harness("echo 'correctness: fail'; exit 1");
    assert_eq!(lab.lab("run --quiet").is(1).out.lines().count(), 1);
}

#[test]
fn the_first_keep_takes_the_files_of_the_harness_along() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.write("judge.sh", format!("{PASSES}\n"));
    lab.write("data.bin", "too large for git\n");
    lab.write(".gitignore", "data.bin\n");
    lab.write(
        "lab.toml",
        "kernel = \"kernel.cu\"\nharness = \"sh judge.sh\"\n[watch]\nextra = [\"judge.sh\", \"data.bin\"]\n",
    );
    lab.lab("trust --yes").is(0);
    lab.lab("run").is(0);
    lab.lab("keep -m first")
        .is(0)
        .says("this first keep also commits the rules of the problem: lab.toml, judge.sh")
        .says("data.bin is not as in HEAD");
    let held = lab.git("show --name-only --format= HEAD");
    assert_eq!(held, "judge.sh\nkernel.cu\nlab.toml\n");
    // A later keep takes the kernel alone.
    lab.write("kernel.cu", "// the second\n");
    lab.lab("run").is(0);
    lab.lab("keep -m second").is(0);
    assert_eq!(lab.git("show --name-only --format= HEAD"), "kernel.cu\n");
}

/// What a crash hides is what was found before it: the first failure, the gates, and where it crashed.
#[test]
fn a_crash_is_told_with_what_was_found_before() {
    let lab = Lab::new();
    let workloads = (1..=14).map(|n| format!("echo 'workload: n={n} correctness=pass'; "));
    let workloads: String = workloads.collect();
    lab.harness(&format!(
        "echo 'device: Test GPU'; echo 'first_failure: y[3] is 1, expected 2'; echo 'y_error: 3 limit=1'; \
         {workloads} echo 'workload: n=1000 correctness=crash'; exit 3"
    ));
    let found = [
        "y[3] is 1, expected 2",
        "✗ y_error",
        "✗ n=1000",
        "crashed here",
    ];
    for command in ["run", "show"] {
        let told = lab.lab(command);
        found
            .iter()
            .for_each(|text| assert!(told.out.contains(text), "{text}: {told:?}"));
        assert!(told.out.contains("… 3 more: `--log` shows all"), "{told:?}");
    }
    lab.lab("show --log")
        .is(0)
        .says("y_error: 3 limit=1\n")
        .says("workload: n=14 correctness=pass\n")
        .says("☠ CRASH");
}

/// The clocks of the second run were twice as high, so the recorded figures say nothing.
#[test]
fn two_runs_are_compared_by_the_turns_of_one_of_them() {
    let lab = Lab::new();
    // The kernel says what the harness measures.
    lab.harness("echo 'device: Test GPU'; echo 'correctness: pass'; sed -n 's|^// ||p' kernel.cu");
    let judge = |kernel: &str| {
        lab.write("kernel.cu", kernel);
        lab.lab("run").is(0);
    };
    judge("// throughput_sps: 1000\n");
    lab.lab("keep -m one").is(0);
    judge(
        "// throughput_sps: 2095\n// speed_ratio: 1.182 low=1.177 high=1.187\n// speed: faster\n",
    );
    lab.lab("keep -m two").is(0);
    let said = |command: &str| lab.lab(command).is(0).out;
    let turns = said("diff 1 2");
    assert!(turns.contains("One run timed the two in turns"), "{turns}");
    assert!(
        said("diff 2 1").contains("slower -15.4 %"),
        "{}",
        said("diff 2 1")
    );
    judge("// throughput_sps: 4000\n");
    let compared = said("diff 1 3");
    assert!(compared.contains("+300.0 %, not in turns"), "{compared}");
    assert!(!compared.contains("faster"), "{compared}");
}

/// A new kernel has nothing to be faster than, whatever its harness prints.
#[test]
fn without_an_incumbent_nothing_is_compared() {
    let lab = Lab::new();
    lab.harness(&format!(
        "{PASSES}; echo 'speed_ratio: 1.03 low=1.02 high=1.04 verdict=faster'; echo \"held: ${{LAB_INCUMBENT-unset}}\""
    ));
    lab.git("add harness.py");
    lab.git("commit -qm harness");
    lab.write("kernel.cu", "// newer\n");
    lab.lab("run").is(0).says("vs incumbent");
    lab.git("rm -q --cached kernel.cu");
    lab.git("commit -qm 'no kernel'");
    lab.write("kernel.cu", "// the very first\n");
    let told = lab.lab("run").is(0);
    assert_eq!(value(&lab, "held"), "unset");
    assert!(!told.out.contains("vs incumbent"), "{told:?}");
    lab.lab("keep -m first").is(0);
    let message = lab.git("log -1 --format=%B");
    assert!(!message.contains("faster"), "{message}");
}
