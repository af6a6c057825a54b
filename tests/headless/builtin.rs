//! The built-in harness on the cpu device: real compiler, real worker, real verdicts.

use crate::lab::Lab;

const KERNEL: &str = include_str!("../../kernels/rmsnorm/kernel.cu");

/// A repository with the committed rmsnorm problem, its kernel named in lab.toml.
fn rmsnorm() -> Lab {
    let lab = Lab::empty();
    lab.write("problem.toml", include_str!("../../kernels/rmsnorm/problem.toml"));
    lab.write("reference.cu", include_str!("../../kernels/rmsnorm/reference.cu"));
    lab.write("kernel.cu", KERNEL);
    lab.git("add -A");
    lab.git("commit -qm start");
    lab
}

#[test]
fn rmsnorm_is_judged_kept_broken_and_put_back() {
    let lab = rmsnorm();
    let run = lab.lab("run --json --device cpu").is(0).json();
    assert_eq!(run["outcome"], "pass");
    assert_eq!(run["emulated"], true);
    assert!(run["throughput_sps"].as_f64().unwrap() > 0.0);
    assert!(run["gates"].as_array().unwrap().len() >= 6);
    lab.lab("keep -m 'the baseline'").is(0);

    // One row of results, in the emulated device's own file.
    let rows = lab.read("results.cpu.tsv");
    assert!(rows.contains("\tpass\tkeep\tthe baseline"), "{rows}");

    let store = "        ys[p] = out;\n";
    assert!(KERNEL.contains(store));
    lab.write("kernel.cu", KERNEL.replace(store, "        ys[p + 1] = out;\n"));
    let run = lab.lab("run --json --device cpu").is(1).json();
    assert_eq!(run["outcome"], "fail");
    assert!(run["throughput_sps"].is_null() && run["kernel_us"].is_null());
    assert!(run["why"].as_str().unwrap().contains("out_of_bounds"), "{run}");
    lab.lab("discard -m 'one too far'").is(0);
    assert_eq!(lab.read("kernel.cu"), KERNEL);

    lab.write("kernel.cu", KERNEL.replace(store, "        ys[p = out;\n"));
    let run = lab.lab("run --json --device cpu").is(2).json();
    assert_eq!((run["outcome"].as_str(), run["build_failed"].as_bool()), (Some("crash"), Some(true)));
    assert!(run["why"].as_str().unwrap().starts_with("kernel.cu:"), "{run}");
}

#[test]
fn the_hidden_children_are_no_commands_for_people() {
    let lab = Lab::empty();
    for child in ["harness-compiler", "harness-worker"] {
        lab.lab(child).is(64).says("is started by `lab harness`, not by hand");
    }
}
