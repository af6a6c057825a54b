//! The terminal: sizes, stopping and coming back, the editor, every way to end.

use super::bench::{Bench, Lab, child, children, is_alive, is_stopped, wait_until_gone};
use lab_testing::until;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs;
use std::path::Path;

/// The name of the shell that gives a killed screen's terminal back.
const WATCHDOG: &str = "lab-terminal-watchdog";

#[test]
fn it_follows_the_terminals_size() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS").see("Git log");
    lab.resize(80, 24);
    lab.wait("two panes", |screen| {
        let text = screen.contents();
        text.contains("run.log") && !text.contains("Git log") && text.contains("q quit")
    });
    // The screen is cleared within the frame, so that no empty screen is visible.
    lab.hear("\x1b[?2026h\x1b[2J");
    lab.resize(20, 5);
    lab.see("too small");
    lab.resize(160, 45);
    lab.see("Git log");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_tiny_terminal_can_be_quit() {
    let bench = Bench::new();
    let mut lab = bench.open_with(20, 5, &[]);
    lab.see("too small");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn it_stops_and_comes_back_whole() {
    let bench = Bench::new();
    let mut shell = bench.open_in_shell();
    shell.see("● PASS");
    let pid = bench.screen();
    shell.press("\u{1a}");
    comes_back(&mut shell, &pid);
    // Stopped from outside, as `kill -TSTP` does.
    kill_process(process(&pid), Signal::TSTP).unwrap();
    comes_back(&mut shell, &pid);
    bench.save_in_place("speed 7000\n");
    shell.see("7,000 sps");
    shell.press("q");
    wait_until_gone(&pid);
    shell.press("\n");
    assert_eq!(shell.end(), 0);
}

fn process(pid: &str) -> Pid {
    Pid::from_raw(pid.parse().unwrap()).unwrap()
}

/// The shell gets the terminal from a screen that stops, and gives it back.
fn comes_back(shell: &mut Lab, pid: &str) {
    until("the screen is stopped", || is_stopped(pid));
    shell.wait("the shell's terminal", |screen| {
        !screen.alternate_screen() && !screen.hide_cursor()
    });
    shell.press("fg\n");
    shell.wait("the screen again", |screen| {
        screen.alternate_screen() && screen.contents().contains("● PASS")
    });
}

/// As `ssh -t host lab` and `tmux new-window lab`: nobody would continue the screen.
#[test]
fn without_a_shell_above_the_screen_stays() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("\u{1a}")
        .see("suspend: no shell to return to")
        .see("● PASS");
    lab.press("3").wait("the message is gone", |screen| {
        !screen.contents().contains("no shell")
    });
    // Stopped from outside.
    lab.signal(Signal::TSTP);
    lab.see("suspend: no shell to return to");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn the_editor_gets_the_terminal_and_gives_it_back() {
    let bench = Bench::new();
    // The editor gets the keys while it is open.
    let text = "printf 'editing %s: ' \"${1##*/}\"\nread -r speed\necho \"speed $speed\" > \"$1\"";
    let editor = bench.script("editor", text);
    let mut lab = bench.open_with(160, 45, &[("VISUAL", &editor)]);
    lab.see("● PASS");
    lab.press("e").see("editing kernel.cu:");
    lab.press("8000\n").see("8,000 sps");
    lab.wait("the screen again", vt100::Screen::alternate_screen);
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn a_signal_ends_the_screen_and_its_editor() {
    let bench = Bench::new();
    let editor = bench.script(
        "editor",
        "echo $$ > editor.pid\nprintf editing\nread -r line",
    );
    let mut lab = bench.open_with(160, 45, &[("VISUAL", &editor)]);
    lab.see("● PASS");
    lab.press("e").see("editing");
    let pid = fs::read_to_string(bench.repo().join("editor.pid")).unwrap();
    lab.signal(Signal::TERM);
    assert_eq!(lab.end(), 143);
    assert!(!is_alive(&pid), "the editor is gone with the screen");
}

#[test]
fn an_editor_that_fails_is_named() {
    let bench = Bench::new();
    let mut lab = bench.open_with(160, 45, &[("VISUAL", Path::new("exit 3;"))]);
    lab.see("● PASS");
    lab.press("e")
        .see("the editor 'exit 3;' ended with exit code 3");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let mut lab = bench.open_with(160, 45, &[("VISUAL", Path::new("no-such-editor -w"))]);
    lab.see("● PASS");
    lab.press("e")
        .see("the editor 'no-such-editor -w' was not found");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn quitting_takes_the_run_along() {
    let bench = Bench::new();
    fs::write(bench.repo().join("kernel.cu"), "hangs\n").unwrap();
    let mut lab = bench.open();
    lab.see("MEASURE");
    let pid = fs::read_to_string(bench.repo().join("harness.pid")).unwrap();
    assert!(is_alive(&pid));
    lab.press("q");
    assert_eq!(lab.end(), 0);
    assert!(!is_alive(&pid), "the harness is gone with the screen");
}

#[test]
fn a_signal_leaves_the_terminal_sane_and_no_process() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let bench = Bench::new();
        fs::write(bench.repo().join("kernel.cu"), "hangs\n").unwrap();
        let mut lab = bench.open();
        lab.see("MEASURE");
        let pid = fs::read_to_string(bench.repo().join("harness.pid")).unwrap();
        lab.signal(signal);
        assert_eq!(lab.end(), code);
        assert!(!is_alive(&pid), "the harness is gone with the screen");
    }
}

#[test]
fn a_signal_ends_a_screen_whose_terminal_takes_nothing_any_more() {
    for signal in [Signal::TERM, Signal::HUP] {
        let bench = Bench::new();
        let mut lab = bench.open();
        lab.see("● PASS");
        lab.stop_reading();
        // Each return draws the whole screen, until the terminal takes no more.
        until("the screen waits for its terminal", || {
            lab.signal(Signal::CONT);
            lab.waits_to_write()
        });
        lab.signal(signal);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let ended = || waitid(WaitId::Pid(lab.pid()), look).unwrap();
        until("the screen ends", || ended().is_some());
        assert_eq!(
            ended().unwrap().terminating_signal(),
            Some(signal.as_raw()),
            "by the signal itself"
        );
    }
}

#[test]
fn a_second_screen_only_shows_what_the_first_one_judges() {
    let bench = Bench::new();
    let mut first = bench.open();
    first.see("● PASS");
    let mut second = bench.open();
    second.see("only shown").see("1,000 sps");
    bench.save_by_rename("speed 2000\n");
    first.see("2,000 sps").see("run 2");
    second.see("2,000 sps").see("run 2");
    // The stages of a run too, and the second screen cannot end it.
    bench.save_by_rename("waits 2500\n");
    first.see("MEASURE").see("3/10");
    second.see("MEASURE").see("3/10").see("progress: 3/10");
    second.press("x").see("stop: another screen");
    fs::write(bench.folder.path().join("judge"), "").unwrap();
    first.see("2,500 sps").see("run 3");
    second.see("2,500 sps").see("run 3");
    first.press("q");
    assert_eq!(first.end(), 0);
    // Chosen again, the kernel is this screen's.
    second.press("\u{f}").see("this screen");
    second.press("\r");
    second.wait("it judges", |screen| {
        !screen.contents().contains("only shown") && screen.contents().contains("2,500 sps")
    });
    bench.save_by_rename("speed 3000\n");
    second.see("3,000 sps").see("run 4");
    second.press("q");
    assert_eq!(second.end(), 0);
}

#[test]
fn a_killed_screen_takes_the_run_along() {
    let bench = Bench::new();
    fs::write(bench.repo().join("kernel.cu"), "hangs\n").unwrap();
    let lab = bench.open();
    lab.see("MEASURE");
    let pid = fs::read_to_string(bench.repo().join("harness.pid")).unwrap();
    assert!(is_alive(&pid));
    lab.signal(Signal::KILL);
    wait_until_gone(&pid);
}

#[test]
fn a_killed_screen_leaves_the_terminal_sane() {
    let bench = Bench::new();
    // As from a shell: the terminal outlives the screen.
    let mut shell = bench.open_in_shell();
    shell.see("● PASS");
    let pid = bench.screen();
    let watchdog = child(&pid, WATCHDOG);
    kill_process(process(&pid), Signal::KILL).unwrap();
    shell.see_sane();
    wait_until_gone(&watchdog);
    shell.press("\n");
    assert_eq!(shell.end(), 0);
}

/// As `ssh -t host lab` and `docker exec -it`: the screen leads its session, which loses its
/// terminal with the screen.
#[test]
fn a_killed_screen_without_a_shell_leaves_the_terminal_sane() {
    let bench = Bench::new();
    bench.config("mouse = true\nnotify = \"osc\"\n");
    let lab = bench.open();
    lab.see("● PASS");
    lab.wait("the mouse is on", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    let watchdog = child(&lab.pid().to_string(), WATCHDOG);
    lab.signal(Signal::KILL);
    lab.see_sane();
    wait_until_gone(&watchdog);
}

#[test]
fn a_closed_terminal_ends_the_screen_as_a_hangup_does() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    assert_eq!(lab.close(), 129);
    // Also while a run goes on, which ends with the screen.
    fs::write(bench.repo().join("kernel.cu"), "hangs\n").unwrap();
    let mut lab = bench.open();
    lab.see("MEASURE");
    let pid = fs::read_to_string(bench.repo().join("harness.pid")).unwrap();
    assert_eq!(lab.close(), 129);
    assert!(!is_alive(&pid), "the harness is gone with the screen");
}

#[test]
fn a_signal_does_not_wait_for_a_long_paste() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    // Into the search, without the brackets of a paste: every byte is a key of its own.
    lab.press("/");
    let pasting = lab.paste_in_background(&"float x = 0; ".repeat(80_000));
    lab.see("/ float x = 0; float");
    lab.signal(Signal::TERM);
    assert_eq!(lab.end(), 143);
    assert!(!pasting.is_finished(), "the screen ended before the paste");
}

#[test]
fn keys_that_wait_together_are_drawn_together() {
    let bench = Bench::talking();
    let mut lab = bench.open();
    lab.see("● PASS");
    lab.press("3").see("attempt 11");
    let before = lab.frames();
    // A key that was held down. The last keys come back from the end: no key beyond it counts.
    lab.press(&format!("{}k", "j".repeat(400)));
    lab.wait("the row before the last", |screen| {
        screen
            .contents()
            .lines()
            .any(|line| line.contains("▸") && line.contains("attempt 1 "))
    });
    let drawn = lab.frames() - before;
    assert!(drawn < 100, "{drawn} frames for 401 keys");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn nobody_watches_a_terminal_that_was_given_back() {
    let bench = Bench::new();
    let mut shell = bench.open_in_shell();
    shell.see("● PASS");
    let pid = bench.screen();
    let watchdog = child(&pid, WATCHDOG);
    shell.press("\u{1a}");
    until("the screen is stopped", || is_stopped(&pid));
    assert!(!is_alive(&watchdog) && children(&pid, WATCHDOG).is_empty());
    comes_back(&mut shell, &pid);
    let watchdog = child(&pid, WATCHDOG);
    shell.press("q");
    wait_until_gone(&pid);
    shell.press("\n");
    assert_eq!(shell.end(), 0);
    assert!(!is_alive(&watchdog));
}

#[test]
fn without_stty_and_sh_there_is_a_screen_all_the_same() {
    let bench = Bench::new();
    let nowhere = bench.folder.path().join("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let mut lab = bench.open_with(160, 45, &[("PATH", &nowhere)]);
    lab.see("q quit");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn keys_that_come_all_at_once_all_arrive() {
    let bench = Bench::new();
    let mut lab = bench.open_with(60, 16, &[]);
    lab.see("PASS");
    // More than the 1,024 bytes that one read takes.
    lab.press(&format!("/first{}last", "x\u{7f}".repeat(600)))
        .see("/firstlast");
    lab.press("\r").see("was not found");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}
