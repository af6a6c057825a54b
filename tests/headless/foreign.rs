//! Records and decisions that another user's lab wrote, or that were changed: they are shown, and
//! permit no decision.

use crate::lab::{CommandOutput, Lab, finish, signed};
use crate::mcp_wire::Wire;
use crate::stranger::every_command;
use lab_store::signature::Purpose;
use serde_json::{Value, json};
use std::fs;

/// A repository with an undecided run of this user.
fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

/// Runs `lab ARGS` with another key, as another user's lab.
fn strangers(lab: &Lab, args: &str) -> CommandOutput {
    let mut command = lab.plain_lab_command(args);
    command.env("LAB_KEY_FILE", lab.path("../strangers-key"));
    finish(command.spawn().unwrap())
}

#[test]
fn a_record_of_a_strangers_lab_permits_no_decision() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// never judged here\n");
    strangers(&lab, "run").is(0).says("PASS");
    let before = lab.head();
    for args in [
        "keep -m x",
        "keep -m x --run 1",
        "discard -m x",
        "discard -m x --unjudged",
    ] {
        lab.lab(args)
            .is(1)
            .says("run 1 is foreign")
            .says("Judge the bytes again (`lab run`)");
    }
    lab.lab("log").is(0).says("run 1 is foreign and open");
    assert_eq!(
        (lab.head(), lab.read("kernel.cu").as_str()),
        (before, "// never judged here\n")
    );
    // Judged again, the run is this user's.
    lab.lab("run").is(0);
    lab.lab("keep -m x").is(0).says("keep run 2");
    lab.lab("log").is(0).says("keep");
}

#[test]
fn a_decision_of_a_strangers_lab_is_shown_as_foreign_and_cannot_be_undone() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    strangers(&lab, "run").is(0);
    strangers(&lab, "keep -m better --lesson 'trust me'").is(0);
    let kept = lab.head();
    lab.lab("log").is(0).says("better  (foreign)");
    assert_eq!(
        lab.lab("log --json").is(0).json()["experiments"][0]["foreign"],
        true
    );
    lab.lab("undo")
        .is(1)
        .says("is foreign")
        .says("`git reset --soft HEAD^` takes a commit back by hand");
    lab.lab("lessons").is(0).says("lesson: foreign: trust me");
    // One run alone says it too, for people and for agents.
    let mark = "(foreign: not your lab wrote its record, or it was changed since)";
    lab.lab("show 1").is(0).says(mark);
    assert_eq!(lab.lab("show 1 --json").is(0).json()["foreign"], true);
    let mut wire = Wire::of(&lab);
    let shown = wire.call("experiment", json!({ "run": 1 }));
    assert_eq!(shown["foreign"], true);
    assert!(shown["summary"].as_str().unwrap().contains(mark), "{shown}");
    assert_eq!(wire.close(), 0);
    // The user's own decision counts, even if the foreign one has a later time.
    lab.write("kernel.cu", "// best\n");
    lab.lab("run").is(0).says("PASS");
    lab.lab("discard -m own").is(0);
    let compared = lab.lab("diff 1 2").is(0);
    let whose = compared.out.lines().find(|line| line.starts_with("whose"));
    assert_eq!(
        whose.map(|line| line.split_whitespace().collect::<Vec<_>>()),
        Some(vec!["whose", "foreign"])
    );
    assert!(!lab.lab("show 2").is(0).out.contains(mark));
    let record = lab
        .read(".lab/runs/1/record.json")
        .replace("\"decided\": \"20", "\"decided\": \"29");
    lab.write(".lab/runs/1/record.json", record);
    lab.lab("undo").is(0).says("run 2");
    assert_eq!(lab.head(), kept);
    // A description by this user does not make a record this user's.
    lab.lab("describe HEAD -m mine").is(0);
    lab.lab("undo").is(1).says("is foreign");
}

#[test]
fn a_row_whose_figures_are_not_those_of_its_record_is_foreign() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    let own = lab.lab("log --json").is(0).json()["experiments"][0]["foreign"].clone();
    assert_eq!(own, false);
    let ledger = lab.read("results.tsv");
    let (before, last) = ledger.trim_end().rsplit_once('\n').unwrap();
    let mut cells: Vec<&str> = last.split('\t').collect();
    cells[1] = "99999999.0";
    lab.write("results.tsv", format!("{before}\n{}\n", cells.join("\t")));
    lab.lab("log").is(0).says("better  (foreign)");
}

/// The key was lost; the index still holds the old content of the records.
#[test]
fn after_a_loss_of_the_key_older_decisions_are_foreign_and_nothing_is_stuck() {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab.lab("log").is(0);
    let head = lab.head();
    strangers(&lab, "undo")
        .is(1)
        .says("is foreign")
        .says("`git reset --soft HEAD^`");
    assert!(!lab.path(".lab/unfinished.json").exists());
    strangers(&lab, "log").is(0).says("better");
    assert_eq!(lab.head(), head);
    lab.write("kernel.cu", "// next\n");
    strangers(&lab, "run").is(0);
    strangers(&lab, "keep -m next").is(0);
    strangers(&lab, "undo").is(0);
    assert_eq!(lab.head(), head);
}

#[test]
fn a_record_that_was_changed_permits_no_decision() {
    let lab = Lab::new();
    lab.harness("echo 'correctness: fail'; exit 1");
    lab.write("kernel.cu", "// wrong\n");
    lab.lab("run").is(1);
    let own = lab.read(".lab/runs/1/record.json");
    let unsigned = {
        let mut record: serde_json::Value = serde_json::from_str(&own).unwrap();
        record
            .as_object_mut()
            .unwrap()
            .remove("signature")
            .expect("a signature");
        record.to_string()
    };
    for record in [
        own.replace("\"fail\"", "\"pass\""),
        unsigned.replace("\"fail\"", "\"pass\""),
        unsigned,
    ] {
        lab.write(".lab/runs/1/record.json", record);
        lab.lab("keep -m x").is(1).says("run 1 is foreign");
    }
    lab.write(".lab/runs/1/record.json", &own);
    lab.lab("keep -m x").is(1).says("run 1 came to FAIL");
    // The same record under another run's number, and for a kernel of another path.
    fs::create_dir(lab.path(".lab/runs/7")).unwrap();
    lab.write(".lab/runs/7/record.json", &own);
    lab.lab("keep -m x --run 7")
        .is(1)
        .says("is the record of run 1, not of run 7");
    lab.write(
        ".lab/runs/7/record.json",
        own.replace("\"id\": 1", "\"id\": 7")
            .replace("kernel.cu", "../x/kernel.cu"),
    );
    lab.lab("keep -m x --run 7")
        .is(1)
        .says("names a kernel outside of the repository");
    lab.lab("log").is(0).says("run 7 is left out");
}

#[test]
fn the_signature_that_permits_decisions_travels_in_no_note() {
    let lab = judged();
    assert!(
        lab.read(".lab/runs/1/record.json")
            .contains("\"signature\": \"hmac-sha256:")
    );
    lab.lab("keep -m better").is(0);
    assert!(
        lab.read(".lab/runs/1/record.json")
            .contains("\"signature\": \"hmac-sha256:")
    );
    let note = lab.git("notes --ref=lab show HEAD");
    assert!(
        note.contains("better")
            && note.contains("\"signature\": \"ed25519:")
            && !note.contains("hmac"),
        "{note}"
    );
}

/// What agents read of the newest experiment.
fn newest(lab: &Lab) -> Value {
    let log: Value = serde_json::from_str(&lab.lab("log --json").out).unwrap();
    log["experiments"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone()
}

#[test]
fn rows_of_a_key_that_the_repository_lists_are_not_foreign() {
    let lab = Lab::new();
    for kernel in ["// better\n", "// better still\n"] {
        lab.write("kernel.cu", kernel);
        strangers(&lab, "run").is(0);
        strangers(&lab, "keep -m better").is(0);
    }
    let line = strangers(&lab, "decisions key").is(0).out.clone();
    fs::create_dir(lab.path("evidence")).unwrap();
    // A folder that two users share: the records are there, and only their owner can prove them.
    lab.lab("log").is(0).says("better  (foreign)  (run 1)");
    lab.write("evidence/allowed_signers", &line);
    let shared = lab.lab("log").is(0).says("better  (run 1)");
    assert!(!shared.out.contains("foreign"), "{shared:?}");
    fs::remove_file(lab.path("evidence/allowed_signers")).unwrap();
    // As in a clone: rows and notes without the records.
    fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.lab("log").is(0).says("better  (foreign)");
    lab.write("evidence/allowed_signers", &line);
    assert!(!lab.lab("log").is(0).out.contains("foreign"));
    assert_eq!(newest(&lab)["foreign"], false);

    // The row says something else than was signed.
    let rows = lab.read("results.tsv");
    lab.write("results.tsv", rows.replace("\tpass\t", "\tfail\t"));
    lab.lab("log").is(0).says("(foreign)");
    lab.write("results.tsv", &rows);

    // The note of another commit.
    let note = lab.git("notes --ref=lab show HEAD~1");
    lab.write("note", &note);
    lab.git("notes --ref=lab add -f -F note HEAD");
    assert_eq!(newest(&lab)["foreign"], true);

    // A note that was changed.
    let note = note.replace("\"seconds\": ", "\"seconds\": 1");
    lab.write("note", &note);
    lab.git("notes --ref=lab add -f -F note HEAD~1");
    assert!(lab.lab("log").is(0).out.matches("(foreign)").count() == 2);
}

#[test]
fn an_unfinished_decision_that_came_with_a_folder_moves_no_head() {
    // A record of another repository's kernel, and the intent to undo its keep.
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab.git("clone -q . ../other");
    let kept = lab
        .read(".lab/runs/1/record.json")
        .replace("\"kernel.cu\"", "\"../other/kernel.cu\"");
    let own = lab.read(".lab/runs/1/record.json");
    let written: Value = serde_json::from_str(&lab.intent_of("undo")).unwrap();
    let with = |key: &str, value: Value| {
        let mut intent = written.clone();
        intent[key] = value;
        intent.to_string()
    };
    let mut unsigned = written.clone();
    unsigned.as_object_mut().unwrap().remove("signature");
    let intent = unsigned.to_string();
    let heads = || (lab.head(), lab.git("-C ../other rev-parse HEAD"));
    let before = heads();
    for (record, intent) in [
        (&own, intent.clone()),
        (&own, with("signature", "hmac-sha256:00".into())),
        (&kept, intent.clone()),
        (&own, with("kernel", "../other/kernel.cu".into())),
    ] {
        lab.write(".lab/runs/1/record.json", record);
        lab.unfinished(&intent);
        for output in every_command(&lab) {
            assert!(
                output.code != 0 || output.out.contains("kernel.cu"),
                "{intent}: {output:?}"
            );
        }
        assert_eq!(heads(), before, "{intent}");
    }
    lab.unfinished(&intent);
    lab.lab("undo")
        .is(1)
        .says("unfinished.json is foreign")
        .says("and remove it");
    fs::remove_file(lab.path(".lab/unfinished.json")).unwrap();
    lab.write(".lab/runs/1/record.json", own);
    lab.lab("undo").is(0);
    assert_ne!(lab.head(), before.0);
}

/// A signed intent is the user's own, so its steps are taken, but only in this folder.
#[test]
fn a_signed_intent_beside_a_record_of_another_folder_leaves_that_folder_alone() {
    for kernel in ["kernel.cu", "../other/kernel.cu"] {
        let lab = judged();
        lab.lab("keep -m better").is(0);
        lab.git("clone -q . ../other");
        let other = || {
            [
                lab.git("-C ../other rev-parse HEAD"),
                lab.git("-C ../other status --porcelain"),
                lab.read("../other/kernel.cu"),
            ]
        };
        let before = other();
        let mut intent: Value = serde_json::from_str(&lab.intent_of("undo")).unwrap();
        intent["kernel"] = kernel.into();
        let record = lab
            .read(".lab/runs/1/record.json")
            .replace("\"kernel.cu\"", "\"../other/kernel.cu\"");
        lab.write(".lab/runs/1/record.json", record);
        lab.write(
            ".lab/unfinished.json",
            signed(Purpose::Intent, &intent.to_string()),
        );
        every_command(&lab);
        assert_eq!(other(), before, "{kernel}");
    }
}

#[test]
fn without_a_place_for_the_key_a_run_is_judged_and_says_why_it_cannot_be_kept() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.write("../file", "");
    let without_key = |args: &str| {
        let mut command = lab.plain_lab_command(args);
        command.env("LAB_KEY_FILE", lab.path("../file/key"));
        finish(command.spawn().unwrap())
    };
    without_key("run")
        .is(0)
        .says("the record is not signed, so the run cannot be decided")
        .says("../file/key");
    without_key("keep -m x").is(1).says("run 1 is foreign");
    lab.lab("run").is(0);
    lab.lab("keep -m x").is(0);
}

#[test]
fn the_key_is_for_its_owner_only_and_in_no_repository() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let mut command = lab.plain_lab_command("run");
    command.env_remove("LAB_KEY_FILE");
    finish(command.spawn().unwrap()).is(0);
    let key = lab.path("../state/key");
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(lab.read("../state/key").trim().len() == 64);
}

#[test]
fn a_run_folder_with_the_last_number_is_named() {
    let lab = judged();
    fs::create_dir(lab.path(&format!(".lab/runs/{}", u64::MAX))).unwrap();
    assert_ne!(
        lab.lab("run")
            .says("18446744073709551615 is the last number: remove that folder")
            .code,
        0
    );
}

#[test]
fn a_figure_of_a_strangers_lab_is_not_the_best_so_far() {
    let lab = Lab::new();
    lab.passing(9000.0);
    lab.write("kernel.cu", "// a stranger's\n");
    strangers(&lab, "run").is(0);
    strangers(&lab, "keep -m 'nine times as fast'").is(0);
    lab.passing(1000.0);
    for text in ["// mine\n", "// mine, better\n"] {
        lab.write("kernel.cu", text);
        lab.lab("run").is(0);
        lab.lab("keep -m mine").is(0);
        let message = lab.git("log -1 --format=%B");
        assert!(message.contains("\nTested: "), "{message}");
        assert!(!message.contains("vs best"), "{message}");
        lab.passing(1100.0);
    }
    let message = lab.git("log -1 --format=%B");
    assert!(message.contains("best so far"), "{message}");
}
