//! `lab init FILE.py` for a problem of KernelBench, and `lab init FOLDER` for a task of GPU MODE: what
//! their tensors are is asked of Python.

use super::project_headers::shown;
use super::published::{read, write};
use super::{InitArgs, PYTHON};
use crate::ask_python::Question;
use anyhow::{Result, anyhow, bail, ensure};
use lab_import::described::{self, Answer, KernelBench, Task, TaskTexts};
use lab_import::{NewFile, Problem};
use lab_project::python::Interpreter;
use lab_project::{Project, new_problem, trust};
use lab_protocol::Language;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long looking at a problem may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The file that a task is.
const TASK: &str = "task.yml";

/// A published problem in Python.
pub enum Described {
    KernelBench(PathBuf),
    /// task.yml, and a submission that the arguments name.
    Task(PathBuf, Option<PathBuf>),
}

/// The problem that the arguments name: a file of KernelBench, a task.yml, its folder, or a
/// submission beside it.
pub fn find(folder: &Path, options: &InitArgs) -> Result<Option<Described>> {
    let Some(path) = options.kernel.as_ref().map(|path| folder.join(path)) else {
        return Ok(None);
    };
    let named = options.solution.as_ref().map(|path| folder.join(path));
    let ends = |end: &str| path.extension().is_some_and(|found| found == end);
    if path.join(TASK).is_file() && !path.join("problem.toml").is_file() {
        return Ok(Some(Described::Task(path.join(TASK), named)));
    }
    if !path.is_file() || !(ends("py") || ends("yml") || ends("yaml")) {
        return Ok(None);
    }
    if !ends("py") {
        return Ok(Some(Described::Task(path, named)));
    }
    let text = read(&path)?;
    let beside = path.with_file_name(TASK);
    Ok(if KernelBench::is(&text) {
        Some(Described::KernelBench(path))
    } else if Task::is_submission(&text) && beside.is_file() {
        Some(Described::Task(beside, named.or(Some(path))))
    } else if KernelBench::is_solution(&text) && !path.with_file_name("problem.toml").is_file() {
        let shown = shown(folder, &path);
        bail!(
            "{shown} holds ModelNew, the solution of a problem of KernelBench, and not the problem: `lab init PROBLEM.py --solution {shown}` \
             takes the file with Model, get_inputs and get_init_inputs as PROBLEM.py"
        );
    } else {
        None
    })
}

/// What was seen of a problem, and what to say of that.
type Seen = (Answer, Vec<String>);

impl Described {
    /// Writes the problem, and says what to do next.
    pub fn init(&self, folder: &Path, options: &InitArgs) -> Result<ExitCode> {
        let path = match self {
            Described::KernelBench(path) | Described::Task(path, _) => path,
        };
        let shown = shown(folder, path);
        ensure!(
            options.entry.is_none(),
            "--entry names a function of a .cu file, and {shown} is in Python"
        );
        let given = options
            .name
            .clone()
            .unwrap_or_else(|| self.usual_name().into());
        let name = new_problem::name_of(&given)?;
        let failed = |why: String| anyhow!("no problem can be written for {shown}: {why}");
        let mut problem = match self {
            Described::KernelBench(path) => {
                let solution = options
                    .solution
                    .as_ref()
                    .map(|path| read(&folder.join(path)));
                of_kernelbench(folder, path, name, solution.transpose()?).map_err(failed)?
            }
            Described::Task(path, submission) => {
                let task = Task::read(&read(path)?).map_err(failed)?;
                let made = of_task(folder, path, &task, name, submission.as_deref())?;
                let mut problem = made.map_err(failed)?;
                // `lab export` reads it.
                problem.files.push(NewFile::new(TASK, read(path)?));
                problem
            }
        };
        problem.notes.push(PYTHON.to_owned());
        write((folder, &given), &shown, problem, Language::Python)
    }

    /// The name of the new folder: that of the file of KernelBench without its number, or that of
    /// the task's folder.
    fn usual_name(&self) -> String {
        let name = match self {
            Described::KernelBench(path) => path.file_stem(),
            Described::Task(path, _) => path.parent().and_then(Path::file_name),
        };
        let name = name
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let name = name.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let name = name.trim_end_matches('_').replace(['.', ' '], "_");
        match self {
            // The task's own folder has that name already.
            Described::Task(..) => format!("{name}_problem"),
            Described::KernelBench(_) => name,
        }
    }
}

type Made = std::result::Result<Problem, String>;

fn of_kernelbench(folder: &Path, path: &Path, name: &str, solution: Option<String>) -> Made {
    let text = read(path).map_err(|error| format!("{error:#}"))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let (answer, notes) = look(folder, "kernelbench", &json!({ "path": path }))?;
    let published = KernelBench {
        name,
        file: &file,
        text: &text,
        solution: solution.as_deref(),
    };
    let mut problem = published.problem(&answer)?;
    problem.notes.extend(notes);
    Ok(problem)
}

fn of_task(
    folder: &Path,
    path: &Path,
    task: &Task,
    name: &str,
    submission: Option<&Path>,
) -> Result<Made> {
    let beside = path.parent().unwrap_or(folder);
    let sources: Vec<(&str, PathBuf)> = task
        .modules()
        .map(|(name, source)| (name, beside.join(source)))
        .collect();
    let mut modules = Vec::new();
    for (name, source) in &sources {
        modules.push(((*name).to_owned(), read(source)?));
    }
    let usual = [Some("submission.py"), task.template()];
    let usual = usual.into_iter().flatten().map(|name| beside.join(name));
    let submission = submission
        .map(Path::to_owned)
        .or_else(|| usual.into_iter().find(|path| path.is_file()));
    let submission = submission.as_deref().map(read).transpose()?;
    let paths: Value = sources
        .iter()
        .map(|(name, source)| ((*name).to_owned(), json!(source)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let request = json!({ "modules": paths, "cases": task.cases() });
    let reference = modules.iter().position(|(name, _)| name == "reference.py");
    let Some(reference) = reference.map(|at| modules.remove(at).1) else {
        return Ok(Err("its files lack reference.py".to_owned()));
    };
    let texts = TaskTexts {
        name,
        reference: &reference,
        submission: submission.as_deref(),
        modules: &modules,
    };
    let seen = look(folder, "task", &request);
    Ok(seen.and_then(|(answer, notes)| {
        let mut problem = task.problem(&texts, &answer)?;
        problem.notes.extend(notes);
        Ok(problem)
    }))
}

/// The interpreter that reads a published file, and whether the folder is trusted. The error says why
/// none may.
pub fn interpreter(folder: &Path) -> std::result::Result<(PathBuf, bool), String> {
    let project = Project::of_any(folder).ok();
    let is_trusted = project.as_ref().is_some_and(trust::is_granted);
    let interpreter = project
        .as_ref()
        .map_or_else(|| Interpreter::without_project(folder), Interpreter::of);
    let program = &interpreter.program;
    if interpreter.is_inside && !is_trusted {
        return Err(format!(
            "{} would read it, and is a program of this folder, which is not trusted: look at it, then `lab trust`",
            program.display()
        ));
    }
    Ok((interpreter.program, is_trusted))
}

/// Looks at a problem: executes it in a trusted folder, else reads its source alone.
fn look(folder: &Path, form: &str, request: &Value) -> std::result::Result<Seen, String> {
    let (program, is_trusted) = interpreter(folder)?;
    let ask = |run: bool| {
        let question = Question {
            program: described::SCRIPT,
            mark: described::MARK,
            limit: LIMIT,
            work: "look at it",
        };
        let answer = question.ask(&program, [described::request(form, run, request.clone())]);
        let answer = answer.map_err(|why| format!("{} {why}", program.display()))?;
        let answer: Answer = serde_json::from_str(&answer).map_err(|error| {
            format!(
                "what {} says of it cannot be read: {error}",
                program.display()
            )
        })?;
        match &answer.error {
            Some(error) => Err(error.clone()),
            None => Ok(answer),
        }
    };
    let why = match is_trusted.then(|| ask(true)).transpose() {
        Ok(Some(answer)) => return Ok((answer, Vec::new())),
        Ok(None) => None,
        Err(why) => Some(why),
    };
    match (ask(false), why) {
        (Ok(answer), why) => {
            let note = match why {
                Some(why) => format!("executing it on PyTorch's meta device failed: {why}"),
                None => "nothing of it was executed: `lab trust`, then `lab init` again, executes it on PyTorch's meta device, and knows every shape"
                    .to_owned(),
            };
            Ok((answer, vec![note]))
        }
        (Err(read), Some(executed)) => Err(format!("{executed}; without executing it: {read}")),
        (Err(read), None) => Err(format!(
            "{read}. It is Python, which {} would execute with your rights: look at it, then `lab trust`, and `lab init` again",
            program.display()
        )),
    }
}
