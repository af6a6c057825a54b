//! Deciding with a whole message, undoing the decision, and the actions of the view Results.

use super::bench::Bench;

fn ledger(bench: &Bench) -> String {
    std::fs::read_to_string(bench.repo().join("results.tsv")).unwrap_or_default()
}

#[test]
fn a_keep_with_trailers_is_taken_back_and_made_again() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("1,000 sps");
    bench.save_in_place("speed 2000\n");
    lab.see("2,000 sps");
    lab.press("c")
        .see("What did you try?")
        .see("trailers: Tested");
    // Ctrl-T, then Tab past Hypothesis and Lesson, and to Confidence.
    lab.press("twice as fast\x14").see("Not-tested");
    lab.press("\t\t48 kB\t\thi\r").see("run 2 kept as");
    let message = bench.git(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with(
            "twice as fast\n\nConstraint: 48 kB\nConfidence: high\nTested: test bench, "
        ),
        "{message}"
    );
    // The answer waits for the question.
    lab.press("uy").see("run 2 is open again");
    assert_eq!(
        bench.git(&["log", "-1", "--format=%s"]),
        "the first kernel\n"
    );
    assert_eq!(bench.kernel(), "speed 2000\n");
    assert!(!ledger(&bench).contains("twice"), "{}", ledger(&bench));
    lab.press("c").see("What did you try?");
    lab.press("again\r").see("run 2 kept as");
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "again\n");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn an_older_one_is_put_back_judged_and_put_in_other_words() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("1,000 sps");
    for (run, speed) in [(2, "2000"), (3, "3000")] {
        bench.save_in_place(&format!("speed {speed}\n"));
        lab.see(&format!("run {run} · saved"))
            .see(&format!("{run},000 sps  +"));
        lab.press("c").see("What did you try?");
        lab.press(&format!("speed of {speed}\r"))
            .see(&format!("run {run} kept as"));
    }
    lab.press("3").see("Experiments 2").see("speed of 3000");
    // Both changed a line with 2000, and one of them a line with 3000.
    lab.press("fdiff:3000\r").wait("one experiment", |screen| {
        let text = screen.contents();
        text.contains("speed of 3000") && !text.contains("speed of 2000")
    });
    lab.press("\u{1b}").see("speed of 2000");
    lab.press("jR").see("Restore ");
    lab.press("y").see("now has the bytes of");
    assert_eq!(bench.kernel(), "speed 2000\n");
    // The run that judged these bytes is remembered: none begins.
    lab.see("2,000 sps").see("run 2 · saved");
    assert!(!bench.repo().join(".lab/runs/4").exists());
    lab.press("E").see("Describe");
    lab.press("\x15two thousand\r").see("is now 'two thousand'");
    assert!(
        ledger(&bench)
            .lines()
            .any(|row| row.ends_with("keep\ttwo thousand")),
        "{}",
        ledger(&bench)
    );
    lab.press("T").see("Annotate").see("Note: ");
    lab.press("slower on small rows\r")
        .see("is now 'slower on small rows'");
    // Both, compared.
    lab.press(" k=")
        .see("ratio, the second over the first")
        .see("@@ -1,1 +1,1 @@")
        .see("+ speed 3000");
    lab.press("\u{1b}").see("━ Experiments");
    // next-section and previous-section, on a screen too small for all sections.
    lab.resize(100, 16);
    lab.press("\r").see("━ Experiment ").see("decided ");
    lab.press("]").wait("the next part on top", |screen| {
        !screen.contents().contains("decided ")
    });
    lab.press("[").see("decided ");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn the_workloads_are_sorted() {
    let bench = Bench::new();
    let rows = "echo 'workload: rows=1 kernel_us=9.0 correctness=pass'; echo 'workload: rows=8 kernel_us=5.0 correctness=pass'";
    let harness = bench.repo().join("harness.sh");
    let text = std::fs::read_to_string(&harness).unwrap();
    std::fs::write(&harness, format!("{rows}\n{text}")).unwrap();
    let mut lab = bench.open();
    lab.see("1,000 sps").see("Workloads run 1 · 2");
    // sort-workloads and reverse-workloads
    lab.press("o").see("by workload ▲");
    lab.press("O").see("by workload ▼");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}
