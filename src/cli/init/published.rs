//! `lab init FILE.cu`: a problem for a kernel of a file as people publish them, with host code
//! around it.

use super::project_headers::{ProjectHeaders, SIZE_LIMIT, shown};
use super::{InitAnswer, InitArgs, ask, find_kernel, own_harness, say, say_below, told};
use anyhow::{Context, Result, anyhow, bail, ensure};
use itertools::Itertools;
use lab_import::Problem;
use lab_import::cuda::{Published, Wanted};
use lab_project::new_problem::{self, NewProblem};
use lab_protocol::Language;
use lab_system::failure::Failure;
use lab_system::root::read_anywhere;
use lab_text::shell::quote;
use lab_text::suggest::did_you_mean;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Reads a published file.
pub fn read(path: &Path) -> Result<String> {
    let bytes = read_anywhere(path, SIZE_LIMIT).cannot("read", path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the problem for a published file into a new folder, and tells what was written.
pub fn write(
    (folder, given): (&Path, &Path),
    published: &str,
    problem: Problem,
    language: Language,
) -> Result<ExitCode> {
    let first = match (problem.lacks_reference, language) {
        (true, Language::Cuda) => LACKS_REFERENCE,
        (true, Language::Python) => {
            "write reference.py, which says what is right, then `lab trust`"
        }
        (false, _) if problem.files.iter().any(|file| file.name == "reference.py") => "`lab trust`",
        (false, _) => "",
    };
    let files = problem.files.into_iter().map(|file| (file.name, file.text));
    let is_taken = folder.join(given).symlink_metadata().is_ok();
    let mut made =
        new_problem::create_from(folder, given, language, files.collect()).map_err(|error| {
            match is_taken {
                true => error.context("choose another name with --name"),
                false => error,
            }
        })?;
    made.notes.splice(0..0, problem.notes);
    Ok(tell(published, &problem.entry, first, &made))
}

/// What the user has to do first where no function of the published file says what is right.
const LACKS_REFERENCE: &str = "write reference.cu, which says what is right";

/// Tells what was written for a function of a published file, and what to do next: `first` what the
/// user has to do before the first run, empty for nothing.
fn tell(published: &str, function: &str, first: &str, made: &NewProblem) -> ExitCode {
    let argument = &made.argument;
    let next = vec![format!("lab run {argument}"), format!("lab {argument}")];
    let first = match first {
        "" => String::new(),
        first => format!("{first}, then "),
    };
    let last = format!(
        "next: {first}`{}` judges the kernel once, `{}` opens the screen",
        next[0], next[1]
    );
    let written = InitAnswer {
        config: None,
        kernel: &made.kernel,
        harness: None,
        notes: &made.notes,
        published: Some(published),
        function: Some(function),
        files: &made.files,
        next,
    };
    told(&written, || {
        say(&format!(
            "wrote {} for {function} of {published}: {}",
            made.kernel,
            made.files.join(", ")
        ));
        say_below(&made.notes);
        say(&last);
    })
}

/// A file that becomes a problem.
pub struct PublishedFile {
    /// The folder in which the command runs.
    folder: PathBuf,
    path: PathBuf,
    /// As the user named it.
    shown: String,
    text: String,
    headers: ProjectHeaders,
}

/// Finds the file that the arguments mean, if it is CUDA C++ with kernels and nothing says how it is
/// judged: no problem.toml beside it, and no harness.py.
pub fn find(folder: &Path, options: &InitArgs) -> Result<Option<PublishedFile>> {
    let wants_problem = options.entry.is_some() || options.name.is_some();
    let path = match &options.kernel {
        Some(path) if path.is_dir() => folder.join(path).join(Language::Cuda.kernel_name()),
        Some(path) => folder.join(path),
        None => match find_kernel(folder) {
            // A kernel that the user's own harness builds is no published file.
            Ok(path) if !wants_problem && has_own_harness(folder, &path) => return Ok(None),
            Ok(path) => path,
            Err(error) if wants_problem => return Err(error),
            Err(_) => return Ok(None),
        },
    };
    let is_cuda = path
        .extension()
        .is_some_and(|end| ["cu", "cuh", "h", "hpp"].iter().any(|it| end == *it));
    let beside = path.parent().unwrap_or(folder);
    let is_judged = [
        beside.join("problem.toml"),
        beside.join("harness.py"),
        folder.join("harness.py"),
    ];
    // With a name the problem gets a folder of its own.
    let judged = is_judged
        .iter()
        .find(|path| path.is_file() && options.name.is_none());
    if !is_cuda || !path.is_file() || judged.is_some() {
        let why = match judged {
            Some(judged) => format!("{} says already how it is judged", judged.display()),
            None if !path.is_file() => "there is no such file".to_owned(),
            None => "it is no .cu file, and has no function with @triton.jit".to_owned(),
        };
        ensure!(
            !wants_problem,
            "no problem is written for {}: {why}",
            path.display()
        );
        return Ok(None);
    }
    let published = PublishedFile {
        headers: ProjectHeaders::of(folder, &path, &options.include)?,
        folder: folder.to_owned(),
        shown: shown(folder, &path),
        text: read(&path)?,
        path,
    };
    let parsed = published.parsed(published.file_name());
    if parsed.kernels().is_empty() {
        let unread: String = parsed
            .unread()
            .iter()
            .map(|why| format!("; {why}"))
            .collect();
        // A kernel that a harness of the user's own judges may be anything.
        ensure!(
            !wants_problem
                && (options.kernel.is_none() || has_own_harness(folder, &published.path)),
            "no problem is written for {}: it has no `__global__` function with a body, which would be the kernel{}",
            published.shown,
            unread
        );
        return Ok(None);
    }
    Ok(Some(published))
}

fn has_own_harness(folder: &Path, kernel: &Path) -> bool {
    let beside = kernel.parent().unwrap_or(folder);
    [folder, beside]
        .into_iter()
        .any(|at| own_harness::sign(at).is_some())
}

impl PublishedFile {
    /// The file with its headers. `name` is what the problem calls it.
    fn parsed(&self, name: &str) -> Published {
        let header = |wanted: &Wanted| self.headers.find(wanted);
        Published::read(name, &self.text, &header)
    }

    /// Adds other files of the project, until one launches the kernel.
    fn add_launching(&self, published: &mut Published, kernel: &str) {
        if published.is_launched(kernel) {
            return;
        }
        for file in self.headers.naming_launched(kernel, &self.path) {
            let header = |wanted: &Wanted| {
                let by = Some(wanted.by.unwrap_or(&file.name));
                self.headers.find(&Wanted { by, ..*wanted })
            };
            published.add_launching(&file.name, &file.text, &header);
            if published.is_launched(kernel) {
                return;
            }
        }
    }

    fn file_name(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.unwrap_or("published.cu")
    }

    /// Writes the problem, and says what to do next.
    pub fn init(&self, options: &InitArgs) -> Result<ExitCode> {
        let origin = self.file_name();
        let mut published = self.parsed(origin);
        let functions = self.functions(&published, options.entry.as_deref())?;
        for function in &functions {
            self.add_launching(&mut published, function);
        }
        let short = match functions.as_slice() {
            [only] => only.strip_suffix("_kernel").unwrap_or(only),
            // A problem for several kernels is called after their file.
            _ => self
                .path
                .file_stem()
                .and_then(OsStr::to_str)
                .unwrap_or("list"),
        };
        let given = options.name.clone().unwrap_or_else(|| short.into());
        let name = new_problem::name_of(&given)?;
        let mut problem = published
            .problem(&functions, name, origin)
            .map_err(|why| anyhow!("no problem can be written for {}: {why}", self.shown))?;
        problem.entry = functions.join(", ");
        write((&self.folder, &given), &self.shown, problem, Language::Cuda)
    }

    /// The functions that become the kernel, in the order of their launches: those that are named,
    /// the only one, or the one that the user chooses on a terminal.
    fn functions(&self, published: &Published, named: Option<&str>) -> Result<Vec<String>> {
        let kernels = published.kernels();
        let names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        let listed = || {
            let all = kernels.iter();
            let all = all.map(|(name, line)| format!("{name} (line {line})"));
            all.chain(published.unread()).join(", ")
        };
        let known = |name: &str| {
            if names.contains(&name) {
                return Ok(name.to_owned());
            }
            let hint = did_you_mean(name, names.iter().copied());
            bail!(
                "{} has no kernel {name}{hint}. It has {}",
                self.shown,
                listed()
            )
        };
        match (named, kernels.as_slice()) {
            (Some(several), _) => several.split(',').map(|name| known(name.trim())).collect(),
            (None, [(only, _)]) => Ok(vec![only.clone()]),
            (None, _) if ask::can_ask() => Ok(vec![self.ask(&kernels)?]),
            (None, _) => bail!(
                "{} has {} kernels: {}. Name one: `lab init {} --entry {}`, or those that are launched in turn: `--entry A,B`",
                self.shown,
                kernels.len(),
                listed(),
                quote(&self.shown),
                names[0]
            ),
        }
    }

    fn ask(&self, kernels: &[(String, usize)]) -> Result<String> {
        let title = format!("{} has {} kernels:", self.shown, kernels.len());
        let lines = kernels
            .iter()
            .map(|(name, line)| format!("{name} (line {line})"));
        let names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        let chosen = ask::which(&title, &lines.collect::<Vec<_>>(), &names)?;
        let chosen = chosen.context("no kernel was chosen, and nothing was written")?;
        Ok(names[chosen].to_owned())
    }
}
