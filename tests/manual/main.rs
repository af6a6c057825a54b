//! The manual: docs/commands.md is generated from the command line, docs/json.md from the JSON
//! schema, the table in kernels/README.md from the kernels' records, and every page that a message or a page names exists and is in `lab help`.
//!
//! `LAB_WRITE_DOCS=1 cargo test --test manual` writes the generated pages.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod commands_page;
mod json_page;
mod kernels_table;
mod links;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Writes the page if LAB_WRITE_DOCS is set; otherwise fails if the page is out of date.
fn check(path: &str, text: &str) {
    let path = root().join(path);
    if std::env::var_os("LAB_WRITE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|present| present == text),
        "{} is out of date: LAB_WRITE_DOCS=1 cargo test --test manual",
        path.display()
    );
}

#[test]
fn commands_md_is_the_help_of_all_commands() {
    check(
        "docs/commands.md",
        &commands_page::page(lab::cli::definition()),
    );
}

#[test]
fn json_md_is_the_schema_in_words() {
    // Read when the test runs: the schema may just have been written.
    let schema = fs::read_to_string(root().join("docs/json.schema.json")).unwrap();
    check(
        "docs/json.md",
        &json_page::page(&serde_json::from_str(&schema).unwrap()),
    );
}

#[test]
fn lab_help_has_every_page_of_the_manual() {
    let pages: BTreeSet<String> = fs::read_dir(root().join("docs"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".md").map(str::to_owned)
        })
        .filter(|name| name != "README")
        .collect();
    let offered: BTreeSet<String> = lab::cli::help::PAGES
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let lacking: Vec<&String> = pages.difference(&offered).collect();
    assert!(lacking.is_empty(), "`lab help` lacks {lacking:?}");
}

#[test]
fn every_page_that_is_named_exists() {
    let mut broken = links::of_pages(&root());
    broken.extend(links::of_sources(&root()));
    broken.extend(links::of_messages(&root()));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Paths of the files below a folder with this ending, without build output.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found
}
