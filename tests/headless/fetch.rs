//! Experiments of another clone: the lab says where their commits are, and fetches them if the user
//! asks for it.

use crate::experiments::Experiments;
use crate::lab::Lab;
use std::fs;
use std::path::Path;

/// A fresh clone of a repository with wavegru's rows of this project's ledger, and their bundle.
fn fresh_clone() -> Lab {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lab = Lab::empty();
    fs::create_dir_all(lab.path("kernels/wavegru")).unwrap();
    for name in [
        "kernels/wavegru/experiments.bundle",
        "kernels/wavegru/kernel.cu",
    ] {
        fs::copy(root.join(name), lab.path(name)).unwrap();
    }
    let ledger = fs::read_to_string(root.join("results.tsv")).unwrap();
    let commits = Experiments::of("kernels/wavegru").commits();
    let own = |line: &&str| commits.iter().any(|commit| line.starts_with(commit));
    let rows = ledger.lines().skip(1).filter(own);
    let kept: Vec<&str> = ledger.lines().take(1).chain(rows).collect();
    lab.write("results.tsv", kept.join("\n") + "\n");
    lab.write("lab.toml", "kernel = \"kernels/wavegru/kernel.cu\"\n");
    lab.git("add -A");
    lab.git("commit -qm clone");
    lab
}

/// Short id of the last commit that was discarded: it holds another kernel than HEAD.
fn last_discarded(lab: &Lab) -> String {
    let rows = lab.read("results.tsv");
    let discarded = |row: &&str| row.contains("\tdiscard\t");
    rows.lines().rfind(discarded).unwrap()[..7].to_owned()
}

#[test]
fn a_bundle_in_the_repository_is_named_and_fetched() {
    let lab = fresh_clone();
    let rows = lab.rows().len();
    let says = format!("{rows} rows have neither record nor commit here");
    let offer =
        "kernels/wavegru/experiments.bundle holds commits and records of experiments: `lab fetch`";
    for command in ["log", "log --all"] {
        lab.lab(command).is(0).says(&says).says(offer);
    }
    assert_eq!(
        lab.lab("log --json").is(0).json()["rows_of_other_clones"],
        rows
    );
    let last = last_discarded(&lab);
    lab.lab(&format!("restore {last}"))
        .is(1)
        .says("git does not hold this commit here")
        .says("`lab fetch`");
    let kernel = lab.read("kernels/wavegru/kernel.cu");

    // A bundle beside no kernel, such as a test's, holds no experiments of this repository.
    fs::create_dir_all(lab.path("tests/data")).unwrap();
    fs::copy(
        lab.path("kernels/wavegru/experiments.bundle"),
        lab.path("tests/data/other.bundle"),
    )
    .unwrap();
    lab.git("add -A");
    lab.git("commit -qm data");

    // From any folder, and a second time it changes nothing.
    let refs = || lab.git("for-each-ref");
    let fetched = lab
        .sh("cd kernels && $LAB fetch")
        .is(0)
        .says("kernels/wavegru/experiments.bundle: ")
        .says(" records, ");
    assert!(!fetched.out.contains("other.bundle"), "{fetched:?}");
    let after = refs();
    lab.lab("fetch").is(0);
    assert_eq!(refs(), after);
    assert!(
        after
            .lines()
            .all(|line| line.contains("refs/lab/fetched/experiments-")
                || line.contains("refs/heads/main"))
    );
    let log = lab.lab("log").is(0);
    assert!(
        !log.out.contains("neither record nor commit") && log.err.is_empty(),
        "{log:?}"
    );
    let json = lab.lab("log --json").is(0).json();
    assert_eq!(json["rows_of_other_clones"], 0);
    assert_eq!(
        json["experiments"][rows - 1]["kernel"],
        "kernels/wavegru/kernel.cu"
    );
    assert!(
        json["experiments"][rows - 1]["device"]
            .as_str()
            .unwrap()
            .contains("H200")
    );
    lab.lab(&format!("restore {last}"))
        .is(0)
        .says("kernels/wavegru/kernel.cu now holds the bytes of");
    assert_ne!(lab.read("kernels/wavegru/kernel.cu"), kernel);
    assert_eq!(
        lab.git(&format!("show {last}:kernels/wavegru/kernel.cu")),
        lab.read("kernels/wavegru/kernel.cu")
    );
}

#[test]
fn the_experiments_of_a_remote_and_of_a_folder_are_fetched() {
    let lab = Lab::new();
    for (bytes, decision) in [("// better\n", "keep"), ("// worse\n", "discard")] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(&format!("{decision} -m '{}'", bytes.trim())).is(0);
    }
    lab.git("add -f results.tsv");
    lab.git("commit -qm ledger");
    lab.git("clone -q --no-local . ../clone");
    lab.git("clone -q --no-local . ../second");
    // The kept commit is on the branch; the discarded one is not here.
    lab.sh("cd ../clone && $LAB log")
        .is(0)
        .says("1 row has neither record nor commit here")
        .says("The remote origin may have them");
    lab.sh("cd ../clone && $LAB fetch")
        .is(0)
        .says("origin: 2 records");
    let log = lab.sh("cd ../clone && $LAB log --json").is(0).json();
    assert_eq!(log["experiments"][1]["device"], "Test GPU");
    assert_eq!(log["rows_of_other_clones"], 0);
    // Number 2 is the discarded run of the other clone, as long as there is no own run 2.
    lab.sh("cd ../clone && $LAB restore 2").is(0);
    assert_eq!(
        fs::read_to_string(lab.path("../clone/kernel.cu")).unwrap(),
        "// worse\n"
    );
    // By the path of a clone, and by a path without a repository.
    lab.sh("cd ../second && git remote remove origin && $LAB log")
        .is(0)
        .says("`lab fetch FROM` fetches it");
    lab.sh("cd ../second && $LAB fetch")
        .is(1)
        .says("`lab fetch FROM` names one");
    lab.sh("cd ../second && $LAB fetch ../repo")
        .is(0)
        .says("2 records");
    lab.git("init -q ../empty");
    lab.sh("cd ../second && $LAB fetch ../empty")
        .is(1)
        .says("has neither commits nor records of experiments");
    lab.sh("cd ../second && $LAB fetch nowhere")
        .is(1)
        .says("cannot fetch from nowhere");
    lab.sh("cd ../second && $LAB fetch -- --upload-pack=touch")
        .is(1)
        .says("is neither a bundle nor a remote");
}

#[test]
fn what_is_no_bundle_is_not_offered() {
    let lab = fresh_clone();
    let bundle = "kernels/wavegru/experiments.bundle";
    fs::remove_file(lab.path(bundle)).unwrap();
    lab.sh(&format!("mkfifo {bundle}"));
    let log = lab.lab("log").is(0);
    assert!(!log.out.contains("experiments.bundle"), "{log:?}");
    for text in [
        "",
        "# v2 git bundle\n",
        "no bundle\n",
        "# v2 git bundle\nnonsense\n\n",
    ] {
        fs::remove_file(lab.path(bundle)).unwrap();
        lab.write(bundle, text);
        let log = lab.lab("log").is(0);
        assert!(!log.out.contains("experiments.bundle"), "{log:?}");
    }
}

/// Before a fetch, with the bundle in the repository: its records name the problem and the device
/// of each row.
#[test]
fn a_bundle_tells_the_problem_and_the_device_before_it_is_fetched() {
    let lab = fresh_clone();
    fs::create_dir_all(lab.path("kernels/rmsnorm")).unwrap();
    lab.write("kernels/rmsnorm/kernel.cu", "// another problem\n");
    let objects = || lab.git("count-objects -v");
    let before = (lab.git("for-each-ref"), objects());
    let rows = lab.rows().len();
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(log["rows_of_other_clones"], rows, "they are not fetched");
    let experiments = log["experiments"].as_array().unwrap();
    assert_eq!(experiments.len(), rows);
    for experiment in experiments {
        assert_eq!(experiment["kernel"], "kernels/wavegru/kernel.cu");
        assert!(
            experiment["device"].as_str().unwrap().contains("H200"),
            "{experiment}"
        );
    }
    lab.lab("log kernels/rmsnorm")
        .is(0)
        .says("no experiment yet")
        .says(&format!(
            "{rows} of other kernels: `lab log --all` ({rows} of kernels/wavegru/kernel.cu)"
        ));
    assert_eq!((lab.git("for-each-ref"), objects()), before);
    let left: Vec<_> = fs::read_dir(lab.path(".lab"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("tmp")),
        "{left:?}"
    );
    // A damaged bundle names no kernel, and is not an error.
    let bundle = fs::read(lab.path("kernels/wavegru/experiments.bundle")).unwrap();
    lab.write(
        "kernels/wavegru/experiments.bundle",
        &bundle[..bundle.len() / 2],
    );
    let log = lab.lab("log kernels/rmsnorm --json").is(0).json();
    assert_eq!(log["experiments"][0]["kernel"], serde_json::Value::Null);
}

/// git was killed while it wrote the refs that were fetched.
#[test]
fn the_locks_of_a_fetch_that_was_killed_keep_no_later_one_away() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m better").is(0);
    lab.git("clone -q --no-local . ../clone");
    let folder = lab.path("../clone/.git/refs/lab/fetched/origin");
    fs::create_dir_all(folder.join("heads")).unwrap();
    fs::create_dir_all(folder.join("notes")).unwrap();
    for name in ["heads/main.lock", "notes/lab.lock"] {
        fs::write(folder.join(name), "").unwrap();
    }
    lab.sh("cd ../clone && $LAB fetch")
        .is(0)
        .says("origin: 1 records, 1 refs");
    assert!(!folder.join("heads/main.lock").exists());
}

/// A stranger's discarded run may be about any file: a script that a trusted command runs, too.
#[test]
fn restore_puts_a_file_that_is_no_kernel_on_disk_only_where_it_is_named() {
    let lab = Lab::new();
    lab.write("prepare.sh", "echo mine\n");
    lab.git("add prepare.sh");
    lab.git("commit -qm prepare");
    lab.sh(
        "git clone -q . ../other && cd ../other && echo 'echo evil' > prepare.sh && git -c user.name=O -c user.email=o@e \
         commit -qam evil && git update-ref refs/lab/discarded/9 HEAD",
    )
    .is(0);
    lab.lab("fetch ../other").is(0);
    lab.lab("restore 9").is(1).says(
        "9 is about prepare.sh, which is no kernel by its name: look at it, then `lab restore 9 prepare.sh` puts it on disk",
    );
    assert_eq!(lab.read("prepare.sh"), "echo mine\n");
    lab.lab("restore 9 kernel.cu").is(0);
    lab.lab("restore 9 prepare.sh").is(0);
    assert_eq!(lab.read("prepare.sh"), "echo evil\n");
}
