//! Another description of an experiment: in the record, the note, and one line of results.tsv.

use crate::lab::{Lab, signed};
use lab_run::experiment::{Correctness, Row, Status};
use lab_run::ledger::{self, Edit};
use lab_store::signature::Purpose;
use serde_json::{Value, json};

/// Run 1 was kept, run 2 discarded.
fn two() -> Lab {
    let lab = Lab::new();
    for (text, decision) in [("// a\n", "keep -m first"), ("// b\n", "discard -m second")] {
        lab.write("kernel.cu", text);
        lab.lab("run").is(0);
        lab.lab(decision).is(0);
    }
    lab
}

#[test]
fn a_description_is_told_better() {
    let lab = two();
    let by_hand = lab.read("results.tsv") + "# a note of mine\r\n";
    lab.write("results.tsv", &by_hand);
    lab.lab("describe HEAD -m 'tiles of 32'")
        .is(0)
        .says("is now 'tiles of 32', and was 'first'")
        .says("the commit message stays as it is");
    assert_eq!(
        lab.read("results.tsv"),
        by_hand.replace("\tfirst\n", "\ttiles of 32\n")
    );
    assert_eq!(lab.git("log -1 --format=%s"), "first\n");
    let note = lab.git("notes --ref=lab show HEAD");
    assert!(
        note.contains("tiles of 32") && !note.contains("\"first\""),
        "{note}"
    );
    // A discarded experiment, named by its run number.
    lab.lab("describe 2 -m 'a\tsecond try'")
        .is(0)
        .says("was 'second'");
    let log = lab.lab("log --json").is(0).json();
    let seen: Vec<_> = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (&e["run"], &e["description"]))
        .collect();
    assert_eq!(
        format!("{seen:?}"),
        r#"[(Number(1), String("tiles of 32")), (Number(2), String("a second try"))]"#
    );
    assert_eq!(log["problems"].as_array().map(Vec::len), Some(1), "{log}");

    // A note and tags.
    lab.lab("describe 2 --trailer 'Note: slower on small rows' --trailer 'Tags: warp, smem'")
        .is(0)
        .says("Note of ")
        .says("is now 'slower on small rows'");
    let shown = lab.read(".lab/runs/2/record.json");
    assert!(
        shown.contains("warp, smem") && shown.contains("a second try"),
        "{shown}"
    );

    lab.lab("describe 2 --trailer 'Tags: smem, warp'")
        .is(0)
        .says(" are now 'smem, warp'");
    lab.lab("describe 2 --trailer 'Tags: warp, smem'").is(0);
    // A run that nobody decided has a description once it is decided.
    lab.write("kernel.cu", "// c\n");
    lab.lab("run").is(0);
    lab.lab("describe 3 -m third")
        .is(1)
        .says("run 3 is undecided: `lab keep --run 3 -m TEXT`");

    lab.lab("show 2")
        .is(0)
        .says("    Note: slower on small rows\n    Tags: warp, smem");
    lab.lab("log").is(0).says("  a second try  #warp #smem  (");

    // An empty value takes the note back.
    lab.lab("describe 2 --trailer Note:")
        .is(0)
        .says("Note of ")
        .says(" is removed");
    let shown = lab.lab("show 2").is(0).out;
    assert!(
        !shown.contains("Note") && shown.contains("    Tags: warp, smem"),
        "{shown}"
    );

    // A kept one by its number.
    lab.lab("describe 1 --lesson 'wider is better'")
        .is(0)
        .says("Lesson of ");
    lab.lab("show 1").is(0).says("    Lesson: wider is better");
    lab.lab("describe HEAD -m ' '")
        .is(1)
        .says("say in a few words what was tried");
    lab.lab("describe HEAD^ -m x")
        .is(1)
        .says("'HEAD^' is the commit of no experiment");
    lab.lab("describe nonsense -m x")
        .is(1)
        .says("'nonsense' is the commit of no experiment");
}

#[test]
fn without_the_record_the_row_is_told_better_all_the_same() {
    let lab = two();
    std::fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.lab("describe HEAD -m better").is(0);
    assert!(lab.read("results.tsv").contains("\tkeep\tbetter\n"));
    assert!(
        lab.git("notes --ref=lab show HEAD").contains("\"better\""),
        "the note still tells of it"
    );
}

#[test]
fn a_describe_that_ended_halfway_is_finished() {
    let lab = two();
    std::fs::rename(lab.path("results.tsv"), lab.path("ledger")).unwrap();
    std::fs::create_dir(lab.path("results.tsv")).unwrap();
    lab.write(".lab/unfinished.json", unfinished(&lab, "ledger"));
    // A decision that cannot be finished now does not prevent reading.
    lab.lab("log")
        .is(0)
        .says("is not finished: the next `lab` goes on with it")
        .says("it is a folder: move it away");
    lab.lab("describe HEAD -m other")
        .is(1)
        .says("it is a folder: move it away");
    std::fs::remove_dir(lab.path("results.tsv")).unwrap();
    std::fs::rename(lab.path("ledger"), lab.path("results.tsv")).unwrap();
    lab.lab("log")
        .is(0)
        .says("is now 'better', as an earlier lab began to write");
    assert!(lab.read("results.tsv").contains("\tkeep\tbetter\n"));
    assert_eq!(lab.lab("log").is(0).err, "");
}

/// The intent of `lab describe -m better`, about run 1.
fn unfinished(lab: &Lab, ledger: &str) -> Vec<u8> {
    let row = &ledger::read(&lab.path(ledger)).rows[0];
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/1/record.json")).unwrap();
    let mut decision = record["decision"].clone();
    decision["description"] = "better".into();
    decision["row"]["description"] = "better".into();
    let intent = json!({
        "what": "describe", "kernel": "", "asked": " HEAD better", "subject": "the describe of run 1", "commit": null,
        "steps": [
            { "step": "decision", "run": 1, "decision": decision, "undone": [] },
            { "step": "note", "commit": row.commit, "run": 1, "text": null },
            { "step": "row", "emulated": false, "row": row, "change": { "describe": { "description": "better" } } }
        ]
    });
    signed(Purpose::Intent, &intent.to_string())
}

fn row(at: usize) -> Row {
    Row {
        commit: format!("{at:07x}"),
        throughput_sps: 1.0,
        kernel_us: 1.0,
        correctness: Correctness::Pass,
        status: Status::Keep,
        description: "new".into(),
    }
}

const APPENDED: usize = 300;

/// The ledger's lock belongs to an open file, so a thread that opens the file itself is held back
/// as another process is.
#[test]
fn no_row_is_lost_that_is_appended_meanwhile() {
    let lab = Lab::empty();
    let path = lab.path("results.tsv");
    let mine = Row {
        description: "0".into(),
        ..row(0xabcdef)
    };
    ledger::append(&path, &mine).unwrap();
    let appended_to = path.clone();
    let other = std::thread::spawn(move || {
        (0..APPENDED).for_each(|at| ledger::append(&appended_to, &row(at)).unwrap());
    });
    let mut edits = 0;
    // The lock promises no order: this many edits are enough, and leave the other thread its turn.
    while !other.is_finished() && edits < 200 {
        let before = Row {
            description: edits.to_string(),
            ..mine.clone()
        };
        edits += 1;
        assert!(ledger::replace(&path, &before, Edit::Describe(&edits.to_string())).unwrap());
    }
    other.join().unwrap();
    assert!(edits > 1);
    let found = ledger::read(&path);
    assert_eq!(found.problems, [] as [&str; 0]);
    assert_eq!(found.rows.len(), APPENDED + 1);
    assert_eq!(found.rows[0].description, edits.to_string());
    assert_eq!(
        found.rows[1..],
        (0..APPENDED).map(row).collect::<Vec<_>>()[..]
    );
}
