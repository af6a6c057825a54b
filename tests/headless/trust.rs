//! A harness command runs only where this user wants it.

use crate::lab::Lab;

#[test]
fn a_lab_toml_that_came_with_a_clone_is_asked_about() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.git("clone -q . ../clone");
    let clone = |args: &str| {
        let mut command = lab.lab_command(args);
        command.current_dir(lab.path("../clone"));
        crate::lab::finish(command.spawn().unwrap())
    };
    clone("run")
        .is(64)
        .says("wants to run `uv run harness.py`, and you have not trusted it yet")
        .says("`lab trust`");
    assert_eq!(clone("run --json").is(64).json()["exit_code"], 64);
    assert!(!lab.path("../clone/.lab").exists(), "nothing ran");
    clone("trust").is(0).says("trusted: `uv run harness.py`");
    clone("run").is(0);
}

#[test]
fn trust_ends_with_the_content() {
    let lab = Lab::new();
    let text = lab.read("lab.toml");
    lab.write("lab.toml", text.replace("uv run", "env X=1 uv run"));
    lab.lab("run").is(64).says("wants to run `env X=1 uv run harness.py`");
    lab.write("lab.toml", text);
    lab.lab("run").is(0);
}

#[test]
fn a_yes_is_for_the_command_that_was_shown() {
    let lab = Lab::new();
    let project = lab_core::project::Project::open(&lab.repo, None).unwrap();
    lab.write("lab.toml", "harness = \"something else\"\n");
    let refused = lab_core::project::trust::grant(&project).unwrap_err().to_string();
    assert!(refused.contains("changed just now: look at its harness command again"), "{refused}");
}

#[test]
fn the_built_in_harness_needs_none() {
    let lab = Lab::new();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.lab("trust").is(0).says("trusted: kernels of").says("may run without a sandbox");
    // There is no problem.toml: nothing is asked about trust.
    let output = lab.lab("run");
    assert_ne!(output.code, 0);
    output.says("problem.toml");
}
