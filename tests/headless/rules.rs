//! A keep refuses to take a change of the rules along: problem.toml, reference.*, and the keys of
//! lab.toml that change a verdict.

use crate::built_in::rmsnorm;
use crate::lab::Lab;
use std::fs;
use std::os::unix::fs::PermissionsExt;

const KERNEL: &str = "kernels/rmsnorm/kernel.cu";
const PROBLEM: &str = "kernels/rmsnorm/problem.toml";
const REFERENCE: &str = "kernels/rmsnorm/reference.cu";

/// Replaces a piece of a file.
#[track_caller]
fn edit(lab: &Lab, name: &str, from: &str, to: &str) {
    let before = lab.read(name);
    assert!(before.contains(from), "{name} has no '{from}' any more");
    lab.write(name, before.replacen(from, to, 1));
}

/// rmsnorm with a kernel that differs from HEAD's by a comment.
fn changed_kernel() -> Lab {
    let lab = rmsnorm();
    edit(&lab, KERNEL, "// One block computes", "// A block computes");
    lab
}

#[test]
fn a_loosened_tolerance_is_no_part_of_a_keep() {
    let lab = changed_kernel();
    let before = lab.head();
    let text = lab.read(PROBLEM);
    lab.write(PROBLEM, text.clone() + "\n# rtol = 9999\n");
    lab.lab("run").is(0).says(
        "the rules are not as in HEAD: `lab rules -m TEXT` commits them, then `lab keep -m TEXT` commits it; `lab discard",
    );
    let refusal = "kernels/rmsnorm/problem.toml is not as in HEAD, and a keep takes no change of the rules along: put the \
                   file back, or commit the change on its own first (`lab rules -m TEXT`)";
    lab.lab("keep -m loosened").is(1).says(refusal);
    assert_eq!(lab.head(), before);
    assert!(!lab.path("results.cpu.tsv").exists());
    lab.lab("rules")
        .is(0)
        .says("kernels/rmsnorm/problem.toml is not as in HEAD\n@@ ")
        .says("\n+# rtol = 9999\n");

    // The old rules are back, but the run needs a new verdict.
    lab.write(PROBLEM, &text);
    lab.lab("keep -m loosened")
        .is(1)
        .says("problem.toml changed after the verdict of run 1");
    lab.lab("rules")
        .is(0)
        .says("the rules of kernels/rmsnorm/kernel.cu are as in HEAD");
    lab.lab("rules -m nothing")
        .is(1)
        .says("there is nothing to commit");
}

#[test]
fn a_change_of_the_rules_is_a_commit_and_a_row_of_its_own() {
    let lab = changed_kernel();
    edit(&lab, REFERENCE, "//", "// Another one.\n//");
    lab.write(PROBLEM, lab.read(PROBLEM) + "# looser\n");
    edit(&lab, "lab.toml", "time_limit_s = 300", "time_limit_s = 400");
    lab.write("notes.txt", "not of the rules\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x").is(1).says(
        "kernels/rmsnorm/problem.toml is not as in HEAD; kernels/rmsnorm/reference.cu is not as in HEAD; lab.toml is not \
         as in HEAD (time_limit_s)",
    );
    lab.git("add notes.txt");
    lab.lab("rules -m 'more time' --trailer 'Constraint: a slow machine'")
        .is(0)
        .says("the rules of kernels/rmsnorm/kernel.cu changed: ");
    // The kernel and what the user staged stay as they are.
    assert_eq!(
        lab.git("show --name-only --format=%s HEAD"),
        format!("rules: more time\n\n{PROBLEM}\n{REFERENCE}\nlab.toml\n")
    );
    assert_eq!(
        lab.git("status --porcelain"),
        format!(" M {KERNEL}\nA  notes.txt\n")
    );
    let trailers = lab.git("log -1 --format=%(trailers)");
    assert!(
        trailers.contains(
            "Constraint: a slow machine\nRules: kernels/rmsnorm/problem.toml is changed; "
        ),
        "{trailers}"
    );
    let short = lab.head()[..7].to_owned();
    let row = format!("{short}\t-\t-\t-\trules\tmore time\n");
    assert!(
        lab.read("results.cpu.tsv").ends_with(&row),
        "{}",
        lab.read("results.cpu.tsv")
    );
    let log = lab.lab("log --all").is(0);
    assert!(
        log.out.contains("rules") && log.out.contains("more time"),
        "{log:?}"
    );
    assert_eq!(
        lab.lab("log --json").is(0).json()["problems"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );

    // The run was judged by these rules, so it can be kept now.
    lab.lab("keep -m 'a comment'").is(0).says("keep run 1");
    assert_eq!(
        lab.git("show --name-only --format=%s HEAD"),
        format!("a comment\n\n{KERNEL}\n")
    );
    lab.lab(&format!("describe {short} -m 'a longer limit'"))
        .is(0);
    assert!(
        lab.read("results.cpu.tsv")
            .contains("\t-\trules\ta longer limit\n")
    );

    // A change of the rules is not an experiment.
    std::fs::create_dir(lab.path("kernels/second")).unwrap();
    lab.write("kernels/second/problem.toml", lab.read(PROBLEM));
    lab.write("kernels/second/kernel.cu", lab.read(KERNEL));
    let counted = "1 of other kernels: `lab log --all` (1 of kernels/rmsnorm/kernel.cu)";
    lab.lab("log kernels/second").is(0).says(counted);
}

#[test]
fn only_the_keys_that_change_a_verdict_are_rules() {
    let lab = changed_kernel();
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[watch]\nquiet_ms = 40\n[auto]\ndecide = false\n",
    );
    lab.lab("run").is(0);
    lab.lab("keep -m x").is(0).says("keep run 1");

    for (text, keys) in [
        ("[measure]\nsame_within = 5\n", "measure.same_within"),
        ("[compile]\noptions = [\"-DX=1\"]\n", "compile.options"),
        ("output_limit_mib = 9\n", "output_limit_mib"),
    ] {
        let before = lab.read("lab.toml");
        // In TOML, keys must come before the tables.
        let both = if text.starts_with('[') {
            [&*before, text]
        } else {
            [text, &*before]
        };
        lab.write("lab.toml", both.concat());
        lab.lab("rules")
            .is(0)
            .says(&format!("lab.toml is not as in HEAD ({keys})\n"));
        lab.write("lab.toml", before);
    }
    // Without a lab.toml, the defaults hold.
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.lab("rules kernels/rmsnorm")
        .is(0)
        .says("lab.toml is not as in HEAD (time_limit_s)\n");
}

#[test]
fn the_rules_of_a_new_problem_are_committed_with_its_first_keep() {
    let lab = rmsnorm();
    fs::create_dir_all(lab.path("kernels/second")).unwrap();
    for name in ["kernel.cu", "problem.toml", "reference.cu"] {
        fs::copy(
            lab.path("kernels/rmsnorm").join(name),
            lab.path("kernels/second").join(name),
        )
        .unwrap();
    }
    // A header that several references include.
    lab.write("kernels/second/common.h", "// shared\n");
    edit(
        &lab,
        "kernels/second/reference.cu",
        "#include",
        "#include \"common.h\"\n#include",
    );
    lab.lab("run kernels/second").is(0);
    lab.lab("rules kernels/second")
        .is(0)
        .says("kernels/second/problem.toml is committed with the first keep\n")
        .says("kernels/second/common.h is committed with the first keep\n");
    lab.lab("keep kernels/second -m first").is(0).says(
        "this first keep also commits the rules of the problem: kernels/second/problem.toml, kernels/second/reference.cu, \
         kernels/second/common.h",
    );
    assert_eq!(
        lab.git("show --name-only --format=%s HEAD"),
        "first\n\nkernels/second/common.h\nkernels/second/kernel.cu\nkernels/second/problem.toml\nkernels/second/reference.cu\n"
    );
    assert_eq!(lab.git("status --porcelain"), "");

    // After an undo, the problem is new again.
    lab.lab("undo kernels/second").is(0);
    assert_eq!(lab.git("status --porcelain"), "?? kernels/second/\n");
    // With a hook the git program makes the commit.
    lab.script(".git/hooks/post-commit", "true");
    lab.lab("trust --yes").is(0);
    lab.lab("keep kernels/second -m first").is(0);
    assert_eq!(lab.git("status --porcelain"), "");
    assert_eq!(
        lab.git("show --name-only --format=%s HEAD").lines().count(),
        6
    );

    // From now on they are rules.
    lab.write("kernels/second/common.h", "// other\n");
    lab.lab("rules kernels/second")
        .is(0)
        .says("kernels/second/common.h is not as in HEAD\n");
    fs::remove_file(lab.path("kernels/second/reference.cu")).unwrap();
    lab.lab("rules kernels/second")
        .is(0)
        .says("kernels/second/reference.cu is in HEAD and not on disk\n");
    lab.write("kernels/second/reference.py", "# another\n");
    lab.lab("rules kernels/second")
        .is(0)
        .says("kernels/second/reference.py is not in HEAD\n");
    lab.lab("rules kernels/second -m python").is(0);
    assert_eq!(
        lab.git("show --name-status --format=%s HEAD"),
        "rules: python\n\nD\tkernels/second/reference.cu\nA\tkernels/second/reference.py\n"
    );
    assert_eq!(
        lab.git("status --porcelain"),
        " M kernels/second/common.h\n",
        "nothing includes it any more"
    );
}

#[test]
fn rules_behind_a_link_are_compared_with_what_the_link_of_head_leads_to() {
    let lab = rmsnorm();
    fs::create_dir_all(lab.path("kernels/second")).unwrap();
    fs::copy(lab.path(KERNEL), lab.path("kernels/second/kernel.cu")).unwrap();
    for name in ["problem.toml", "reference.cu"] {
        std::os::unix::fs::symlink(
            format!("../rmsnorm/{name}"),
            lab.path("kernels/second").join(name),
        )
        .unwrap();
    }
    fs::rename(lab.path("lab.toml"), lab.path("kernels/lab.toml")).unwrap();
    std::os::unix::fs::symlink("kernels/lab.toml", lab.path("lab.toml")).unwrap();
    lab.git("add -A");
    lab.git("commit -qm second");
    lab.lab("rules kernels/second")
        .is(0)
        .says("the rules of kernels/second/kernel.cu are as in HEAD");
    lab.write(PROBLEM, lab.read(PROBLEM) + "# looser\n");
    lab.lab("rules kernels/second")
        .is(0)
        .says("kernels/second/problem.toml is not as in HEAD\n");
}

#[test]
fn a_harness_of_ones_own_has_rules_too() {
    let lab = Lab::new();
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[measure]\nsame_within = 5\n",
    );
    lab.lab("trust --yes").is(0);
    lab.write("kernel.cu", "// faster\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x")
        .is(1)
        .says("lab.toml is not as in HEAD (measure.same_within)");
    lab.lab("rules -m 'a wider threshold'").is(0);
    lab.lab("keep -m x").is(0);
    assert_eq!(
        lab.rows(),
        [
            "- | - | - | rules | a wider threshold",
            "1000.0 | 1000.0 | pass | keep | x"
        ]
    );
    // And a file that its script may read.
    lab.write("reference.py", "# 1\n");
    lab.git("add reference.py");
    lab.git("commit -qm reference");
    lab.write("reference.py", "# 2\n");
    lab.write("kernel.cu", "// fastest\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x")
        .is(1)
        .says("reference.py is not as in HEAD");
}

#[test]
fn a_rules_commit_that_was_killed_halfway_gets_its_row() {
    let lab = Lab::new();
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[measure]\nsame_within = 5\n",
    );
    lab.lab("trust --yes").is(0);
    // The state after a kill, when git had made the commit.
    let hook = lab.path(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ncp .lab/unfinished.json ../intent\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    lab.lab("rules -m wider").is(0);
    fs::remove_file(&hook).unwrap();
    fs::remove_file(lab.path("results.tsv")).unwrap();
    let intent = lab.read("../intent");
    lab.unfinished(&intent);
    lab.write("kernel.cu", "// x\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x").is(0);
    assert_eq!(
        lab.rows(),
        [
            "- | - | - | rules | wider",
            "1000.0 | 1000.0 | pass | keep | x"
        ]
    );
    // Another commit is at HEAD: nothing is done.
    lab.unfinished(&intent);
    lab.lab("log").is(0);
    lab.lab("undo").is(0);
    assert_eq!(lab.rows(), ["- | - | - | rules | wider"]);
}

/// A problem whose input comes from a file.
const FROM_A_FILE: &str = r#"
entry = "f"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "u8"
shape = ["n"]
values = { npy = "x.npy" }
[[tensor]]
name = "y"
role = "out"
type = "u8"
shape = ["n"]
[objective]
samples = "n"
[[workload]]
dims = { n = 3 }
"#;

const COPIES: &str = r#"#include "lab.h"
extern "C" __global__ void f(const unsigned char* x, unsigned char* y, int n) {
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}
LAB_LAUNCH(f) { launch.block[0] = 32; }
"#;

/// The bytes of an .npy file with three cells.
fn npy(cells: [u8; 3]) -> Vec<u8> {
    let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }\n";
    [
        b"\x93NUMPY\x01\x00".as_slice(),
        &(text.len() as u16).to_le_bytes(),
        text.as_bytes(),
        &cells,
    ]
    .concat()
}

#[test]
fn a_file_of_values_is_a_rule() {
    let lab = rmsnorm();
    fs::create_dir_all(lab.path("kernels/third")).unwrap();
    lab.write("kernels/third/problem.toml", FROM_A_FILE);
    lab.write("kernels/third/reference.cu", COPIES);
    lab.write("kernels/third/kernel.cu", COPIES);
    fs::write(lab.path("kernels/third/x.npy"), npy([1, 2, 3])).unwrap();
    let run = lab.lab("run kernels/third --json").is(0).json();
    let caveats = run["caveats"].to_string();
    assert!(
        caveats.contains("fixed inputs: x is x.npy (blake3 "),
        "{caveats}"
    );
    let record = lab.read(".lab/runs/1/record.json");
    let hash = blake3::hash(&npy([1, 2, 3])).to_hex().to_string();
    assert!(
        record.contains("kernels/third/x.npy") && record.contains(&hash),
        "{record}"
    );
    lab.lab("keep kernels/third -m first").is(0);
    assert!(
        lab.git("show --name-only --format=%s HEAD")
            .contains("kernels/third/x.npy\n")
    );

    // Other values are other rules.
    fs::write(lab.path("kernels/third/x.npy"), npy([1, 2, 4])).unwrap();
    lab.lab("rules kernels/third")
        .is(0)
        .says("kernels/third/x.npy is not as in HEAD\n");
    lab.lab("run kernels/third").is(0);
    lab.lab("keep kernels/third -m second")
        .is(1)
        .says("kernels/third/x.npy is not as in HEAD");
    fs::remove_file(lab.path("kernels/third/x.npy")).unwrap();
    let missing = lab
        .lab("rules kernels/third")
        .is(64)
        .says("kernels/third/x.npy is in HEAD and not on disk\n");
    assert!(
        missing.err.contains("kernels/third/problem.toml:"),
        "{missing:?}"
    );
}
