//! `lab doctor --report`: what a report of a fault needs.

use crate::lab::Lab;

#[test]
fn the_report_names_the_version_and_the_machine_and_nothing_of_the_users() {
    let lab = Lab::empty();
    lab.script("secret-python", "exit 1");
    lab.write("secret-kernel.cu", "");
    lab.write(
        "lab.toml",
        "kernel = \"secret-kernel.cu\"\npython = \"secret-python\"\nharness = [\"secret-harness\"]\n",
    );
    let report = lab.lab("doctor --report").out;
    let version = format!("- lab {}", env!("CARGO_PKG_VERSION"));
    for text in [
        &version,
        "\n- Linux ",
        "LAB_KEY_FILE",
        "\n```text\n",
        "\n✓ git ",
    ] {
        assert!(report.contains(text), "'{text}' is not in {report}");
    }
    let folder = lab.repo.parent().unwrap().to_str().unwrap();
    for private in [folder, "secret-kernel", "secret-harness"] {
        assert!(!report.contains(private), "'{private}' is in {report}");
    }
    lab.lab("doctor --report --json").is(64);
}

#[test]
fn outside_of_git_a_repository_comes_first() {
    let lab = Lab::empty();
    lab.sh("mkdir ../outside && cd ../outside && \"$LAB\" doctor")
        .is(1)
        .says("→ `git init`, then `lab new NAME`, which writes a problem to begin with");
}
