//! The table in kernels/README.md: what `lab ls --markdown` prints in a clone that has fetched the
//! bundles of the kernels.

use super::{check, root};
use std::fs;
use std::path::Path;
use std::process::Command;

const BEGIN: &str =
    "<!-- `lab ls --markdown` after `lab fetch`: LAB_WRITE_DOCS=1 cargo test --test manual -->\n";
const END: &str = "<!-- the end of the table -->\n";

#[test]
fn kernels_readme_lists_the_kernels_by_their_records() {
    let page = fs::read_to_string(root().join("kernels/README.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    check(
        "kernels/README.md",
        &format!("{before}{BEGIN}\n{}\n{END}{after}", table()),
    );
}

/// What the ledgers of this repository and the bundles of the kernels tell.
fn table() -> String {
    let temp = tempfile::tempdir().unwrap();
    let repo = temp.path().join("repo");
    for entry in [
        "lab.toml",
        "results.tsv",
        "results.cpu.tsv",
        "decisions.toml",
        "evidence",
        "kernels",
    ] {
        copy(&root().join(entry), &repo.join(entry));
    }
    let said = |program: &str, args: &[&str]| {
        let done = Command::new(program)
            .args(args)
            .current_dir(&repo)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", temp.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LAB_STATE_DIR", temp.path().join("state"))
            .output()
            .unwrap();
        assert!(done.status.success(), "{program} {args:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    said("git", &["init", "-q"]);
    said("git", &["add", "-A"]);
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    said(
        "git",
        &[&who[..], &["commit", "-qm", "the kernels"]].concat(),
    );
    let lab = env!("CARGO_BIN_EXE_lab");
    said(lab, &["fetch"]);
    said(lab, &["ls", "--markdown"])
}

/// Copies a file or a folder with all files in it; what is not there is passed over.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}
