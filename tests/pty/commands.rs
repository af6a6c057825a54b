//! What the commands print on a real terminal, where they may use colours: nothing but text and colours reaches it, whatever the
//! names, arguments and files say.

use crate::bench::Bench;
use lab_protocol::console::is_clean;
use std::fs;

const HOSTILE: &str = "\x1b]0;t\x07\x1b]52;c;eA==\x07\x1b[2J\u{9b}31m\u{202e}\u{200b}";

/// The text without colours and attributes, which are `ESC [ numbers m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let numbers = part.bytes().take_while(|b| b.is_ascii_digit() || *b == b';').count();
        match part[numbers..].strip_prefix('m') {
            Some(rest) => plain += rest,
            None => plain += &format!("\x1b[{part}"),
        }
    }
    plain
}

#[test]
fn a_terminal_gets_text_and_colours_alone() {
    let bench = Bench::new();
    let theme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/themes/nord.yaml")).unwrap();
    let name = format!("{HOSTILE}.yaml");
    fs::write(bench.repo().join(&name), theme).unwrap();
    fs::write(bench.repo().join("kernel.cu"), "speed 1100\n").unwrap();
    let wrong = format!("--{HOSTILE}");
    let styled: [&[&str]; 4] =
        [&["--help"], &["run", "--no-such"], &["theme", "nord"], &["theme", &name, "--paint"]];
    for args in styled {
        let shown = bench.say_in_terminal(args);
        assert!(shown.contains("\x1b[") && shown.contains('m'), "{args:?} is coloured: {shown:?}");
        assert!(is_clean(&without_colours(&shown).replace('\r', "")), "{args:?} printed {shown:?}");
    }
    let plain: [&[&str]; 8] = [
        &[&wrong],
        &["run", &wrong],
        &["theme", &wrong],
        &["theme", HOSTILE],
        &["run"],
        &["keep", "-m", HOSTILE],
        &["log"],
        &["doctor"],
    ];
    for args in plain {
        let shown = bench.say_in_terminal(args);
        assert!(!shown.is_empty() && is_clean(&shown.replace('\r', "")), "{args:?} printed {shown:?}");
    }
}
