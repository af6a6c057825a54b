//! `lab check` on the screen: beside the verdict, and never in its place.

use super::stories::{PASS, check};
use super::world::World;

const CHECKED: &str =
    "say check_tools: race | kernel.cu(7): error: [race] a race | check: race found something";

#[test]
fn a_check_stands_beside_the_verdict_and_is_not_decided() {
    let story =
        format!("open; {PASS}; save; {PASS}; press s; {CHECKED}; end fail race_findings is 1");
    let mut world = check(
        &story,
        &[
            "● PASS",
            "✗ check race found something",
            "kernel.cu:7",
            "run 2 · saved",
        ],
    );
    world.tell("press c; type fast; press enter");
    assert!(
        world.words().contains("run 2 kept"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn of_newer_bytes_a_check_says_nothing() {
    let story =
        format!("open; {PASS}; press s; {CHECKED}; end fail race_findings is 1; save; {PASS}");
    let mut world = check(&story, &["● PASS", "run 3 · saved"]);
    assert!(
        !world.words().contains("race found"),
        "{}",
        world.screen(160, 45)
    );
    // The same if the save comes during the check.
    let story = format!("open; {PASS}; press s; {CHECKED}; save; {PASS}");
    let mut world = check(&story, &["● PASS", "run 3 · saved"]);
    assert!(
        !world.words().contains("race found"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_check_is_remembered_by_the_next_screen() {
    let story = format!(
        "open; {PASS}; press s; say check_tools: race | check: race clean; end pass; reopen"
    );
    check(&story, &["● PASS", "✓ check race clean"]);
}

#[test]
fn a_check_follows_a_run_and_needs_the_built_in_harness() {
    check("open; press s", &["a check follows this run"]);
    check(
        &format!("open; {PASS}; press s; press s"),
        &["check: a check is in progress"],
    );
    let mut world = World::new().external();
    world.tell(&format!("open; press y; {PASS}; press s"));
    assert!(
        world.words().contains("needs the built-in harness"),
        "{}",
        world.screen(160, 45)
    );
}

#[test]
fn a_python_kernel_is_neither_checked_nor_profiled_and_the_key_says_so_at_once() {
    let mut world = World::new();
    world.model.setup.kernel = "kernels/rmsnorm/kernel.py".into();
    world.tell("open; say correctness: pass; end pass 1");
    let before = world.runs();
    world.tell("press s");
    let words = world.words();
    assert!(words.contains("its tools cannot watch Python"), "{words}");
    world.tell("press P");
    let words = world.words();
    assert!(words.contains("this kernel is Python"), "{words}");
    assert_eq!(world.runs(), before);
    world.tell("press 5");
    let words = world.words();
    assert!(
        words.contains("profiles CUDA C++, and this kernel is Python"),
        "{words}"
    );
    assert!(!words.contains("restore it first"), "{words}");
}

#[test]
fn a_pass_that_the_run_contradicts_has_no_tick() {
    let mut world = World::new();
    world.tell(
        "open; say correctness: fail | correctness: pass; end not-judged the harness said fail and pass",
    );
    let words = world.words();
    assert!(words.contains("· correctness pass"), "{words}");
    assert!(!words.contains("✓ correctness"), "{words}");
}

/// The line of a launch that the device refuses: its message is read to its end on the smallest screen.
#[test]
fn the_message_of_a_crash_is_read_to_its_end() {
    let why = "the launch statement of rmsnorm_f32 asks for a grid of 0x2x1 blocks of 128x1x1 threads: no extent may be 0";
    let line = format!("kernels/rmsnorm/kernel.cu(28): error: {why}");
    let long = "kernels/rmsnorm/kernel.cu(9): warning: variable staging was declared but never referenced in any of these functions";
    let mut world = World::new();
    world.tell(&format!(
        "open; say stage: build | build_s: 1.0 | {long} | {line} | stage: verify; end crash {line}"
    ));
    let screen = world.screen(80, 24);
    assert!(screen.contains("no extent may be 0"), "{screen}");
    // A warning takes one line, and says that there is more of it.
    let warning = screen.lines().find(|row| row.contains("variable staging"));
    assert!(warning.is_some_and(|row| row.contains('…')), "{screen}");
}
