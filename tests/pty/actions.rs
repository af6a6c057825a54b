//! Every action of the table by its own key, in a real terminal: the text that appears after it.
//! The test fails if an action has no line here, and no other test.

use super::bench::{Bench, Lab, long_kernel};
use lab_tui::keymap::{Keymap, TABLE};
use lab_tui::text::width;
use std::path::Path;

/// The kind of screen for a story. All stories of a kind share one screen and follow one another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    /// A kernel that was judged and is in HEAD, a long log, twelve old experiments.
    Judged,
    /// Newer bytes, which passed and can be decided.
    Undecided,
    /// A run that goes on without end.
    Running,
    /// A harness command that waits to be trusted.
    Untrusted,
}
use On::{Judged, Running, Undecided, Untrusted};

#[derive(Clone, Copy, Debug)]
enum Seen {
    Text(&'static str),
    Gone(&'static str),
    /// The text moves this many columns to the right, and this many rows down.
    Moved(&'static str, i32, i32),
    /// The terminal gets all of it once more.
    Again(&'static str),
}
use Seen::{Again, Gone, Moved, Text};

struct Story {
    action: &'static str,
    on: On,
    /// The keys before the action, and the text that they show.
    before: (&'static str, &'static str),
    seen: Seen,
    /// The keys after it.
    after: &'static str,
}

const fn story(on: On, action: &'static str, seen: Seen, after: &'static str) -> Story {
    Story {
        action,
        on,
        before: ("", ""),
        seen,
        after,
    }
}

const fn then(
    on: On,
    before: (&'static str, &'static str),
    action: &'static str,
    seen: Seen,
    after: &'static str,
) -> Story {
    Story {
        action,
        on,
        before,
        seen,
        after,
    }
}

const ESC: &str = "\u{1b}";

/// Esc closes a dialog with a line as well; a key right after an escape would be a key with Alt.
const CTRL_C: &str = "\u{3}";

/// In this order.
const STORIES: &[Story] = &[
    story(Judged, "show-source", Text("▸2 Source"), ""),
    story(Judged, "show-results", Text("▸3 Results"), ""),
    story(Judged, "show-git", Text("▸4 Git"), ""),
    story(Judged, "show-device", Text("▸5 Device"), ""),
    story(
        Judged,
        "show-decisions",
        Text("there is no decision yet"),
        "",
    ),
    story(
        Judged,
        "show-sweep",
        Text("`lab sweep` tries the values"),
        "",
    ),
    story(
        Judged,
        "next-pair",
        Text("next pair: no sweep of three constants"),
        "",
    ),
    story(Judged, "apply-point", Text("apply point: no sweep yet"), ""),
    story(
        Judged,
        "show-loop",
        Text("No loop has worked on kernel.cu yet"),
        "",
    ),
    story(Judged, "pause-loop", Text("pause loop: no loop runs"), ""),
    story(Judged, "end-turn", Text("end turn: no loop runs"), ""),
    story(Judged, "end-loop", Text("end loop: no loop runs"), ""),
    story(Judged, "show-bench", Text("▸1 Bench"), ""),
    story(Judged, "next-pane", Text("━ Throughput"), ""),
    story(Judged, "fewer", Text("10 of 12 experiments"), ""),
    story(Judged, "more", Gone("10 of 12"), ""),
    then(Judged, ("+", "10 of 12"), "all", Gone("10 of 12"), ""),
    story(Judged, "log-scale", Text("log scale"), ""),
    story(Judged, "previous-pane", Text("━ Correctness"), ""),
    story(Judged, "border-left", Moved("┬", -4, 0), ""),
    story(Judged, "border-down", Moved("─ Git log", 0, 2), ""),
    story(Judged, "reset-borders", Moved("┬", 4, 0), ""),
    story(Judged, "border-right", Moved("┬", 4, 0), ""),
    story(Judged, "border-up", Moved("─ Git log", 0, -2), ""),
    story(Judged, "zoom", Gone("─ Git log"), "z"),
    story(Judged, "open", Gone("─ Git log"), "\r"),
    story(Judged, "copy", Text("copied run "), ""),
    then(
        Judged,
        ("3", "Experiments 12"),
        "sort-by-next",
        Text("by run ▼"),
        "",
    ),
    story(Judged, "sort-reverse", Text("by run ▲"), ""),
    story(
        Judged,
        "all-problems",
        Text("all problems: there are experiments of this problem only"),
        "",
    ),
    story(Judged, "filter", Text("filter›"), CTRL_C),
    story(Judged, "mark", Text("◆"), "j"),
    story(
        Judged,
        "compare",
        Text("ratio, the second over the first"),
        ESC,
    ),
    then(
        Judged,
        ("", "━ Experiments"),
        "restore",
        Text("Restore "),
        "n",
    ),
    story(Judged, "describe", Text("╭ Describe "), CTRL_C),
    story(Judged, "annotate", Text("╭ Annotate "), CTRL_C),
    story(
        Judged,
        "add-evidence",
        Text("add evidence: evidence is made of your own records"),
        "",
    ),
    then(
        Judged,
        ("1", "▸1 Bench"),
        "exchange",
        Text("exchange: every pane is shown"),
        "",
    ),
    story(
        Judged,
        "device",
        Text("device: no experiment names its device"),
        "",
    ),
    then(
        Judged,
        ("1", "▸1 Bench"),
        "decide-by-rule",
        Text("Decide by rule?"),
        "n",
    ),
    story(
        Judged,
        "profile",
        Text("profile: needs the built-in harness"),
        "",
    ),
    story(
        Judged,
        "check",
        Text("check: needs the built-in harness"),
        "",
    ),
    story(Judged, "mouse", Text("the mouse is off"), ""),
    story(
        Judged,
        "reload-config",
        Text("config.toml has not changed"),
        "",
    ),
    story(Judged, "help", Text("Everywhere"), "\x1b"),
    story(
        Judged,
        "wrong-cells",
        Text("wrong cells: the last run got no output wrong"),
        "",
    ),
    story(
        Judged,
        "histograms",
        Text("how many differences are how large"),
        "H",
    ),
    story(
        Judged,
        "palette",
        Text("an action by a part of its name"),
        CTRL_C,
    ),
    then(
        Judged,
        (":", "an action by a part of its name"),
        "abandon",
        Gone("an action by a part of its name"),
        "",
    ),
    then(Judged, (":", "▸c"), "next-choice", Text("▸d"), ""),
    story(Judged, "previous-choice", Text("▸c"), CTRL_C),
    then(
        Judged,
        (":show-git", "› show-git"),
        "accept",
        Text("▸4 Git"),
        "1",
    ),
    // Past the author of the commit, to the first file that it changed.
    then(
        Judged,
        ("4", "<ada@example.org>"),
        "next-change",
        Gone("<ada@example.org>"),
        "",
    ),
    story(Judged, "previous-change", Text("<ada@example.org>"), "1"),
    story(Judged, "copy-all", Text("copied "), ""),
    story(Judged, "export", Text("wrote .lab/exports/"), ""),
    story(Judged, "theme", Text("lab-contrast-light"), CTRL_C),
    story(Judged, "kernel", Text("this screen"), CTRL_C),
    story(Judged, "search", Text("━ run.log"), "marker\r"),
    story(Judged, "next-match", Text("line 60 marker"), ""),
    story(Judged, "previous-match", Text("line 20 marker"), ""),
    story(Judged, "close", Gone("/marker"), ""),
    // A number in the palette is a row: two lines come before the first that counts itself.
    then(
        Judged,
        (":80", "line 80 of"),
        "accept",
        Text("line 78 of"),
        "",
    ),
    story(Judged, "top", Text("stage: build"), ""),
    story(Judged, "down", Gone("stage: build"), ""),
    story(Judged, "up", Text("stage: build"), ""),
    story(Judged, "half-page-down", Text("line 20 marker"), ""),
    story(Judged, "half-page-up", Text("line 1 of"), ""),
    story(Judged, "bottom", Text("line 100 of"), ""),
    story(Judged, "scroll-right", Gone("line 100 of"), ""),
    story(Judged, "scroll-left", Text("line 100 of"), ""),
    story(Judged, "freeze", Text("frozen"), "f"),
    story(Judged, "redraw", Again("run.log"), ""),
    story(Judged, "pause", Text("paused: saves start no run"), "p"),
    story(Judged, "rerun", Text("run 2 · rerun"), ""),
    story(Judged, "measure", Text("run 3 · measure"), ""),
    then(Undecided, ("2", "1/61"), "next-edit", Text("10/61"), ""),
    story(Undecided, "previous-edit", Gone("10/61"), ""),
    story(Undecided, "next-mark", Text("10/61"), ""),
    story(Undecided, "previous-mark", Gone("10/61"), ""),
    story(Undecided, "diff", Text("unified"), ""),
    story(Undecided, "context", Text("· 10 lines around"), "wwvv"),
    story(
        Undecided,
        "base",
        Text("no experiment to compare with yet"),
        "1",
    ),
    story(Undecided, "undo", Text("Undo: not now"), ESC),
    story(Undecided, "keep", Text("What did you try?"), CTRL_C),
    then(
        Undecided,
        ("c", "What did you try?"),
        "trailers",
        Text("Not-tested"),
        CTRL_C,
    ),
    then(
        Undecided,
        ("c", "What did you try?"),
        "next-line",
        Text("› Hypothesis"),
        CTRL_C,
    ),
    then(
        Undecided,
        ("c", "What did you try?"),
        "previous-line",
        Text("› Not-tested"),
        CTRL_C,
    ),
    story(Undecided, "discard", Text("What did you try?"), ESC),
    story(Running, "stop", Text("∅ VOID"), ""),
    story(Untrusted, "no", Text("is not trusted: nothing runs"), ""),
    then(Untrusted, ("r", "Run it?"), "yes", Text("● PASS"), ""),
];

/// Another test covers the action: the process stops, ends, or lends the terminal; or the action
/// needs something that is not here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("suspend", "fn it_stops_and_comes_back_whole"),
    ("quit", "fn quitting_takes_the_run_along"),
    ("next-section", "// next-section and previous-section"),
    ("previous-section", "// next-section and previous-section"),
    ("sort-workloads", "// sort-workloads and reverse-workloads"),
    (
        "reverse-workloads",
        "// sort-workloads and reverse-workloads",
    ),
    ("edit", "fn the_editor_gets_the_terminal_and_gives_it_back"),
];

#[test]
fn every_action_has_a_story() {
    let tests = concat!(include_str!("terminal.rs"), include_str!("results.rs"));
    let missing: Vec<&str> = TABLE
        .iter()
        .map(|binding| binding.name)
        .filter(|name| !STORIES.iter().any(|story| story.action == *name))
        .filter(|name| {
            !ELSEWHERE
                .iter()
                .any(|(action, test)| action == name && tests.contains(test))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "tell what is seen of these actions, in tests/pty/actions.rs: {missing:?}"
    );
    let known = |name: &str| TABLE.iter().any(|binding| binding.name == name);
    assert!(
        STORIES.iter().all(|story| known(story.action)),
        "a story is of an action that is gone"
    );
}

#[test]
fn actions_on_a_judged_kernel() {
    let bench = Bench::talking();
    let mut lab = bench.open_with(160, 45, &[("COLORTERM", Path::new("truecolor"))]);
    lab.see("● PASS").see("12 experiments").see("line 100 of");
    play(&mut lab, Judged);
    lab.press("q");
    assert_eq!(lab.end(), 0);
}

#[test]
fn actions_on_what_can_be_decided() {
    let bench = Bench::long();
    let mut lab = bench.open();
    lab.see("● PASS");
    bench.save_in_place(&long_kernel(2000, " is another"));
    lab.see("2,000 sps");
    play(&mut lab, Undecided);
}

#[test]
fn actions_while_a_run_goes_on() {
    let bench = Bench::new();
    bench.save_in_place("hangs\n");
    let mut lab = bench.open();
    lab.see("MEASURE");
    play(&mut lab, Running);
}

#[test]
fn actions_on_an_untrusted_command() {
    let bench = Bench::untrusted();
    let mut lab = bench.open();
    lab.see("Run it?");
    play(&mut lab, Untrusted);
}

fn play(lab: &mut Lab, on: On) {
    let keymap = Keymap::built_in();
    for story in STORIES.iter().filter(|story| story.on == on) {
        let binding = TABLE
            .iter()
            .find(|binding| binding.name == story.action)
            .unwrap();
        lab.press(story.before.0).see(story.before.1);
        let is_so = |contents: &str, from: (i32, i32)| match story.seen {
            Text(text) => contents.contains(text),
            Gone(text) => !contents.contains(text),
            Moved(text, x, y) => place(contents, text) == Some((from.0 + x, from.1 + y)),
            Again(_) => false,
        };
        lab.wait(
            &format!("a screen without the effect of {}", story.action),
            |screen| !is_so(&screen.contents(), (i32::MIN / 2, 0)),
        );
        let from = match story.seen {
            Moved(text, ..) => {
                lab.wait(text, |screen| place(&screen.contents(), text).is_some());
                place(&lab.contents(), text).unwrap()
            }
            _ => (0, 0),
        };
        let sent = lab.sent();
        match keymap.key(binding.action).as_str() {
            // By the palette.
            "" => {
                lab.press(":").see("an action by a part of its name");
                lab.press(&format!("{}\r", story.action));
            }
            key => drop(lab.press(&bytes(key))),
        }
        match story.seen {
            Again(text) => lab.hear_after(sent, text),
            seen => lab.wait(&format!("{seen:?} after {}", story.action), |s| {
                is_so(&s.contents(), from)
            }),
        }
        lab.press(story.after);
        if story.after == ESC {
            // A terminal sends Alt with a key as Esc and the key: nothing may follow at once.
            lab.wait(&format!("{} is closed", story.action), |s| {
                !is_so(&s.contents(), from)
            });
        }
    }
}

/// Column and row of a text.
fn place(contents: &str, text: &str) -> Option<(i32, i32)> {
    let mut rows = contents.lines().zip(0..);
    rows.find_map(|(line, y)| Some((width(&line[..line.find(text)?]) as i32, y)))
}

/// The bytes that a terminal sends for a key (xterm's control sequences, "PC-Style Function Keys").
fn bytes(label: &str) -> String {
    let arrow = |name: &str| {
        ["↑", "↓", "→", "←"]
            .iter()
            .zip("ABCD".chars())
            .find(|(n, _)| **n == name)
            .map(|n| n.1)
    };
    if let Some(rest) = label.strip_prefix("Ctrl-") {
        return match arrow(rest) {
            Some(letter) => format!("\u{1b}[1;5{letter}"),
            None => char::from(rest.bytes().next().unwrap() & 0x1f).to_string(),
        };
    }
    match (label, arrow(label)) {
        (_, Some(letter)) => format!("\u{1b}[{letter}"),
        ("Enter", _) => "\r".to_owned(),
        ("Esc", _) => ESC.to_owned(),
        ("Tab", _) => "\t".to_owned(),
        ("Shift-Tab", _) => "\u{1b}[Z".to_owned(),
        ("Home", _) => "\u{1b}[H".to_owned(),
        ("End", _) => "\u{1b}[F".to_owned(),
        ("PgUp", _) => "\u{1b}[5~".to_owned(),
        ("PgDn", _) => "\u{1b}[6~".to_owned(),
        ("Space", _) => " ".to_owned(),
        (letter, _) if letter.chars().count() == 1 => letter.to_owned(),
        (other, _) => panic!("nobody told what a terminal sends for {other}"),
    }
}
