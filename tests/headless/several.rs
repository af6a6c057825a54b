//! Several kernels in one repository: each command uses the kernel that it names.

use crate::lab::{CommandOutput, Lab, finish};
use lab_git::Repo;
use lab_project::Project;
use lab_store::RunIndex;
use std::fs;

/// lab.toml names kernel.cu; `p2` has a kernel of its own.
fn two() -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("p2")).unwrap();
    lab.write("p2/kernel.cu", "// the second's first\n");
    lab.git("add p2");
    lab.git("commit -qm second");
    lab
}

fn lab_in(lab: &Lab, folder: &str, args: &str) -> CommandOutput {
    let mut command = lab.lab_command(args);
    command.current_dir(lab.path(folder));
    finish(command.spawn().unwrap())
}

#[test]
fn what_a_hint_says_decides_the_kernel_that_was_judged() {
    let lab = two();
    lab.lab("run")
        .is(0)
        .says("PASS  run 1 of kernel.cu")
        .says("own bytes, so nothing is to be decided; `lab keep -m TEXT` writes their row");
    lab.write("p2/kernel.cu", "// better\n");
    lab.lab("run p2")
        .is(0)
        .says("PASS  run 2 of p2/kernel.cu")
        .says("`lab keep p2 -m TEXT` commits it; `lab discard p2 -m TEXT` puts");
    lab.lab("keep --run 2 -m better")
        .is(1)
        .says("run 2 judged p2/kernel.cu, not kernel.cu");
    lab.lab("keep p2 -m better")
        .is(0)
        .says("keep run 2 of p2/kernel.cu");
    assert_eq!(lab.git("show HEAD:p2/kernel.cu"), "// better\n");
    lab.write("p2/kernel.cu", "// worse\n");
    lab.lab("keep p2/kernel.cu -m x")
        .is(1)
        .says("`lab run p2/kernel.cu`");
    lab.lab("run p2/kernel.cu")
        .is(0)
        .says("`lab keep p2/kernel.cu -m TEXT`");
    lab.lab("discard p2 -m worse")
        .is(0)
        .says("discard run 3 of p2/kernel.cu");
    assert_eq!(lab.read("p2/kernel.cu"), "// better\n");
    // The kernel that the command means anyway needs no name.
    lab.lab("run kernel.cu").is(0).says("`lab keep -m TEXT`");
}

#[test]
fn in_a_folder_with_a_kernel_of_its_own_that_one_is_meant() {
    let lab = two();
    lab_in(&lab, "p2", "run")
        .is(0)
        .says("PASS  run 1 of p2/kernel.cu")
        .says("`lab keep -m TEXT`");
    lab_in(&lab, "p2", "keep -m x")
        .is(0)
        .says("keep run 1 of p2/kernel.cu");
    fs::create_dir(lab.path("notes")).unwrap();
    lab_in(&lab, "notes", "run")
        .is(0)
        .says("run 2 of kernel.cu");
}

#[test]
fn the_log_is_of_one_kernel_or_of_all() {
    let lab = two();
    lab.lab("run p2").is(0);
    lab.lab("keep p2 -m 'of the second'").is(0);
    let output = lab
        .lab("log")
        .is(0)
        .says("no experiment yet")
        .says("1 of other kernels: `lab log --all`");
    assert!(!output.out.contains("of the second"), "{output:?}");
    lab.lab("log p2").is(0).says("of the second");
    lab.lab("log --all")
        .is(0)
        .says("p2/kernel.cu  of the second");
    // A row without a record may belong to any kernel.
    lab.write(
        "results.tsv",
        lab.read("results.tsv") + "abc1234\t1.0\t1.0\tpass\tkeep\tby hand\n",
    );
    let log = lab.lab("log --json").is(0).json();
    let seen: Vec<_> = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["description"])
        .collect();
    assert_eq!(seen, ["by hand"]);
    assert_eq!(
        lab.lab("log --all --json").json()["experiments"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
}

#[test]
fn restore_puts_back_the_kernel_that_the_experiment_was_about() {
    let lab = two();
    lab.write("p2/kernel.cu", "// tried\n");
    lab.lab("run p2").is(0);
    lab.lab("discard p2 -m tried").is(0);
    let tried = lab.lab("log p2 --json").json()["experiments"][0]["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    lab.lab(&format!("restore {tried}"))
        .is(0)
        .says("p2/kernel.cu now holds the bytes of");
    assert_eq!(lab.read("p2/kernel.cu"), "// tried\n");
    lab.write("p2/kernel.cu", "// on disk\n");
    let output = lab
        .lab("restore 1")
        .is(0)
        .says("p2/kernel.cu now holds the bytes of");
    // The command that was printed puts the bytes on disk again.
    let (_, command) = output.out.split_once("(`lab ").unwrap();
    lab.lab(command.split_once('`').unwrap().0)
        .is(0)
        .says("p2/kernel.cu now holds the bytes of");
    assert_eq!(lab.read("p2/kernel.cu"), "// on disk\n");
    // A name like HEAD means the present kernel; a path means the kernel with this path.
    lab.write("kernel.cu", "// changed\n");
    lab.lab("restore HEAD")
        .is(0)
        .says("kernel.cu now holds the bytes of");
    assert_eq!(
        (lab.read("kernel.cu"), lab.read("p2/kernel.cu")),
        ("// the first\n".into(), "// on disk\n".into())
    );
    lab.lab(&format!("restore {tried} kernel.cu"))
        .is(0)
        .says("already")
        .says(&format!(
            "{tried} is about p2/kernel.cu: `lab restore {tried}` puts that kernel on disk"
        ));
}

#[test]
fn an_old_kernel_is_restored_beside_a_rename_that_is_not_committed() {
    let lab = two();
    lab.write("p2/problem.toml", "# of the second\n");
    lab.git("add p2");
    lab.lab("run p2").is(0);
    lab.lab("keep p2 -m start").is(0);
    lab.write("p2/kernel.cu", "// later\n");
    lab.lab("run p2").is(0);
    lab.lab("keep p2 -m later").is(0);
    fs::rename(lab.path("p2"), lab.path("p3")).unwrap();
    lab.lab("restore HEAD^ p3")
        .is(0)
        .says("p3/kernel.cu now holds the bytes of");
    assert_eq!(lab.read("p3/kernel.cu"), "// the second's first\n");
    assert!(!lab.path("p2").exists());

    // A kernel beside lab.toml is itself renamed, with the rename in git's index.
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.lab("keep -m first").is(0);
    lab.write("kernel.cu", "// second\n");
    lab.lab("run").is(0);
    lab.lab("keep -m second").is(0);
    lab.git("mv kernel.cu renamed.cu");
    lab.write(
        "lab.toml",
        lab.read("lab.toml")
            .replace("\"kernel.cu\"", "\"renamed.cu\""),
    );
    lab.lab("trust --yes").is(0);
    lab.lab("log").is(0).says("second  (was kernel.cu)");
    for name in ["HEAD^", &lab.git("rev-parse HEAD^").trim()[..9]] {
        lab.lab(&format!("restore {name}")).is(0).says("renamed.cu");
        assert_eq!(lab.read("renamed.cu"), "// the first\n");
        assert!(!lab.path("kernel.cu").exists());
    }
}

/// No lab.toml and no kernel at the root: the command must name the kernel of kernels/x.
fn below() -> Lab {
    let lab = Lab::empty();
    fs::create_dir_all(lab.path("kernels/x")).unwrap();
    lab.passing(1000.0);
    fs::rename(lab.path("harness.py"), lab.path("kernels/x/harness.py")).unwrap();
    lab.write("kernels/x/kernel.cu", "// the first\n");
    lab_in(&lab, "kernels/x", "init").is(0);
    lab_in(&lab, "kernels/x", "trust --yes").is(0);
    lab.git("add -A");
    lab.git("commit -qm start");
    assert!(!lab.path("lab.toml").exists());
    lab
}

/// After `lab new softplus` nobody has to name softplus.
#[test]
fn the_only_kernel_of_a_repository_is_meant_from_every_folder() {
    let lab = below();
    fs::create_dir(lab.path("docs")).unwrap();
    let which = "lab: this is about kernels/x/kernel.cu, the only kernel of the repository\n";
    lab.write("kernels/x/kernel.cu", "// tried\n");
    let run = lab.lab("run").is(0);
    assert!(run.err.starts_with(which), "{run:?}");
    let log = lab_in(&lab, "docs", "log")
        .is(0)
        .says("kernels/x/kernel.cu");
    assert!(log.err.starts_with(which), "{log:?}");
    let json = lab.lab("log --json").is(0);
    assert_eq!(
        (json.json()["kernel"].as_str(), &*json.err),
        (Some("kernels/x/kernel.cu"), "")
    );
    lab.lab("keep -m tried").is(0);
    // Who stands in its folder needs not be told.
    assert_eq!(lab_in(&lab, "kernels/x", "log").is(0).err, "");
    // With a second one the user says which.
    fs::create_dir(lab.path("kernels/y")).unwrap();
    lab.write("kernels/y/kernel.cu", "// another\n");
    lab.lab("log")
        .is(1)
        .says("  kernels/x\n")
        .says("  kernels/y\n");
}

/// The command that a text advises to type, as in (`lab restore abc1234`).
fn told_command(output: &CommandOutput, name: &str) -> String {
    let (_, command) = output
        .out
        .split_once(&format!("(`lab {name} "))
        .unwrap_or_else(|| panic!("{output:?}"));
    format!("{name} {}", command.split_once('`').unwrap().0)
}

#[test]
fn what_is_advised_works_where_no_kernel_is_meant() {
    let lab = below();
    // The refusal lists all candidates.
    fs::create_dir_all(lab.path("kernels/y")).unwrap();
    lab.write("kernels/y/problem.toml", "");
    lab.write("kernels/y/fast.cu", "");
    for command in ["log", "keep -m x", "undo", "run"] {
        lab.lab(command)
            .says("no kernel.cu and no kernel.py in")
            .says("name one in the command (`path/to/kernel.cu`)")
            .says("The kernels of this repository:\n")
            .says("  kernels/x\n")
            .says("  kernels/y/fast.cu\n");
    }
    lab.lab("log --all")
        .is(0)
        .says("every kernel  main @")
        .says("no experiment yet: `lab run KERNEL`");
    lab.write("kernels/x/kernel.cu", "// tried\n");
    lab.lab("run kernels/x").is(0);
    let discarded = lab.lab("discard kernels/x -m tried").is(0);
    let restore = told_command(&discarded, "restore");
    lab.write("kernels/x/kernel.cu", "// on disk\n");
    let restored = lab
        .lab(&restore)
        .is(0)
        .says("kernels/x/kernel.cu now holds the bytes of");
    assert_eq!(lab.read("kernels/x/kernel.cu"), "// tried\n");
    // Saved bytes name their kernel too, and so does the number of the run.
    lab.lab(&told_command(&restored, "restore")).is(0);
    assert_eq!(lab.read("kernels/x/kernel.cu"), "// on disk\n");
    lab.lab("restore 1")
        .is(0)
        .says("kernels/x/kernel.cu now holds the bytes of");
    lab.lab("restore HEAD")
        .is(1)
        .says("no kernel.cu and no kernel.py in");
    lab.lab("describe 1 -m better")
        .is(0)
        .says("is now 'better', and was 'tried'");
    lab.lab("log --all")
        .is(0)
        .says("kernels/x/kernel.cu  better");
    assert_eq!(
        lab.lab("log --all --json").is(0).json()["kernel"],
        serde_json::Value::Null
    );
    fs::remove_dir_all(lab.path("kernels/y")).unwrap();
    // And for a kernel that is gone.
    fs::remove_file(lab.path("kernels/x/kernel.cu")).unwrap();
    lab.lab("run kernels/x")
        .is(2)
        .says("`lab restore HEAD kernels/x`");
    lab.lab("restore HEAD kernels/x").is(0);
    assert_eq!(lab.read("kernels/x/kernel.cu"), "// the first\n");
}

/// Judging two problems with the built-in harness would take long: the user's own harness judges
/// both.
fn judged_and_kept(lab: &Lab, kernel: &str, bytes: &str, text: &str) {
    lab.write(kernel, bytes);
    lab.lab(&format!("run {kernel}")).is(0);
    lab.lab(&format!("keep {kernel} -m '{text}'")).is(0);
}

fn kernels_of(lab: &Lab, command: &str) -> Vec<(String, String)> {
    let log = lab.lab(command).is(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("unknown").to_owned();
    let one = |e: &serde_json::Value| (text(&e["kernel"]), text(&e["renamed_from"]));
    log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect()
}

#[test]
fn a_problem_whose_folder_was_renamed_keeps_its_history() {
    let lab = two();
    let long = |n: u32| {
        format!("// a kernel with some lines\n// that git recognises\n// in a rename\n// {n}\n")
    };
    judged_and_kept(&lab, "p2/kernel.cu", &long(1), "first");
    lab.write("p2/kernel.cu", long(2));
    lab.lab("run p2").is(0);
    lab.lab("discard p2 -m tried").is(0);
    // The rename is on disk only: HEAD still has the old name.
    lab.git("mv p2 softmax");
    let was = |log: &[(String, String)]| {
        assert!(
            !log.is_empty()
                && log
                    .iter()
                    .all(|e| *e == ("softmax/kernel.cu".into(), "p2/kernel.cu".into())),
            "{log:?}"
        );
    };
    was(&kernels_of(&lab, "log softmax --json"));
    lab.git("commit -qm 'Rename p2'");
    was(&kernels_of(&lab, "log softmax --json"));
    lab.lab("log softmax")
        .is(0)
        .says("first  (was p2/kernel.cu)")
        .says("tried  (was p2/kernel.cu)");
    lab.lab("log")
        .is(0)
        .says("2 of other kernels: `lab log --all` (2 of softmax/kernel.cu)");
    // The incumbent is the renamed kernel, and an older experiment comes back under the new name.
    judged_and_kept(&lab, "softmax/kernel.cu", &long(3), "second");
    let first = lab.lab("log softmax --json").json()["experiments"][0]["commit"]
        .as_str()
        .unwrap()
        .to_owned();
    lab.lab(&format!("restore {first}"))
        .is(0)
        .says("softmax/kernel.cu now holds the bytes of");
    assert_eq!(lab.read("softmax/kernel.cu"), long(1));
    // A second rename is followed too.
    lab.git("checkout -q softmax/kernel.cu");
    lab.git("mv softmax attention");
    lab.git("commit -qm 'Rename it again'");
    let log = kernels_of(&lab, "log attention --json");
    let names: Vec<&str> = log.iter().map(|(_, from)| from.as_str()).collect();
    assert_eq!(names, ["p2/kernel.cu", "p2/kernel.cu", "softmax/kernel.cu"]);
    // A deleted problem keeps its name.
    lab.git("rm -rq attention");
    lab.git("commit -qm 'Delete it'");
    assert_eq!(kernels_of(&lab, "log --all --json").len(), 3);
    lab.lab("log").is(0).says("3 of other kernels");
}

#[test]
fn a_row_without_a_record_is_of_the_kernel_that_its_commit_changed() {
    let lab = two();
    judged_and_kept(&lab, "p2/kernel.cu", "// better\n", "of the second");
    judged_and_kept(&lab, "kernel.cu", "// better too\n", "of the first");
    fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.git("update-ref -d refs/notes/lab");
    lab.write(
        "results.tsv",
        lab.read("results.tsv") + "abc1234\t1.0\t1.0\tpass\tkeep\tby hand\n",
    );
    let kernels = |command: &str| {
        kernels_of(&lab, command)
            .into_iter()
            .map(|(kernel, _)| kernel)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        kernels("log --all --json"),
        ["p2/kernel.cu", "kernel.cu", "unknown"]
    );
    assert_eq!(kernels("log p2 --json"), ["p2/kernel.cu", "unknown"]);
    lab.lab("log --all-problems")
        .is(0)
        .says("(unknown problem)  by hand");
}

#[test]
fn the_list_of_kernels_knows_the_last_run_of_each() {
    let lab = two();
    judged_and_kept(&lab, "p2/kernel.cu", "// better\n", "of the second");
    lab.harness("echo 'correctness: fail'");
    lab.write("kernel.cu", "// wrong\n");
    lab.lab("run").is(1);
    lab.write(
        "p2/lab.toml",
        "objective = \"kernel_us\"\ngoal = \"minimize\"\n",
    );
    fs::create_dir_all(lab.path("tests/x")).unwrap();
    lab.write("tests/x/kernel.cu", "");
    let list = || {
        let project = Project::open(&lab.repo, None).unwrap();
        let mut index = RunIndex::open(&project);
        lab_history::look(&Repo::open(&project).unwrap(), &mut index);
        let listed = lab_history::kernels::list(&project, &index);
        let one = |kernel: &lab_history::kernels::ListedKernel| {
            let last = kernel
                .last
                .map(|last| format!(" {} {:?} {:?}", last.run, last.outcome, last.decided));
            format!(
                "{} {}{}",
                kernel.name,
                kernel.objective,
                last.unwrap_or_default()
            )
        };
        listed.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(
        list(),
        [
            "kernel.cu throughput_sps 2 Fail None",
            "p2/kernel.cu kernel_us 1 Pass Some(Keep)"
        ]
    );
    lab.git("mv p2 softmax");
    lab.git("commit -qm 'Rename p2'");
    assert_eq!(list()[1], "softmax/kernel.cu kernel_us 1 Pass Some(Keep)");
}

#[test]
fn a_mistyped_kernel_is_refused_by_every_command_in_the_same_words() {
    let lab = two();
    let refused = "there is no kernel.cux, and no experiment of it (did you mean kernel.cu?): `lab ls` lists the kernels";
    for command in [
        "run",
        "check",
        "bench",
        "sweep",
        "profile",
        "rules",
        "lessons",
        "auto status",
        "peers",
        "log",
        "report",
        "report p2",
        "plot",
        "undo",
        "keep -m x",
        "discard -m x",
    ] {
        let output = lab.lab(&format!("{command} kernel.cux"));
        assert_ne!(output.code, 0, "{command}: {output:?}");
        assert!(output.err.contains(refused), "{command}: {output:?}");
    }
    assert!(!lab.path(".lab/report.html").exists());
    lab.lab("run q2").says("did you mean p2?");
    lab_in(&lab, "p2", "run kernel").says("did you mean ../kernel.cu?");
    // A kernel that is gone from disk is still known by its commit, or by its experiments.
    fs::remove_file(lab.path("p2/kernel.cu")).unwrap();
    lab.lab("run p2").says("p2/kernel.cu is not there: save it");
    lab.lab("log p2").is(0);
}
