//! What `lab doctor` finds about Python: the interpreter of Python kernels and its packages.

use super::{ill, note, well};
use lab_core::inputs;
use lab_core::project::Project;
use lab_core::project::python::{self, Interpreter};
use lab_device::Finding;
use lab_protocol::Target;
use lab_system::child_group::ChildGroup;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

const WHAT: &str = "python";

/// The program that the interpreter runs.
const PROBE: &str = include_str!("probe.py");

/// What the probe's line begins with.
const MARK: &str = "lab-doctor: ";

/// How long the interpreter may take to import every package.
const LIMIT: Duration = Duration::from_secs(60);

/// Most bytes of the interpreter's output that are read.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// The oldest Python that runs kernels.
const OLDEST: (u32, u32) = (3, 9);

/// What the probe prints.
#[derive(Deserialize)]
struct Probed {
    version: String,
    packages: BTreeMap<String, Package>,
    /// Packages that the source imports in any case, and that are not there.
    #[serde(default)]
    missing: Vec<String>,
    /// The line and the text of a syntax error in the source.
    #[serde(default)]
    syntax: Option<String>,
}

/// A package; without version and error it is not installed.
#[derive(Default, Deserialize)]
struct Package {
    version: Option<String>,
    error: Option<String>,
    /// The CUDA version that torch was built for.
    cuda: Option<String>,
    /// torch can use a GPU of this machine.
    #[serde(default)]
    sees_gpu: bool,
}

/// What Python has to do for the project of the current folder.
struct Need {
    /// The kernel, the reference or the harness in Python.
    source: Option<String>,
    /// The source is a harness of the user's own, which needs what it imports and nothing else.
    is_harness: bool,
    /// The absolute path of the source, and the folders in which its modules may be.
    places: Vec<PathBuf>,
    /// The packages that it imports.
    imports: Vec<String>,
    /// It runs on a GPU.
    on_gpu: bool,
}

impl Need {
    fn of(project: Option<&Project>, on_gpu: bool) -> Need {
        let source = project.and_then(python::source);
        let text = project.zip(source.as_ref()).and_then(|(project, source)| {
            project
                .files()
                .read_resolved(&project.root.join(source), inputs::SIZE_LIMIT)
                .ok()
        });
        let on_gpu = on_gpu && project.is_none_or(|project| project.config.device != Target::Cpu);
        let places = project
            .zip(source.as_ref())
            .map_or_else(Vec::new, |(project, source)| {
                let path = project.root.join(source);
                let beside = path.parent().unwrap_or(&project.root).to_owned();
                vec![path, beside, project.home.clone(), project.root.clone()]
            });
        Need {
            imports: text
                .as_deref()
                .map(inputs::imported_packages)
                .unwrap_or_default(),
            is_harness: project.is_some_and(Project::external),
            places,
            source,
            on_gpu,
        }
    }

    /// The source in a message.
    fn shown(&self) -> &str {
        self.source.as_deref().unwrap_or("the kernel")
    }
}

/// Starts the interpreter once. `is_trusted` says whether a program of this folder may run;
/// `on_gpu`, whether kernels run on a GPU.
pub fn finding(
    folder: &Path,
    project: Option<&Project>,
    is_trusted: bool,
    on_gpu: bool,
) -> Finding {
    let any = if project.is_none() {
        Project::of_any(folder).ok()
    } else {
        None
    };
    let project = project.or(any.as_ref());
    let interpreter = project.map_or_else(|| Interpreter::without_project(folder), Interpreter::of);
    let need = Need::of(project, on_gpu);
    let name = format!(
        "{} ({})",
        interpreter.program.display(),
        interpreter.named_by.name()
    );
    if interpreter.is_inside && !is_trusted {
        let says =
            format!("{name} is a program of this folder, which is not trusted: it was not started");
        return graded(&need, says, "look at it, then `lab trust`");
    }
    match probe(&interpreter.program, &need.places) {
        Ok(probed) => report(&name, &interpreter, &probed, &need),
        Err(why) if need.source.is_none() && interpreter.named_by == python::NamedBy::Path => well(
            WHAT,
            format!("{name} {why}; only kernels in Python need it"),
        ),
        Err(why) => graded(
            &need,
            format!("{name} {why}"),
            "install Python 3.9 or newer with NumPy, or name another interpreter with LAB_PYTHON or `python = \"…\"` in lab.toml",
        ),
    }
}

/// A fault where the kernel of this folder needs Python, else worth knowing.
fn graded(need: &Need, says: String, remedy: impl Into<String>) -> Finding {
    if need.source.is_some() {
        ill(WHAT, says, remedy)
    } else {
        note(WHAT, says, remedy)
    }
}

/// Runs the probe. The error is the end of a sentence whose subject is the interpreter.
fn probe(program: &Path, places: &[PathBuf]) -> Result<Probed, String> {
    let mut command = Command::new(program);
    command
        .args(["-c", PROBE])
        .args(places)
        .current_dir("/")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut group =
        ChildGroup::spawn(&mut command).map_err(|error| format!("cannot be started: {error}"))?;
    let (send, receive) = mpsc::channel();
    let pipes = (group.take_stdout(), group.take_stderr());
    // A thread for each pipe: a full one would stop the interpreter. They end with the last process
    // that holds the pipe.
    for (is_error, pipe) in [
        (
            false,
            pipes.0.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ),
        (
            true,
            pipes.1.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        ),
    ] {
        let send = send.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|pipe| pipe.take(OUTPUT_LIMIT).read_to_end(&mut bytes));
            let _ = send.send((is_error, String::from_utf8_lossy(&bytes).into_owned()));
        });
    }
    let (mut output, mut errors) = (String::new(), String::new());
    for _ in 0..2 {
        match receive.recv_timeout(LIMIT) {
            Ok((true, text)) => errors = text,
            Ok((false, text)) => output = text,
            Err(_) => {
                group.kill();
                let _ = group.wait();
                return Err(format!(
                    "did not import its packages within {} s, and was ended",
                    LIMIT.as_secs()
                ));
            }
        }
    }
    // It has closed its output, so it has nothing to say any more.
    group.kill();
    let status = group
        .wait()
        .map_err(|error| format!("cannot be waited for: {error}"))?;
    let line = output
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(MARK));
    line.and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| {
            let last = errors
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no message");
            format!("does not run ({status}): {last}")
        })
}

fn report(name: &str, interpreter: &Interpreter, probed: &Probed, need: &Need) -> Finding {
    let package = |name: &str| probed.packages.get(name);
    let has = |name: &str| package(name).is_some_and(|package| package.version.is_some());
    let says = format!("{name}, Python {}: {}", probed.version, packages(probed));
    let numbers: Vec<u32> = probed
        .version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect();
    let is_old = matches!(numbers.as_slice(), [major, minor, ..] if (*major, *minor) < OLDEST);
    let install = |what: &str| format!("`{} -m pip install {what}`", interpreter.program.display());
    // What is missing, and whether the kernel of this folder cannot do without it.
    let mut missing: Vec<(String, bool)> = Vec::new();
    if is_old {
        missing.push((
            "kernels in Python need Python 3.9 or newer".to_owned(),
            true,
        ));
    }
    if let Some(error) = &probed.syntax {
        missing.push((format!("{}:{error}", need.shown()), true));
    }
    if need.is_harness {
        // It needs no package of its own accord.
    } else if !has("numpy") {
        missing.push((
            format!(
                "every kernel in Python needs NumPy: {}",
                install("numpy ml_dtypes")
            ),
            true,
        ));
    } else if !has("ml_dtypes") {
        missing.push((
            format!(
                "bf16 and fp8 on the cpu device need ml_dtypes: {}",
                install("ml_dtypes")
            ),
            false,
        ));
    }
    let torch = package("torch");
    let on_gpu = need.on_gpu && !need.is_harness;
    if on_gpu && !has("torch") {
        missing.push((
            format!(
                "kernels in Python on a GPU need torch: {}",
                install("torch")
            ),
            true,
        ));
    } else if on_gpu && !torch.is_some_and(|torch| torch.sees_gpu) {
        let why = match torch.and_then(|torch| torch.cuda.as_ref()) {
            Some(cuda) => {
                format!(
                    "this torch, for CUDA {cuda}, sees no GPU: its CUDA version must fit the driver"
                )
            }
            None => "this torch was built without CUDA: install one for the driver's CUDA version"
                .to_owned(),
        };
        missing.push((
            format!("kernels in Python on a GPU need torch with CUDA, and {why}"),
            true,
        ));
    }
    let usual = ["triton", "cupy"]
        .into_iter()
        .filter(|name| need.imports.iter().any(|import| import == name));
    let mut wanted: Vec<&str> = usual.filter(|name| !has(name)).collect();
    wanted.extend(probed.missing.iter().map(String::as_str));
    wanted.sort_unstable();
    wanted.dedup();
    // What every kernel needs was said above.
    let said = |name: &str| !need.is_harness && (name == "numpy" || (name == "torch" && on_gpu));
    for wanted in wanted.into_iter().filter(|name| !said(name)) {
        missing.push((
            format!(
                "{} imports {wanted}, which is not there: {}",
                need.shown(),
                install(wanted)
            ),
            true,
        ));
    }
    let is_fault = need.source.is_some() && missing.iter().any(|(_, is_needed)| *is_needed);
    let remedies: Vec<String> = missing.into_iter().map(|(what, _)| what).collect();
    match remedies.join("; ") {
        remedy if remedy.is_empty() => well(WHAT, says),
        remedy if is_fault => ill(WHAT, says, remedy),
        // Where no kernel is in Python, the list of packages says enough.
        _ if need.source.is_none() => well(WHAT, says),
        remedy => note(WHAT, says, remedy),
    }
}

/// `NumPy 2.3.1, torch 2.6.0 (CUDA 12.4); no ml_dtypes, triton, cupy`.
fn packages(probed: &Probed) -> String {
    let shown = |name: &str| {
        if name == "numpy" {
            "NumPy".to_owned()
        } else {
            name.to_owned()
        }
    };
    let (mut there, mut absent) = (Vec::new(), Vec::new());
    for name in ["numpy", "ml_dtypes", "torch", "triton", "cupy"] {
        let package = probed.packages.get(name);
        match package.and_then(|package| package.version.as_deref()) {
            Some(version) if name == "torch" => {
                let cuda = package.and_then(|package| package.cuda.as_deref());
                let cuda =
                    cuda.map_or_else(|| "without CUDA".to_owned(), |cuda| format!("CUDA {cuda}"));
                there.push(format!("torch {version} ({cuda})"));
            }
            Some(version) => there.push(format!("{} {}", shown(name), version)),
            None => match package.and_then(|package| package.error.as_deref()) {
                Some(error) => there.push(format!("{} fails to import ({})", shown(name), error)),
                None => absent.push(shown(name)),
            },
        }
    }
    let absent = if absent.is_empty() {
        String::new()
    } else {
        format!("no {}", absent.join(", "))
    };
    [there.join(", "), absent]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}
