//! `lab doctor --report`: what a report of a fault needs, as Markdown. It consists of words of the lab's own, numbers,
//! and names of known programs; what the user, the machine's owner or a program of theirs wrote is in none of it.

use super::sign;
use lab_device::{Finding, known_name, version_number};
use lab_system::threads::cores;
use lab_text::listed;
use std::fs;

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

/// Of what a finding says only the part that its maker declared public.
fn line(finding: &Finding) -> String {
    let line = format!("{} {:<13} {}", sign(finding), finding.what, finding.public);
    line.trim_end().to_owned()
}

/// Distributions, as `ID` of /etc/os-release names them.
const SYSTEMS: &str = "almalinux alpine amzn arch azurelinux centos debian fedora gentoo linuxmint manjaro nixos opensuse-leap \
                       opensuse-tumbleweed ol pop raspbian rhel rocky sles ubuntu void";

/// `Linux 6.12.1, debian 13, 8 processors, 62 GiB of memory`. A kernel and a system that somebody built may have any name.
fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (system, kernel) = (
        read("/etc/os-release"),
        read("/proc/sys/kernel/osrelease").to_lowercase(),
    );
    let memory = read("/proc/meminfo");
    let kib = value(&memory, "MemTotal:").and_then(|it| it.split(' ').next()?.parse::<u64>().ok());
    format!(
        "Linux {}{}, {} {}, {} processors, {} GiB of memory",
        version_number(&kernel),
        if kernel.contains("microsoft") {
            " (WSL)"
        } else {
            ""
        },
        known_name(
            value(&system, "ID=").unwrap_or_default(),
            SYSTEMS,
            "another system"
        ),
        version_number(value(&system, "VERSION_ID=").unwrap_or_default()),
        cores(),
        kib.map_or_else(|| "?".to_owned(), |kib| (kib >> 20).to_string())
    )
}

/// What follows a key at the begin of a line, without blanks and quotation marks.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let found = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(found.trim().trim_matches('"'))
}

/// The variables that change what `lab` does: docs/configuration.md.
const VARIABLES: [&str; 26] = [
    "CLICOLOR",
    "COLORTERM",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "FORCE_COLOR",
    "LAB_ASCII",
    "LAB_COLOR",
    "LAB_CONFIG_DIR",
    "LAB_CPU_MEMORY_MIB",
    "LAB_CPU_SMS",
    "LAB_ENVIRONMENT",
    "LAB_KEY_FILE",
    "LAB_NCU",
    "LAB_PAINT",
    "LAB_PYTHON",
    "LAB_SANDBOX",
    "LAB_STATE_DIR",
    "LAB_THEME",
    "NO_COLOR",
    "TMUX",
    "VIRTUAL_ENV",
    "XDG_CACHE_HOME",
];

/// The names of [`VARIABLES`] that are set; not their values.
fn variables() -> String {
    let is_set = |name: &&&str| std::env::var_os(name).is_some();
    let set = VARIABLES.iter().filter(is_set).copied();
    listed(set).unwrap_or_else(|| "none".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_what_is_public_and_nothing_else() {
        let findings = [
            Finding::good("git", "git version 2.39.5 of ann").public("2.39.5"),
            Finding::good("project", "secret/kernel.cu by python secret.py"),
        ];
        let report = text("0.1.0", findings.iter(), "cpu");
        assert!(
            !report.contains("secret") && !report.contains("ann"),
            "{report}"
        );
        assert!(
            report.contains("✓ git           2.39.5\n✓ project\n"),
            "{report}"
        );
    }
}
