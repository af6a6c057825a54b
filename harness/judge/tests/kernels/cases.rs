//! The kernels of this folder, and how each file says it must be judged. README.md describes the
//! form of a file.

use crate::expected::Expected;
use crate::support::{self, Judged, host_header};
use lab_device::sandbox;
use lab_protocol::{Exit, Target};
use lab_protocol::{JudgeKind, JudgeRequest};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A kernel, and how it must be judged.
pub struct Case {
    /// As in `wrong/stale_h0`.
    pub name: String,
    problem: String,
    /// The expected verdict, and the one on a GPU if it differs.
    judged: Expected,
    on_cuda: Option<Expected>,
    /// How a device judges it instead, in a class of mistakes that it does not find yet.
    gap_on_cpu: Option<Expected>,
    gap_on_cuda: Option<Expected>,
    /// The expected verdict on held-out inputs; `None` is a pass.
    held_out: Option<Expected>,
    /// Texts that must be in run.log; the second list only on a GPU, the third only on the cpu
    /// device.
    says: Vec<String>,
    says_on_cuda: Vec<String>,
    says_on_cpu: Vec<String>,
    /// Texts that must not be there.
    never_says: Vec<String>,
    /// The only device on which the kernel runs; `None` means every device.
    device: Option<String>,
    limit: Duration,
    /// Judged only if Linux can confine the worker.
    needs_sandbox: bool,
    source: String,
}

/// This folder, at its place when the test was built, or in the repository in which the test runs.
fn folder() -> PathBuf {
    let built_at = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels"));
    if built_at.is_dir() {
        built_at.to_owned()
    } else {
        "harness/judge/tests/kernels".into()
    }
}

/// The folder of a problem: here, or among the problems of the repository.
fn problem_folder(name: &str) -> PathBuf {
    let own = ["", "corpus/problems"].map(|place| folder().join(place).join(name));
    let found = own.into_iter().find(|place| place.is_dir());
    found.unwrap_or_else(|| folder().join("../../../../kernels").join(name))
}

/// Every kernel of one of the folders, in the order of their names.
pub fn cases(kind: &str) -> Vec<Case> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder().join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| case(kind, path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
        .collect()
}

fn case(kind: &str, path: &Path) -> Result<Case, String> {
    let stem = path.file_stem().and_then(|s| s.to_str()).ok_or("no name")?;
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    // A kernel as a whole, or a change of its problem's.
    let is_whole = path.extension().is_some_and(|ending| ending == "cu");
    let begins = if is_whole { "\n#" } else { "\n- " };
    let (head, edits) = text.split_at(text.find(begins).map_or(text.len(), |at| at + 1));
    let mut case = Case {
        name: format!("{kind}/{stem}"),
        problem: "wavegru".into(),
        judged: Expected::Pass,
        on_cuda: None,
        gap_on_cpu: None,
        gap_on_cuda: None,
        held_out: None,
        says: Vec::new(),
        says_on_cuda: Vec::new(),
        says_on_cpu: Vec::new(),
        never_says: Vec::new(),
        device: None,
        limit: Duration::from_secs(300),
        needs_sandbox: false,
        source: String::new(),
    };
    let mut is_judged = false;
    for line in head.lines() {
        let line = line
            .strip_prefix("// ")
            .ok_or(format!("'{line}' is neither a comment nor an edit"))?;
        match line.split_once(": ").unwrap_or(("", "")) {
            ("judged", value) => (case.judged, is_judged) = (Expected::read(value)?, true),
            ("gap on cpu", value) => case.gap_on_cpu = Some(Expected::read(value)?),
            ("gap on cuda", value) => case.gap_on_cuda = Some(Expected::read(value)?),
            ("gap", value) => {
                let gap = Some(Expected::read(value)?);
                (case.gap_on_cpu, case.gap_on_cuda) = (gap.clone(), gap);
            }
            ("judged on cuda", value) => case.on_cuda = Some(Expected::read(value)?),
            ("held out", value) => case.held_out = Some(Expected::read(value)?),
            ("says", value) => case.says.push(value.to_owned()),
            ("says on cuda", value) => case.says_on_cuda.push(value.to_owned()),
            ("says on cpu", value) => case.says_on_cpu.push(value.to_owned()),
            ("needs", "sandbox") => case.needs_sandbox = true,
            ("never says", value) => case.never_says.push(value.to_owned()),
            ("problem", value) => case.problem = value.to_owned(),
            ("device", value) => case.device = value.split(' ').next().map(str::to_owned),
            ("limit", value) => {
                case.limit =
                    Duration::from_secs(value.parse().map_err(|_| "limit is in whole seconds")?);
            }
            _ => {}
        }
    }
    if !is_judged {
        return Err("it does not say how it must be judged".into());
    }
    if is_whole {
        case.source = text;
        return Ok(case);
    }
    let files = ["plain.cu", "kernel.cu"].map(|name| problem_folder(&case.problem).join(name));
    let plain = files
        .iter()
        .find(|path| path.is_file())
        .ok_or("its problem has no kernel")?;
    let plain = std::fs::read_to_string(plain).map_err(|e| e.to_string())?;
    case.source = edited(&plain, edits)?;
    Ok(case)
}

/// Replaces the lines of `plain` that are marked `- ` by those marked `+ `. Lines to replace must
/// occur exactly once.
fn edited(plain: &str, edits: &str) -> Result<String, String> {
    let mut lines: Vec<&str> = plain.lines().collect();
    let mut edits = edits.lines().peekable();
    while edits.peek().is_some() {
        let mut take = |mark: char| {
            let mut taken = Vec::new();
            while let Some(line) = edits.next_if(|line| line.starts_with(mark)) {
                taken.push(line.get(2..).unwrap_or(""));
            }
            taken
        };
        let (old, new) = (take('-'), take('+'));
        if old.is_empty() {
            return Err(format!(
                "nothing to replace before '{}'",
                new.first().unwrap_or(&"an empty line")
            ));
        }
        let found: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at..].starts_with(&old))
            .collect();
        let [at] = found[..] else {
            return Err(format!(
                "'{}' is {} times in plain.cu",
                old.join("\n"),
                found.len()
            ));
        };
        lines.splice(at..at + old.len(), new);
    }
    // The files of this folder are text.
    Ok((lines.join("\n") + "\n").replace("{nul}", "\0"))
}

/// A temporary problem folder with this kernel.
fn problem(case: &Case) -> tempfile::TempDir {
    let folder_of = problem_folder(&case.problem);
    let temporary = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder_of).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, temporary.path().join(path.file_name().unwrap())).unwrap();
    }
    std::fs::write(temporary.path().join("kernel.cu"), &case.source).unwrap();
    if case.source.contains(host_header::NAME) {
        std::fs::write(
            temporary.path().join(host_header::NAME),
            host_header::text(),
        )
        .unwrap();
    }
    temporary
}

/// Judges every kernel of some folders. Panics with the logs of those that were not judged as
/// expected.
pub fn judge_all(kinds: &[&str], device: Target) {
    let mut wrong = Vec::new();
    // A choice for a developer who works on some of them.
    let only = std::env::var("LAB_TEST_KERNELS").unwrap_or_default();
    for case in kinds
        .iter()
        .flat_map(|kind| cases(kind))
        .filter(|case| case.name.contains(&only))
    {
        let began = Instant::now();
        let (result, why) = match case.not_judged_on(device) {
            Some(reason) => (reason, None),
            None => match judge(&case, device) {
                Ok(()) => ("as named", None),
                Err(why) => ("WRONG", Some(why)),
            },
        };
        let took = began.elapsed().as_secs_f64();
        println!("{:<44} {result:<8} {took:6.2} s", case.name);
        wrong.extend(why.map(|why| format!("{}: {why}", case.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A short time limit is meant for the kernel, and it also holds for the build. If a busy machine
/// takes too long to build, the limit is doubled.
fn patiently(options: &JudgeRequest, expected: &Expected) -> Judged {
    let mut options = options.clone();
    loop {
        let judged = support::run(options.clone());
        let stopped = judged.report.value("stopped").unwrap_or("");
        // The kernel's build, or the reference's.
        let build_ended = |text: &str| text.contains("the build did not end");
        let meant = matches!(expected, Expected::Crash(words) if build_ended(words));
        if meant || !build_ended(stopped) {
            return judged;
        }
        options.time_limit *= 2;
    }
}

impl Case {
    /// Why the kernel is not judged on this device, on this machine.
    pub fn not_judged_on(&self, device: Target) -> Option<&'static str> {
        if self
            .device
            .as_deref()
            .is_some_and(|only| (only == "cpu") != (device == Target::Cpu))
        {
            return Some("for the other device");
        }
        (self.needs_sandbox && sandbox::support().missing().is_some())
            .then_some("this Linux has no Landlock")
    }
}

/// Judges a kernel. Returns an error if the verdict differs from the one that its file names.
pub fn judge(case: &Case, device: Target) -> Result<(), String> {
    let on_cpu = device == Target::Cpu;
    let folder = problem(case);
    let options = JudgeRequest {
        device,
        time_limit: case.limit,
        ..support::options(folder.path())
    };
    let (gap, right) = if on_cpu {
        (&case.gap_on_cpu, None)
    } else {
        (&case.gap_on_cuda, case.on_cuda.as_ref())
    };
    let expected = gap.as_ref().or(right).unwrap_or(&case.judged);
    let judged = patiently(&options, expected);
    let whole = |why: String, judged: &Judged| Err(format!("{why} in\n{}", judged.log));
    if let Some(why) = expected.differs(&judged) {
        return whole(why, &judged);
    }
    // A workload's label names its steps.
    let steps = judged.log.split(" steps=").nth(1).unwrap_or_default();
    let steps = steps.split_whitespace().next().unwrap_or_default();
    let steps: u32 = steps.parse().unwrap_or_default();
    let of_device = if on_cpu {
        &case.says_on_cpu
    } else {
        &case.says_on_cuda
    };
    for words in case.says.iter().chain(of_device) {
        let words = words.replace("{steps}", &steps.to_string());
        let words = words.replace("{last}", &steps.saturating_sub(1).to_string());
        if !judged.log.contains(&words) {
            return whole(format!("does not say '{words}'"), &judged);
        }
    }
    if let Some(words) = case
        .never_says
        .iter()
        .find(|words| judged.log.contains(*words))
    {
        return whole(format!("says '{words}'"), &judged);
    }
    if judged.exit != Exit::Passed {
        judged.expect_no_measure();
    }
    // `lab keep` checks held-out inputs for every kernel that passes.
    if *expected == Expected::Pass && gap.is_none() {
        let held_out = support::run(JudgeRequest {
            kind: JudgeKind::SealedCheck { runs: 1 },
            ..options
        });
        // A GPU is timed on sealed runs too.
        if on_cpu {
            held_out.expect_no_measure();
        }
        if let Some(why) = case
            .held_out
            .as_ref()
            .unwrap_or(&Expected::Pass)
            .differs(&held_out)
        {
            return whole(format!("held out: {why}"), &held_out);
        }
    }
    Ok(())
}
