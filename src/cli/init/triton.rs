//! `lab init FILE.py` for a file with Triton kernels.

use super::described::interpreter;
use super::project_headers::shown;
use super::published::write;
use super::python_source::PythonSource;
use super::{InitArgs, PYTHON, find_kernel};
use crate::ask_python::Question;
use crate::cli::output::complain;
use anyhow::{Result, anyhow, bail};
use lab_import::described::{MARK, TRITON, Triton, triton_request};
use lab_project::new_problem;
use lab_protocol::Language;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How long reading a file may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Writes a problem for the Triton kernel that the arguments mean, if they mean one and nothing says
/// how it is judged. `None` also where no problem can be written for a file that nobody named, which
/// is told.
pub fn init(folder: &Path, options: &InitArgs) -> Result<Option<ExitCode>> {
    let named = options.kernel.as_ref().map(|path| folder.join(path));
    let named = named.map(|path| match path.is_dir() {
        true => path.join(Language::Python.kernel_name()),
        false => path,
    });
    let Some(path) = named.or_else(|| find_kernel(folder).ok()) else {
        return Ok(None);
    };
    let beside = path.parent().unwrap_or(folder);
    let is_judged = [beside, folder].iter().any(|at| {
        at.join("harness.py").is_file() || (*at == beside && at.join("problem.toml").is_file())
    });
    let is_python = Language::of(&path) == Language::Python && path.is_file();
    if !is_python || is_judged {
        return Ok(None);
    }
    match PythonSource::read(&path) {
        Some(PythonSource::Triton(kernels)) if !kernels.is_empty() => {}
        _ => return Ok(None),
    }
    let shown = shown(folder, &path);
    match described(folder, &path, options.entry.as_deref()) {
        Ok(kernel) => {
            let short = kernel.kernel.trim_matches('_');
            let short = short.strip_suffix("_kernel").unwrap_or(short);
            let given = options.name.clone().unwrap_or_else(|| short.into());
            let name = new_problem::name_of(&given)?;
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            let mut problem = kernel.problem(name, &file).map_err(|why| anyhow!(why))?;
            problem.notes.push(PYTHON.to_owned());
            write((folder, &given), &shown, problem, Language::Python).map(Some)
        }
        Err(why)
            if [&options.kernel, &options.name]
                .iter()
                .any(|it| it.is_some())
                || options.entry.is_some() =>
        {
            bail!(
                "no problem can be written for {shown}: {why}. `lab help python` says how to write one"
            )
        }
        Err(why) => {
            complain(&format!("no problem can be written for {shown}: {why}"));
            Ok(None)
        }
    }
}

/// Has Python read the file. Nothing of it is executed.
fn described(folder: &Path, path: &Path, entry: Option<&str>) -> Result<Triton, String> {
    let (program, _) = interpreter(folder)?;
    let question = Question {
        program: TRITON,
        mark: MARK,
        limit: LIMIT,
        work: "read it",
    };
    let answer = question.ask(&program, [triton_request(path, entry)]);
    let answer = answer.map_err(|why| format!("{} {why}", program.display()))?;
    let kernel: Triton = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    match kernel.error {
        Some(why) => Err(why),
        None => Ok(kernel),
    }
}
