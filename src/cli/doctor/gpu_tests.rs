//! The last run of `scripts/gpu-tests`, for `lab doctor` in the lab's own repository, which holds its
//! output: when it ran, of which commit, on which GPU, and what came of it.

use super::{note, well};
use lab_device::Finding;
use lab_system::root::Root;
use std::collections::BTreeMap;
use std::path::Path;

/// The output of that run. Suites that were run again are at its end.
const OUTPUT: &str = "benchmarks/h200/gpu-tests.txt";

/// Most bytes of it that are read.
const MOST_BYTES: u64 = 8 << 20;

/// What `lab doctor` says of the GPU tests in a folder of the lab's repository; `None` elsewhere.
pub fn finding(folder: &Path) -> Option<Finding> {
    let mut roots = folder.ancestors();
    let root = roots.find(|root| root.join("scripts/gpu-tests").is_file())?;
    let output = Root::new(root).read(Path::new(OUTPUT), MOST_BYTES).ok()?;
    Some(describe(&String::from_utf8_lossy(&output)))
}

fn describe(output: &str) -> Finding {
    // `cuda tests, 2026-11-22 02:29 UTC, commit c8ea481`
    let when = output
        .lines()
        .next()
        .and_then(|line| line.split_once(", "))
        .map_or("unknown", |(_, when)| when);
    // `0, NVIDIA H200, 580.159.04, 143771 MiB, 9.0, 1980 MHz`
    let gpu = output
        .lines()
        .find_map(|line| line.strip_prefix("0, ")?.split(", ").next())
        .unwrap_or("a GPU");
    let suites = suites(output);
    let passed: u64 = suites.values().map(|suite| suite.passed).sum();
    let failed: Vec<&str> = suites
        .iter()
        .filter(|(_, suite)| !suite.ok)
        .map(|(name, _)| *name)
        .collect();
    let again: Vec<String> = suites
        .iter()
        .filter_map(|(name, suite)| Some(format!("; {name} again with {}", suite.again?)))
        .collect();
    let run = format!("on {gpu}, {when}{}", again.concat());
    if suites.is_empty() || !failed.is_empty() {
        let says = format!("not all passed {run}: {}", failed.join(", "));
        let remedy = "benchmarks/h200/gpu-tests.txt holds the output; scripts/gpu-tests runs them";
        return note("GPU tests", says.trim_end_matches(": "), remedy);
    }
    well("GPU tests", format!("{passed} passed {run}"))
}

/// The last result of a suite.
#[derive(Default)]
struct Suite<'a> {
    passed: u64,
    ok: bool,
    /// The commit with which the suite was run again.
    again: Option<&'a str>,
}

fn suites(output: &str) -> BTreeMap<&str, Suite<'_>> {
    let mut suites = BTreeMap::new();
    let mut current = ("", None);
    for line in output.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            current = (name, None);
        } else if let Some((name, rest)) = line.split_once(", ")
            && suites.contains_key(name)
            && let Some((_, commit)) = rest.split_once(" UTC, ")
        {
            current = (name, Some(commit));
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let passed = result
                .split_whitespace()
                .nth(1)
                .and_then(|count| count.parse().ok())
                .unwrap_or(0);
            suites.insert(
                current.0,
                Suite {
                    passed,
                    ok: result.starts_with("ok."),
                    again: current.1,
                },
            );
        }
    }
    suites
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const HEAD: &str =
        "cuda tests, 2026-11-22 02:29 UTC, commit c8ea481\n\nindex, name\n0, NVIDIA H200, 580\n\n";

    #[test]
    fn the_run_is_named_with_its_date_commit_and_gpu() {
        let output = format!(
            "{HEAD}== lab_device\ntest result: ok. 25 passed; 0 failed\n== cuda_build\ntest result: ok. 10 passed; 0\n"
        );
        let found = describe(&output);
        assert_eq!(
            found.says,
            "35 passed on NVIDIA H200, 2026-11-22 02:29 UTC, commit c8ea481"
        );
        assert_eq!(found.remedy, None);
    }

    #[test]
    fn a_failed_suite_is_named_until_it_has_passed() {
        let failed = format!(
            "{HEAD}== cuda_check\ntest result: FAILED. 3 passed; 1 failed\n== cuda_build\ntest result: ok. 10 passed; 0\n"
        );
        let found = describe(&failed);
        assert!(
            found.says.starts_with("not all passed on NVIDIA H200")
                && found.says.ends_with(": cuda_check")
        );
        assert!(found.remedy.is_some());
        let again = "\ncuda_check, 2026-11-22 02:36 UTC, commit 7bf2761\n\ntest result: ok. 4 passed; 0 failed\n";
        let found = describe(&(failed + again));
        assert!(
            found.says.starts_with("14 passed on")
                && found
                    .says
                    .ends_with("; cuda_check again with commit 7bf2761")
        );
        assert!(
            describe("").remedy.is_some(),
            "nothing is known of an empty file"
        );
    }

    #[test]
    fn nothing_is_said_of_them_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        assert!(finding(folder.path()).is_none());
    }

    #[test]
    fn the_file_in_the_repository_can_be_read() {
        let found = finding(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(
            found.says.contains(" UTC, commit ") && found.says.contains("NVIDIA"),
            "{}",
            found.says
        );
    }
}
