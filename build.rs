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
    let made_of = if is_release {
        commit(&version).unwrap_or_else(|| "of an unknown commit".to_owned())
    } else {
        "a debug build, which names no commit".to_owned()
    };
    println!("cargo::rustc-env=LAB_VERSION={version} ({made_of})");
}

/// The commit of these sources, with its date.
fn commit(version: &str) -> Option<String> {
    if let Ok(info) = fs::read_to_string(OF_PACKAGE) {
        let changelog = fs::read_to_string("CHANGELOG.md").unwrap_or_default();
        return of_package(&info, &changelog, version);
    }
    // Sources without a repository of their own may lie in somebody else's.
    if !Path::new(".git").exists() {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["show", "-s", "--abbrev=9", "--format=%h %cs", "HEAD"])
}

/// The commit of a package, as cargo wrote it down, and the day of the release, which the changelog has. Cargo writes no
/// date.
pub fn of_package(info: &str, changelog: &str, version: &str) -> Option<String> {
    let id = info.split("\"sha1\": \"").nth(1)?.get(..9)?;
    let changed = if info.contains("\"dirty\": true") {
        " with changes"
    } else {
        ""
    };
    let heading = format!("## {version}, ");
    let day = changelog
        .lines()
        .find_map(|line| line.strip_prefix(&heading))
        .filter(|day| day.starts_with(|c: char| c.is_ascii_digit()));
    let when = day.map_or_else(
        || "of an unknown date".to_owned(),
        |day| format!("released {day}"),
    );
    Some(format!("{id}{changed}, {when}"))
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
