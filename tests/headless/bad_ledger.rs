//! results.tsv read-only, half-written, hand-edited; a disk that is full.

use crate::lab::Lab;
use std::fs;

const HEADER: &str = "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\n";

fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

#[test]
fn a_row_that_cannot_be_written_is_not_lost() {
    let lab = judged();
    // A limit of 1 MB for files (`ulimit -f`), which this ledger exceeds.
    lab.write("results.tsv", format!("{HEADER}{}", "#\n".repeat(1 << 20)));
    let full = |args: &str| lab.sh(&format!("trap '' XFSZ; ulimit -f 2000; \"$LAB\" {args}"));
    full("keep -m better")
        .is(0)
        .says("cannot append to")
        .says("make room on the disk");
    assert_eq!(
        lab.git("log -1 --format=%s"),
        "better\n",
        "the commit stands"
    );
    lab.lab("log")
        .is(0)
        .says("the row of run 1 is missing in")
        .says("`lab log --append-missing` adds it");
    full("log --append-missing")
        .is(1)
        .says("make room on the disk");
    fs::remove_file(lab.path("results.tsv")).unwrap();
    lab.lab("log --append-missing")
        .is(0)
        .says("1 missing rows added");
    assert_eq!(lab.rows(), ["1000.0 | 1000.0 | pass | keep | better"]);
    let note = lab.git("notes --ref=lab show HEAD");
    assert!(note.contains("\"row_written\": true"), "{note}");
    lab.lab("log --append-missing")
        .is(0)
        .says("0 missing rows added");
}

#[test]
fn read_only() {
    let lab = judged();
    lab.write("results.tsv", HEADER);
    if rustix::process::geteuid().is_root() {
        // Root writes to anything; a folder stops even root.
        fs::remove_file(lab.path("results.tsv")).unwrap();
        fs::create_dir(lab.path("results.tsv")).unwrap();
        lab.lab("keep -m better").is(0).says("move the folder away");
    } else {
        lab.sh("chmod 444 results.tsv");
        lab.lab("keep -m better")
            .is(0)
            .says("make it writable (`chmod u+w`)");
        assert_eq!(lab.read("results.tsv"), HEADER);
    }
    lab.lab("log").is(0).says("the row of run 1 is missing");
}

#[test]
fn half_written_and_hand_edited() {
    let lab = judged();
    let by_hand = format!(
        "{HEADER}# a note of mine\nabc\tquick\t1\tpass\tkeep\tx\nabc1234\t12.5\t80\tpass\tkeep\tby hand\ndef56"
    );
    lab.write("results.tsv", &by_hand);
    lab.lab("keep -m better").is(0);
    let after = lab.read("results.tsv");
    let ours = format!(
        "\n{}\t1000.0\t1000.0\tpass\tkeep\tbetter\n",
        &lab.head()[..7]
    );
    assert_eq!(after, by_hand + &ours);
    lab.lab("log")
        .is(0)
        .says("results.tsv:2: 1 columns instead of 6")
        .says("results.tsv:3: throughput_sps 'quick' is no number")
        .says("results.tsv:5: 1 columns instead of 6")
        .says("by hand")
        .says("better");
}

#[test]
fn a_description_cannot_break_a_row() {
    let lab = judged();
    let mut command = lab.lab_command("keep -m");
    command.arg("a\tb\nc \x1b[31mred\x1b[0m \"quoted\"");
    crate::lab::finish(command.spawn().unwrap()).is(0);
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | keep | a b c red \"quoted\""]
    );
    lab.lab("run").is(0);
    lab.lab("keep -m ' '")
        .is(1)
        .says("say in a few words what you tried");
}

#[test]
fn a_tracked_ledger_is_not_excluded() {
    let lab = Lab::new();
    lab.write("results.tsv", HEADER);
    lab.git("add results.tsv");
    lab.git("commit -qm ledger");
    lab.lab("run").is(0);
    let exclude = lab.read(".git/info/exclude");
    assert!(
        !exclude.lines().any(|l| l == "/results.tsv") && exclude.contains("/.lab/"),
        "{exclude}"
    );
}

#[test]
fn emulated_rows_have_a_file_of_their_own() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.harness(
        "echo 'device: cpu (emulated, 2 threads)'; echo 'correctness: pass'; echo 'throughput_sps: 3'",
    );
    lab.lab("run").is(0).says("emulated");
    lab.lab("keep -m better").is(0);
    assert!(!lab.path("results.tsv").exists());
    assert!(
        lab.read("results.cpu.tsv")
            .contains("\t3.0\t0.0\tpass\tkeep\tbetter\n")
    );
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(log["experiments"][0]["emulated"], true);
}

#[test]
fn a_full_disk_leaves_the_repository_as_it_was() {
    let lab = Lab::new();
    lab.write(
        "kernel.cu",
        format!("// better\n{}", "// filler\n".repeat(2000)),
    );
    // A limit of one block for a file: as on a full disk, every write fails with an error.
    let output = lab
        .sh("trap '' XFSZ; ulimit -f 1; exec \"$LAB\" run")
        .is(64);
    output.says("cannot write the snapshot");
    assert_eq!(lab.git("status --porcelain"), " M kernel.cu\n");
    assert!(
        !lab.path(".lab/runs/1").exists(),
        "a run that never was leaves nothing"
    );
    lab.lab("run").is(0);
    lab.sh("trap '' XFSZ; ulimit -f 0; exec \"$LAB\" keep -m better")
        .is(1);
    assert_eq!(lab.git("log --format=%s"), "start\n");
    lab.sh("trap '' XFSZ; ulimit -f 0; exec \"$LAB\" discard -m worse")
        .is(1);
    assert!(
        lab.read("kernel.cu").starts_with("// better\n"),
        "what cannot be saved is not replaced"
    );
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn a_verdict_that_is_not_recorded_is_no_success() {
    let lab = Lab::new();
    lab.harness("rm .lab/runs/1/record.json; mkdir -p .lab/runs/1/record.json/full; echo 'correctness: pass'; echo 'throughput_sps: 5'");
    let run = lab
        .lab("run")
        .is(64)
        .says("● PASS")
        .says("this verdict is not recorded")
        .says("nothing can be decided about this run, because it is not recorded");
    assert!(!run.out.contains("lab keep"), "{}", run.out);
}

#[test]
fn a_commit_is_told_of_only_when_it_can_be_read_back() {
    let lab = judged();
    // As on a full disk for which git reported no error: an object of the commit is missing.
    lab.script(
        ".git/hooks/post-commit",
        "blob=$(git rev-parse HEAD:kernel.cu); rm -f .git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)",
    );
    lab.lab("keep -m better")
        .is(1)
        .says("was not written")
        .says("Is the disk full? Make room on it");
    assert_eq!(lab.git("log --format=%s"), "start\n");
    assert!(!lab.path("results.tsv").exists());
    assert_eq!(lab.lab("log --json").is(0).json()["undecided_run"], 1);
    fs::remove_file(lab.path(".git/hooks/post-commit")).unwrap();
    lab.lab("keep -m better").is(0);
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// better\n");
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn a_run_that_failed_before_it_had_a_record_is_no_problem_later() {
    let lab = judged();
    fs::create_dir(lab.path(".lab/runs/2")).unwrap();
    lab.write(".lab/runs/2/record.json", "");
    fs::create_dir(lab.path(".lab/runs/3")).unwrap();
    let output = lab.lab("log").is(0);
    assert_eq!(output.err, "");
    lab.lab("keep -m better").is(0).says("keep run 1");
    // A damaged record is reported.
    lab.write(".lab/runs/2/record.json", "{ half");
    lab.lab("log")
        .is(0)
        .says("run 2 is left out: ")
        .says("is damaged");
}

#[test]
fn rows_that_were_deleted_by_hand_are_told_of_and_come_back() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    let before = lab.read("results.tsv");
    // A row whose description somebody edited is still there.
    lab.write(
        "results.tsv",
        before.replace("\tbetter\n", "\tmuch better\n"),
    );
    assert_eq!(lab.lab("log").is(0).err, "");
    fs::remove_file(lab.path("results.tsv")).unwrap();
    lab.lab("log")
        .is(0)
        .says("the rows of runs 1, 2 are missing in")
        .says("`lab log --append-missing` adds them");
    lab.lab("log --append-missing")
        .is(0)
        .says("2 missing rows added");
    assert_eq!(lab.read("results.tsv"), before);
    assert_eq!(lab.lab("log").is(0).err, "");
    // What git tracks may be on another branch.
    lab.git("add -f results.tsv");
    lab.git("commit -qm ledger");
    lab.write("results.tsv", HEADER);
    assert_eq!(lab.lab("log").is(0).err, "");
}

#[test]
fn columns_of_the_users_own_make_no_row_missing_and_stay() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    let before = lab.read("results.tsv");
    let with_column = before
        .replace("description\n", "description\tmine\n")
        .replace("\tbetter\n", "\tbetter\tseen twice\n");
    lab.write("results.tsv", &with_column);
    assert_eq!(lab.lab("log").is(0).says("better").err, "");
    lab.lab("log --append-missing")
        .is(0)
        .says("0 missing rows added");
    assert_eq!(lab.read("results.tsv"), with_column);
    lab.lab("describe HEAD -m 'better by half'").is(0);
    assert_eq!(
        lab.read("results.tsv"),
        with_column.replace("\tbetter\t", "\tbetter by half\t")
    );
    // A damaged figure is named, and the row is still there.
    let broken = before.replace("\t1000.0\t1000.0\t", "\tquick\t1000.0\t");
    lab.write("results.tsv", &broken);
    let output = lab
        .lab("log")
        .is(0)
        .says("results.tsv:2: throughput_sps 'quick' is no number");
    assert!(!output.err.contains("missing"), "{output:?}");
    lab.lab("log --append-missing")
        .is(0)
        .says("0 missing rows added");
    assert_eq!(lab.read("results.tsv"), broken);
    lab.write("results.tsv", with_column);
    lab.lab("undo").is(0);
    assert_eq!(lab.rows(), [] as [&str; 0]);
}

#[test]
fn a_long_ledger_is_listed_row_by_row() {
    let lab = judged();
    lab.lab("keep -m 'the only one with a record'").is(0);
    let ours = lab.read("results.tsv").lines().nth(1).unwrap().to_owned();
    let rows = |ids: std::ops::Range<u32>| -> String {
        ids.map(|at| {
            format!(
                "{:07x}\t{at}.5\t1.25\tpass\tdiscard\trow {at}: é\n",
                at * 16
            )
        })
        .collect()
    };
    lab.write(
        "results.tsv",
        format!(
            "{HEADER}{}{ours}\n{}",
            rows(1..20_000),
            rows(20_000..40_000)
        ),
    );
    let log = lab.lab("log").is(0);
    assert_eq!(log.err, "");
    let lines: Vec<&str> = log.out.lines().collect();
    assert_eq!(lines.len(), 1 + 40_000 + 1, "{:?}", lines.last());
    assert!(lines[40_001].starts_with("39999 rows have neither record nor commit here"));
    assert!(
        lines[1].contains("row 1: é")
            && lines[20_000].contains("the only one")
            && lines[40_000].contains("row 39999")
    );
    let json = lab.lab("log --json").is(0).json();
    let experiments = json["experiments"].as_array().unwrap();
    assert_eq!(
        (experiments.len(), &experiments[19_999]["run"]),
        (40_000, &serde_json::json!(1))
    );
    assert_eq!(experiments[39_999]["description"], "row 39999: é");
    assert_eq!(json["problems"], serde_json::json!([]));
    lab.write("results.tsv", HEADER);
    let json = lab.lab("log --json").is(0).json();
    assert_eq!(json["experiments"], serde_json::json!([]));
    assert!(
        json["problems"][0]
            .as_str()
            .unwrap()
            .contains("the row of run 1 is missing")
    );
}

#[test]
fn a_row_of_a_change_of_the_rules_that_could_not_be_written_comes_later() {
    let lab = Lab::new();
    lab.write(
        "lab.toml",
        lab.read("lab.toml") + "[measure]\nsame_within = 5\n",
    );
    lab.lab("trust --yes").is(0);
    fs::create_dir(lab.path("results.tsv")).unwrap();
    lab.lab("rules -m wider")
        .is(0)
        .says("move the folder away, then `lab log --append-missing`");
    lab.lab("log").is(0);
    fs::remove_dir(lab.path("results.tsv")).unwrap();
    lab.lab("log --append-missing")
        .is(0)
        .says("the row that could not be written before is written");
    assert_eq!(lab.rows(), ["- | - | - | rules | wider"]);
    assert_eq!(lab.lab("log").is(0).err, "");
    lab.lab("log --append-missing").is(0);
    assert_eq!(lab.rows().len(), 1);
}

#[test]
fn no_row_is_missing_in_a_part_of_the_ledger_that_is_not_read() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    let row = "abc1234\t12.5\t80\tpass\tkeep\tby hand\n";
    let before = lab.read("results.tsv");
    for rows in [200_000, 2_000_000] {
        lab.write("results.tsv", before.clone() + &row.repeat(rows));
        let listed = lab.lab("ls").is(0).says("into another file");
        assert!(!listed.err.contains("is missing"), "{}", listed.err);
        lab.lab("log --append-missing")
            .is(0)
            .says("0 missing rows added");
    }
    lab.write("results.tsv", before);
    assert_eq!(lab.lab("log").is(0).err, "");
}
