//! Gives `lab --version` the commit of a release build, and its date. Other builds name no commit: each commit would have
//! them compiled anew.
#![allow(clippy::disallowed_macros, reason = "Cargo reads stdout")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Cargo writes the commit into this file of a package.
const OF_PACKAGE: &str = ".cargo_vcs_info.json";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = if is_release { commit() } else { None };
    let commit = commit.map(|commit| format!(" ({commit})"));
    println!(
        "cargo::rustc-env=LAB_VERSION={version}{}",
        commit.unwrap_or_default()
    );
}

/// The commit of these sources; with its date in a repository.
fn commit() -> Option<String> {
    if let Ok(text) = fs::read_to_string(OF_PACKAGE) {
        let id = text.split("\"sha1\": \"").nth(1)?;
        return Some(id.get(..9)?.to_owned());
    }
    // Sources without a repository of their own may lie in somebody else's.
    if !Path::new(".git").exists() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["show", "-s", "--abbrev=9", "--format=%h %cs", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}
