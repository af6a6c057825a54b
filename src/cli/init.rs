//! `lab init`: writes a lab.toml for the kernel and harness it finds, or a problem for a kernel as people publish them. It trusts
//! nothing: the harness may be a stranger's.

mod definition;
mod described;
mod own_harness;
mod project_headers;
mod published;
mod python_source;
mod triton;

use super::{JsonArg, ask, here, say, say_below, told};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use lab_project::config::{Config, FILE, Harness};
use lab_project::kernel_file::{self, NAMES, sources_in};
use lab_project::kernels::KernelList;
use lab_protocol::Language;
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_text::shell::quote;
use python_source::PythonSource;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is said of a problem in Python.
const PYTHON: &str = "Python runs with your rights: `lab trust` allows it here";

#[derive(Args, Debug)]
pub struct InitArgs {
    /// The kernel, if there are several; or what somebody published: a .cu with host code; a .py with
    /// Triton kernels; a definition, a solution (.json) or a data set of flashinfer-bench; a .py of
    /// KernelBench; the folder of a task of GPU MODE
    #[arg(value_name = "KERNEL_OR_PUBLISHED")]
    kernel: Option<PathBuf>,
    /// Of a published file or solution: the `__global__` or `@triton.jit` function that becomes the
    /// kernel; of a .cu also several that are launched in turn, as A,B
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// Of a published file: the new problem's name or path [default: the name of the function]
    #[arg(long, value_name = "NAME")]
    name: Option<PathBuf>,
    /// Of a published .cu: a folder of headers, also outside of its project; several times if needed
    #[arg(short = 'I', long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Of a published problem: the solution that becomes the kernel, such as a submission
    #[arg(long, value_name = "FILE")]
    solution: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab init` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct InitAnswer<'a> {
    /// Path of the lab.toml that was written; null if a problem was written for a published file.
    config: Option<Cow<'a, str>>,
    /// Path of the kernel, relative to the folder of lab.toml, or to the work tree if `config` is
    /// null.
    kernel: &'a str,
    /// The user's harness command, which needs trust (`lab trust`); null for the built-in harness.
    harness: Option<&'a str>,
    /// What the user should know besides: what is a guess, and what was left out.
    notes: &'a [String],
    /// The published file for which a problem was written, if one was.
    published: Option<&'a str>,
    /// The `__global__` function of the published file that is the kernel.
    function: Option<&'a str>,
    /// The names of the files in the new problem's folder.
    files: &'a [String],
    /// Commands to go on with.
    next: Vec<String>,
}

/// What `lab init` found.
struct InitFindings {
    /// Relative to the folder that lab.toml goes into.
    kernel: String,
    /// The user's own harness with its script, relative to the folder; `None` for the built-in
    /// harness.
    harness: Option<(Harness, String)>,
    /// Something in Python is judged, or judges.
    needs_python: bool,
    /// By this file there is a harness of the user's own, whose command nobody names yet.
    sign: Option<String>,
    /// Neither problem.toml nor a harness is there to judge by.
    lacks_problem: bool,
    notes: Vec<String>,
}

pub fn main(options: &InitArgs) -> Result<ExitCode> {
    let folder = here()?
        .canonicalize()
        .context("the current folder is gone")?;
    lab_project::work_tree(&folder)?;
    let is_reference = |file: &&Path| file.file_stem() == Some("reference".as_ref());
    if let Some(file) = options.kernel.as_deref().filter(is_reference) {
        bail!(
            "{} says what is right, so it is no kernel: name the kernel, or the folder of a published problem",
            file.display()
        );
    }
    if let Some(file) = options.kernel.as_deref()
        && folder.join(file).symlink_metadata().is_err()
    {
        bail!("there is no {}", file.display());
    }
    if let Some(sources) = definition::find(&folder, options)? {
        return sources.init(&folder, options);
    }
    if let Some(described) = described::find(&folder, options)? {
        return described.init(&folder, options);
    }
    if let Some(solution) = &options.solution {
        bail!(
            "--solution {} belongs to a published problem: `lab init DEFINITION.json --solution FILE`, or a problem of KernelBench or a task \
             of GPU MODE in its place",
            solution.display()
        );
    }
    if let Some(code) = triton::init(&folder, options)? {
        return Ok(code);
    }
    if let Some(published) = published::find(&folder, options)? {
        return published.init(options);
    }
    let file = folder.join(FILE);
    if file.exists() {
        bail!(
            "{} exists already and was not changed: edit it, or remove it and run `lab init` again",
            file.display()
        );
    }
    let found = find(&folder, options.kernel.as_deref())?;
    let text = text(&found);
    // The text must parse to the same values.
    Config::parse(&text, FILE)?;
    // Whole, also if this process is killed.
    Root::new(&folder)
        .create_whole(Path::new(FILE), text.as_bytes())
        .cannot("write", &file)
        .and_so("no lab.toml was written")?;
    let harness = found.harness.as_ref();
    let harness = harness.map(|(harness, _)| harness.to_string());
    let written = InitAnswer {
        config: Some(file.to_string_lossy()),
        kernel: &found.kernel,
        harness: harness.as_deref(),
        notes: &found.notes,
        published: None,
        function: None,
        files: &[],
        next: Vec::new(),
    };
    Ok(told(&written, || {
        say(&format!("wrote {FILE}: kernel {}", found.kernel));
        say(&match written.harness {
            Some(harness) => {
                format!("  harness: `{harness}`, which runs with your rights once you trust it")
            }
            None if found.sign.is_some() => "  harness: none yet".to_owned(),
            None => "  harness: the built-in harness, which reads problem.toml beside the kernel"
                .to_owned(),
        });
        say_below(&found.notes);
        say(&next(&found));
    }))
}

/// What to do next, in the order in which it is needed.
fn next(found: &InitFindings) -> String {
    let mut steps = Vec::new();
    steps.extend(found.lacks_problem.then_some(match &found.sign {
        None => "write problem.toml and a reference (`lab help problems`)",
        Some(_) => "set `harness` in lab.toml (`lab help your-own-harness`), then `lab trust`",
    }));
    if found.needs_python || found.harness.is_some() {
        steps.push("`lab trust`");
    }
    let first: String = steps.iter().map(|step| format!("{step}, then ")).collect();
    format!("next: {first}`lab` opens the screen, `lab run` judges the kernel once")
}

fn find(folder: &Path, given: Option<&Path>) -> Result<InitFindings> {
    let kernel = match given {
        Some(path) if path.is_dir() => {
            kernel_in(&folder.join(path), path)?.unwrap_or_else(|| path.join(NAMES[0]))
        }
        Some(path) => folder.join(path),
        None => find_kernel(folder)?,
    };
    let kernel = kernel
        .canonicalize()
        .with_context(|| format!("there is no {}", kernel.display()))?;
    let name = relative(&kernel, folder)?;
    let beside = kernel.parent().unwrap_or(folder);
    let script = [folder, beside]
        .map(|f| f.join("harness.py"))
        .into_iter()
        .find(|path| path.is_file());
    let harness = script.map(|path| {
        let harness = own_harness::of_script(&path, folder)?;
        Ok::<_, anyhow::Error>((harness, relative(&path, folder)?))
    });
    let harness = harness.transpose()?;
    if harness.is_none() && ![".cu", ".py"].iter().any(|end| name.ends_with(end)) {
        bail!(
            "{name} is no kernel: the built-in harness judges a .cu or a .py file. Name the one that uses it, or write {FILE} with \
             `kernel = {name:?}` and `harness = \"make -s && ./judge\"` for a harness of your own (`lab help your-own-harness`)"
        );
    }
    let mut notes = Vec::new();
    let is_python = Language::of(&kernel) == Language::Python && harness.is_none();
    let lacks_problem = harness.is_none() && !beside.join("problem.toml").is_file();
    let sign = own_harness::sign(folder).filter(|_| lacks_problem);
    if let Some(sign) = &sign {
        notes.push(format!(
            "{sign} is here, so a harness of your own judges {name}: set `harness` in {FILE} to its command. For a kernel as somebody published \
             it, `lab init {}` writes a problem",
            quote(&name)
        ));
    } else if lacks_problem {
        notes.push(format!(
            "there is no harness.py here and no problem.toml in {}: write one of them, or set `harness` in {FILE} to a command such as \
             `make -s && ./judge`",
            beside.display()
        ));
        if let Some(source) = PythonSource::read(&kernel).filter(|_| is_python) {
            notes.extend(source.proposals(&name));
        }
    }
    if is_python {
        notes.push(
            "Python runs with your rights: `lab trust` allows it here. `lab help python` says how it is judged"
                .to_owned(),
        );
    }
    let needs_python = is_python || matches!(harness, Some((Harness::Python { .. }, _)));
    Ok(InitFindings {
        kernel: name,
        harness,
        needs_python,
        lacks_problem,
        sign,
        notes,
    })
}

/// The kernel.cu or kernel.py of a folder. `shown` is the folder's path in the error that it holds
/// both.
fn kernel_in(folder: &Path, shown: &Path) -> Result<Option<PathBuf>> {
    kernel_file::in_folder(folder).map_err(|_| {
        let [cuda, python] = NAMES.map(|name| shown.join(name).display().to_string());
        anyhow!(
            "kernel.cu and kernel.py are both here. Name one: `lab init {cuda}` or `lab init {python}`"
        )
    })
}

/// Finds kernel.cu or kernel.py in this folder, else the only .cu file in it, else the only kernel
/// below it, else the only Python file here that holds Triton kernels or builds CUDA C++.
fn find_kernel(folder: &Path) -> Result<PathBuf> {
    if let Some(usual) = kernel_in(folder, Path::new(""))? {
        return Ok(usual);
    }
    let mut candidates = sources_in(folder);
    if candidates.is_empty() {
        let listed = KernelList::of(folder, folder).find();
        let is_usual = |name: &&String| NAMES.contains(&name.rsplit('/').next().unwrap_or(name));
        candidates.extend(listed.iter().filter(is_usual).map(|name| folder.join(name)));
    }
    if candidates.is_empty() {
        candidates.extend(
            python_source::kernels_in(folder)
                .into_iter()
                .map(|(path, _)| path),
        );
    }
    match candidates.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!(
            "no kernel.cu and no kernel.py here or below: `lab new NAME` writes a problem to begin with, `lab init path/to/your.cu` \
             names a kernel that is called otherwise. For a kernel that a harness of your own builds, write {FILE} (`lab help \
             your-own-harness`)"
        ),
        several => {
            let names: Vec<String> = several
                .iter()
                .filter_map(|path| relative(path, folder).ok())
                .collect();
            let example = names.first().map_or("FILE", String::as_str);
            bail!(
                "several kernels are here: {}. Name one: `lab init {example}`",
                names.join(", ")
            )
        }
    }
}

fn relative(path: &Path, folder: &Path) -> Result<String> {
    let inside = path.strip_prefix(folder);
    let inside = inside
        .with_context(|| format!("{} lies outside of {}", path.display(), folder.display()))?;
    Ok(inside
        .to_str()
        .with_context(|| format!("{}: the path is no UTF-8", path.display()))?
        .to_owned())
}

fn text(found: &InitFindings) -> String {
    let string = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let harness = match &found.harness {
        Some((Harness::Command(line), _)) => format!("harness = {}\n", string(line)),
        Some((Harness::Python { python }, _)) => {
            format!("harness = {{ python = {} }}\n", string(python))
        }
        None => "# harness = { python = \"harness.py\" }\n# harness = \"make -s && ./judge\"\n"
            .to_owned(),
    };
    // A script that lab.toml names as such is an input without a word.
    let extra = match &found.harness {
        Some((Harness::Command(_), script)) => format!("extra = [{}]\n", string(script)),
        _ => "# extra = [\"data.bin\"]\n".to_owned(),
    };
    let extra = format!("# Further files that a verdict depends on.\n{extra}");
    let python = match found.needs_python {
        true => {
            "# The interpreter that runs Python; without this line that of .venv here, else python3 on the path.\n# python = \".venv/bin/python\"\n\n"
        }
        false => "",
    };
    format!(
        "# How `lab` judges this kernel. A line behind `#` is the default, or an example of what can be said.\n\n\
         # The one file that an experiment changes.\n\
         kernel = {kernel}\n\n\
         # A harness of your own builds, verifies and measures, and prints the lines of the run.log protocol: a script in Python,\n\
         # or a command for `sh -c` in this folder. Without it the built-in harness judges (problem.toml).\n\
         {harness}\n\
         {python}\
         # auto, cpu, cuda, cuda:1\n\
         # device = \"auto\"\n\n\
         # The result line that is the measure, and which way is better: maximize or minimize.\n\
         # objective = \"throughput_sps\"\n\
         # goal = \"maximize\"\n\n\
         # A run that takes longer, or prints more, counts as crashed.\n\
         # time_limit_s = 60\n\
         # output_limit_mib = 64\n\n\
         # [compile]\n\
         # options = [\"-DBLOCK=256\"]\n\
         # arch = \"sm_90\"\n\n\
         [watch]\n\
         {extra}\
         # A save is taken up after this much quiet, and no later than the ceiling.\n\
         # quiet_ms = 30\n\
         # ceiling_ms = 500\n",
        kernel = string(&found.kernel),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_its_comments_are_the_defaults() {
        let mut found = InitFindings {
            kernel: "a \"b\"/kernel.cu".into(),
            harness: Some((
                Harness::Python {
                    python: "my harness.py".into(),
                },
                "my harness.py".into(),
            )),
            needs_python: true,
            lacks_problem: false,
            sign: None,
            notes: Vec::new(),
        };
        let config = Config::parse(&text(&found), FILE).expect("it reads back");
        assert_eq!(
            config.harness,
            found.harness.as_ref().map(|(harness, _)| harness.clone())
        );
        let command = Harness::Command("uv run 'my harness.py'".into());
        found.harness = Some((command, "my harness.py".into()));
        let text = text(&found);
        let config = Config::parse(&text, FILE).expect("it reads back");
        assert_eq!(config.kernel.as_deref(), Some("a \"b\"/kernel.cu"));
        assert_eq!(
            config.harness.as_ref().map(ToString::to_string).as_deref(),
            Some("uv run 'my harness.py'")
        );
        assert_eq!(config.watch.extra, ["my harness.py"]);
        // Every commented setting is one that exists.
        let settings = text.lines().map(|line| match line.strip_prefix("# ") {
            Some(setting) if setting.contains(" = ") || setting.starts_with('[') => setting,
            _ => line,
        });
        let all: Vec<&str> = settings.collect();
        let all = Config::parse(&all.join("\n"), FILE).expect("every commented line is valid");
        assert_eq!((all.time_limit_s, all.output_limit_mib), (60.0, 64));
    }
}
