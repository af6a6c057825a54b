//! What `lab doctor` finds about Python: the interpreter of Python kernels and its packages.

use super::{ill, note, well};
use crate::ask_python::Question;
use itertools::Itertools;
use lab_device::{Finding, version_number};
use lab_project::Project;
use lab_project::python::{self, Interpreter};
use lab_protocol::Target;
use lab_run::inputs;
use lab_text::listed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WHAT: &str = "python";

/// The program that the interpreter runs.
const PROBE: &str = include_str!("probe.py");

/// What the probe's line begins with.
const MARK: &str = "lab-doctor: ";

/// How long the interpreter may take to import every package.
const LIMIT: Duration = Duration::from_secs(60);

/// The packages that kernels use.
const PACKAGES: [&str; 5] = ["numpy", "ml_dtypes", "torch", "triton", "cupy"];

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
        let on_gpu = on_gpu && project.is_none_or(|project| project.config.device != Target::Cpu);
        let mut need = Need {
            source: project.and_then(|project| python::sources(project).into_iter().next()),
            is_harness: project.is_some_and(Project::external),
            places: Vec::new(),
            imports: Vec::new(),
            on_gpu,
        };
        if let Some((project, source)) = project.zip(need.source.as_ref()) {
            let path = project.root.join(source);
            let text = project.files().read_resolved(&path, inputs::SIZE_LIMIT);
            need.imports = text
                .map(|text| inputs::imported_packages(&text))
                .unwrap_or_default();
            let beside = path.parent().unwrap_or(&project.root).to_owned();
            need.places = vec![path, beside, project.home.clone(), project.root.clone()];
        }
        need
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
    let question = Question {
        program: PROBE,
        mark: MARK,
        limit: LIMIT,
        work: "import its packages",
    };
    let answer = question.ask(program, places)?;
    serde_json::from_str(&answer).map_err(|error| format!("gives no answer: {error}"))
}

fn report(name: &str, interpreter: &Interpreter, probed: &Probed, need: &Need) -> Finding {
    let says = format!("{name}, Python {}: {}", probed.version, packages(probed));
    graded_by_what_is_missing(says, interpreter, probed, need).public(public(interpreter, probed))
}

fn graded_by_what_is_missing(
    says: String,
    interpreter: &Interpreter,
    probed: &Probed,
    need: &Need,
) -> Finding {
    let missing = missing(interpreter, probed, need);
    let is_fault = missing.iter().any(|(_, is_needed)| *is_needed);
    match missing.into_iter().map(|(what, _)| what).join("; ") {
        // Where no kernel is in Python, the list of packages says enough.
        remedy if remedy.is_empty() || need.source.is_none() => well(WHAT, says),
        remedy if is_fault => ill(WHAT, says, remedy),
        remedy => note(WHAT, says, remedy),
    }
}

/// What is missing, and whether the kernel of this folder cannot do without it.
fn missing(interpreter: &Interpreter, probed: &Probed, need: &Need) -> Vec<(String, bool)> {
    let has = |name: &str| {
        probed
            .packages
            .get(name)
            .is_some_and(|it| it.version.is_some())
    };
    let program = interpreter.program.display();
    let lacks =
        |what: String, package: &str| format!("{what}: `{program} -m pip install {package}`");
    let mut missing = Vec::new();
    let parts = probed
        .version
        .split('.')
        .map_while(|part| part.parse().ok());
    if matches!(parts.collect::<Vec<u32>>()[..], [major, minor, ..] if (major, minor) < OLDEST) {
        missing.push((
            "kernels in Python need Python 3.9 or newer".to_owned(),
            true,
        ));
    }
    if let Some(error) = &probed.syntax {
        missing.push((format!("{}:{error}", need.shown()), true));
    }
    // A harness needs no package of its own accord.
    if !need.is_harness && !has("numpy") {
        let what = "every kernel in Python needs NumPy".to_owned();
        missing.push((lacks(what, "numpy ml_dtypes"), true));
    } else if !need.is_harness && !has("ml_dtypes") {
        let what = "bf16 and fp8 on the cpu device need ml_dtypes".to_owned();
        missing.push((lacks(what, "ml_dtypes"), false));
    }
    let on_gpu = need.on_gpu && !need.is_harness;
    let torch = probed.packages.get("torch");
    if on_gpu && !has("torch") {
        let what = "kernels in Python on a GPU need torch".to_owned();
        missing.push((lacks(what, "torch"), true));
    } else if on_gpu && !torch.is_some_and(|torch| torch.sees_gpu) {
        let why = match torch.and_then(|torch| torch.cuda.as_ref()) {
            Some(cuda) => format!(
                "this torch, for CUDA {cuda}, sees no GPU: its CUDA version must fit the driver"
            ),
            None => "this torch was built without CUDA: install one for the driver's CUDA version"
                .to_owned(),
        };
        let what = format!("kernels in Python on a GPU need torch with CUDA, and {why}");
        missing.push((what, true));
    }
    let usual = ["triton", "cupy"].into_iter();
    let usual = usual.filter(|name| need.imports.iter().any(|import| import == name) && !has(name));
    let wanted: BTreeSet<&str> = usual
        .chain(probed.missing.iter().map(String::as_str))
        .collect();
    // What every kernel needs was said above.
    let said = |name: &str| !need.is_harness && (name == "numpy" || (name == "torch" && on_gpu));
    for wanted in wanted.into_iter().filter(|name| !said(name)) {
        let what = format!("{} imports {wanted}, which is not there", need.shown());
        missing.push((lacks(what, wanted), true));
    }
    missing
}

/// The versions alone: an interpreter may be any program, and its packages may say anything.
fn public(interpreter: &Interpreter, probed: &Probed) -> String {
    let version = |package: &Package| match &package.version {
        Some(version) => version_number(version).to_owned(),
        None => "fails to import".to_owned(),
    };
    let known = PACKAGES.iter().filter_map(|name| {
        let found = probed.packages.get(*name)?;
        let is_there = found.version.is_some() || found.error.is_some();
        let cuda = found.cuda.as_deref().map(version_number);
        let cuda = cuda.map_or_else(String::new, |cuda| format!(" (CUDA {cuda})"));
        is_there.then(|| format!("{name} {}{cuda}", version(found)))
    });
    let python = format!("Python {}", version_number(&probed.version));
    let by = format!("named by {}", interpreter.named_by.name());
    [python, by].into_iter().chain(known).join(", ")
}

/// `NumPy 2.3.1, torch 2.6.0 (CUDA 12.4); no ml_dtypes, triton, cupy`.
fn packages(probed: &Probed) -> String {
    let (mut there, mut absent) = (Vec::new(), Vec::new());
    for name in PACKAGES {
        let shown = if name == "numpy" { "NumPy" } else { name };
        match probed.packages.get(name) {
            Some(Package {
                version: Some(version),
                cuda,
                ..
            }) if name == "torch" => {
                let cuda = cuda.as_ref().map(|cuda| format!("CUDA {cuda}"));
                let cuda = cuda.unwrap_or_else(|| "without CUDA".to_owned());
                there.push(format!("torch {version} ({cuda})"));
            }
            Some(Package {
                version: Some(version),
                ..
            }) => there.push(format!("{shown} {version}")),
            Some(Package {
                error: Some(error), ..
            }) => {
                there.push(format!("{shown} fails to import ({error})"));
            }
            _ => absent.push(shown),
        }
    }
    let absent = listed(absent).map(|absent| format!("no {absent}"));
    listed(there).into_iter().chain(absent).join("; ")
}
