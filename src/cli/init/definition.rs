//! `lab init FILE.json`: a problem for a definition of flashinfer-bench, with the kernel of a
//! solution.

use super::project_headers::shown;
use super::published::{read, write};
use super::{InitArgs, PYTHON};
use anyhow::{Context, Result, anyhow, bail, ensure};
use lab_import::NewFile;
use lab_import::flashinfer::{DEFINITION, Definition, Request, Solution, WORKLOADS};
use lab_project::new_problem;
use lab_protocol::Language;
use lab_system::listing;
use lab_text::shell::quote;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of a data set that holds the definitions.
const DEFINITIONS: &str = "definitions";

/// Most folders one below the other in which a definition is looked for.
const DEPTH: usize = 4;

/// The files of flashinfer-bench that a problem is written for.
pub struct Sources {
    definition: PathBuf,
    /// The solution with its file.
    solution: Option<(PathBuf, Solution)>,
}

/// The definition and the solution that the arguments name: a definition, a solution with its
/// definition in the same data set, or a data set with one definition.
pub fn find(folder: &Path, options: &InitArgs) -> Result<Option<Sources>> {
    let Some(path) = options.kernel.as_ref().map(|path| folder.join(path)) else {
        return Ok(None);
    };
    let named = options.solution.as_ref().map(|path| folder.join(path));
    if path.join(DEFINITIONS).is_dir() {
        let mut found = Vec::new();
        jsons(&path.join(DEFINITIONS), DEPTH, &mut found);
        return match found.as_slice() {
            [definition] => Sources::of(definition.clone(), named).map(Some),
            _ => bail!(
                "{} holds {} definitions: name one, as in `lab init {}`",
                path.display(),
                found.len(),
                found.first().map_or_else(
                    || "DEFINITION.json".to_owned(),
                    |first| quote(&shown(folder, first))
                )
            ),
        };
    }
    if path.extension().is_none_or(|end| end != "json") || !path.is_file() {
        return Ok(None);
    }
    let Some(solution) = Solution::read(&read(&path)?) else {
        return Sources::of(path, named).map(Some);
    };
    ensure!(
        named.is_none(),
        "{} is a solution already: leave --solution out",
        path.display()
    );
    let definition = definition_of(&path, &solution.definition)?;
    Ok(Some(Sources {
        definition,
        solution: Some((path, solution)),
    }))
}

impl Sources {
    fn of(definition: PathBuf, solution: Option<PathBuf>) -> Result<Sources> {
        let solution = solution.map(|path| {
            let read = Solution::read(&read(&path)?);
            let read = read.with_context(|| {
                format!("{} is no solution of flashinfer-bench", path.display())
            })?;
            Ok::<_, anyhow::Error>((path, read))
        });
        Ok(Sources {
            definition,
            solution: solution.transpose()?,
        })
    }

    /// Writes the problem, and says what to do next.
    pub fn init(&self, folder: &Path, options: &InitArgs) -> Result<ExitCode> {
        let path = &self.definition;
        let of_definition = shown(folder, path);
        ensure!(
            options.entry.is_none() || self.solution.is_some(),
            "--entry names a function of a .cu file or of a solution, and {of_definition} is a definition"
        );
        let failed = |why: String| anyhow!("no problem can be written for {of_definition}: {why}");
        let published = read(path)?;
        let definition = Definition::read(&published).map_err(failed)?;
        if let Some((file, solution)) = &self.solution {
            ensure!(
                solution.definition == definition.name,
                "{} is for the definition {}, and {of_definition} is {}",
                shown(folder, file),
                solution.definition,
                definition.name
            );
        }
        let given = options
            .name
            .clone()
            .unwrap_or_else(|| definition.name.clone().into());
        let name = new_problem::name_of(&given)?;
        let lines = workloads(path);
        let text = lines.as_deref().map(read).transpose()?;
        let request = Request {
            name,
            workloads: text.as_deref(),
            solution: self.solution.as_ref().map(|(_, solution)| solution),
            function: options.entry.as_deref(),
        };
        let mut problem = definition
            .problem(&request)
            .map_err(|why| match &self.solution {
                Some((file, _)) => anyhow!(
                    "the solution {} cannot become a kernel: {why}. `lab init {}` writes the problem with a kernel that computes as \
                     the reference does",
                    shown(folder, file),
                    quote(&of_definition)
                ),
                None => failed(why),
            })?;
        let is_cuda = problem.files.iter().any(|file| file.name == "kernel.cu");
        let language = match is_cuda {
            true => Language::Cuda,
            false => Language::Python,
        };
        problem.files.push(NewFile::new(DEFINITION, published));
        let copied = |lines: PathBuf| format!("{WORKLOADS} is a copy of {}", lines.display());
        problem.notes.extend(lines.map(copied));
        problem.notes.push(PYTHON.to_owned());
        let from = self.solution.as_ref().map_or(path, |(file, _)| file);
        write((folder, &given), &shown(folder, from), problem, language)
    }
}

/// The file with the workloads: beside the definition, or where the data set of flashinfer-bench
/// has it, `workloads` in place of `definitions` in the path.
fn workloads(path: &Path) -> Option<PathBuf> {
    let beside = path.with_extension("jsonl");
    let parts = beside.components().map(|part| match part.as_os_str() {
        name if name == DEFINITIONS => Path::new("workloads").to_owned(),
        name => PathBuf::from(name),
    });
    let elsewhere: PathBuf = parts.collect();
    [beside, elsewhere].into_iter().find(|path| path.is_file())
}

/// The definition of a solution: beside it, or in the data set that holds it.
fn definition_of(solution: &Path, name: &str) -> Result<PathBuf> {
    let file = format!("{name}.json");
    let mut found = vec![solution.with_file_name(&file)];
    for above in solution.ancestors().skip(1) {
        jsons(&above.join(DEFINITIONS), DEPTH, &mut found);
    }
    let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| *name == *file);
    let mut found = found.into_iter().filter(is_it);
    found
        .find(|path| path.is_file() && path != solution)
        .with_context(|| {
            format!(
                "{} is a solution of {name}, and there is no {file} beside it or in a folder {DEFINITIONS} of its data set: \
                 `lab init DEFINITION.json --solution {}`",
                solution.display(),
                quote(&solution.to_string_lossy())
            )
        })
}

/// The .json files of a folder and of those below it.
fn jsons(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = listing::entries(folder);
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true if depth > 0 => jsons(&path, depth - 1, found),
            true => {}
            false if path.extension().is_some_and(|end| end == "json") => found.push(path),
            false => {}
        }
    }
}
