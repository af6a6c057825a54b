//! The trailers of a commit, for git's own tools and for readers of the log.

use crate::lab::Lab;

#[test]
fn a_kept_experiment_says_what_was_tested_and_what_was_not() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m 'two rows a block' --trailer 'confidence: high' --trailer 'Not-tested: odd sizes' --trailer 'Issue: 7'")
        .is(0);
    assert_eq!(
        lab.git("log -1 --format=%B").trim_end(),
        "two rows a block\n\nConfidence: high\nNot-tested: odd sizes\nIssue: 7\n\
         Tested: Test GPU, 1 of 1 gates, 1000 samples/s (990 … 1010)"
    );
    // git's own reader finds the same.
    let parsed = lab
        .sh("git log -1 --format=%B | git interpret-trailers --parse")
        .is(0)
        .out;
    assert_eq!(
        parsed,
        "Confidence: high\nNot-tested: odd sizes\nIssue: 7\nTested: Test GPU, 1 of 1 gates, 1000 samples/s (990 … 1010)\n"
    );
    // Only the subject is the description.
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | keep | two rows a block"]
    );
    let trailers = |lab: &Lab, at: usize| {
        lab.lab("log --json").is(0).json()["experiments"][at]["trailers"].clone()
    };
    assert_eq!(trailers(&lab, 0)[1]["key"], "Not-tested");
    assert_eq!(trailers(&lab, 0)[1]["value"], "odd sizes");

    // A discard takes trailers too, and the user's own `Tested` is the only one.
    lab.write("kernel.cu", "// worse\n");
    lab.passing(900.0);
    lab.lab("run").is(0);
    let mut discard = lab.lab_command("discard -m worse --trailer 'Tested: by hand'");
    discard.args(["--trailer", "Rejected: three rows\nno room for them"]);
    crate::lab::finish(discard.spawn().unwrap()).is(0);
    assert_eq!(
        lab.git("log -1 --format=%B refs/lab/discarded/2")
            .trim_end(),
        "worse\n\nTested: by hand\nRejected: three rows\n  no room for them"
    );
    assert_eq!(
        trailers(&lab, 1)[1]["value"],
        "three rows\nno room for them"
    );

    // Without the records, the commits have the trailers.
    std::fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.git("update-ref -d refs/notes/lab");
    assert_eq!(trailers(&lab, 0)[0]["value"], "high");
}

#[test]
fn trailers_in_the_message_join_the_others_once() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    let mut keep = lab.lab_command("keep --no-tested --lesson short --trailer 'Issue: 7'");
    keep.args(["-m", "two rows\n\nIssue: 7\nSigned-off-by: Ann <a@b.org>"]);
    crate::lab::finish(keep.spawn().unwrap()).is(0);
    let trailers = "Issue: 7\nSigned-off-by: Ann <a@b.org>\nLesson: short\n";
    assert_eq!(
        lab.git("log -1 --format=%B").trim_end(),
        format!("two rows\n\n{trailers}").trim_end()
    );
    let parsed = lab.sh("git log -1 --format=%B | git interpret-trailers --parse");
    assert_eq!(parsed.is(0).out, trailers);
    assert_eq!(lab.rows(), ["1000.0 | 1000.0 | pass | keep | two rows"]);
}

#[test]
fn no_tested_and_wrong_trailers() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x --trailer nonsense")
        .is(64)
        .says("it is written 'Key: value'");
    lab.lab("keep -m x --trailer 'two words: x'")
        .is(64)
        .says("letters, digits and dashes");
    lab.lab("keep -m x --trailer 'Confidence: very'")
        .is(64)
        .says("is none of its words: it is low, medium, high");
    lab.lab("keep -m x --no-tested").is(0);
    assert_eq!(lab.git("log -1 --format=%B").trim_end(), "x");
}

#[test]
fn a_hypothesis_and_a_lesson_go_into_commit_record_and_note_and_may_be_given_later() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x --no-tested --lesson ' '")
        .is(64)
        .says("it has no text");
    lab.lab(
        "keep -m 'two rows' --no-tested --hypothesis 'fewer barriers' --lesson 'they cost most'",
    )
    .is(0);
    let text = "two rows\n\nHypothesis: fewer barriers\nLesson: they cost most\n";
    assert_eq!(lab.git("log -1 --format=%B").trim_end(), text.trim_end());
    let note = |lab: &Lab, commit: &str| lab.git(&format!("notes --ref=lab show {commit}"));
    assert!(note(&lab, "HEAD").contains("they cost most"));

    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse --no-tested --hypothesis 'wider loads'")
        .is(0);
    lab.lab("describe 2").is(64);
    lab.lab("describe 2 --lesson 'registers\u{1b}[2J spill'")
        .is(0)
        .says("Lesson of ")
        .says("'registers spill'");
    // It replaces the lesson and leaves the hypothesis, the description and the row.
    let answer = lab
        .lab("describe 2 --json --lesson 'the registers spill'")
        .is(0)
        .json();
    assert_eq!(answer["trailers"][0]["value"], "the registers spill");
    assert_eq!(
        (&answer["before"], &answer["row"]["description"]),
        (&"worse".into(), &"worse".into())
    );
    let log = lab.lab("log --json").is(0).json();
    let found = log["experiments"][1]["trailers"].as_array().unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|t| format!("{}: {}", t["key"], t["value"]))
        .collect();
    assert_eq!(
        found,
        [
            r#""Hypothesis": "wider loads""#,
            r#""Lesson": "the registers spill""#
        ]
    );
    assert!(note(&lab, "refs/lab/discarded/2").contains("the registers spill"));
    assert_eq!(
        lab.git("log -1 --format=%B refs/lab/discarded/2")
            .trim_end(),
        "worse\n\nHypothesis: wider loads"
    );

    // With a decision by rule; without a decision there is no commit for them.
    crate::auto::in_turns(&lab, 1.05, "faster");
    lab.write("kernel.cu", "// quick\n");
    lab.lab("run --lesson x")
        .is(64)
        .says("--hypothesis and --lesson belong to a decision");
    lab.lab("run --decide -m quick --hypothesis 'less work'")
        .is(10);
    assert!(
        lab.git("log -1 --format=%B")
            .contains("Hypothesis: less work\n")
    );

    // A row alone has no place for a lesson.
    std::fs::remove_dir_all(lab.path(".lab")).unwrap();
    lab.git("update-ref -d refs/notes/lab");
    lab.lab("describe HEAD --lesson x")
        .is(1)
        .says("has neither a record nor a git note here");
}

#[test]
fn a_hook_that_adds_a_trailer_of_its_own_gets_along() {
    let lab = Lab::new();
    lab.script(
        ".git/hooks/commit-msg",
        "git interpret-trailers --in-place --trailer 'Change-Id: I1' \"$1\"",
    );
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("keep -m x --trailer 'Confidence: low' --no-tested")
        .is(0);
    assert_eq!(
        lab.git("log -1 --format=%(trailers)").trim_end(),
        "Confidence: low\nChange-Id: I1"
    );
}
