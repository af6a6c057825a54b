//! AddressSanitizer on the cpu device: how it is started, and how its report is read.
//!
//! The form of the report is described at
//! <https://github.com/google/sanitizers/wiki/AddressSanitizer>; gcc 12 and 13 print it so. With
//! `symbolize=0` it holds addresses, which are resolved here to the user's own lines.

use super::{FINDINGS_LIMIT, ToolFinding, ToolReport, read_findings, symbolize, unreadable};
use crate::outcome::{OrLab, Result, Stop};
use itertools::Itertools as _;
use lab_system::listing;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The environment for a worker under AddressSanitizer. The library is loaded before all others,
/// because it replaces `malloc`.
pub fn environment(log: &Path) -> Result<Vec<(OsString, OsString)>> {
    let options = [
        "halt_on_error=0",
        "detect_leaks=0",
        "detect_stack_use_after_return=0",
        "detect_odr_violation=0",
        "symbolize=0",
        "print_summary=0",
        "print_legend=0",
        "malloc_context_size=0",
    ];
    let options = format!("{}:log_path={}", options.join(":"), log.display());
    Ok(vec![
        ("LD_PRELOAD".into(), library()?),
        ("ASAN_OPTIONS".into(), options.into()),
    ])
}

/// The path of libasan.so, as the C++ compiler that builds kernels knows it.
pub fn library() -> Result<OsString> {
    let named = std::env::var_os("CXX").filter(|name| !name.is_empty());
    let compilers = named.map_or_else(|| vec!["g++".into(), "clang++".into()], |name| vec![name]);
    // Of clang only g++'s library is used: clang's own has another name on each machine.
    for compiler in &compilers {
        let Ok(output) = Command::new(compiler)
            .arg("-print-file-name=libasan.so")
            .output()
        else {
            continue;
        };
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if Path::new(&path).is_absolute()
            && let Ok(real) = fs::canonicalize(&path)
        {
            return Ok(real.into());
        }
    }
    Err(Stop::Lab(
        "address: the C++ compiler has no libasan.so. It comes with g++ (Debian, Ubuntu: apt install g++ libasan8; \
         Fedora: dnf install libasan)"
            .into(),
    ))
}

/// Reads every report in `folder`. The sanitizer adds the process id to the file name that it was
/// given.
pub fn read(folder: &Path, image: &Path) -> Result<ToolReport> {
    let mut text = String::new();
    let mut left = FINDINGS_LIMIT;
    let what = || unreadable(folder);
    for entry in listing::read_dir(folder).or_lab(what)? {
        let path = entry.or_lab(what)?.path();
        let bytes = read_findings(&path, left).or_lab(what)?;
        left = left.saturating_sub(bytes.len() as u64);
        text += &String::from_utf8_lossy(&bytes);
    }
    let name = image
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let reports = reports(&text, &name);
    let addresses = reports.iter().flat_map(|r| &r.frames).copied();
    let places = symbolize::resolve(image, addresses)?;
    let findings = reports.into_iter().map(|report| ToolFinding {
        place: report
            .frames
            .iter()
            .find_map(|frame| places.get(frame))
            .cloned(),
        what: report.what,
    });
    // A mistake in one line is shown once, however many launches and threads make it.
    let mut shown = HashSet::new();
    let new = findings.filter(|f| shown.insert((f.place.clone(), kind(&f.what).to_owned())));
    Ok(ToolReport::from(new.collect_vec()))
}

fn kind(what: &str) -> &str {
    what.split(':').next().unwrap_or(what)
}

struct AsanReport {
    what: String,
    /// The stack, innermost frame first, as offsets from the image's beginning.
    frames: Vec<u64>,
}

fn reports(text: &str, image: &str) -> Vec<AsanReport> {
    let mut found: Vec<AsanReport> = Vec::new();
    // The first stack of a report is that of the access; further ones are about the memory.
    let mut in_first_stack = false;
    for line in text.lines() {
        if let Some((_, what)) = line.split_once("ERROR: AddressSanitizer: ") {
            found.push(AsanReport {
                what: headline(what),
                frames: Vec::new(),
            });
            in_first_stack = true;
            continue;
        }
        let Some(report) = found.last_mut() else {
            continue;
        };
        let words = line.trim();
        if words.starts_with('#') {
            if in_first_stack && let Some(at) = offset(words, image) {
                report.frames.push(at);
            }
        } else if words.is_empty() {
            in_first_stack = false;
        } else if words.starts_with("READ of size") || words.starts_with("WRITE of size") {
            let access = words.split(" at 0x").next().unwrap_or(words).to_lowercase();
            report.what = format!("{}: a {access}", report.what);
        } else if let Some((_, place)) = words.split_once(" is located ") {
            report.what += &format!(", {}", located(place));
        }
    }
    found
}

/// Turns the wording of older compilers, `0 bytes to the right of 20-byte region [0x…,0x…)`, into
/// that of newer ones, `0 bytes after 20-byte region`.
fn located(place: &str) -> String {
    if place.starts_with("in stack of") {
        return "of a local variable".to_owned();
    }
    let place = place.split(" [0x").next().unwrap_or(place);
    place
        .replace(" to the right of ", " after ")
        .replace(" to the left of ", " before ")
}

/// Shortens `heap-buffer-overflow on address 0x… at pc …` to `heap-buffer-overflow`.
fn headline(what: &str) -> String {
    let end = what
        .find(" on address")
        .or_else(|| what.find(" on unknown address"))
        .or_else(|| what.find(" (pc"));
    match what[..end.unwrap_or(what.len())].trim() {
        // The address may be one that the sanitizer computed for its own records.
        "SEGV" => "an access to memory that is not there".to_owned(),
        name => name.to_owned(),
    }
}

/// The offset of a frame `#0 0x7f… (/cache/cpu-1.so+0x1234) (BuildId: …)`. Frames below the first
/// are return addresses, and the sanitizer has already moved them back into the call.
fn offset(frame: &str, image: &str) -> Option<u64> {
    let (_, rest) = frame.split_once(&format!("{image}+0x"))?;
    let digits = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
=================================================================
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x7f1 bp 0x7f2 sp 0x7f3
WRITE of size 4 at 0x602000000014 thread T0
    #0 0x7f1 in over (/cache/cpu-00.so+0x1234) (BuildId: 55)
    #1 0x7f4  (/cache/cpu-00.so+0x1300) (BuildId: 55)
    #2 0x7f5  (/bin/lab+0x99)

0x602000000014 is located 0 bytes to the right of 20-byte region [0x602000000000,0x602000000014)
allocated by thread T0 here:
    #0 0x7f6  (/cache/cpu-00.so+0x4444) (BuildId: 55)

AddressSanitizer:DEADLYSIGNAL
=================================================================
==7==ERROR: AddressSanitizer: SEGV on unknown address 0x000000000008 (pc 0x7f1 bp 0x1 sp 0x2 T3)
==7==The signal is caused by a READ memory access.
==7==Hint: address points to the zero page.
    #0 0x7f1  (/cache/cpu-00.so+0x2000) (BuildId: 55)
";

    #[test]
    fn a_report_gives_what_happened_and_the_stack_of_the_access() {
        let found: Vec<(String, Vec<u64>)> = reports(REPORT, "cpu-00.so")
            .into_iter()
            .map(|r| (r.what, r.frames))
            .collect();
        let overflow = "heap-buffer-overflow: a write of size 4, 0 bytes after 20-byte region";
        assert_eq!(found[0], (overflow.to_owned(), vec![0x1234, 0x1300]));
        assert_eq!(
            found[1],
            (
                "an access to memory that is not there".to_owned(),
                vec![0x2000]
            )
        );
        assert_eq!(found.len(), 2);
    }
}
