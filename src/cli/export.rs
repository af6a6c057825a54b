//! `lab export`: writes a kernel as a PyTorch extension, or as one .cu with a main.

mod facts;
mod files;
mod published;

pub use facts::is_licence;

use super::bench::check_file;
use super::{JsonArg, open, say, told};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use facts::Facts;
use files::Files;
use lab_git::Repo;
use lab_judge::problem::tensor::export::{Exported, Form, Material, Source, export};
use lab_project::Project;
use lab_project::python::{self, Interpreter, NamedBy};
use lab_protocol::Language;
use lab_system::atomic_file;
use lab_system::failure::Failure;
use lab_text::{sanitise, shell};
use published::Kept;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The folder of a kernel, which is exported as HEAD holds it, or a file, which is exported as
    /// it is on disk [default: the kernel of this folder, else the one in lab.toml]
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
    /// What to write: a Python file for PyTorch, one .cu with a main, or what a kernel benchmark
    /// takes
    #[arg(long, value_name = "FORM")]
    to: To,
    /// The file to write [default: the problem's name with .py, .cu or .json, in the current folder]
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum To {
    /// A .py with the kernel in Python, or with an extension that builds it; it checks and times
    /// the kernel
    Torch,
    /// A .cu that verifies and times the kernel
    Standalone,
    /// A .json: a solution for the definition that the problem comes from
    FlashinferBench,
    /// A .py: a submission for the task that the problem comes from
    GpuMode,
}

impl To {
    /// Its word, and the ending of its file.
    fn form(self) -> (&'static str, &'static str) {
        match self {
            To::Torch => ("torch", "py"),
            To::Standalone => ("standalone", "cu"),
            To::FlashinferBench => ("flashinfer-bench", "json"),
            To::GpuMode => ("gpu-mode", "py"),
        }
    }

    /// What of the export the judge writes. `None` for a kernel that is exported as it is.
    fn of_judge(self, kernel: Language) -> Option<Form> {
        match (self, kernel) {
            (To::Torch, _) | (To::FlashinferBench, Language::Cuda) => Some(Form::Torch),
            (To::Standalone, _) => Some(Form::Standalone),
            (To::FlashinferBench, Language::Python) | (To::GpuMode, _) => None,
        }
    }
}

/// What `lab export` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct ExportAnswer<'a> {
    /// The kernel that was exported.
    kernel: &'a str,
    /// The form of the file.
    #[schemars(extend("enum" = ["flashinfer-bench", "gpu-mode", "standalone", "torch"]))]
    to: &'static str,
    /// The file that was written, as it was named.
    file: String,
    /// Full id of the commit that holds the kernel; null of bytes on disk that were not kept.
    commit: Option<String>,
    /// The run whose figure is in the file's head; null if its record is not here.
    run: Option<u64>,
    /// The command that builds, verifies and times, in the folder of the file.
    next: String,
}

pub fn main(options: &ExportArgs) -> Result<ExitCode> {
    let given = options.kernel.as_deref();
    let project = open(given)?;
    ensure!(
        !project.external(),
        "lab.toml names a harness of your own, so lab does not know the kernel's parameters: only a tensor problem of the built-in \
         harness can be exported"
    );
    let repo = Repo::open(&project)?;
    let on_disk = given.is_some_and(|path| !path.is_dir());
    let files = if on_disk {
        Files::Disk(project.files())
    } else {
        Files::Head(&repo)
    };
    let output = output_path(options, &project)?;
    refuse_inputs(&output, &project)?;
    ensure!(
        options.force || output.symlink_metadata().is_err(),
        exists(&output)
    );

    let facts = Facts::of(&repo, &project, on_disk)?;
    let Exported { text, command } =
        written(options.to, (&repo, &project), &files, &facts, &output)?;
    write(&output, &text, options.force)?;

    let (to, _) = options.to.form();
    let exported = ExportAnswer {
        kernel: &project.kernel_name,
        to,
        file: output.display().to_string(),
        commit: facts.commit,
        run: facts.run,
        next: command,
    };
    Ok(told(&exported, || {
        let of = facts.lines.first().map_or("", String::as_str);
        say(&format!("wrote {} ({to}): {of}", exported.file));
        if exported.run.is_none() {
            let argument = &project.argument;
            say(&format!(
                "  nothing here says that this kernel is right: no run has judged it (`lab run{argument}`)"
            ));
        }
        say(&format!("next: `{}` verifies and times it", exported.next));
    }))
}

/// The export, with the command that builds, verifies and times it.
fn written(
    to: To,
    (repo, project): (&Repo, &Project),
    files: &Files,
    facts: &Facts,
    output: &Path,
) -> Result<Exported> {
    let beside = |name: &str| Files::beside(project, name);
    let kernel_name = sanitise::words(&project.kernel_name);
    let kernel = files
        .text(&project.kernel_name)?
        .with_context(|| files.missing_kernel(project))?;
    let problem_file = project.problem_dir.join("problem.toml");
    let problem_toml = files.text(&beside("problem.toml"))?.with_context(|| {
        format!(
            "there is no {} {}, so the kernel's parameters are unknown",
            beside("problem.toml"),
            files.place()
        )
    })?;
    let reference = reference(project, files)?;
    let reference = reference.as_ref().map(|(path, text)| Source { path, text });
    let read = |path: &str| {
        files
            .text(&beside(path))
            .map_err(|error| format!("{error:#}"))
    };
    let options = project.config.compile.options.for_nvrtc();
    let stem = output.file_stem().map_or_else(
        || "kernel".into(),
        |stem| stem.to_string_lossy().into_owned(),
    );
    let material = Material {
        problem_file: &problem_file,
        problem_toml: &problem_toml,
        kernel: Source {
            path: &kernel_name,
            text: &kernel,
        },
        reference,
        read: &read,
        head: &facts.lines,
        options,
        built_for: facts.built_for.as_deref(),
        file_stem: &sanitise::words(&stem),
    };
    let of_judge = to.of_judge(project.language());
    let mut exported = match of_judge {
        Some(form) => export(&material, form).map_err(|why| anyhow!(why))?,
        None => Exported {
            text: kernel.clone(),
            command: String::new(),
        },
    };
    let kept = Kept {
        project,
        files,
        facts,
        text: &exported.text,
        is_extension: project.language() == Language::Cuda,
        output,
    };
    let (text, command) = match to {
        To::Standalone => return Ok(exported),
        To::Torch => {
            let file = shell::quote(&output.to_string_lossy());
            exported.command = format!("{} {file}", interpreter(project));
            return Ok(exported);
        }
        To::FlashinferBench => kept.solution(repo, &problem_toml)?,
        To::GpuMode => kept.submission()?,
    };
    Ok(Exported { text, command })
}

/// The path and the text of the reference.
fn reference(project: &Project, files: &Files) -> Result<Option<(String, String)>> {
    let mut references = Vec::new();
    for name in ["reference.cu", "reference.py"] {
        let beside = Files::beside(project, name);
        let text = files.text(&beside)?;
        references.extend(text.map(|text| (sanitise::words(&beside), text)));
    }
    ensure!(
        references.len() < 2,
        "reference.cu and reference.py are both there: a problem has one reference, remove the other"
    );
    Ok(references.pop())
}

/// The project's interpreter, as a shell takes it.
fn interpreter(project: &Project) -> String {
    let Interpreter {
        program, named_by, ..
    } = Interpreter::of(project);
    match named_by {
        NamedBy::Path => python::USUAL.to_owned(),
        NamedBy::Environment | NamedBy::Config | NamedBy::Folder => {
            shell::quote(&program.to_string_lossy())
        }
    }
}

/// Where the export is written.
fn output_path(options: &ExportArgs, project: &Project) -> Result<PathBuf> {
    let (_, ending) = options.to.form();
    let Some(output) = &options.output else {
        let name = project
            .name()
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        return Ok(PathBuf::from(format!("{name}.{ending}")));
    };
    check_file(output)?;
    ensure!(
        output.extension().is_some_and(|found| found == ending),
        "cannot write the export to {}: nvcc and Python go by a file's ending, so it must end in .{ending}",
        output.display()
    );
    Ok(output.clone())
}

fn exists(output: &Path) -> String {
    format!(
        "{} exists: name another file with --output FILE, or replace it with --force",
        output.display()
    )
}

/// Refuses an output that is a file of the problem itself, also with --force.
fn refuse_inputs(output: &Path, project: &Project) -> Result<()> {
    let own = [
        "kernel.cu",
        "kernel.py",
        "reference.cu",
        "reference.py",
        "problem.toml",
    ]
    .map(|name| project.problem_dir.join(name));
    let Ok(meant) = output.canonicalize() else {
        return Ok(());
    };
    let is_own = own
        .iter()
        .chain([&project.kernel])
        .any(|file| file.canonicalize().is_ok_and(|file| file == meant));
    ensure!(
        !is_own,
        "{} is a file of the problem: name another file with --output FILE",
        output.display()
    );
    Ok(())
}

/// Writes the export in one step. Without `replaces`, a file that appeared meanwhile stays.
fn write(output: &Path, text: &str, replaces: bool) -> Result<()> {
    let written = if replaces {
        atomic_file::replace(output, text.as_bytes())
    } else {
        let mut file = OpenOptions::new();
        let file = file.write(true).create_new(true).open(output);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
    };
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(exists(output)),
        written => written
            .cannot("write", output)
            .and_so("nothing was exported; --output FILE names another place"),
    }
}
