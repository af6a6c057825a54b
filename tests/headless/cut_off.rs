//! Decisions of a lab that is killed: the next command completes them or takes them back, says so,
//! and stops there.
//!
//! `scripts/kill-points` kills at every system call. These stories stop a decision at one place
//! each: the test holds the lock of the ledger, or a hook kills the lab.

use crate::lab::{Lab, finish};
use lab_testing::until;
use serde_json::json;
use std::fs::{self, File};
use std::process::Child;

/// The first is committed; run 1 judged better bytes.
fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

/// One kept and one discarded experiment, and a third run.
fn with_history() -> Lab {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    lab.write("kernel.cu", "// third\n");
    lab.lab("run").is(0);
    lab
}

/// Kills the command when it waits for the ledger, once `reached` holds.
fn killed_before_its_row(lab: &Lab, command: &str, reached: impl FnMut() -> bool) {
    let held = File::options()
        .append(true)
        .create(true)
        .open(lab.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let mut child: Child = lab.lab_command(command).spawn().unwrap();
    until("the command is at its row", reached);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(held);
    assert!(
        lab.path(".lab/unfinished.json").exists(),
        "{command} was killed before its end"
    );
}

/// Makes these files empty, as a power cut does to files that were not yet on the disk.
#[test]
fn an_empty_intent_and_an_empty_ref_stop_no_decision() {
    let lab = judged();
    let of_discard = lab.path(".git/refs/lab/discarded");
    fs::create_dir_all(&of_discard).unwrap();
    fs::write(of_discard.join("1"), "").unwrap();
    lab.write(".lab/unfinished.json", "");
    lab.lab("discard -m worse").is(0);
    assert!(!lab.path(".lab/unfinished.json").exists());
    assert_eq!(
        lab.git("show refs/lab/discarded/1:kernel.cu"),
        "// better\n"
    );
}

/// Everything that a decision writes, without times and ids.
fn state(lab: &Lab) -> String {
    let runs = lab.sh("ls .lab/runs").out;
    let decisions: Vec<String> = runs
        .split_whitespace()
        .filter(|name| *name != "index.bin")
        .map(|run| {
            let text = lab.read(&format!(".lab/runs/{run}/record.json"));
            let record: serde_json::Value = serde_json::from_str(&text).unwrap();
            let short = |d: &serde_json::Value| {
                format!("{} {} {}", d["status"], d["description"], d["row_written"])
            };
            let undone = record["undone"].as_array().map_or(0, Vec::len);
            format!("{run}: {} and {undone} undone", short(&record["decision"]))
        })
        .collect();
    let noted = lab.sh("git notes --ref=lab list | wc -l").out;
    let files = lab.sh("find . .git -maxdepth 1 | grep -v unfinished | sort; find .lab -type f | sed -E s/[0-9a-f]{40}/COMMIT/ | sort; find .git -name '*.lock' -o -name 'tmp_*' -o -name '.lab-*'").out;
    [
        lab.git("log --format=%s"),
        lab.git("status --porcelain"),
        lab.read("kernel.cu"),
        lab.rows().join("\n"),
        decisions.join("\n"),
        lab.git("for-each-ref --format=%(refname)")
            .lines()
            .map(|name| name.rsplit_once('/').map_or(name, |n| n.0))
            .collect::<Vec<_>>()
            .join("\n"),
        noted,
        files,
    ]
    .join("\n--\n")
}

#[test]
fn a_keep_that_was_killed_after_its_commit_is_completed() {
    let whole = judged();
    whole.lab("keep -m better").is(0);
    let lab = judged();
    killed_before_its_row(&lab, "keep -m better", || {
        lab.git("log --format=%s") == "better\nstart\n"
    });
    lab.lab("keep -m better")
        .is(0)
        .says("the keep of run 1 that an earlier lab began is done");
    assert_eq!(state(&lab), state(&whole));
    lab.lab("keep -m better")
        .is(1)
        .says("run 1 was decided already (keep)");
    assert_eq!(state(&lab), state(&whole));
}

#[test]
fn a_discard_that_was_killed_after_the_put_back_is_completed() {
    let whole = judged();
    whole.lab("discard -m worse").is(0);
    let lab = judged();
    killed_before_its_row(&lab, "discard -m worse", || {
        lab.read("kernel.cu") == "// the first\n"
    });
    lab.lab("discard -m worse")
        .is(0)
        .says("the discard of run 1 that an earlier lab began is done");
    assert_eq!(state(&lab), state(&whole));
}

#[test]
fn refs_that_a_killed_discard_was_to_pack_are_packed_and_git_s_locks_removed() {
    let lab = judged();
    let many = "for at in $(seq 100 640); do echo create refs/lab/discarded/$at HEAD; done";
    lab.sh(&format!("{many} | git update-ref --stdin")).is(0);
    killed_before_its_row(&lab, "discard -m worse", || {
        lab.read("kernel.cu") == "// the first\n"
    });
    // The files that the git program leaves if it is killed while it packs.
    let left = [
        "packed-refs.lock",
        "packed-refs.new",
        "refs/lab/discarded/200.lock",
    ];
    for name in left {
        fs::write(lab.path(".git").join(name), "").unwrap();
    }
    lab.lab("discard -m worse")
        .is(0)
        .says("the discard of run 1 that an earlier lab began is done");
    assert!(
        !lab.path(".git/refs/lab/discarded/100").exists(),
        "they are packed"
    );
    assert!(
        left.iter()
            .all(|name| !lab.path(".git").join(name).exists())
    );
    assert_eq!(
        lab.git("for-each-ref refs/lab/discarded").lines().count(),
        542
    );
    lab.lab("undo").is(0);
    assert_eq!(lab.read("kernel.cu"), "// better\n");
}

#[test]
fn a_second_undo_takes_no_second_decision_back() {
    let whole = with_history();
    whole.lab("undo").is(0);
    let lab = with_history();
    killed_before_its_row(&lab, "undo", || lab.read("kernel.cu") == "// worse\n");
    lab.lab("undo")
        .is(0)
        .says("the undo of run 2 that an earlier lab began is done");
    assert_eq!(state(&lab), state(&whole));
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | keep | better"],
        "the keep stands"
    );
}

#[test]
fn an_undo_of_which_nobody_was_told_is_told_and_not_repeated() {
    let lab = with_history();
    // The pipe of the undo's output is full, so the undo waits there with everything else done.
    let mut undo = lab.lab_command("undo");
    let (reader, writer) = std::io::pipe().unwrap();
    fill(&writer);
    let mut child = undo.stdout(writer).spawn().unwrap();
    drop(undo);
    until("the undo is told", || {
        fs::read_to_string(lab.path(".lab/runs/2/record.json"))
            .unwrap()
            .contains("\"undone\"")
            && lab.git("notes --ref=lab list").lines().count() == 2
    });
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    lab.lab("undo")
        .is(0)
        .says("the undo of run 2 that an earlier lab began is done");
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | keep | better"],
        "the keep stands"
    );
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");
}

/// Fills a pipe, so that the next write to it waits.
fn fill(pipe: &std::io::PipeWriter) {
    rustix::io::ioctl_fionbio(pipe, true).unwrap();
    while rustix::io::write(pipe, &[b'.'; 4096]).is_ok() {}
    while rustix::io::write(pipe, b".").is_ok() {}
    rustix::io::ioctl_fionbio(pipe, false).unwrap();
}

#[test]
fn a_describe_that_was_killed_is_completed() {
    let whole = with_history();
    whole.lab("describe HEAD -m 'two rows a warp'").is(0);
    let lab = with_history();
    killed_before_its_row(&lab, "describe HEAD -m 'two rows a warp'", || {
        lab.git("notes --ref=lab show HEAD")
            .contains("two rows a warp")
    });
    lab.lab("describe HEAD -m 'two rows a warp'")
        .is(0)
        .says("is now 'two rows a warp'");
    assert_eq!(state(&lab), state(&whole));
}

#[test]
fn a_script_is_told_the_same() {
    let lab = judged();
    killed_before_its_row(&lab, "keep -m better", || {
        lab.git("log --format=%s") == "better\nstart\n"
    });
    let done = lab.lab("keep -m better --json").is(0).json();
    assert!(done["error"].is_null(), "{done}");
    let text = done["resumed"].as_str().unwrap();
    assert!(
        text.contains("the keep of run 1 that an earlier lab began is done"),
        "{text}"
    );
    assert_eq!(
        (&done["state"], &done["last_decision"]["run"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(done["last_decision"]["commit"], json!(lab.head()));
    // A script that does not know of the kill repeats the command: the answer names the present
    // state.
    for command in ["keep -m better --json", "keep -m better --run 1 --json"] {
        let again = lab.lab(command).is(1).json();
        assert_eq!(
            (&again["state"], &again["last_decision"]),
            (&json!("decided"), &done["last_decision"])
        );
        assert!(
            again["error"]
                .as_str()
                .unwrap()
                .contains("run 1 was decided already (keep)"),
            "{again}"
        );
    }
    lab.write("kernel.cu", "// third\n");
    lab.lab("run").is(0);
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    // The user asks for another decision than the unfinished one.
    let other = lab.lab("discard -m away --json").is(1).json();
    assert_eq!(
        (&other["state"], &other["last_decision"]["run"]),
        (&json!("other_completed"), &json!(2))
    );
    lab.lab("undo --json").is(0).json();
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    let refused = lab.lab("undo --json").is(1).json();
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("nothing else was done"),
        "{refused}"
    );
    lab.lab("undo --json").is(0).json();
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    let decided = lab.lab("run --decide -m third --json").is(10).json();
    assert!(
        decided["resumed"]
            .as_str()
            .unwrap()
            .contains("the keep of run 2"),
        "{decided}"
    );
}

/// Run 1 judged bytes that git would put on disk with other line endings.
fn judged_with_crlf() -> Lab {
    let lab = Lab::new();
    lab.git("config core.autocrlf input");
    lab.write("kernel.cu", "// better\r\n");
    lab.lab("run").is(0);
    lab
}

#[test]
fn the_judged_line_endings_are_remembered_before_a_keep_is_done() {
    let lab = judged_with_crlf();
    killed_before_its_row(&lab, "keep -m better", || {
        lab.git("log --format=%s") == "better\nstart\n"
    });
    lab.lab("log")
        .is(0)
        .says("the keep of run 1 that an earlier lab began is done");
    let exact = format!("refs/lab/exact/{}", lab.head());
    assert_eq!(lab.git(&format!("show {exact}")), "// better\r\n");
    lab.write("kernel.cu", "// other\n");
    lab.lab("restore HEAD").is(0);
    assert_eq!(lab.read("kernel.cu"), "// better\r\n");
}

#[test]
fn line_endings_that_cannot_be_remembered_are_owed() {
    let lab = judged_with_crlf();
    // A file at the path where git wants a folder.
    fs::create_dir_all(lab.path(".git/refs/lab")).unwrap();
    lab.write(".git/refs/lab/exact", "");
    lab.lab("keep -m better")
        .is(0)
        .says("puts other line endings on disk than were judged until the next command");
    fs::remove_file(lab.path(".git/refs/lab/exact")).unwrap();
    lab.write("kernel.cu", "// other\r\n");
    lab.lab("run")
        .is(0)
        .says("the judged line endings that could not be remembered before are remembered");
    lab.lab("discard -m other").is(0);
    assert_eq!(lab.read("kernel.cu"), "// better\r\n");
    assert!(!lab.path(".lab/unfinished.json").exists());
}

#[test]
fn another_command_completes_it_says_so_and_does_nothing_else() {
    let lab = with_history();
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    lab.lab("undo")
        .is(1)
        .says("the keep of run 3 that an earlier lab began is done")
        .says("nothing else was done: repeat the command if it is still wanted");
    assert_eq!(lab.rows().len(), 3);
    lab.lab("undo")
        .is(0)
        .says("run 3 of kernel.cu is open again");
    assert_eq!(lab.rows().len(), 2);
    // Commands that decide nothing say so and go on.
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    lab.lab("log")
        .is(0)
        .says("the keep of run 3 that an earlier lab began is done")
        .says("third");
    lab.lab("undo").is(0);
    killed_before_its_row(&lab, "keep -m third", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    lab.lab("run")
        .is(0)
        .says("the keep of run 3 that an earlier lab began is done")
        .says("run 4 of kernel.cu");
}

#[test]
fn the_log_answers_while_a_decision_waits() {
    let lab = with_history();
    let held = File::options()
        .append(true)
        .open(lab.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let child = lab.lab_command("keep -m third").spawn().unwrap();
    until("the keep is at its row", || {
        lab.git("log -1 --format=%s") == "third\n"
    });
    let log = lab.lab("log").is(0);
    assert!(
        !log.err.contains("earlier lab"),
        "its lab is alive: {log:?}"
    );
    drop(held);
    finish(child).is(0);
    assert_eq!(lab.rows().len(), 3);
}

#[test]
fn a_commit_of_the_user_s_cannot_put_the_old_kernel_back() {
    let lab = judged();
    // Killed by a hook of the commit itself: the index is as it was before.
    lab.script(
        ".git/hooks/post-commit",
        "read -r _ _ _ lab _ < /proc/$PPID/stat; kill -9 $lab",
    );
    let output = lab.lab("keep -m better");
    assert_eq!(output.code, -1, "{output:?}");
    fs::remove_file(lab.path(".git/hooks/post-commit")).unwrap();
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    lab.write("other", "x");
    lab.sh("git add other && git commit -qm other")
        .is(128)
        .says("index.lock");
    lab.lab("log")
        .is(0)
        .says("the keep of run 1 that an earlier lab began is done");
    lab.git("add other");
    lab.git("commit -qm other");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert_eq!(
        (lab.git("status --porcelain"), lab.rows().len()),
        (String::new(), 1)
    );
}

#[test]
fn a_commit_that_a_hook_stops_is_taken_back() {
    let lab = judged();
    lab.script(
        ".git/hooks/pre-commit",
        "read -r _ _ _ lab _ < /proc/$PPID/stat; kill -9 $lab; exit 1",
    );
    lab.lab("keep -m better");
    lab.script(
        ".git/hooks/pre-commit",
        "echo 'no commits on Friday'; exit 1",
    );
    lab.lab("keep -m better")
        .is(1)
        .says("is taken back")
        .says("no commits on Friday")
        .says("nothing else was done");
    fs::remove_file(lab.path(".git/hooks/pre-commit")).unwrap();
    assert_eq!(
        (lab.git("log --format=%s"), lab.git("status --porcelain")),
        ("start\n".into(), " M kernel.cu\n".into())
    );
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn a_branch_that_moved_meanwhile_takes_the_keep_back() {
    let lab = judged();
    lab.script(
        ".git/hooks/pre-commit",
        "read -r _ _ _ lab _ < /proc/$PPID/stat; kill -9 $lab; exit 1",
    );
    lab.lab("keep -m better");
    fs::remove_file(lab.path(".git/hooks/pre-commit")).unwrap();
    fs::remove_file(lab.path(".git/index.lock")).unwrap();
    lab.git("commit -q --allow-empty -m mine");
    lab.lab("log")
        .is(0)
        .says("the keep of run 1 that an earlier lab began is taken back: HEAD is at");
    assert_eq!(lab.git("log --format=%s"), "mine\nstart\n");
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.git("log --format=%s"), "better\nmine\nstart\n");
}

#[test]
fn bytes_that_were_saved_after_the_kill_stay_on_disk() {
    let lab = judged();
    killed_before_its_row(&lab, "discard -m worse", || {
        lab.read("kernel.cu") == "// the first\n"
    });
    lab.write("kernel.cu", "// a new thought\n");
    lab.lab("log")
        .is(0)
        .says("the discard of run 1")
        .says("they stay on disk");
    assert_eq!(lab.read("kernel.cu"), "// a new thought\n");
    assert_eq!(lab.rows(), ["1000.0 | 1000.0 | pass | discard | worse"]);
}

#[test]
fn temporary_files_of_a_killed_lab_are_removed_and_an_editor_s_last_save_is_kept() {
    let lab = with_history();
    let left = [
        ".lab/.lab-new-aaaaaaaaaaaa",
        ".lab/runs/3/.lab-new-bbbbbbbbbbbb.record.json",
        ".git/.lab-new-dddddddddddd",
    ];
    left.iter().for_each(|name| lab.write(name, "half"));
    // The kernel changed places with a file that an editor had just written.
    lab.write(".lab-new-cccccccccccc.kernel.cu", "// the last save\n");
    lab.write(".git/objects/tmp_object_git2_aaaaaa", "half");
    lab.write(".lab-new-eeeeeeeeeeee.results.tsv", "half a ledger");
    killed_before_its_row(&lab, "discard -m third", || {
        lab.read("kernel.cu") == "// better\n"
    });
    lab.lab("log").is(0);
    let left = lab
        .sh("find . -name '.lab-new-*' -o -name 'tmp_object*' -o -name '*.lock' -path './.git/*'")
        .out;
    assert_eq!(left, "");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert!(
        saved
            .lines()
            .any(|r| lab.git(&format!("show {r}:kernel.cu")) == "// the last save\n"),
        "{saved}"
    );
    assert!(
        !saved
            .lines()
            .any(|r| lab.git(&format!("show {r}:kernel.cu")).contains("half")),
        "{saved}"
    );
}

#[test]
fn what_a_disk_refused_to_remove_is_gone_after_the_next_decision() {
    let lab = with_history();
    lab.lab("discard -m third").is(0);
    let refs = lab.git("for-each-ref --format=%(refname) refs/lab");
    // Nobody was killed, and the discard was done.
    lab.write(".lab-new-aaaaaaaaaaaa.kernel.cu", "// third\n");
    lab.write(".lab-new-bbbbbbbbbbbb.results.tsv", "half a ledger");
    lab.write(".git/refs/lab/discarded/3.lock", "");
    lab.write(".git/refs/notes/lab.lock", "");
    lab.lab("log --append-missing").is(0);
    let left = "find . -name '.lab-new-*' -o -name '*.lock' -path './.git/*'";
    assert_eq!(lab.sh(left).out, "");
    assert_eq!(
        lab.git("for-each-ref --format=%(refname) refs/lab"),
        refs,
        "the discarded bytes have their ref already"
    );
    // Bytes that nothing holds are saved first.
    lab.write(".lab-new-cccccccccccc.kernel.cu", "// only here\n");
    lab.lab("undo")
        .is(0)
        .says("the bytes that were on disk are kept as");
    assert_eq!(lab.sh(left).out, "");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    let holds = |name: &str| lab.git(&format!("show {name}:kernel.cu")) == "// only here\n";
    assert!(saved.lines().any(holds), "{saved}");
}
