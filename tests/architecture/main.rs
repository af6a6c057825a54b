//! Keeps the structure that ARCHITECTURE.md describes: which crate may use which, and no cycle of
//! imports between the modules of a crate.
//!
//! Two rules hold for the modules of each crate:
//! - The children of one module form a directed acyclic graph. An import anywhere below a child
//!   counts for that child.
//! - A module uses the items of an ancestor only if that ancestor is its parent.
//!
//! So a cycle is never larger than one file and its own direct children. Code behind `#[cfg(test)]`
//! is left out.
#![allow(clippy::unwrap_used)]

mod graph;
mod imports;

use graph::{Graph, circles};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The lab's own crates, the folder of each, and which of the others each may use.
const CRATES: [(&str, &str, &[&str]); 10] = [
    ("lab-stats", "harness/stats", &[]),
    ("lab-source", "crates/source", &[]),
    ("lab-system", "crates/system", &[]),
    ("lab-protocol", "harness/protocol", &["lab-stats"]),
    ("lab-python", "harness/python", &[]),
    (
        "lab-device",
        "harness/device",
        &["lab-protocol", "lab-source", "lab-system"],
    ),
    (
        "lab-judge",
        "harness/judge",
        &[
            "lab-device",
            "lab-protocol",
            "lab-python",
            "lab-source",
            "lab-stats",
            "lab-system",
        ],
    ),
    (
        "lab-core",
        "crates/core",
        &["lab-protocol", "lab-python", "lab-source", "lab-system"],
    ),
    ("lab-tui", "crates/tui", &["lab-core", "lab-protocol"]),
    (
        "lab",
        ".",
        &[
            "lab-core",
            "lab-device",
            "lab-judge",
            "lab-protocol",
            "lab-system",
            "lab-tui",
        ],
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn each_crate_uses_only_the_crates_below_it() {
    for (name, folder, allowed) in CRATES {
        let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        assert_eq!(
            manifest["package"]["name"].as_str(),
            Some(name),
            "{folder}/Cargo.toml"
        );
        let used: BTreeSet<&str> = manifest["dependencies"]
            .as_table()
            .unwrap()
            .keys()
            .map(String::as_str)
            .filter(|dependency| CRATES.iter().any(|(own, ..)| own == dependency))
            .collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert!(
            used.is_subset(&allowed),
            "{name} uses {used:?}, and may use {allowed:?}"
        );
    }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for (name, folder, _) in CRATES {
        let graph = Graph::read(&root().join(folder).join("src"));
        assert!(graph.modules() > 1, "{name}: modules were found");
        found.extend(
            circles(&graph)
                .into_iter()
                .map(|circle| format!("{name}: {circle}")),
        );
    }
    assert!(
        found.is_empty(),
        "{} circles:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Locks, replacing a file in one step, process groups and lifetimes have one helper each, in
/// lab-system.
#[test]
fn locks_files_and_process_groups_are_handled_in_one_crate() {
    let only_there = [
        "kill_process_group(",
        "set_parent_process_death_signal(",
        "try_lock_shared(",
        ".persist(",
    ];
    let mut found = Vec::new();
    for (_, folder, _) in CRATES.iter().filter(|(name, ..)| *name != "lab-system") {
        graph::walk(&root().join(folder).join("src"), &mut |path| {
            let text = fs::read_to_string(path).unwrap();
            let used = only_there.iter().filter(|call| text.contains(**call));
            found.extend(used.map(|call| format!("{} calls {call}…)", path.display())));
        });
    }
    assert!(
        found.is_empty(),
        "lab-system has a helper for each:\n{}",
        found.join("\n")
    );
}

/// Text reaches a terminal through `lab_protocol::console`, which cleans it, or through the
/// screen's terminal. Clippy's lists (clippy.toml) find more; this test also finds a list that was
/// switched off.
#[test]
fn only_the_console_and_the_terminal_open_stdout_and_stderr() {
    let opens = [
        "print!(",
        "println!(",
        "io::stdout",
        "io::stderr",
        "stdio::stdout",
        "stdio::stderr",
        "/dev/stdout",
        "/dev/stderr",
    ];
    let switched_off = ["clippy::disallowed_macros", "clippy::disallowed_methods"];
    // The list of lab-core's methods is about files, too: it is switched off for files that no
    // stranger can have made.
    let of_files = |name: &str| name.starts_with("crates/core/");
    let those = [
        "harness/protocol/src/console.rs",
        "src/screen/terminal.rs",
        "src/screen/watchdog.rs",
    ];
    let tests_alone = [
        "harness/device/src/sandbox/tests.rs",
        "harness/judge/src/measure/coverage.rs",
        "harness/judge/src/measure/coverage/several.rs",
    ];
    let mut found = BTreeSet::new();
    for (_, folder, _) in CRATES {
        graph::walk(&root().join(folder).join("src"), &mut |path| {
            let name = path
                .strip_prefix(root())
                .unwrap()
                .to_str()
                .unwrap()
                .trim_start_matches("./")
                .to_owned();
            let text = fs::read_to_string(path).unwrap();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let code = text
                .lines()
                .filter(is_code)
                .filter(|line| !line.contains("cfg_attr(test, "));
            let off = &switched_off[..if of_files(&name) { 1 } else { 2 }];
            if code
                .into_iter()
                .any(|line| opens.iter().chain(off).any(|word| line.contains(word)))
            {
                found.insert(name);
            }
        });
    }
    let wanted = those
        .iter()
        .chain(&tests_alone)
        .map(|name| (*name).to_owned())
        .collect();
    assert_eq!(found, wanted, "the files that may print");
}

/// The rules find violations in examples.
#[test]
fn circles_are_found() {
    let tree = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path: &Path = &tree.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;");
    write("a/mod.rs", "pub mod deep;\npub struct A;");
    // A child may use its parent's items.
    write(
        "a/deep.rs",
        "use super::A;\npub fn f(_: A) { crate::b::g() }",
    );
    write("b.rs", "use crate::{c::{self, C as D}};\npub fn g() {}");
    write(
        "c.rs",
        "#[cfg(test)]\nmod tests { use crate::b::g; }\n// use crate::b;\npub struct C;",
    );
    assert_eq!(circles(&Graph::read(tree.path())), Vec::<String>::new());
    write(
        "c.rs",
        "pub fn h() { format!(\"{}\", crate::a::deep::f()); }",
    );
    let found = circles(&Graph::read(tree.path()));
    assert_eq!(found, ["a → b (a/deep.rs) → c (b.rs) → a (c.rs)"]);
    write("c.rs", "");
    write("a/deep.rs", "use crate::Root;");
    assert_eq!(
        circles(&Graph::read(tree.path())),
        ["a/deep.rs uses items of lib.rs, which is not its parent"]
    );
}
