//! The user's config, and the keys, clipboard, mouse and notifications of a real terminal.

use super::bench::{Bench, is_stopped, wait_until_gone};
use lab_testing::until;
use std::fs;

/// A click of the left button at a column and a row, both from 1, as a terminal in SGR mode sends
/// it.
fn click(column: u16, row: u16) -> String {
    format!("\u{1b}[<0;{column};{row}M\u{1b}[<0;{column};{row}m")
}

#[test]
fn a_wrong_config_opens_no_screen_and_says_where_and_what() {
    let bench = Bench::new();
    bench.config("[keys]\nkeep = \"d\"\n");
    let mut lab = bench.open();
    assert_eq!(lab.end(), 64);
    lab.see("config.toml:2:1: 'd' is bound to both discard and keep");
    bench.config("\ntheme = \"nrod\"\n");
    let mut lab = bench.open();
    assert_eq!(lab.end(), 1);
    lab.see("config.toml:2:9: there is no theme 'nrod' (did you mean nord?)");
    assert!(!bench.repo().join(".lab/runs").exists(), "nothing ran");
}

#[test]
fn the_config_holds_and_its_changes_are_taken_up() {
    let bench = Bench::new();
    bench.config("[keys]\nkeep = \"K\"\n");
    let mut lab = bench.open();
    lab.see("● PASS").see("K keep");
    bench.save_in_place("speed 2000\n");
    lab.see("2,000 sps");
    bench.config("mouse = true\n[keys]\nkeep = \"k\"\nup = \"up\"\n");
    lab.see("k keep");
    lab.wait("the mouse is on", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    bench.config("mouse = true\n[keys]\nkepe = \"k\"\n");
    lab.see("unknown action 'kepe' (did you mean keep?)")
        .see("k keep");
    lab.press("k").see("What did you try?");
    lab.press("twice as fast\r").see("run 2 kept as");
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn the_screen_hears_the_mouse_unless_it_is_turned_off() {
    let bench = Bench::new();
    let mut lab = bench.open_in_shell();
    lab.see("● PASS").see("━ Correctness");
    lab.wait("the mouse", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    lab.press(":mouse\r").see("the mouse is off");
    lab.wait("no mouse", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    });
    lab.press(":mouse\r").see("the mouse is on");
    lab.wait("the mouse", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    lab.press(&click(120, 40)).see("━ run.log");
    lab.press(&click(10, 40)).see("━ Git log");
    // The terminal belongs to the shell while it is lent.
    lab.press("\u{1a}");
    lab.wait("the shell's mouse", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    });
    until("the screen is stopped", || is_stopped(&bench.screen()));
    lab.press("fg\n");
    lab.wait("the mouse again", |s| {
        s.mouse_protocol_mode() == vt100::MouseProtocolMode::ButtonMotion
    });
    lab.press("q");
    wait_until_gone(&bench.screen());
    lab.press("\n");
    assert_eq!(lab.end(), 0);
}

#[test]
fn what_is_copied_reaches_the_terminal() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS");
    let head = bench.git(&["rev-parse", "HEAD"]);
    lab.press("\t\t").see("━ Git log");
    lab.press("y").see("copied ");
    // Base64 of forty letters and digits, which are three to four.
    lab.hear(&format!("\u{1b}]52;c;{}\u{1b}\\", base64(head.trim())));
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

/// Base64 by RFC 4648, written independently of the code under test.
fn base64(text: &str) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let bits = part
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - part.len()));
        for at in 0..4 {
            match at <= part.len() {
                true => out.push(char::from(SIGNS[(bits >> (18 - 6 * at)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

#[test]
fn the_end_of_a_long_run_rings_where_nobody_looks() {
    let bench = Bench::new();
    bench.config("notify = \"osc\"\nnotify_after_s = 0\n");
    let mut lab = bench.open();
    lab.see("● PASS").hear("\u{1b}[?1004h");
    lab.press("\u{1b}[O");
    bench.save_in_place("speed 2000\n");
    lab.hear("\u{1b}]9;repo: run 2 PASS 2,000 sps\u{7}");
    lab.press("\u{1b}[I").press("q");
    assert_eq!(lab.end(), 0);
    lab.hear("\u{1b}[?1004l");
}

#[test]
fn the_layout_is_there_again_and_a_damaged_one_is_left_aside() {
    let bench = Bench::new();
    let mut lab = bench.open();
    lab.see("● PASS").see("▸1 Bench");
    lab.press("4").see("▸4 Git");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let mut lab = bench.open();
    lab.see("▸4 Git").see("● PASS");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let layouts = bench.folder.path().join("home/lab/layouts");
    let file = fs::read_dir(layouts)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(&file, "{").unwrap();
    let mut lab = bench.open();
    lab.see("▸1 Bench").see("the saved layout is ignored");
    lab.press("2").see("▸2 Source");
    lab.press("q");
    assert_eq!(lab.end(), 0);
    assert!(
        fs::read_to_string(file).unwrap().contains("source"),
        "it is written anew"
    );
}
