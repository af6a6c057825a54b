//! The sandbox through `lab run`: its state in a record, and the trust that a run without it needs.

use crate::built_in::rmsnorm;
use crate::host_header;
use crate::lab::{CommandOutput, Lab, finish};
use lab_device::sandbox;
use std::fs;

/// `lab ARGS` as on a Linux without Landlock.
fn without_sandbox(lab: &Lab, args: &str) -> CommandOutput {
    let mut command = lab.plain_lab_command(args);
    command.env(sandbox::VARIABLE, "none");
    finish(command.spawn().unwrap())
}

fn record(lab: &Lab, run: u32) -> serde_json::Value {
    serde_json::from_str(&lab.read(&format!(".lab/runs/{run}/record.json"))).unwrap()
}

#[test]
fn without_landlock_only_a_trusted_folder_runs_on_the_cpu_device() {
    let lab = rmsnorm();
    for command in ["run", "run --json", "check", "bench --verdict"] {
        without_sandbox(&lab, command)
            .is(64)
            .says("this folder is not trusted")
            .says("`lab trust`");
    }
    assert!(
        !lab.path(".lab/runs").exists(),
        "nothing ran, and no run is used up"
    );
    without_sandbox(&lab, "doctor").says("this folder is not trusted, and there is no sandbox");
    without_sandbox(&lab, "trust --yes")
        .is(0)
        .says("may run without a sandbox");
    without_sandbox(&lab, "run")
        .is(0)
        .says("this run has no sandbox: LAB_SANDBOX is none");
    assert_eq!(record(&lab, 1)["sandbox"]["state"], "none");
    // The trust belongs to these bytes of lab.toml.
    lab.write("lab.toml", lab.read("lab.toml") + "\n# changed\n");
    without_sandbox(&lab, "run")
        .is(64)
        .says("this folder is not trusted");
    // Without a lab.toml the folder itself is trusted.
    fs::remove_file(lab.path("lab.toml")).unwrap();
    without_sandbox(&lab, "run kernels/rmsnorm --device cpu").is(64);
    without_sandbox(&lab, "harness kernels/rmsnorm --device cpu")
        .is(64)
        .says("this folder is not trusted");
    lab.lab("trust --yes").is(0);
    without_sandbox(&lab, "run kernels/rmsnorm --device cpu").is(0);
    without_sandbox(&lab, "doctor").says("sandbox       none: LAB_SANDBOX is none");
}

/// A kernel that writes a mark when it is built or loaded, wherever it may write.
fn with_constructor(lab: &Lab) {
    let mark = lab.path("../ran");
    let kernel = "kernels/rmsnorm/kernel.cu";
    let constructor = format!(
        "#include \"host.h\"\nconst int mark = close(open(\"{}\", O_CREAT | O_WRONLY, 0600));\n",
        mark.display()
    );
    lab.write(
        kernel,
        format!("#include \"lab.h\"\n{constructor}{}", lab.read(kernel)),
    );
    lab.write("kernels/rmsnorm/host.h", host_header::text());
}

#[test]
fn a_static_constructor_of_an_untrusted_kernel_runs_in_the_sandbox_or_not_at_all() {
    let lab = rmsnorm();
    with_constructor(&lab);
    for command in [
        "run",
        "check",
        "bench --verdict",
        "harness kernels/rmsnorm",
        "harness kernels/rmsnorm --check",
    ] {
        without_sandbox(&lab, command);
        assert!(!lab.path("../ran").exists(), "{command} without a sandbox");
        finish(lab.plain_lab_command(command).spawn().unwrap());
        assert!(!lab.path("../ran").exists(), "{command}");
    }
    // A cross-check: in a trusted folder without a sandbox, the kernel makes the mark.
    without_sandbox(&lab, "trust --yes").is(0);
    without_sandbox(&lab, "run");
    assert!(lab.path("../ran").exists());
}

#[test]
fn a_record_says_what_held_the_kernel_back_and_what_was_readable() {
    let lab = rmsnorm();
    let outside = lab.path("../outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("width.h"), "#define WIDTH 4\n").unwrap();
    let outside = outside.canonicalize().unwrap();
    let kernel = lab.read("kernels/rmsnorm/kernel.cu");
    lab.write(
        "kernels/rmsnorm/kernel.cu",
        format!("#include <width.h>\nstatic_assert(WIDTH == 4);\n{kernel}"),
    );
    let options = format!("[compile]\noptions = [\"-I{}\"]\n", outside.display());
    lab.write("lab.toml", lab.read("lab.toml") + &options);

    let confined = sandbox::support().missing().is_none();
    if confined {
        lab.lab("run")
            .is(2)
            .says("the compiler may read that after `lab trust`");
    }
    lab.lab("trust --yes").is(0);
    lab.lab("run").is(0);
    let recorded = &record(&lab, 1 + u32::from(confined))["sandbox"];
    assert_eq!(recorded["readable"], serde_json::json!([outside]));
    let state = recorded["state"].as_str().unwrap();
    assert_eq!(state.starts_with("landlock "), confined, "{state}");
    lab.lab("doctor")
        .says(if confined { "Landlock" } else { "none: " });
}
