//! Files and messages with bytes that no lab wrote: each command reads or refuses them, and ends.
//! `scripts/fuzz --only-strangers` runs these stories for hours.

use crate::lab::{CommandOutput, Lab};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use std::fs;

/// A change of a file.
#[derive(Clone, Debug)]
enum Edit {
    /// Flips a bit of a byte.
    Bit(Index, u8),
    /// Takes out what is between two places, or repeats it.
    Part(Index, Index, bool),
    /// Puts bytes in.
    Put(Index, Vec<u8>),
}

/// Texts that readers take for something else.
const TOKENS: [&str; 26] = [
    "\u{feff}",
    "\r\n",
    "\n",
    "\t",
    "\0",
    "\\",
    "\"",
    "'",
    "[[",
    "]",
    "{",
    "}",
    "[]",
    "=",
    "#",
    "/*",
    "null",
    "-1",
    "1e999",
    "99999999999999999999",
    "nan",
    "\u{202e}",
    "\u{1b}[2J",
    "é",
    "../",
    "~0",
];

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let put = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..6),
        prop::sample::select(TOKENS.to_vec()).prop_map(|token| token.as_bytes().to_vec()),
    ];
    let edit = prop_oneof![
        (any::<Index>(), 0..8_u8).prop_map(|(at, bit)| Edit::Bit(at, bit)),
        any::<(Index, Index, bool)>().prop_map(|(from, to, again)| Edit::Part(from, to, again)),
        (any::<Index>(), put).prop_map(|(at, bytes)| Edit::Put(at, bytes)),
    ];
    prop::collection::vec(edit, 1..6)
}

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        let length = bytes.len();
        match edit {
            Edit::Bit(at, bit) if length > 0 => bytes[at.index(length)] ^= 1 << bit,
            Edit::Bit(..) => {}
            Edit::Part(from, to, again) => {
                let ends = [from.index(length + 1), to.index(length + 1)];
                let part = ends[0].min(ends[1])..ends[0].max(ends[1]);
                match again {
                    true => bytes.splice(part.end..part.end, bytes[part].to_vec()),
                    false => bytes.splice(part, Vec::new()),
                };
            }
            Edit::Put(at, more) => {
                let at = at.index(length + 1);
                bytes.splice(at..at, more.iter().copied());
            }
        }
    }
    bytes
}

/// The command ended by itself, with an exit code that it has a meaning for.
#[track_caller]
fn has_ended(output: &CommandOutput, command: &str) {
    let is_told = output.code == 0 || !output.err.is_empty() || !output.out.is_empty();
    assert!(
        (0..=64).contains(&output.code) && is_told && !output.err.contains("panicked"),
        "`lab {command}`: {output:?}"
    );
}

/// Each command reads or refuses a file of the folder with these bytes.
fn each_ends(lab: &Lab, file: &str, bytes: &[u8], commands: &[&str]) {
    lab.write(file, bytes);
    for command in commands {
        has_ended(&lab.lab(command), command);
    }
}

/// A kept run and a discarded one.
fn decided() -> Lab {
    let lab = Lab::new();
    for (bytes, decision) in [
        ("// better\n", "keep -m better"),
        ("// worse\n", "discard -m worse"),
    ] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(decision).is(0);
    }
    lab
}

/// A story of a file of [`decided`]: the edited file, then the file as it was.
fn reads_or_refuses(file: &str, commands: &[&str]) {
    let lab = decided();
    let whole = fs::read(lab.path(file)).unwrap();
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        each_ends(&lab, file, &edited(&whole, &edits), commands);
        lab.write(file, &whole);
    });
}

#[test]
fn any_ledger_is_read_or_refused() {
    reads_or_refuses("results.tsv", &["log --json", "ls", "log --append-missing"]);
}

#[test]
fn any_record_is_read_or_refused() {
    reads_or_refuses(
        ".lab/runs/1/record.json",
        &["log", "show 1 --json", "ls --json"],
    );
}

#[test]
fn any_run_log_is_read_or_refused() {
    reads_or_refuses(".lab/runs/1/run.log", &["show 1 --json", "show 1"]);
}

#[test]
fn any_lab_toml_is_read_or_refused() {
    reads_or_refuses("lab.toml", &["log", "rules --json", "doctor --json"]);
}

#[test]
fn any_intent_is_read_or_refused() {
    let lab = decided();
    let whole = lab.intent_of("undo");
    let own = serde_json::from_str::<Value>(&whole).ok();
    let before = (lab.head(), lab.read("kernel.cu"), lab.rows());
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        let bytes = edited(whole.as_bytes(), &edits);
        // White space between the words of JSON changes nothing: that is the user's own intent.
        prop_assume!(serde_json::from_slice::<Value>(&bytes).ok() != own);
        each_ends(&lab, ".lab/unfinished.json", &bytes, &["log", "rules -m x"]);
        // Nothing of it is carried out.
        prop_assert_eq!(&(lab.head(), lab.read("kernel.cu"), lab.rows()), &before);
        let _ = fs::remove_file(lab.path(".lab/unfinished.json"));
    });
}

#[test]
fn any_git_config_is_read_or_refused() {
    reads_or_refuses(".git/config", &["log", "rules", "discard -m x"]);
}

#[test]
fn any_head_or_packed_ref_is_read_or_refused() {
    let lab = decided();
    lab.git("pack-refs --all");
    for file in [".git/HEAD", ".git/packed-refs", ".git/index"] {
        let whole = fs::read(lab.path(file)).unwrap();
        proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
            each_ends(&lab, file, &edited(&whole, &edits), &["log", "ls", "discard -m x"]);
            lab.write(file, &whole);
        });
    }
}

#[test]
fn any_problem_is_read_or_refused() {
    let lab = crate::peers::twice(crate::peers::PEERS);
    let whole = fs::read(lab.path("problem.toml")).unwrap();
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        each_ends(&lab, "problem.toml", &edited(&whole, &edits), &["peers --json", "rules", "ls"]);
    });
}

#[test]
fn any_board_is_read_or_refused() {
    let lab = decided();
    let whole = include_bytes!("../../decisions.toml");
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        each_ends(&lab, "decisions.toml", &edited(whole, &edits), &["decisions --json", "decisions check"]);
    });
}

#[test]
fn any_bundle_is_fetched_or_refused() {
    let lab = decided();
    lab.git("bundle create -q ../whole.bundle --all");
    let whole = fs::read(lab.path("../whole.bundle")).unwrap();
    let before = (lab.head(), lab.read("kernel.cu"), lab.rows());
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        lab.write("some.bundle", edited(&whole, &edits));
        has_ended(&lab.lab("fetch some.bundle"), "fetch");
        has_ended(&lab.lab("log"), "log");
        prop_assert_eq!(&(lab.head(), lab.read("kernel.cu"), lab.rows()), &before);
    });
}

#[test]
fn any_published_source_is_read_or_refused() {
    let lab = Lab::empty();
    let whole = crate::published::ROWS.as_bytes();
    proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
        lab.write("rows.cu", edited(whole, &edits));
        has_ended(&lab.lab("init rows.cu --entry row_scale_kernel --name made"), "init");
        let _ = fs::remove_dir_all(lab.path("made"));
    });
}

#[test]
fn any_message_of_a_client_is_answered_or_refused() {
    let lab = decided();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;
    let asks = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"history","arguments":{"limit":3}}}
{"jsonrpc":"2.0","id":"four","method":"resources/list","params":{}}
"#;
    proptest!(ProptestConfig::with_cases(12), |(edits in edits(), also_hello in any::<bool>())| {
        let lines = match also_hello {
            true => edited((hello.to_owned() + asks).as_bytes(), &edits),
            false => [hello.as_bytes(), &edited(asks.as_bytes(), &edits)].concat(),
        };
        lab.write("../lines", lines);
        let output = lab.sh("exec $LAB mcp < ../lines");
        prop_assert!((0..=64).contains(&output.code) && !output.err.contains("panicked"), "{:?}", output);
        for line in output.out.lines() {
            prop_assert!(serde_json::from_str::<Value>(line).is_ok(), "{}", line);
        }
    });
}

/// The index of runs and the journal of decisions are no facts of their own: whatever stands there,
/// the history is that of the records.
#[test]
fn any_index_or_journal_leaves_the_history_as_it_is() {
    let lab = decided();
    for at in 0..16 {
        lab.write("kernel.cu", format!("// {at}\n"));
        lab.lab("run").is(0);
    }
    lab.lab("log").is(0);
    let read = || {
        let commands = ["log --json", "show 1 --json", "ls --json"];
        commands.map(|command| lab.lab(command).is(0).out)
    };
    let before = read();
    for file in [".lab/runs/index.bin", ".lab/decide.lock"] {
        let whole = fs::read(lab.path(file)).unwrap();
        proptest!(ProptestConfig::with_cases(12), |(edits in edits())| {
            lab.write(file, edited(&whole, &edits));
            prop_assert_eq!(read(), before.clone());
            lab.write(file, &whole);
        });
    }
}
