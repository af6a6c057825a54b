//! Commands on a real terminal, where they may use colours: only text and colours reach the
//! terminal, whatever the names, arguments and files hold.

use crate::bench::Bench;
use lab_protocol::console::is_clean;
use std::fs;
use std::process::Command;

const HOSTILE: &str = "\x1b]0;t\x07\x1b]52;c;eA==\x07\x1b[2J\u{9b}31m\u{202e}\u{200b}";

/// The text without colours and attributes, which are `ESC [ numbers m`.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let numbers = part
            .bytes()
            .take_while(|b| b.is_ascii_digit() || *b == b';')
            .count();
        match part[numbers..].strip_prefix('m') {
            Some(rest) => plain += rest,
            None => plain += &format!("\x1b[{part}"),
        }
    }
    plain
}

#[test]
fn no_chart_is_poured_onto_a_terminal() {
    let shown = Bench::new().say_in_terminal(&["plot"]);
    assert!(
        shown.contains("`--out chart.svg` writes a file") && !shown.contains("<svg"),
        "{shown:?}"
    );
}

#[test]
fn a_terminal_gets_text_and_colours_alone() {
    let bench = Bench::new();
    let theme =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/themes/nord.yaml")).unwrap();
    let name = format!("{HOSTILE}.yaml");
    fs::write(bench.repo().join(&name), theme).unwrap();
    fs::write(bench.repo().join("kernel.cu"), "speed 1100\n").unwrap();
    let wrong = format!("--{HOSTILE}");
    // A run also replaces the line that says how far it is.
    let run = bench.say_in_terminal(&["run"]);
    assert!(run.contains("\x1b[32m● PASS"), "{run:?}");
    assert!(is_clean(&without_csi(&run).replace('\r', "")), "{run:?}");
    let styled: [&[&str]; 4] = [
        &["--help"],
        &["run", "--no-such"],
        &["theme", "nord"],
        &["theme", &name, "--paint"],
    ];
    for args in styled {
        let shown = bench.say_in_terminal(args);
        assert!(
            shown.contains("\x1b[") && shown.contains('m'),
            "{args:?} is coloured: {shown:?}"
        );
        assert!(
            is_clean(&without_colours(&shown).replace('\r', "")),
            "{args:?} printed {shown:?}"
        );
    }
    let plain: [&[&str]; 7] = [
        &[&wrong],
        &["run", &wrong],
        &["theme", &wrong],
        &["theme", HOSTILE],
        &["keep", "-m", HOSTILE],
        &["log"],
        &["doctor"],
    ];
    for args in plain {
        let shown = bench.say_in_terminal(args);
        assert!(
            !shown.is_empty() && is_clean(&shown.replace('\r', "")),
            "{args:?} printed {shown:?}"
        );
    }
}

/// What reached the terminal beside control sequences of the form `ESC [ … letter`.
fn without_csi(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| ('@'..='~').contains(&c))
            .map_or(part.len(), |at| at + 1);
        plain += &part[end..];
    }
    plain
}

/// Every view of the screen shows a repository whose every text is hostile.
#[test]
fn the_screen_passes_nothing_of_a_repository_on_to_the_terminal() {
    const OWN: &str = "\x1b[31;66m";
    let bench = Bench::new();
    let hostile = format!("{OWN}{HOSTILE}\u{feff}\u{2066}");
    let octal: String = hostile
        .bytes()
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    let lines = format!(
        "#!/bin/sh\nprintf 'device: {octal}\\n{octal}\\ncaveat: {octal}\\nworkload: {octal}={octal} a=1\\ncompiler: {octal}\\n\
         h_diff: 1e-6 limit=1 at={octal}\\nkernel.cu:2:1: warning: {octal}\\nlaunch: {octal}\\nregisters: {octal}\\nproblem: {octal}\\n\
         throughput_sps: 1000\\nkernel_us: 5\\ncorrectness: pass\\n'\n"
    );
    fs::write(bench.repo().join("harness.sh"), lines).unwrap();
    fs::write(
        bench.repo().join("kernel.cu"),
        format!("speed 1000 {hostile}\n{hostile}\n"),
    )
    .unwrap();
    bench.git(&["checkout", "-qb", "b\u{202e}\u{200b}\u{9b}31m"]);
    bench.git(&[
        "commit",
        "-qam",
        &format!("subject {hostile}\n\nTested: {hostile}"),
    ]);
    let rows = format!(
        "commit\tthroughput_sps\tkernel_us\tcorrectness\tstatus\tdescription\nabc1234\t900\t5\tpass\tdiscard\t{hostile}\n{hostile}\n"
    );
    fs::write(bench.repo().join("results.tsv"), rows).unwrap();
    bench.lab(&["run"]);
    bench.lab(&[
        "keep",
        "-m",
        &format!("kept {hostile}"),
        "--trailer",
        &format!("Note: {hostile}"),
    ]);
    fs::write(
        bench.repo().join("kernel.cu"),
        format!("speed 1000 // {hostile}\n"),
    )
    .unwrap();
    let mut lab = bench.open();
    lab.see_verdict("PASS");
    for view in ["2", "3", "4", "5", "1"] {
        lab.press(view).see(&format!("▸{view}"));
    }
    lab.press("?").see("Everywhere");
    lab.press("q").wait("no help", |screen| {
        !screen.contents().contains("Everywhere")
    });
    lab.press("c").see("What did you try?");
    lab.press("\x03").wait("no dialog", |screen| {
        !screen.contents().contains("What did you try?")
    });
    lab.press("q");
    assert_eq!(lab.end(), 0);
    let sent = lab.said();
    assert!(!sent.contains(OWN), "a colour of the repository's own");
    let text = without_csi(&sent);
    let wrong = text.split(['\r', '\n']).find(|line| !is_clean(line));
    assert!(wrong.is_none(), "the screen printed {wrong:?}");
}

/// On a terminal, one line shows the progress of a bench and disappears at the end; the lines of
/// ended runs stay.
#[test]
fn a_bench_shows_a_bar_on_a_terminal() {
    let bench = Bench::new();
    let shown = bench.say_in_terminal(&["bench", "--runs", "2"]);
    for run in 1..=2 {
        assert!(
            shown.contains(&format!("\r\x1b[2Krun {run} of 2 [")),
            "{shown:?}"
        );
        assert!(
            shown.contains(&format!("lab: run {run} of 2: mean 5.000 µs, passed 1/1, ")),
            "{shown:?}"
        );
    }
    let after = shown.rsplit("run 2 of 2 [").next().unwrap();
    assert!(
        after.contains("\r\x1b[2Klab: run 2 of 2: "),
        "the bar is removed: {after:?}"
    );
    assert!(
        after.contains("PASS  bench 1 of kernel.cu  passed 1/1 in 2 of 2 runs"),
        "{after:?}"
    );
    assert!(
        is_clean(&without_csi(&shown).replace('\r', "")),
        "{shown:?}"
    );
}

/// A narrow terminal gets a bar of its width: a line that wraps could not be replaced.
#[test]
fn a_run_says_on_a_terminal_how_far_it_is_in_a_line_that_goes() {
    let bench = Bench::untrusted();
    let go = bench.folder.path().join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let harness = format!(
        "echo 'stage: verify at=0.001'\necho 'progress: 6/20'\nread -r line < '{}'\n\
         echo 'out_max_diff: 1e-06 limit=1e-05'\necho 'progress: 20/20'\necho 'correctness: pass'\n",
        go.display()
    );
    fs::write(bench.repo().join("harness.sh"), harness).unwrap();
    bench.lab(&["trust", "--yes"]);
    let mut lab = bench.run_in_terminal(160, &["run"]);
    lab.see("verify 6/20");
    fs::write(&go, "on\n").unwrap();
    lab.end();
    let left = lab.contents();
    assert!(!left.contains("verify 6/20"), "{left}");
    assert!(!left.contains("progress: "), "{left}");
    assert!(left.contains("✓ out_max_diff"), "{left}");
}

#[test]
fn a_bar_is_no_wider_than_its_terminal() {
    let bench = Bench::new();
    let shown = bench.say_in_terminal_of(30, &["bench", "--runs", "1"]);
    let bars = shown
        .split("\r\x1b[2K")
        .filter(|part| part.starts_with("run 1 of 1 ["));
    let widest = bars
        .map(|bar| bar.split('\r').next().unwrap_or(bar).chars().count())
        .max();
    assert!(
        widest.is_some_and(|columns| columns < 30),
        "{widest:?}: {shown:?}"
    );
}
