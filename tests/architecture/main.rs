//! Keeps the structure that ARCHITECTURE.md describes: which crate may use which, and no cycle of
//! imports between the modules of a crate; a reason for each dependency.
//!
//! Two rules hold for the modules of each crate:
//! - The children of one module form a directed acyclic graph. An import anywhere below a child
//!   counts for that child.
//! - A module uses the items of an ancestor only if that ancestor is its parent.
//!
//! So a cycle is never larger than one file and its own direct children. Code behind `#[cfg(test)]`
//! is left out.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[expect(dead_code, reason = "cargo runs its main")]
#[path = "../../build.rs"]
mod build;
mod graph;
mod imports;

use graph::{Graph, circles};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The lab's own crates, the folder of each, and which of the others each may use, without the
/// `lab-` of their names. The binary may use all of them. Only tests use `lab-testing`.
const CRATES: &[(&str, &str, &str)] = &[
    ("stats", "harness/stats", ""),
    ("source", "crates/source", ""),
    ("import", "crates/import", "source"),
    ("system", "crates/system", ""),
    ("protocol", "harness/protocol", "stats"),
    ("python", "harness/python", ""),
    ("text", "crates/text", "protocol"),
    ("project", "crates/project", "protocol system text"),
    ("run", "crates/run", "project protocol source system text"),
    (
        "git",
        "crates/git",
        "project protocol run source system text",
    ),
    (
        "store",
        "crates/store",
        "git project protocol run system text",
    ),
    (
        "runner",
        "crates/runner",
        "git project protocol python run source store system text",
    ),
    (
        "bench",
        "crates/bench",
        "git project protocol run runner store text",
    ),
    (
        "sweep",
        "crates/sweep",
        "git project protocol run runner source store system text",
    ),
    (
        "history",
        "crates/history",
        "bench git project protocol run runner store text",
    ),
    (
        "board",
        "crates/board",
        "bench git history project protocol run stats store sweep system text",
    ),
    (
        "report",
        "crates/report",
        "bench board git history project protocol run store text",
    ),
    (
        "decide",
        "crates/decide",
        "git history project protocol run runner store sweep system text",
    ),
    (
        "auto",
        "crates/auto",
        "decide git history project protocol run runner store system text",
    ),
    (
        "watch",
        "crates/watch",
        "auto git project run store sweep system",
    ),
    ("device", "harness/device", "protocol source system"),
    (
        "judge",
        "harness/judge",
        "device protocol python source stats system",
    ),
    (
        "tui",
        "crates/tui",
        "auto board decide git history project protocol run runner sweep text watch",
    ),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folders of all crates, the binary's too.
fn folders() -> impl Iterator<Item = &'static str> {
    CRATES.iter().map(|(_, folder, _)| *folder).chain(["."])
}

#[test]
fn each_crate_uses_only_the_crates_below_it() {
    for (name, folder, allowed) in CRATES {
        let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        assert_eq!(
            manifest["package"]["name"].as_str(),
            Some(&*format!("lab-{name}")),
            "{folder}/Cargo.toml"
        );
        let Some(dependencies) = manifest.get("dependencies").and_then(|d| d.as_table()) else {
            continue;
        };
        let used: BTreeSet<&str> = dependencies
            .keys()
            .filter_map(|dependency| dependency.strip_prefix("lab-"))
            .collect();
        let allowed: BTreeSet<&str> = allowed.split_whitespace().collect();
        assert!(
            used.is_subset(&allowed),
            "lab-{name} uses {used:?}, and may use {allowed:?}"
        );
    }
}

/// A dependency needs a reason, and a crate that is named and not used is none.
#[test]
fn each_dependency_has_its_reason_and_is_used() {
    let page = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let explained: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next())
        .flat_map(|names| names.split('`'))
        .filter(|name| !name.is_empty() && *name != ", ")
        .collect();
    let mut named = BTreeSet::new();
    let mut unused = Vec::new();
    for folder in folders() {
        let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let names = |section: &str| {
            let table = manifest.get(section).and_then(|it| it.as_table());
            table.map_or_else(Vec::new, |table| table.keys().cloned().collect())
        };
        let mut sources = String::new();
        graph::walk(&root().join(folder).join("src"), &mut |path| {
            sources += &fs::read_to_string(path).unwrap();
        });
        for name in names("dependencies") {
            if !sources.contains(&name.replace('-', "_")) {
                unused.push(format!("{folder} does not use {name}"));
            }
            named.insert(name);
        }
        named.extend(names("dev-dependencies"));
    }
    named.retain(|name| !name.starts_with("lab-"));
    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(unused, Vec::<String>::new());
    assert_eq!(
        explained, named,
        "docs/dependencies.md, and what the manifests name"
    );
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for name in folders() {
        let graph = Graph::read(&root().join(name).join("src"));
        assert!(graph.modules() > 0, "{name}: modules were found");
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
    for folder in folders().filter(|folder| *folder != "crates/system") {
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
    // The list in crates/clippy.toml is about files, too: it is switched off where a file is the
    // user's own.
    let of_files = |name: &str| name.starts_with("crates/");
    let those = [
        "harness/protocol/src/console.rs",
        "src/screen/terminal.rs",
        "src/screen/watchdog.rs",
    ];
    let tests_alone = [
        "harness/device/src/sandbox/tests.rs",
        "harness/judge/src/measure/coverage.rs",
        "harness/judge/src/measure/coverage/recorded.rs",
        "harness/judge/src/measure/coverage/several.rs",
    ];
    let mut found = BTreeSet::new();
    for folder in folders() {
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

/// Cargo packages only what lies in a crate's folder, or is linked there.
#[test]
fn each_crate_embeds_files_of_its_own_folder_only() {
    let mut outside = Vec::new();
    let mut embedded = 0;
    for folder in folders() {
        let own = root().join(folder).canonicalize().unwrap();
        graph::walk(&own.join("src"), &mut |path| {
            let text = fs::read_to_string(path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for part in code.split("include_str!(").skip(1) {
                let part = part.trim_start();
                let name = part.strip_prefix("concat!(").unwrap_or(part);
                let Some(name) = name.strip_prefix('"').and_then(|it| it.split('"').next()) else {
                    continue;
                };
                embedded += 1;
                let file = path.parent().unwrap().join(name);
                let file = file
                    .components()
                    .fold(PathBuf::new(), |so_far, part| match part {
                        Component::ParentDir => so_far.parent().unwrap().to_owned(),
                        part => so_far.join(part),
                    });
                let crates = ["crates", "harness"].map(|other| own.join(other));
                if !file.starts_with(&own) || crates.iter().any(|other| file.starts_with(other)) {
                    outside.push(format!("{} embeds {name}", path.display()));
                }
            }
        });
    }
    assert!(embedded > 50, "{embedded} embedded files were found");
    assert_eq!(outside, Vec::<String>::new());
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

/// A page that names a file which was moved or removed sends its reader astray.
#[test]
fn each_path_in_the_architecture_page_exists() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let table = page
        .split("## Where to change what")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("the page has the table");
    let mut missing = Vec::new();
    let mut rows = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        rows += 1;
        for path in row.split('`').skip(1).step_by(2) {
            let is_path = path.contains('/') && !path.contains(' ');
            if is_path && !root().join(path).exists() {
                missing.push(path.to_owned());
            }
        }
    }
    assert!(rows > 0, "the table has rows");
    assert_eq!(missing, Vec::<String>::new());
}

/// What somebody unpacks, a crate or the wheel, has the texts of both licences in it. A package holds only files of its
/// folder, so each folder has a link to them; cargo and setuptools follow it.
#[test]
fn each_package_carries_both_licences() {
    for folder in folders() {
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let own = fs::read_to_string(root().join(folder).join(name));
            let text = fs::read_to_string(root().join(name)).unwrap();
            assert_eq!(own.ok(), Some(text), "{folder}/{name}");
        }
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        if let Some(include) = manifest["package"].get("include") {
            assert!(
                include.to_string().contains("/LICENSE-*"),
                "{folder}: {include}"
            );
        }
    }
}

/// Of a package cargo writes the commit down, and no date.
#[test]
fn a_package_names_its_commit_and_the_day_of_its_release() {
    let info =
        "{\n  \"git\": {\n    \"sha1\": \"612c9336a378f1a25f0648305bf8b9b18eb7192c\"\n  }\n}";
    let changed = info.replace("192c\"", "192c\",\n    \"dirty\": true");
    let log = "# Changelog\n\n## 0.2.0, 2027-01-31\n\n## 0.1.0, not released yet\n";
    let of = |info: &str, version| build::of_package(info, log, version);
    let named = |text: &str| Some(text.to_owned());
    assert_eq!(of(info, "0.2.0"), named("612c9336a, released 2027-01-31"));
    assert_eq!(of(info, "0.1.0"), named("612c9336a, of an unknown date"));
    assert_eq!(
        of(&changed, "0.1.0"),
        named("612c9336a with changes, of an unknown date")
    );
    assert_eq!(of("{}", "0.1.0"), None);
}
