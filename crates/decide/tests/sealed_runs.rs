//! The check before a keep, with a shell script as the judge: the speed on sealed inputs, and
//! further sealed runs after a failed check.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "../../runner/tests/support/mod.rs"]
mod support;

use lab_decide::auto::{self, AutoDecision, Enough};
use lab_decide::{Decided, Refusal};
use lab_run::ledger;
use lab_run::message::Message;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunId};
use lab_runner::Batch;
use lab_runner::held_out::RunContext;
use lab_runner::process::Control;
use lab_store::RunIndex;
use std::fs;
use support::Bench;

const RUN: &str =
    "echo 'device: Test GPU'; echo 'throughput_sps: 2000 low=1990 high=2010'; echo 'kernel_us: 500'
echo 'speed_ratio: 2.0 low=1.99 high=2.01'; echo 'speed: faster'; echo 'correctness: pass'";

/// A repository whose git user has a name.
fn bench() -> Bench {
    let bench = Bench::new();
    let mut config = git2::Repository::open(&bench.project.root)
        .unwrap()
        .config()
        .unwrap();
    config.set_str("user.name", "A User").unwrap();
    config.set_str("user.email", "user@example.com").unwrap();
    bench
}

/// The judge runs `held_out` in the check before a keep, and notes its request.
fn judge(bench: &Bench, held_out: &str) {
    bench.script(&format!(
        "case \"$request\" in *sealed_check*) echo \"$request\" >> ../asked; {held_out};; *) {RUN};; esac\n"
    ));
}

fn passes(lines: &str) -> String {
    format!("echo 'device: Test GPU'; printf '{lines}'; echo 'correctness: pass'")
}

/// The request of each held-out check so far.
fn asked(bench: &Bench) -> Vec<String> {
    let text = fs::read_to_string(bench.path("../asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[track_caller]
fn run(bench: &Bench, kernel: &str) -> Record {
    fs::write(bench.path("kernel.cu"), kernel).unwrap();
    let record = bench.run(Reason::Saved);
    assert_eq!(record.verdict.as_ref().unwrap().outcome, Outcome::Pass);
    record
}

fn keep(bench: &Bench) -> Result<Decided, Refusal> {
    keep_until(bench, &Control::new().unwrap(), &mut |_, _| {})
}

fn keep_until(
    bench: &Bench,
    control: &Control,
    tell: &mut dyn FnMut(RunId, Batch),
) -> Result<Decided, Refusal> {
    let program = bench.temp.path().join("judge");
    asked_by(
        bench,
        &mut RunContext {
            control,
            program,
            tell,
            by_rule: false,
        },
    )
}

fn keep_by_rule(bench: &Bench) -> Result<Decided, Refusal> {
    let (control, program) = (&Control::new().unwrap(), bench.temp.path().join("judge"));
    asked_by(
        bench,
        &mut RunContext {
            control,
            program,
            tell: &mut |_, _| {},
            by_rule: true,
        },
    )
}

fn asked_by(bench: &Bench, context: &mut RunContext) -> Result<Decided, Refusal> {
    let mut index = RunIndex::new(&bench.project);
    lab_decide::keep(
        &bench.project,
        &mut index,
        None,
        &Message::from("tried"),
        context,
    )
}

#[track_caller]
fn refused(bench: &Bench, why: &str) {
    match keep(bench) {
        Err(refusal) => assert!(
            refusal.to_string().contains(why),
            "'{why}' is not in: {refusal}"
        ),
        Ok(kept) => panic!("it was kept: {kept:?}"),
    }
}

#[test]
fn the_incumbent_is_timed_too_and_the_row_has_the_sealed_figure() {
    let bench = bench();
    judge(
        &bench,
        &passes(
            "throughput_sps: 1900 low=1890 high=1910\\nkernel_us: 526\\nspeed_ratio: 1.9 low=1.89 high=1.91\\nspeed: \
             faster\\nsealed_runs: 1\\ncaveat: one run was left in stock\\n",
        ),
    );
    run(&bench, "// tried\n");
    let kept = keep(&bench).unwrap();
    let words = asked(&bench).concat();
    assert!(
        words.contains("sealed_check") && words.contains("held-out/incumbent/kernel.cu"),
        "{words}"
    );
    assert!(
        words.contains("\"runs\":1}"),
        "one is what a judge does unasked: {words}"
    );
    assert!(!bench.path(".lab/runs/1/held-out").exists());

    let row = kept.row.clone().unwrap();
    assert_eq!((row.throughput_sps, row.kernel_us), (1900.0, 526.0));
    assert_eq!(
        ledger::read(&ledger::path(&bench.project, false)).rows,
        [row]
    );
    let notes = kept.notes.join("\n");
    let in_words =
        "1 sealed run, 1,900 (1,890 … 1,910), faster +90.0 % (+89.0 … +91.0) vs incumbent";
    assert!(
        notes.contains(&format!(
            "passed on held-out inputs: {in_words}: the row shows this figure"
        )),
        "{notes}"
    );
    assert!(
        notes.contains("held-out check: one run was left in stock"),
        "{notes}"
    );
    // The record keeps both.
    let record = bench.recorded(1);
    assert_eq!(
        record.verdict.as_ref().unwrap().objective.unwrap().value,
        2000.0
    );
    assert_eq!(record.objective().unwrap().value, 1900.0);
    let git = git2::Repository::open(&bench.project.root).unwrap();
    let message = git
        .head()
        .unwrap()
        .peel_to_commit()
        .unwrap()
        .message()
        .unwrap()
        .to_owned();
    assert!(
        message.contains(&format!("Sealed: {in_words}")),
        "{message}"
    );
    // Lists show the figure of the row with its own interval.
    let opened = lab_git::Repo::open(&bench.project).unwrap();
    let experiments = lab_history::look(&opened, &mut RunIndex::open(&bench.project)).experiments;
    assert_eq!(experiments[0].measured.objective.unwrap().low, Some(1890.0));
    assert!((experiments[0].measured.change.unwrap().ratio - 0.9).abs() < 1e-9);
}

#[test]
fn a_speed_that_sealed_inputs_do_not_bear_out_is_refused() {
    let bench = bench();
    judge(
        &bench,
        &passes(
            "throughput_sps: 1010 low=1000 high=1020\\nspeed_ratio: 1.01 low=1.00 high=1.02\\nspeed: same\\n",
        ),
    );
    run(&bench, "// a table of the known inputs\n");
    refused(
        &bench,
        "keep refused: the run was 2.000 (1.990 … 2.010) times as fast as the incumbent, on sealed inputs it is 1.010 \
         (1.000 … 1.020) times as fast",
    );
    assert_eq!(bench.recorded(1).held_out.unwrap().outcome, Outcome::Fail);
    assert!(bench.recorded(1).decision.is_none());
    // It counts as a failed check.
    run(&bench, "// a table of the known inputs, again\n");
    judge(
        &bench,
        &passes("sealed_runs: 8\\nspeed_ratio: 1.99 low=1.98 high=2.0\\nspeed: faster\\n"),
    );
    keep(&bench).unwrap();
    assert!(
        asked(&bench)[1].contains("\"runs\":8}"),
        "{:?}",
        asked(&bench)
    );
}

#[test]
fn a_mixed_check_leaves_a_faster_run_to_a_person() {
    let bench = bench();
    let row = |n: u32, ratio: f64, speed: &str| {
        let (low, high) = (ratio - 0.01, ratio + 0.01);
        format!(
            "workload: n={n} kernel_us={n}.5 ratio={ratio} ratio_low={low:.3} ratio_high={high:.3} speed={speed} \
             correctness=pass\\n"
        )
    };
    let rows = row(1, 4.0, "faster") + &row(2, 0.951, "slower") + &row(3, 2.0, "faster");
    judge(
        &bench,
        &passes(&format!(
            "throughput_sps: 1900 low=1890 high=1910 aggregate=geometric workloads=3\\n{rows}speed_ratio: 1.9 low=1.89 \
             high=1.91\\nspeed: faster\\nsealed_runs: 1\\n"
        )),
    );
    run(
        &bench,
        "// slower at a shape that is only drawn for the check\n",
    );
    let record = bench.recorded(1);
    assert_eq!(
        auto::decide(&record, Some("the incumbent's"), Enough::default()),
        AutoDecision::Keep
    );
    let worst = "1 of 3 workloads is slower, the worst n=2 by -4.9 % (-5.9 … -3.9)";
    let why = format!("the result on held-out inputs is mixed: {worst}");
    for _ in 0..2 {
        match keep_by_rule(&bench) {
            Err(Refusal::Left(left)) => assert_eq!(left, why),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        asked(&bench).len(),
        1,
        "the check was passed, so it is not repeated"
    );
    let record = bench.recorded(1);
    assert!(record.decision.is_none());
    assert_eq!(
        auto::decide(&record, Some("the incumbent's"), Enough::default()),
        AutoDecision::Leave(why)
    );
    // A person may keep it.
    let kept = keep(&bench).unwrap();
    assert!(
        kept.notes.contains(&format!("held-out check: {worst}")),
        "{:?}",
        kept.notes
    );
}

#[test]
fn after_a_failed_check_eight_sealed_runs_are_asked_for() {
    let bench = bench();
    let wrong = "echo 'x_diff: 2 limit=1'; echo 'correctness: fail'; exit 1";
    judge(&bench, wrong);
    run(&bench, "int a; // wrong for every other seed\n");
    refused(
        &bench,
        "keep refused: x_diff is 2, its limit 1, on held-out inputs",
    );
    refused(&bench, "keep refused: x_diff is 2");
    assert_eq!(asked(&bench).len(), 1, "this run is not tried again");

    // The same bytes judged again, with a comment, and changed: no lucky draw keeps any of them.
    for (at, kernel) in [
        "int a; // wrong for every other seed\n",
        "int a; // once more\n",
        "int b;\n",
    ]
    .into_iter()
    .enumerate()
    {
        let run = run(&bench, kernel).start.id;
        // The judge has fewer in stock, and the second batch fails.
        judge(
            &bench,
            &format!(
                "case \"$request\" in *runs??8*) {};; *runs??3*) {wrong};; esac",
                passes("sealed_runs: 5\\n")
            ),
        );
        refused(&bench, "keep refused: x_diff is 2");
        let held_out = bench.recorded(run.0).held_out.unwrap();
        assert_eq!((held_out.outcome, held_out.sealed_runs), (Outcome::Fail, 5));
        assert_eq!(asked(&bench).len(), 3 + 2 * at);
    }
    // The count survives a discard.
    lab_decide::discard(
        &bench.project,
        &mut RunIndex::new(&bench.project),
        None,
        &Message::from("no"),
        true,
    )
    .unwrap();
    let before = asked(&bench).len();
    run(&bench, "int c;\n");
    judge(
        &bench,
        "echo 'fault: lab'; echo 'stopped: the disk is full'; exit 3",
    );
    refused(&bench, "the held-out check could not run: the disk is full");
    assert!(
        asked(&bench)[before].contains("\"runs\":8}"),
        "{:?}",
        asked(&bench)
    );
    // A judge that counts no sealed runs makes one each time.
    let before = asked(&bench).len();
    judge(&bench, &passes(""));
    let kept = keep(&bench).unwrap();
    assert_eq!(asked(&bench).len() - before, 8);
    assert!(
        kept.notes
            .join("\n")
            .contains("passed on held-out inputs: 8 sealed runs"),
        "{:?}",
        kept.notes
    );
    let log = fs::read_to_string(
        bench
            .path(".lab/runs")
            .join(kept.run.unwrap().to_string())
            .join("run.log"),
    )
    .unwrap();
    assert!(
        log.contains("lab: checking held-out inputs before the keep: sealed run 8 of 8"),
        "{log}"
    );

    // Now one sealed run is enough again, but never for the source that was refused.
    let before = asked(&bench).len();
    run(&bench, "int d;\n");
    keep(&bench).unwrap();
    run(&bench, "int  a; /* in other words */\n");
    keep(&bench).unwrap();
    assert_eq!(asked(&bench).len() - before, 1 + 8);
}

/// A folder could bring a passed check of the year 2900, for every later refusal.
#[test]
fn a_passed_check_that_this_users_lab_did_not_note_makes_no_refusal_good() {
    let bench = bench();
    judge(
        &bench,
        "echo 'x_diff: 2 limit=1'; echo 'correctness: fail'; exit 1",
    );
    run(&bench, "int a; // wrong\n");
    refused(&bench, "keep refused: x_diff is 2");
    // A forged record of another run.
    let record = fs::read_to_string(bench.path(".lab/runs/1/record.json")).unwrap();
    let record = record
        .replace("\"outcome\": \"fail\"", "\"outcome\": \"pass\"")
        .replace("\"id\": 1", "\"id\": 2");
    let record = record
        .replace("\"sealed_runs\": 0", "\"sealed_runs\": 8")
        .replace("\"checked\": \"20", "\"checked\": \"29");
    fs::create_dir(bench.path(".lab/runs/2")).unwrap();
    fs::write(bench.path(".lab/runs/2/record.json"), record).unwrap();
    let before = asked(&bench).len();
    run(&bench, "int b;\n");
    judge(
        &bench,
        "echo 'fault: lab'; echo 'stopped: the disk is full'; exit 3",
    );
    refused(&bench, "the disk is full");
    assert!(
        asked(&bench)[before].contains("\"runs\":8}"),
        "{:?}",
        asked(&bench)
    );
}

/// Damaging the record of a refused run must not undo the refusal.
#[test]
fn a_record_that_cannot_be_read_counts_as_a_failed_check() {
    let bench = bench();
    judge(
        &bench,
        "echo 'x_diff: 2 limit=1'; echo 'correctness: fail'; exit 1",
    );
    run(&bench, "int a; // wrong\n");
    refused(&bench, "keep refused: x_diff is 2");
    fs::write(bench.path(".lab/runs/1/record.json"), "{ half").unwrap();
    run(&bench, "int b;\n");
    judge(&bench, &passes(""));
    let before = asked(&bench).len();
    keep(&bench).unwrap();
    assert_eq!(asked(&bench).len() - before, 8);
    // A later pass of eight runs makes it good.
    run(&bench, "int c;\n");
    keep(&bench).unwrap();
    assert_eq!(asked(&bench).len() - before, 8 + 1);
}

#[test]
fn a_crash_of_the_kernel_is_a_refusal_and_one_of_the_machine_is_none() {
    let bench = bench();
    judge(&bench, ":");
    run(&bench, "// tried\n");
    for (machine, why) in [
        (
            "echo 'fault: lab'; echo 'stopped: the disk is full'; exit 3",
            "the disk is full",
        ),
        ("kill -9 $$", "the judge was ended by signal 9"),
        (
            "echo 'stopped: the kernel crashed: its process was ended by SIGKILL (killed)'; exit 3",
            "ended by SIGKILL",
        ),
        (
            "echo 'stopped: kernel.cu does not build'; exit 2",
            "does not build",
        ),
        ("exit 101", "the judge ended with exit code 101"),
        (&*passes("sealed_runs: 0\\n"), "no sealed run is in stock"),
    ] {
        judge(&bench, machine);
        refused(&bench, why);
        assert!(bench.recorded(1).held_out.is_none(), "{machine}");
    }
    assert!(
        asked(&bench)
            .iter()
            .all(|words| words.contains("\"runs\":1}"))
    );

    judge(
        &bench,
        "echo 'stopped: the kernel crashed: an illegal address'; exit 3",
    );
    refused(
        &bench,
        "keep refused: the kernel crashed: an illegal address",
    );
    run(&bench, "// tried again\n");
    let before = asked(&bench).len();
    judge(&bench, &passes("sealed_runs: 8\\n"));
    assert_eq!(keep(&bench).unwrap().run, Some(RunId(2)));
    assert!(asked(&bench)[before].contains("\"runs\":8}"));
}

#[test]
fn a_check_that_is_cancelled_after_it_showed_a_failure_is_a_refusal() {
    let bench = bench();
    judge(&bench, "echo 'x_diff: 0.5 limit=1'; sleep 1000");
    run(&bench, "// tried\n");
    // The user ends the check as soon as it prints something.
    let cancelled = |line: &'static str| {
        let control = Control::new().unwrap();
        let mut tell = |_, batch: Batch| {
            if batch
                .lines
                .iter()
                .any(|of_judge| of_judge.text.starts_with(line))
            {
                control.end();
            }
        };
        keep_until(&bench, &control, &mut tell)
            .unwrap_err()
            .to_string()
    };
    assert!(cancelled("x_diff").starts_with("cancelled: nothing was kept"));
    assert!(bench.recorded(1).held_out.is_none());
    judge(&bench, "echo 'x_diff: 2 limit=1'; sleep 1000");
    assert!(cancelled("x_diff").starts_with("keep refused: x_diff is 2, its limit 1"));
    assert_eq!(bench.recorded(1).held_out.unwrap().outcome, Outcome::Fail);
}
