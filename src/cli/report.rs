//! `lab report` and `lab plot`: what the experiments brought, for people who were not there.

use super::bench::check_file;
use super::output::{resume, say_lines};
use super::{JsonArg, KernelArg, any, complain, open, say, told};
use anyhow::{Result, bail, ensure};
use clap::Args;
use lab_git::Repo;
use lab_protocol::console;
use lab_report::{MARK, Plotted};
use lab_system::atomic_file;
use lab_system::failure::Failure;
use lab_tui::format::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The kernels of the report, or their folders [default: all of the repository]
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernels: Vec<PathBuf>,
    /// The file to write; one that lab did not make stays [default: report.html in the folder .lab]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Open the report in the browser
    #[arg(long, conflicts_with = "markdown")]
    open: bool,
    /// Print a comment for a pull request in GitHub's Markdown: the kernels that this branch changed
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// What the branch is compared with [default: origin/HEAD, else main or master]
    #[arg(long, value_name = "REF", requires = "markdown")]
    base: Option<String>,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Args, Debug)]
pub struct PlotArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// The roofline of the kept kernel in place of the experiments over time
    #[arg(long)]
    roofline: bool,
    /// The evidence of this decision as bars in place of a kernel's chart
    #[arg(long, value_name = "ID", conflicts_with_all = ["kernel", "roofline"])]
    decision: Option<String>,
    /// The file to write, which ends in .svg or .png; one that lab did not make stays [default: SVG on
    /// stdout, unless that is a terminal]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What `lab report` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct ReportAnswer {
    /// The file that was written.
    file: String,
    /// Its size.
    bytes: usize,
    /// How many kernels it shows.
    kernels: usize,
    /// How many experiments they have.
    experiments: usize,
    /// How many of them have a row; the older ones are summarised.
    listed: usize,
}

pub fn main(options: &ReportArgs) -> Result<ExitCode> {
    let project = any()?;
    resume(&project);
    let mut kernels = Vec::new();
    for path in &options.kernels {
        let of = open(Some(path))?;
        let (name, root) = (of.kernel_name, of.root.display());
        ensure!(
            of.root == project.root,
            "{name} is of another repository, {root}: run `lab report` there"
        );
        kernels.push(name);
    }
    if options.markdown {
        let comment = lab_report::comment(&project, &kernels, options.base.as_deref())?;
        return print(comment.as_bytes(), options.out.as_deref());
    }
    if let Some(out) = &options.out {
        refuse_others(out)?;
    }
    let report = lab_report::html(&project, &kernels)?;
    let file = match &options.out {
        Some(out) => {
            write(out, report.text.as_bytes())?;
            out.clone()
        }
        None => {
            let file = project.lab_dir.join("report.html");
            let _ = lab_git::exclude(&Repo::open(&project)?);
            let written = atomic_file::replace_in_cache(&file, report.text.as_bytes());
            written.cannot("write", &file)?;
            file
        }
    };
    if options.open {
        show(&file);
    }
    let answer = ReportAnswer {
        file: file.display().to_string(),
        bytes: report.text.len(),
        kernels: report.kernels,
        experiments: report.experiments,
        listed: report.listed,
    };
    Ok(told(&answer, || {
        let ReportAnswer {
            file,
            kernels,
            experiments,
            ..
        } = &answer;
        say(&format!(
            "wrote {file}: {} of {}",
            counted(*experiments, "experiment"),
            counted(*kernels, "kernel")
        ));
    }))
}

pub fn plot(options: &PlotArgs) -> Result<ExitCode> {
    let (project, of) = match &options.decision {
        Some(id) => (any()?, Plotted::Decision(id)),
        None if options.roofline => (options.kernel.open()?, Plotted::Roofline),
        None => (options.kernel.open()?, Plotted::Experiments),
    };
    if options.out.is_none() && console::stdout_is_terminal() {
        bail!("a terminal shows no SVG: `--out chart.svg` writes a file, `> chart.svg` too");
    }
    let ending = options.out.as_deref().map(Path::extension);
    let ending = ending.map(|ending| ending.and_then(OsStr::to_str));
    let is_png = match ending {
        None | Some(Some("svg")) => false,
        Some(Some("png")) => true,
        Some(_) => {
            bail!("`lab plot` writes SVG or PNG: the name of the file must end in .svg or .png")
        }
    };
    let chart = lab_report::plot(&project, of, is_png)?;
    print(&chart, options.out.as_deref())
}

/// Writes it into the file, else as text on stdout.
fn print(content: &[u8], out: Option<&Path>) -> Result<ExitCode> {
    match out {
        Some(out) => {
            refuse_others(out)?;
            write(out, content)?;
            say(&format!("wrote {}", out.display()));
        }
        None => say_lines(String::from_utf8_lossy(content).trim_end()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a file that is there and that no lab made.
fn refuse_others(out: &Path) -> Result<()> {
    check_file(out)?;
    let mut start = Vec::new();
    match File::open(out).and_then(|file| file.take(96).read_to_end(&mut start)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) if String::from_utf8_lossy(&start).contains(MARK) => Ok(()),
        _ => bail!(
            "{} exists, and no lab made it: name another file with --out FILE",
            out.display()
        ),
    }
}

fn write(out: &Path, content: &[u8]) -> Result<()> {
    let written = atomic_file::replace(out, content);
    written
        .cannot("write", out)
        .and_so("nothing was written; --out FILE names another place")
}

/// Opens a file in the user's browser.
fn show(file: &Path) {
    let mut browser = Command::new("xdg-open");
    let silent = browser
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let opened = silent.arg(file).status();
    if !opened.is_ok_and(|status| status.success()) {
        let file = file.display();
        complain(&format!(
            "xdg-open did not open the report: open {file} in a browser"
        ));
    }
}
