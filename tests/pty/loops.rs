//! A screen beside `lab auto`: it shows the loop, sends it requests, and can be opened and closed
//! at any time.

use super::bench::Bench;
use lab_testing::until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;
use std::process::Child;

/// Each turn appends a line and says so, and waits for the file `go-TURN` beside the repository.
const EDIT: &str = "echo \"the agent looks at turn $LAB_TURN\"; echo \"edit $LAB_TURN\" >> kernel.cu; \
    while ! [ -e FOLDER/go-$LAB_TURN ]; do sleep 0.01; done";

/// `lab auto`, which ends with the test.
struct Auto(Child);

impl Auto {
    fn start(bench: &Bench, options: &[&str], edit: &str) -> Auto {
        let edit = edit.replace("FOLDER", &bench.folder.path().display().to_string());
        Auto(bench.start_lab(&[&["auto"], options, &["--", "sh", "-c", &edit]].concat()))
    }

    #[track_caller]
    fn ends_well(&mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Auto {
    fn drop(&mut self) {
        // If a test fails, the command of its loop never ends.
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}

fn file(bench: &Bench, name: &str) -> PathBuf {
    bench.folder.path().join(name)
}

fn touch(bench: &Bench, name: &str) {
    fs::write(file(bench, name), "").unwrap();
}

/// The last lines of the kernels that the harness ran on, in their order.
fn judged(bench: &Bench) -> Vec<String> {
    fs::read_to_string(file(bench, "judged"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_screen_attaches_to_a_loop_and_leaves_it_as_it_is() {
    let bench = Bench::looping();
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("7")
        .see("No loop has worked on kernel.cu yet")
        .see("lab auto --hours 8 -- COMMAND");
    let mut auto = Auto::start(&bench, &[], EDIT);
    // The edit and the words of the agent, while it works.
    lab.see("the command edits")
        .see("the agent looks at turn 1")
        .see("+ edit 1");

    // Paused after this turn, which is judged once.
    lab.press(" ").see("pauses after this turn");
    touch(&bench, "go-1");
    lab.see("paused ·")
        .see("turn 1: discarded run 2")
        .see("discarded")
        .see("Space resume loop");
    assert_eq!(judged(&bench), ["// the first", "edit 1"]);

    // A person takes over, and hands back.
    bench.save_by_rename("// the first\nby hand\n");
    lab.see("a person has edited it").see("run 3 · saved");
    lab.see("3 open").see("run 3 · saved");
    lab.press(" ").see("waits for you");
    lab.press("d").see("What did you try?");
    lab.press("by hand\r")
        .see("run 3 discarded")
        .see("the agent looks at turn 2");

    // The turn is ended, and what the command wrote is in git.
    lab.see("+ edit 2");
    lab.press("x")
        .see("turn 2: failed: a person ended the turn")
        .see("the agent looks at turn 3");
    assert_eq!(
        bench.git(&["show", "refs/lab/auto/2:kernel.cu"]),
        "// the first\nedit 2\n"
    );

    // The screen is closed, and the loop continues.
    lab.press("q");
    assert_eq!(lab.end(), 0);
    touch(&bench, "go-3");
    until("the loop goes on alone", || judged(&bench).len() == 4);
    let mut lab = bench.open();
    lab.see("▸7 Loop")
        .see("the agent looks at turn 4")
        .see("turn 3: discarded run 4");
    bench.lab(&["auto", "stop"]);
    lab.see("ends after this turn");
    touch(&bench, "go-4");
    auto.ends_well();
    lab.see("ended after turn 4: a person stopped it")
        .see("turn 4: discarded run 5");
    assert_eq!(
        judged(&bench),
        ["// the first", "edit 1", "by hand", "edit 3", "edit 4"]
    );
    assert_eq!(bench.kernel(), "// the first\n");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_run_of_the_loop_is_followed_and_x_ends_it() {
    let bench = Bench::looping();
    let edit = "echo \"it waits $LAB_TURN\" >> kernel.cu; [ $LAB_TURN = 1 ] || exec sleep 600";
    let mut auto = Auto::start(&bench, &[], edit);
    until("the harness runs", || judged(&bench).len() == 1);
    // The screen opens in the middle of the run, and judges nothing.
    let mut lab = bench.open();
    lab.see("run 1");
    lab.press("7")
        .see("judges the edit")
        .see("+ it waits 1")
        .see("◐")
        .see("judging");
    lab.press("x")
        .see("turn 1: failed: a person ended the turn")
        .see("turn 2 so far");
    assert_eq!(bench.kernel(), "// the first\n");
    assert_eq!(judged(&bench)[0], "it waits 1");
    assert!(
        !judged(&bench)[1..].contains(&"it waits 1".to_owned()),
        "{:?}",
        judged(&bench)
    );
    // Nothing of the loop ends with the screen.
    lab.press("q");
    assert_eq!(lab.end(), 0);
    assert!(auto.0.try_wait().unwrap().is_none());
    bench.lab(&["auto", "stop"]);
    bench.lab(&["auto", "end-turn"]);
    auto.ends_well();
}

#[test]
fn beside_a_quick_loop_the_screen_judges_nothing() {
    let bench = Bench::looping();
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("7");
    // The third turn gives a kernel that was judged before, which the loop puts on disk only for a
    // moment.
    let edit =
        "case $LAB_TURN in 3) echo 'edit 1' ;; *) echo \"edit $LAB_TURN\" ;; esac >> kernel.cu";
    let mut auto = Auto::start(&bench, &["--experiments", "9"], edit);
    auto.ends_well();
    lab.see("ended after turn 9: the budget of 9 experiments is spent")
        .see("8 discarded, 1 known before");
    let edits = [1, 2, 4, 5, 6, 7, 8, 9].map(|turn| format!("edit {turn}"));
    assert_eq!(
        judged(&bench),
        [&["// the first".to_owned()], &edits[..]].concat()
    );
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let names = fs::read_dir(bench.repo().join(".lab/runs"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name());
    let runs = names
        .filter(|name| {
            name.to_str()
                .is_some_and(|name| name.parse::<u64>().is_ok())
        })
        .count();
    assert_eq!(runs, 9, "the screen has begun no run");
}
