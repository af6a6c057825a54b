//! `lab doctor --report`: what a report of a fault needs, as Markdown, without private paths and names.

use super::{FindingReport, sign};
use lab_device::Finding;
use lab_system::threads::cores;
use std::fs;

/// Findings whose text is about the user's folders and files. The report says only whether they are well.
const PRIVATE: [&str; 3] = ["repository", "project", "settings"];

/// Folders whose paths name nothing of the user's.
const OF_THE_SYSTEM: [&str; 9] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc",
    "/proc",
    "/sys",
    "/dev",
    "/opt/nvidia",
];

/// The report: version, machine, environment, findings.
pub fn text<'a>(
    version: &str,
    findings: impl Iterator<Item = &'a Finding>,
    device_auto: &str,
) -> String {
    let mut lines = vec![
        format!("- lab {version}, {}", std::env::consts::ARCH),
        format!("- {}", machine()),
        format!("- variables that are set: {}", variables()),
        format!("- device auto is {device_auto}"),
        String::new(),
        "```text".to_owned(),
    ];
    lines.extend(findings.map(line));
    lines.push("```".to_owned());
    lines.join("\n")
}

fn line(finding: &Finding) -> String {
    let sign = sign(finding);
    let FindingReport { what, says, .. } = finding.into();
    if PRIVATE.contains(&what) {
        return format!("{sign} {what}");
    }
    format!("{sign} {what:<13} {}", without_private_paths(says))
}

/// `Linux 6.12.1, Debian GNU/Linux 13 (trixie), 8 processors, 62 GiB of memory`.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let system = read("/etc/os-release");
    let name = value(&system, "PRETTY_NAME=").unwrap_or("unknown system");
    let memory = read("/proc/meminfo");
    let kib = value(&memory, "MemTotal:").and_then(|it| it.split(' ').next()?.parse::<u64>().ok());
    format!(
        "Linux {}, {name}, {} processors, {} GiB of memory",
        read("/proc/sys/kernel/osrelease").trim(),
        cores(),
        kib.map_or_else(|| "?".to_owned(), |kib| (kib >> 20).to_string())
    )
}

/// What follows a key at the begin of a line, without blanks and quotation marks.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let found = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(found.trim().trim_matches('"'))
}

/// The names of the variables that change what `lab` does; not their values.
fn variables() -> String {
    let changes = |name: &String| {
        name.starts_with("LAB_")
            || name.starts_with("CUDA_")
            || name == "NO_COLOR"
            || name == "TMUX"
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.filter(changes).collect();
    names.sort();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// Leaves of each path outside of the system's folders only the file's name: `/home/ann/venv/bin/python` becomes
/// `…/python`.
fn without_private_paths(text: &str) -> String {
    let ends_path = |c: char| c.is_whitespace() || "'\"`()[]{}<>,;:=".contains(c);
    let shown = |word: &str| {
        let is_private = (word.starts_with('/') || word.starts_with("~/"))
            && !OF_THE_SYSTEM.iter().any(|folder| {
                word.strip_prefix(folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        match word.trim_end_matches('/').rsplit_once('/') {
            Some((_, name)) if is_private && !name.is_empty() => format!("…/{name}"),
            _ => word.to_owned(),
        }
    };
    let words = text.split_inclusive(ends_path);
    let words = words.map(|word| match word.strip_suffix(ends_path) {
        Some(path) => shown(path) + &word[path.len()..],
        None => shown(word),
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_user_keep_their_last_name_only() {
        let shown = |text| without_private_paths(text);
        assert_eq!(
            shown("/home/ann/venv/bin/python (PATH), Python 3.12: NumPy 2.3"),
            "…/python (PATH), Python 3.12: NumPy 2.3"
        );
        assert_eq!(
            shown("12.8, /usr/local/cuda/lib64/libnvrtc.so.12"),
            "12.8, /usr/local/cuda/lib64/libnvrtc.so.12"
        );
        assert_eq!(
            shown("fails to import ('/data/secret/torch/lib.so': no such file), ~/x/y/"),
            "fails to import ('…/lib.so': no such file), …/y"
        );
        assert_eq!(shown("/usrlocal/x and/or 3/4 /"), "…/x and/or 3/4 /");
    }

    #[test]
    fn the_report_says_nothing_of_the_users_project() {
        let finding = |what: &str, says: &str| Finding {
            what: what.into(),
            ok: true,
            says: says.into(),
            remedy: None,
        };
        let findings = [
            finding("git", "git version 2.39.5"),
            finding("project", "secret/kernel.cu by python secret.py"),
        ];
        let report = text("0.1.0", findings.iter(), "cpu");
        assert!(!report.contains("secret"), "{report}");
        assert!(
            report.contains("✓ git           git version 2.39.5\n✓ project\n"),
            "{report}"
        );
    }
}
