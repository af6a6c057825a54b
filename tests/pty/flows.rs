//! The circle: save, see the verdict, keep or discard.

use super::bench::Bench;
use rustix::process::{Signal, kill_process};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

#[test]
fn save_see_the_verdict_and_keep() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS").see("1,000 sps").see("external");
    bench.save_in_place("speed 2000\n");
    lab.see("2,000 sps").see("run 2 · saved");
    lab.press("c").see("What did you try?");
    lab.press("twice as fast\r").see("run 2 kept as");
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "twice as fast\n");
    assert_eq!(bench.git(&["show", "HEAD:kernel.cu"]), "speed 2000\n");
    lab.see("2,000  twice as fast");
    let rows = std::fs::read_to_string(bench.repo().join("results.tsv")).unwrap();
    assert!(
        rows.lines()
            .any(|row| row.contains("2000") && row.ends_with("keep\ttwice as fast")),
        "{rows}"
    );
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

/// A window that is dragged sends signals all the time: no call that waits or reads fails.
#[test]
fn signals_disturb_no_run_and_no_decision() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    let pid = lab.pid();
    thread::scope(|scope| {
        let (_going_on, ended) = channel::<()>();
        scope.spawn(move || {
            while ended.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Timeout) {
                kill_process(pid, Signal::WINCH).unwrap();
            }
        });
        bench.save_in_place("speed 2000\n");
        lab.see("2,000 sps").see("run 2 · saved");
        lab.press("c").see("What did you try?");
        lab.press("twice as fast\r").see("run 2 kept as");
    });
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "twice as fast\n");
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_save_by_rename_is_seen_twice_in_a_row() {
    let bench = Bench::new();
    let lab = bench.open();
    lab.see("1,000 sps");
    bench.save_by_rename("speed 3000\n");
    lab.see("3,000 sps");
    // A watch on the file itself would miss the save.
    bench.save_by_rename("speed 4000\n");
    lab.see("4,000 sps");
    bench.save_in_place("speed 5000\n");
    lab.see("5,000 sps");
}

#[test]
fn a_wrong_kernel_is_discarded_and_the_incumbent_is_back() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("1,000 sps");
    bench.save_by_rename("wrong\n");
    lab.see("✗ FAIL").see("c keep (needs a passing verdict)");
    lab.press("d").see("What did you try?");
    lab.press("not this way\r")
        .see("run 2 discarded")
        .see("● PASS");
    assert_eq!(bench.kernel(), "speed 1000\n");
    let kept = bench.git(&["for-each-ref", "--format=%(refname)", "refs/lab"]);
    assert!(!kept.trim().is_empty(), "the attempt stays in git");
    lab.see("not this way");
    // The view Git shows the experiment at the commit on which it was tried, with its changes.
    lab.press("3").see("Experiments 1");
    lab.press("g4");
    lab.see("discard: not this way")
        .see("discard: run 2 was tried on")
        .see("- speed 1000")
        .see("+ wrong");
}

#[test]
fn text_typed_at_once_behind_a_discard_leaves_unjudged_bytes_on_disk() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("1,000 sps");
    lab.press("p").see("paused");
    bench.save_by_rename("speed 7\n");
    lab.see("stale");
    lab.press("dyes, no gain\r")
        .see("Discard?")
        .see("no row is written");
    assert_eq!(bench.kernel(), "speed 7\n");
    lab.press("y").see("discarded");
    assert_eq!(bench.kernel(), "speed 1000\n");
    // Git keeps them, with these words.
    let kept = bench.git(&["for-each-ref", "--format=%(subject)", "refs/lab"]);
    assert_eq!(kept, "yes, no gain\n");
}

#[test]
fn a_newer_save_ends_the_run_before_it() {
    let bench = Bench::new();
    let lab = bench.open();
    lab.see("1,000 sps");
    bench.save_by_rename("hangs\n");
    lab.see("MEASURE");
    bench.save_by_rename("speed 2000\n");
    lab.see("2,000 sps");
}

#[test]
fn a_kernel_that_is_gone_is_said_and_its_return_is_judged() {
    let bench = Bench::new();
    let lab = bench.open();
    lab.see("● PASS");
    std::fs::remove_file(bench.repo().join("kernel.cu")).unwrap();
    lab.see("stale").see("kernel.cu is not there");
    bench.save_in_place("speed 1000\n");
    lab.wait("the verdict of the same bytes", |screen| {
        !screen.contents().contains("stale")
    });
    bench.save_in_place("speed 6000\n");
    lab.see("6,000 sps");
}

#[test]
fn a_lab_toml_that_changes_is_read_anew_and_its_command_asked_for() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    let config = bench.repo().join("lab.toml");
    std::fs::write(&config, "harnes = \"sh harness.sh\"\n").unwrap();
    lab.see("lab.toml").see("harnes");
    std::fs::write(&config, "harness = \"sh ./harness.sh\"\n").unwrap();
    lab.see("Trust this harness?").see("sh ./harness.sh");
    lab.press("y").see("run 2 ·").see("● PASS");
}

#[test]
fn lab_trust_asks_on_a_terminal() {
    let bench = Bench::untrusted();
    let mut lab = bench.run_in_terminal(120, &["trust"]);
    lab.see("sh harness.sh").see("Trust it? [y/N]");
    lab.press("\r").see("lab: nothing was trusted");
    assert_eq!(lab.end(), 1);
    let mut lab = bench.run_in_terminal(120, &["run"]);
    lab.see("you have not trusted it yet");
    assert_eq!(lab.end(), 64);
    let mut lab = bench.run_in_terminal(120, &["trust"]);
    lab.see("Trust it? [y/N]");
    lab.press("y\r").see("trusted: `sh harness.sh`");
    assert_eq!(lab.end(), 0);
    let other = Bench::untrusted();
    let mut lab = other.run_in_terminal(120, &["trust", "--yes"]);
    lab.see("trusted: `sh harness.sh`");
    assert_eq!(lab.end(), 0);
    assert!(!lab.contents().contains("Trust it?"));
}

#[test]
fn an_untrusted_command_waits_for_a_yes() {
    let bench = Bench::untrusted();
    let mut lab = bench.open();
    lab.see("sh harness.sh").see("Run it?");
    assert!(!bench.repo().join(".lab/runs/1").exists(), "nothing ran");
    lab.press("y").see("● PASS");
}

#[test]
fn what_is_done_beside_the_screen_is_seen() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS").see("main @ ");
    bench.git(&["checkout", "-q", "-b", "exp/beside"]);
    lab.see("exp/beside @ ");
    bench.git(&["commit", "-q", "--allow-empty", "-m", "made by hand"]);
    lab.see("made by hand");
    let lock = bench.repo().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    lab.see("c keep (git's index");
    std::fs::remove_file(&lock).unwrap();
    lab.wait("no lock", |screen| {
        !screen.contents().contains("git's index")
    });
    bench.lab(&["run"]);
    lab.see("run 2 · ");
    bench.save_in_place("speed 2000\n");
    lab.see("2,000 sps").see("run 3 · saved");
    bench.lab(&["keep", "-m", "kept beside"]);
    lab.see("2,000  kept beside").see("c keep (kept already)");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}
