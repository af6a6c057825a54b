//! `lab init FILE.json`: a problem for a definition of flashinfer-bench.

use super::InitArgs;
use super::published::{NewProblemFiles, SIZE_LIMIT, tell};
use anyhow::{Context, Result, anyhow, ensure};
use lab_import::flashinfer::{Definition, WORKLOADS};
use lab_project::new_problem;
use lab_protocol::Language;
use lab_system::root::read_anywhere;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The definition that the arguments name.
pub fn find(folder: &Path, options: &InitArgs) -> Option<PathBuf> {
    let path = folder.join(options.kernel.as_ref()?);
    let is_json = path.extension().is_some_and(|end| end == "json");
    (is_json && path.is_file()).then_some(path)
}

/// Writes the problem, and says what to do next.
pub fn init(folder: &Path, path: &Path, options: &InitArgs) -> Result<ExitCode> {
    ensure!(
        options.entry.is_none(),
        "--entry names a function of a .cu file, and {} is a definition",
        path.display()
    );
    let shown = path
        .strip_prefix(folder)
        .unwrap_or(path)
        .display()
        .to_string();
    let failed = |why: String| anyhow!("no problem can be written for {shown}: {why}");
    let definition = Definition::read(&read(path)?).map_err(failed)?;
    let given = options
        .name
        .clone()
        .unwrap_or_else(|| definition.name.clone().into());
    let name = new_problem::name_of(&given)?;
    let lines = workloads(path);
    let text = lines.as_deref().map(read).transpose()?;
    let problem = definition.problem(name, text.as_deref()).map_err(failed)?;
    let files = problem
        .files
        .iter()
        .map(|file| (file.name, file.text.clone()));
    let made = new_problem::create_from(folder, &given, Language::Python, files.collect())
        .context("choose another name with --name")?;
    let mut notes = problem.notes.clone();
    notes.extend(lines.map(|lines| format!("{WORKLOADS} is a copy of {}", lines.display())));
    notes.push("Python runs with your rights: `lab trust` allows it here".to_owned());
    Ok(tell(&NewProblemFiles {
        published: &shown,
        function: &problem.entry,
        kernel: &made.kernel,
        argument: &made.argument,
        files: &made.files,
        notes: &[notes, made.notes].concat(),
        first: "`lab trust`",
    }))
}

fn read(path: &Path) -> Result<String> {
    let bytes = read_anywhere(path, SIZE_LIMIT)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file with the workloads: beside the definition, or where the data set of flashinfer-bench
/// has it, `workloads` in place of `definitions` in the path.
fn workloads(path: &Path) -> Option<PathBuf> {
    let beside = path.with_extension("jsonl");
    let parts = beside.components().map(|part| match part.as_os_str() {
        name if name == "definitions" => Path::new("workloads").to_owned(),
        name => PathBuf::from(name),
    });
    let elsewhere: PathBuf = parts.collect();
    [beside, elsewhere].into_iter().find(|path| path.is_file())
}
