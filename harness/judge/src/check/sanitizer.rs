//! NVIDIA's compute-sanitizer: where it is, how it is started, and how its report is read.
//!
//! The form of the report is that of its manual,
//! <https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html>, in the chapters on each
//! tool. Older releases write a place as `file:line:function`.

use super::{SourceLine, ToolFinding, ToolReport};
use crate::toolkit;
use itertools::Itertools as _;
use lab_protocol::Tool;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What to do if compute-sanitizer is missing.
pub const REMEDY: &str = "compute-sanitizer is not here. It comes with the CUDA toolkit (Debian, Ubuntu: apt install \
                          cuda-sanitizer-13-0, or the number of your toolkit); put it on the path or set CUDA_HOME";

/// Searches the path and the toolkit for compute-sanitizer.
pub fn find() -> Option<PathBuf> {
    const NAME: &str = "compute-sanitizer";
    toolkit::find(NAME, &["bin", NAME], Vec::new())
}

/// The command line that comes before that of the watched program.
pub fn command(sanitizer: &Path, tool: Tool, log: &Path) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![sanitizer.into(), "--tool".into(), tool.name().into()];
    command.extend(["--target-processes", "all", "--print-limit", "1000"].map(OsString::from));
    // The worker reports the errors of its own calls.
    command.extend(["--report-api-errors", "no"].map(OsString::from));
    if tool == Tool::Memcheck {
        // Space between two buffers, so that an access past the end of one does not reach the next.
        command.extend(["--padding", "512"].map(OsString::from));
    }
    command.push("--log-file".into());
    command.push(log.into());
    command
}

const MARK: &str = "=========";

/// One record of the report: its first line, and the lines below it.
struct SanitizerRecord<'a> {
    headline: &'a str,
    details: Vec<&'a str>,
}

/// Reads the report that compute-sanitizer wrote.
pub fn read(log: &str) -> ToolReport {
    let mut records: Vec<SanitizerRecord> = Vec::new();
    let (mut summary, mut unfinished) = (false, None);
    for line in log.lines() {
        let Some(rest) = line.trim_start().strip_prefix(MARK) else {
            continue;
        };
        let words = rest.trim();
        if words.contains("SUMMARY:") {
            summary = true;
        } else if let Some(error) = words
            .strip_prefix("Error: ")
            .filter(|e| !e.starts_with("Race reported"))
        {
            unfinished = Some(error.to_owned());
        } else if words.contains("Internal ComputeSanitizer Error") {
            unfinished = Some(words.to_owned());
        } else if begins(words) {
            records.push(SanitizerRecord {
                headline: words,
                details: Vec::new(),
            });
        } else if let Some(record) = records.last_mut() {
            record.details.push(words);
        }
    }
    if !summary && unfinished.is_none() {
        unfinished = Some("compute-sanitizer wrote no summary".to_owned());
    }
    let mut shown = HashSet::new();
    let mut findings = Vec::new();
    for finding in records.iter().map(SanitizerRecord::finding) {
        // A mistake at one place is shown once, with the first thread that made it.
        let what = finding
            .what
            .split(": thread (")
            .next()
            .unwrap_or_default()
            .to_owned();
        if shown.insert((finding.place.clone(), what)) {
            findings.push(finding);
        }
    }
    ToolReport {
        findings,
        unfinished,
    }
}

/// Returns whether this is the first line of a record.
fn begins(words: &str) -> bool {
    let words = words
        .strip_prefix("Error: ")
        .or_else(|| words.strip_prefix("ERROR: "))
        .unwrap_or(words);
    let words = words.strip_prefix("Warning: ").unwrap_or(words);
    [
        "Invalid __",
        "Misaligned",
        "Race reported",
        "Uninitialized",
        "Barrier error",
        "Potential",
        "Unused",
        "Stack overflow",
    ]
    .iter()
    .any(|beginning| words.starts_with(beginning))
}

impl SanitizerRecord<'_> {
    fn finding(&self) -> ToolFinding {
        match self.headline.split_once("Race reported between ") {
            Some((_, access)) => self.race(access),
            None => self.access(),
        }
    }

    /// Reads a record like `Invalid __global__ write of size 4 bytes`,
    /// `at kernel()+0x10 in kernel.cu:6`, `by thread (0,0,0) in block (0,0,0)`, and perhaps further
    /// lines about the address.
    fn access(&self) -> ToolFinding {
        let places = self
            .details
            .iter()
            .filter(|detail| detail.starts_with("at ") || detail.starts_with("Device Frame:"))
            .filter_map(|detail| place(detail))
            .collect_vec();
        let mut what = self.headline.trim_end_matches('.').to_owned();
        if let Some(by) = self
            .details
            .iter()
            .find_map(|detail| detail.strip_prefix("by "))
        {
            what += &format!(": {by}");
        }
        let more = self
            .details
            .iter()
            .filter(|d| d.starts_with("and is ") || d.ends_with("is misaligned"));
        for detail in more {
            let detail = detail.split(" at 0x").next().unwrap_or(detail);
            what += &format!(", {}", detail.strip_prefix("and ").unwrap_or("misaligned"));
        }
        ToolFinding {
            place: own(&places),
            what,
        }
    }

    /// Reads a record like `Write access at kernel()+0x90 in kernel.cu:41`, then a line
    /// `and Read access at … in kernel.cu:51 [508 hazards]` for each access that races with it.
    fn race(&self, access: &str) -> ToolFinding {
        let kind = |text: &str| {
            text.split(" access")
                .next()
                .unwrap_or("")
                .trim()
                .to_lowercase()
        };
        // A place that does not fit in its line is on the next one.
        let all = std::iter::once(access).chain(self.details.iter().copied());
        let mut sides: Vec<String> = Vec::new();
        for text in all {
            match text.strip_prefix("and ").unwrap_or(text) {
                side if side.contains(" access at ") => sides.push(side.to_owned()),
                rest if rest.starts_with("in ") => {
                    if let Some(side) = sides.last_mut() {
                        *side += &format!(" {rest}");
                    }
                }
                _ => {}
            }
        }
        let first = sides.first().and_then(|side| place(side));
        let others = sides.iter().skip(1).map(|side| match place(side) {
            Some(at) if first.as_ref().is_some_and(|f| f.file == at.file) => {
                format!("a {} at line {}", kind(side), at.line)
            }
            Some(at) => format!("a {} at {}:{}", kind(side), at.file, at.line),
            None => format!("a {}", kind(side)),
        });
        let mut others = others.collect_vec();
        others.dedup();
        let with = if others.is_empty() {
            "another access".to_owned()
        } else {
            others.join(" and ")
        };
        ToolFinding {
            place: first,
            what: format!("a {} of shared memory races with {with}", kind(access)),
        }
    }
}

/// The innermost place in the user's own source: an access inside a function of the toolkit counts
/// for its caller.
fn own(places: &[SourceLine]) -> Option<SourceLine> {
    let own = |place: &&SourceLine| {
        super::symbolize::is_users(&place.file) && !place.file.ends_with(".hpp")
    };
    places.iter().find(own).or(places.first()).cloned()
}

/// Reads the `file:12` after the last ` in `. Older releases add `:function`.
fn place(text: &str) -> Option<SourceLine> {
    let (_, place) = text.rsplit_once(" in ")?;
    let place = place.split(" [").next()?.trim();
    let mut at = 0;
    while let Some(colon) = place[at..].find(':').map(|found| at + found) {
        let digits: String = place[colon + 1..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        let end = colon + 1 + digits.len();
        if let Ok(line) = digits.parse()
            && place[end..].chars().next().is_none_or(|next| next == ':')
        {
            return Some(SourceLine {
                file: place[..colon].to_owned(),
                line,
            });
        }
        at = colon + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of a report, as `file:line what`.
    fn shown(log: &str) -> Vec<String> {
        let line = |f: ToolFinding| match f.place {
            Some(place) => format!("{}:{} {}", place.file, place.line, f.what),
            None => f.what,
        };
        read(log).findings.into_iter().map(line).collect()
    }

    #[test]
    fn memcheck_names_access_thread_and_place_once() {
        let log = "\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at axpy(const float *, float *, float, int)+0x160 in /cache/snapshots/.tmp1/kernel.cu:6
=========     by thread (5,0,0) in block (3,0,0)
=========     Access at 0x7f6510c00001 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f6510c00000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: [0x1234] in libcuda.so.1
=========
========= Invalid __global__ write of size 4 bytes
=========     at axpy(const float *, float *, float, int)+0x160 in /cache/snapshots/.tmp1/kernel.cu:6
=========     by thread (6,0,0) in block (3,0,0)
========= ERROR SUMMARY: 2 errors
";
        let wanted = "/cache/snapshots/.tmp1/kernel.cu:6 Invalid __global__ write of size 4 bytes: thread (5,0,0) in block \
                      (3,0,0), is 1 bytes after the nearest allocation";
        assert_eq!(shown(log), [wanted]);
        assert_eq!(read(log).unfinished, None);
    }

    #[test]
    fn racecheck_names_both_accesses() {
        let log = "\
========= Error: Race reported between Write access at sum(int *, int *)+0x90 in kernel.cu:41
=========     and Read access at sum(int *, int *)+0x100 in kernel.cu:51 [508 hazards]
=========     and Write access at sum(int *, int *)+0x120
=========     in kernel.cu:52 [4 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
";
        let wanted = "kernel.cu:41 a write of shared memory races with a read at line 51 and a write at line 52";
        assert_eq!(shown(log), [wanted]);
        assert_eq!(read(log).unfinished, None);
    }

    #[test]
    fn initcheck_and_synccheck_and_older_forms() {
        let log = "\
========= Uninitialized __global__ memory read of size 4 bytes
=========     at 0x250 in /a/kernel.cu:41:vector_add(int*)
=========     by thread (16,0,0) in block (0,0,0)
========= Barrier error detected. Divergent thread(s) in block.
=========     at __syncwarp(unsigned int)+0xe0 in sm_30_intrinsics.hpp:110
=========     by thread (0,0,0) in block (0,0,0)
=========         Device Frame: broken(float *)+0xb0 in kernel.cu:12
========= ERROR SUMMARY: 2 errors
";
        assert_eq!(
            shown(log),
            [
                "/a/kernel.cu:41 Uninitialized __global__ memory read of size 4 bytes: thread (16,0,0) in block (0,0,0)",
                "kernel.cu:12 Barrier error detected. Divergent thread(s) in block: thread (0,0,0) in block (0,0,0)",
            ]
        );
    }

    #[test]
    fn nothing_found_is_clean_only_beside_a_summary() {
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(read(clean), ToolReport::default());
        assert_eq!(
            read("").unfinished.as_deref(),
            Some("compute-sanitizer wrote no summary")
        );
        let failed =
            "========= Error: Target application terminated before first instrumented API call\n";
        let why = "Target application terminated before first instrumented API call";
        assert_eq!(read(failed).unfinished.as_deref(), Some(why));
    }
}
