//! `lab doctor`: checks what the lab needs and says how to mend what is missing.

mod machine;
mod python;
mod report;

use super::harness::is_trusted;
use super::output::{FAILED, say_text};
use super::{JsonArg, KernelArg, VERSION, here, say, told_with};
use crate::confinement;
use crate::screen::{preferences, settings_files};
use anyhow::Result;
use clap::Args;
use itertools::Itertools;
use lab_device::{self as device, Finding, FolderTrust};
use lab_git::Repo;
use lab_judge::judge::counters_are_readable;
use lab_judge::profile::ncu::Ncu;
use lab_judge::{check, profile};
use lab_project::config::Config;
use lab_project::kernels::KernelList;
use lab_project::{Project, trust};
use lab_protocol::{JudgeRequest, ProfileRequest};
use lab_protocol::{Language, Target};
use lab_tui::theme::AppearanceChoice;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DoctorArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Print what a report of a fault needs, as Markdown: versions and names of known programs, and
    /// nothing that you named
    #[arg(long, conflicts_with = "json")]
    report: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// What is known of the kernel that is looked at.
enum Subject {
    Kernel(Box<Project>),
    /// lab.toml cannot be read; the text says why.
    BadConfig(String),
    /// The folder is in no git repository.
    NoGit,
    /// No kernel is meant; the text says why. The folders or files of those that are there follow.
    None(String, Vec<String>),
}

impl Subject {
    /// The kernel that was named, or the one that this folder means.
    fn of(folder: &Path, kernel: Option<&Path>) -> Subject {
        let why = match Project::open(folder, kernel) {
            Ok(project) => return Subject::Kernel(Box::new(project)),
            Err(error) => format!("{error:#}"),
        };
        let start = kernel.map_or_else(|| folder.to_owned(), |kernel| folder.join(kernel));
        let Ok(root) = lab_project::work_tree(folder) else {
            return Subject::NoGit;
        };
        let bad = Config::find(&start, &root).and_then(|file| Config::read(&file, &root).err());
        if let Some(error) = bad {
            return Subject::BadConfig(format!("{error:#}"));
        }
        if kernel.is_some() {
            return Subject::None(why, Vec::new());
        }
        let listed = KernelList::of(&root, folder).find();
        let first = why.lines().next().unwrap_or_default().to_owned();
        Subject::None(first, listed)
    }

    fn project(&self) -> Option<&Project> {
        match self {
            Subject::Kernel(project) => Some(project),
            Subject::BadConfig(_) | Subject::NoGit | Subject::None(..) => None,
        }
    }
}

/// Exits with 1 if something is missing that a verdict or a decision needs.
pub fn main(options: &DoctorArgs) -> Result<ExitCode> {
    let folder = here()?;
    let subject = Subject::of(&folder, options.kernel.kernel.as_deref());
    let project = subject.project();
    let is_trusted = project.map_or_else(|| is_trusted(&folder), trust::is_granted);
    let essential = [machine::git(), machine::repository(&folder)];
    let cpu = machine::compiler();
    let devices = device::findings(FolderTrust::of(is_trusted));
    let target = lab_device::resolve(Target::Auto);
    let has_gpu = target != Target::Cpu;
    let runs_somewhere = cpu.ok || has_gpu || !subject.project().is_none_or(is_compiled);
    let sandbox = machine::sandbox();
    let mut checks = check::equipment(has_gpu);
    let counters = |ncu: &Ncu| {
        let judged = JudgeRequest {
            trusted: is_trusted,
            ..JudgeRequest::new(&folder)
        };
        counters_are_readable(judged, ncu)
    };
    checks.extend(profile::equipment(
        has_gpu,
        ProfileRequest::ncu_of_environment(),
        counters,
    ));
    let python = match &subject {
        Subject::BadConfig(_) => note(
            "python",
            "lab.toml cannot be read, and it may name the interpreter",
            "correct lab.toml first",
        ),
        _ => python::finding(&folder, subject.project(), is_trusted, has_gpu),
    };
    let project = of_project(&subject);
    // A folder without a kernel has nothing that is amiss.
    let can_judge = project.ok || matches!(subject, Subject::None(..));
    let well = essential.iter().all(|f| f.ok) && runs_somewhere && python.ok && can_judge;
    let rest = [
        python,
        project,
        settings(),
        machine::terminal(),
        machine::watching(&folder),
    ];
    let unusable = lab_device::why_not_cuda(Target::Auto).map(|why| {
        note(
            "device auto",
            "the NVIDIA driver is installed and cannot be used",
            why,
        )
        .public("the NVIDIA driver is installed and cannot be used")
    });
    let all = essential
        .iter()
        .chain([&cpu, &sandbox])
        .chain(&devices)
        .chain(&checks)
        .chain(&rest);
    let findings = || all.clone().chain(&unusable);
    let doctor = DoctorAnswer {
        findings: findings().map(FindingReport::from).collect(),
        device_auto: target.to_string(),
    };
    Ok(told_with(if well { 0 } else { FAILED }, &doctor, || {
        if options.report {
            return say_text(&report::text(VERSION, findings(), &doctor.device_auto));
        }
        all.clone().for_each(show);
        say("");
        let emulated = match target {
            Target::Cpu => {
                " (emulated: its verdicts on correctness are real, its times say nothing)"
            }
            _ => "",
        };
        say(&format!("device auto is {target}{emulated}"));
        unusable.iter().for_each(show);
    }))
}

/// Whether a compiler builds something of a project for the built-in harness: the kernel or its
/// reference.
fn is_compiled(project: &Project) -> bool {
    let has_reference = || {
        project
            .problem_dir
            .join(Language::Cuda.reference_name())
            .is_file()
    };
    !project.external() && (project.language() == Language::Cuda || has_reference())
}

/// Most kernels that a finding lists.
const LISTED: usize = 12;

/// What `lab doctor` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct DoctorAnswer<'a> {
    /// In the order of the text.
    findings: Vec<FindingReport<'a>>,
    /// The device that `auto` means.
    device_auto: String,
}

#[derive(JsonSchema, Serialize)]
struct FindingReport<'a> {
    /// What was looked at.
    what: &'a str,
    /// Whether it is there.
    ok: bool,
    /// What was found.
    says: &'a str,
    /// What to do.
    remedy: Option<&'a str>,
}

impl<'a> From<&'a Finding> for FindingReport<'a> {
    fn from(finding: &'a Finding) -> Self {
        let (says, remedy) = match &finding.remedy {
            Some(remedy) => (finding.says.as_str(), Some(remedy.as_str())),
            None if finding.ok => (finding.says.as_str(), None),
            None => apart(&finding.says),
        };
        FindingReport {
            what: &finding.what,
            ok: finding.ok,
            says,
            remedy,
        }
    }
}

/// ✓ only if nothing needs to be done.
fn sign(finding: &Finding) -> &'static str {
    match (finding.ok, &finding.remedy) {
        (true, None) => "✓",
        (true, Some(_)) => "!",
        (false, _) => "✗",
    }
}

fn show(finding: &Finding) {
    let sign = sign(finding);
    let FindingReport {
        what, says, remedy, ..
    } = finding.into();
    say(&format!("{sign} {what:<13} {says}"));
    if let Some(remedy) = remedy {
        say(&format!("  {:<13} → {remedy}", ""));
    }
}

/// Splits an error text into the problem and the remedy, which is its second sentence or
/// half-sentence.
fn apart(error: &str) -> (&str, Option<&str>) {
    let at = ["; ", ". "].iter().filter_map(|end| error.find(end)).min();
    at.map_or((error, None), |at| (&error[..at], Some(&error[at + 2..])))
}

fn well(what: &str, says: impl Into<String>) -> Finding {
    Finding::good(what, says)
}

fn ill(what: &str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding::bad(what, says, Some(&remedy.into()))
}

/// A finding that is no fault but worth knowing.
fn note(what: &str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding {
        ok: true,
        ..ill(what, says, remedy)
    }
}

fn of_project(subject: &Subject) -> Finding {
    let project = match subject {
        Subject::Kernel(project) => &**project,
        Subject::BadConfig(why) => {
            return ill(
                "project",
                why,
                "correct that line: `lab help configuration` lists the keys and their values",
            );
        }
        Subject::NoGit => {
            let begin = "`git init`, then `lab new NAME`, which writes a problem to begin with";
            return ill("project", "experiments are kept in git", begin);
        }
        Subject::None(why, listed) if listed.is_empty() => {
            let begin = "`lab new NAME` writes a problem to begin with, `lab init` a lab.toml for a kernel that is here";
            return ill("project", why, begin);
        }
        Subject::None(_, listed) => {
            let shown = listed.iter().take(LISTED).join(", ");
            let more = if listed.len() > LISTED { ", …" } else { "" };
            return note(
                "project",
                format!(
                    "{} kernels, and this folder means none of them: {shown}{more}",
                    listed.len()
                ),
                "`lab doctor KERNEL` looks at one",
            );
        }
    };
    if let Some(why) = lab_project::python::missing_script(project) {
        let (says, remedy) = why.split_once(": ").unwrap_or((&why, "write it"));
        return ill("project", says, remedy);
    }
    let own = project.config.harness.as_ref().map(ToString::to_string);
    let harness = own.as_deref().unwrap_or("built-in harness");
    let says = format!("{} by {harness}", project.kernel_name);
    // Trust is asked for what can run.
    if !project.external() && !project.problem_dir.join("problem.toml").is_file() {
        return ill(
            "project",
            format!("{says}, but there is no problem.toml beside it"),
            "write one (kernels/README.md), or set `harness` in lab.toml",
        );
    }
    let missing = || confinement::missing(project.config.device);
    match (trust::check(project, missing), Repo::open(project)) {
        (Ok(trust::Trust::Needed(request)), _) => {
            let (why, remedy) = if request.command.is_some() {
                (None, "read the harness command, then `lab trust`")
            } else if request.python.is_some() {
                let text = request.to_string();
                let why = text.rsplit_once(": look at").map(|(why, _)| why.to_owned());
                (
                    Some(why.unwrap_or(text)),
                    "look at what would run, then `lab trust`",
                )
            } else {
                let why = "this folder is not trusted, and there is no sandbox".to_owned();
                (Some(why), "look at its kernels, then `lab trust`")
            };
            let why = why.map(|why| format!("; {why}")).unwrap_or_default();
            ill("project", says + &why, remedy)
        }
        (Err(error), _) | (_, Err(error)) => ill("project", says, format!("{error:#}")),
        (_, Ok(repo)) if let Some(obstacle) = lab_git::obstacle(&repo) => ill(
            "project",
            format!("{says}; keep is not possible now"),
            obstacle.to_string(),
        ),
        _ => well("project", says),
    }
}

/// The user's config.toml.
fn settings() -> Finding {
    let Some(file) = settings_files::file() else {
        return note(
            "settings",
            "no home folder is known",
            format!("set HOME or {}", settings_files::CONFIG_DIR),
        );
    };
    let read = settings_files::read(Some(&file))
        .and_then(|settings| preferences::choose(&settings, AppearanceChoice::default()));
    match read {
        Ok(_) => {
            let shown = file.display();
            let says = if file.exists() {
                format!("{shown} is read")
            } else {
                format!("the defaults; {shown} would be read")
            };
            well("settings", says)
        }
        Err(why) => ill(
            "settings",
            why,
            "until then no screen opens; `lab help configuration` lists the settings",
        ),
    }
}
