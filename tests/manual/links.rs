//! Links between pages, and the pages that sources name.

use super::files;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Links of Markdown pages to files or headings that do not exist, one line each.
pub fn of_pages(root: &Path) -> Vec<String> {
    let mut broken = Vec::new();
    for page in files(root, ".md") {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => page.clone(),
                file => normal(&page.parent().unwrap().join(file)),
            };
            let missing = !path.exists()
                || (!heading.is_empty() && path.is_file() && !headings(&path).contains(heading));
            if missing {
                broken.push(format!("{} links to {target}", page.display()));
            }
        }
    }
    broken
}

/// Pages of docs/ that Rust sources name and that do not exist, one line each.
pub fn of_sources(root: &Path) -> Vec<String> {
    let mut broken = Vec::new();
    for source in files(root, ".rs") {
        let text = fs::read_to_string(&source).unwrap();
        for (start, _) in text.match_indices("docs/") {
            let name: String = text[start..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "/-_.".contains(*c))
                .collect();
            let name = name.trim_end_matches('.');
            if name.ends_with(".md") && !root.join(name).exists() {
                broken.push(format!("{} names {name}", source.display()));
            }
        }
    }
    broken
}

/// Messages that send a user to a file of this repository, one line each: who installed `lab` has
/// none, and reads `lab help PAGE`.
pub fn of_messages(root: &Path) -> Vec<String> {
    let folders = ["src", "crates", "harness"].map(|folder| root.join(folder));
    let mut found = Vec::new();
    for source in folders.iter().flat_map(|folder| files(folder, ".rs")) {
        let text = fs::read_to_string(&source).unwrap();
        let is_message = |line: &&str| {
            // clap prints the comments of arguments.
            let is_told = !line.trim_start().starts_with("//") || line.contains("(docs/");
            let mut named = line.split("docs/").skip(1);
            let is_page = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
            is_told && line.contains(".md") && named.any(is_page)
        };
        let messages = text.lines().filter(is_message);
        let messages = messages.filter(|line| !line.contains("../docs/"));
        found.extend(messages.map(|line| format!("{}: {}", source.display(), line.trim())));
    }
    found
}

/// The targets of the links in a page, without those to the web. Code is left out.
fn targets(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let parts = line.split("](").skip(1).filter(|_| !in_code);
        found.extend(parts.filter_map(|part| part.split(')').next()));
    }
    found.retain(|target| !target.contains("://") && !target.contains(' '));
    found
}

/// The names by which links reach the headings of a page.
fn headings(page: &Path) -> BTreeSet<String> {
    fs::read_to_string(page)
        .unwrap()
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#').trim()))
        .collect()
}

/// A heading as a link writes it: lower case, blanks as hyphens, without other punctuation.
pub fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}
