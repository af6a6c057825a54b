//! The built-in harness through `lab run`: rmsnorm on the cpu device, and kernels that misbehave.

use crate::lab::{CommandOutput, Lab, finish};
use std::fs;
use std::path::Path;

/// A repository with rmsnorm in it, committed. The cpu device judges its smallest workloads: a
/// story needs a verdict, and the others take seconds.
pub fn rmsnorm() -> Lab {
    rmsnorm_with(|problem| {
        let few = problem.replace("cpu_max_cells = 300_000", "cpu_max_cells = 5_000");
        assert_ne!(few, problem, "the problem has no such line any more");
        few
    })
}

/// The same, with a changed problem.toml.
fn rmsnorm_with(change: impl Fn(String) -> String) -> Lab {
    let lab = Lab::empty();
    lab.copy_problem("kernels/rmsnorm", "kernels/rmsnorm");
    let problem = "kernels/rmsnorm/problem.toml";
    lab.write(problem, change(lab.read(problem)));
    lab.write(
        "lab.toml",
        "kernel = \"kernels/rmsnorm/kernel.cu\"\ndevice = \"cpu\"\ntime_limit_s = 300\n",
    );
    lab.git("add -A");
    lab.git("commit -qm rmsnorm");
    lab
}

const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

/// Replaces a piece of the kernel, and judges it.
#[track_caller]
fn edit_and_run(lab: &Lab, from: &str, to: &str, args: &str) -> CommandOutput {
    let before = lab.git(&format!("show HEAD:{KERNEL}"));
    assert!(before.contains(from), "the kernel has no '{from}' any more");
    lab.write(KERNEL, before.replace(from, to));
    lab.lab(args)
}

#[test]
fn a_real_run_is_kept_in_the_ledger_of_the_emulated_device() {
    let lab = rmsnorm();
    let run = edit_and_run(
        &lab,
        "// One block computes",
        "// A block computes",
        "run --json",
    )
    .is(0)
    .json();
    assert_eq!(
        (run["outcome"].as_str(), run["emulated"].as_bool()),
        (Some("pass"), Some(true))
    );
    assert!(run["throughput_sps"].as_f64().unwrap() > 0.0);
    assert!(run["gates"].as_array().unwrap().len() >= 6);
    assert!(
        run["ratio"].is_null(),
        "there is no speed verdict on the cpu device"
    );
    lab.lab("keep -m 'a comment'")
        .is(0)
        .says("held-out inputs before the keep")
        .says("passed on held-out inputs");
    let record: serde_json::Value =
        serde_json::from_str(&lab.read(".lab/runs/1/record.json")).unwrap();
    assert_eq!(record["held_out"]["outcome"].as_str(), Some("pass"));
    assert_eq!(
        lab.git("show --name-only --format=%s HEAD"),
        format!("a comment\n\n{KERNEL}\n")
    );
    assert!(
        lab.read("results.cpu.tsv")
            .ends_with("\tpass\tkeep\ta comment\n")
    );
    assert_eq!(lab.git("status --porcelain"), "");
}

/// The NVIDIA driver after an update without a reboot: its library exists and does not start.
const BROKEN_DRIVER: &str = r#"
unsigned cuInit(unsigned flags) { (void)flags; return 803; }
unsigned cuDriverGetVersion(int *version) { *version = 13000; return 0; }
unsigned cuGetErrorName(unsigned code, const char **text) {
    (void)code;
    *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    return 0;
}
"#;

#[test]
fn a_broken_driver_is_told_where_auto_takes_the_cpu_device() {
    let lab = rmsnorm();
    lab.write(
        "lab.toml",
        "kernel = \"kernels/rmsnorm/kernel.cu\"\ntime_limit_s = 300\n",
    );
    lab.write("../libcuda.c", BROKEN_DRIVER);
    let built = lab
        .command("cc")
        .args(["-shared", "-fPIC", "-o", "../libcuda.so.1", "../libcuda.c"])
        .status();
    assert!(built.unwrap().success());
    let with_driver = |args: &str| {
        let mut command = lab.lab_command(args);
        command.env("LD_LIBRARY_PATH", lab.path("..").canonicalize().unwrap());
        finish(command.spawn().unwrap())
    };
    let why = "the driver's kernel module and its libraries have different versions. Reboot";
    let told = format!("cannot be used: could not initialise the NVIDIA driver: {why}");
    let run = with_driver("run --json").is(0).json();
    assert_eq!(
        (run["outcome"].as_str(), run["emulated"].as_bool()),
        (Some("pass"), Some(true))
    );
    let caveats = run["caveats"].to_string();
    assert!(
        caveats.contains("device auto is the cpu device here") && caveats.contains(&told),
        "{caveats}"
    );
    with_driver("doctor")
        .says("device auto is cpu")
        .says("the NVIDIA driver is installed")
        .says(why);
    with_driver("probe").says(&told);
    // No message without a driver, and none if the user asked for the cpu device.
    if !Path::new("/dev/nvidia0").exists() {
        let without = lab.lab("harness kernels/rmsnorm --device auto").is(0);
        assert!(!without.out.contains("caveat: device"), "{without:?}");
    }
    let asked = with_driver("harness kernels/rmsnorm --device cpu").is(0);
    assert!(!asked.out.contains("caveat: device"), "{asked:?}");
}

#[test]
fn a_probe_of_the_emulated_device_says_so_and_bounds_nothing() {
    let lab = Lab::new();
    let probed = lab.lab("probe --device cpu").is(0);
    assert!(probed.out.starts_with("cpu (emulated, "), "{probed:?}");
    for figure in [
        "copy in memory",
        "reads from L2",
        "L2 round trip",
        "launch",
        "grid exchange",
    ] {
        assert!(probed.out.contains(figure), "{figure}: {probed:?}");
    }
    let probed = probed
        .says("emulated: these figures say nothing about a GPU, and no floor is derived from them");
    assert!(!probed.out.contains("tensor"), "{probed:?}");
    let kept = fs::read_dir(lab.cache()).unwrap().flatten();
    assert_eq!(
        kept.filter(|file| file.file_name().to_string_lossy().starts_with("probe-"))
            .count(),
        0
    );
    lab.lab("probe --device cuda:97").is(3);
}

#[test]
fn kernels_that_misbehave() {
    let lab = rmsnorm();
    let kernel = lab.read(KERNEL);
    let line = kernel
        .lines()
        .position(|line| line.contains("const float v = widened(x[row]);"));
    let syntax = edit_and_run(&lab, "widened(x[row]);", "widened(x[row])", "run");
    // The compiler misses the semicolon at the line after.
    syntax
        .is(2)
        .says("✗ BUILD ERROR  run")
        .says(&format!("{KERNEL}:{}: expected", line.unwrap() + 2));
    lab.lab("discard -m typo").is(0);

    let wrong = edit_and_run(&lab, "* per_col + eps", "/ (cols + 1) + eps", "run --json")
        .is(1)
        .json();
    assert_eq!(
        (wrong["outcome"].as_str(), wrong["kernel_us"].is_null()),
        (Some("fail"), true)
    );
    lab.lab("discard -m 'off by one'").is(0);

    let outside = edit_and_run(&lab, "ys[p] = out;", "ys[p + 1] = out;", "run --json")
        .is(1)
        .json();
    assert!(
        outside["why"].as_str().unwrap().contains("out_of_bounds"),
        "{outside}"
    );
    lab.lab("discard -m outside").is(0);

    lab.write("lab.toml", lab.read("lab.toml").replace("= 300", "= 2"));
    edit_and_run(
        &lab,
        "__syncthreads();",
        "for (volatile int i = 0;; i++) {}",
        "run",
    )
    .is(3)
    .says("☠ CRASH");
    lab.lab("discard -m endless").is(0);

    let rows = lab.read("results.cpu.tsv");
    let status: Vec<&str> = rows
        .lines()
        .skip(1)
        .map(|l| l.split('\t').nth(4).unwrap())
        .collect();
    assert_eq!(
        (status.len(), status[0], status[1], status[3]),
        (4, "crash", "discard", "crash")
    );
    assert_eq!(lab.git(&format!("diff HEAD -- {KERNEL}")), "");
}

#[test]
fn a_kernel_that_prints_without_end_ends() {
    let lab = rmsnorm();
    lab.write("lab.toml", lab.read("lab.toml") + "output_limit_mib = 1\n");
    let flood = "for (int i = 0; i < 100000000; i++) printf(\"a line that nobody will ever read, number %d\\n\", i);";
    let output = edit_and_run(
        &lab,
        "__syncthreads();",
        &format!("{flood} __syncthreads();"),
        "run",
    )
    .is(3);
    assert!(
        output.out.contains("☠ CRASH"),
        "{}",
        output.out.lines().last().unwrap_or("")
    );
    assert!(fs::metadata(lab.path(".lab/runs/1/run.log")).unwrap().len() < 2 << 20);
}

#[test]
fn the_hidden_children_are_no_commands_for_people() {
    let lab = Lab::empty();
    for child in ["harness-compiler", "harness-worker"] {
        lab.lab(child)
            .is(64)
            .says("is started by `lab harness`, not by hand");
    }
}

#[test]
fn without_a_problem_and_without_a_harness_there_is_no_run() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.lab("run")
        .is(64)
        .says("kernel.cu has no problem.toml beside it")
        .says("`lab init kernel.cu` writes a problem around it");
    lab.passing(1000.0);
    lab.lab("run")
        .is(64)
        .says("`lab init` writes one for the harness.py that is here");
    assert!(!lab.path(".lab/runs").exists());
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.lab("run")
        .is(64)
        .says("lab.toml names no harness: set `harness` there");
    assert!(!lab.path(".lab/runs").exists());
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    lab.lab("run").is(0);
}

#[test]
fn an_error_in_the_problem_names_the_users_file() {
    let lab = rmsnorm();
    lab.write(
        "kernels/rmsnorm/problem.toml",
        "name = \"x\"\nnonsense = 1\n",
    );
    let output = lab.lab("run").is(64).says("kernels/rmsnorm/problem.toml:");
    assert_eq!(
        output.out.matches("problem.toml:2:1: error").count(),
        1,
        "in the verdict: {output:?}"
    );
    let log = lab.read(".lab/not-judged/run.log");
    assert_eq!(log.matches("problem.toml:2:1: error").count(), 1, "{log}");
    assert!(!output.out.contains(".lab/runs"), "{output:?}");
    assert!(
        !output.out.contains("/kernels/rmsnorm/problem.toml"),
        "{output:?}"
    );
}

#[test]
fn what_this_machine_lacks_is_said_with_its_remedy() {
    let lab = rmsnorm();
    let mut command = lab.lab_command("run");
    command.env("PATH", "/nowhere").env_remove("CXX");
    finish(command.spawn().unwrap())
        .is(64)
        .says("no C++ compiler is here")
        .says("apt install g++");

    // On a machine with a GPU the same command is a run like any other.
    let output = lab.lab("run --device cuda:99");
    output.is(64).says("– NOT JUDGED");
}
