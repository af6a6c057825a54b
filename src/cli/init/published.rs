//! `lab init FILE.cu`: a problem for a kernel of a file as people publish them, with host code
//! around it.

use super::{InitAnswer, InitArgs, ask, find_kernel, say, say_below, told};
use anyhow::{Context, Result, anyhow, bail, ensure};
use itertools::Itertools;
use lab_import::cuda::Published;
use lab_import::{NewFile, Problem};
use lab_project::new_problem::{self, NewProblem};
use lab_protocol::Language;
use lab_system::root::{Root, read_anywhere};
use lab_system::space;
use lab_text::shell::quote;
use lab_text::suggest::did_you_mean;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Most bytes of a published file, and of a header beside it.
pub const SIZE_LIMIT: u64 = 4 << 20;

/// The name under which the published file stays if it was called kernel.cu.
const ORIGINAL: &str = "published.cu";

/// Reads a published file.
pub fn read(path: &Path) -> Result<String> {
    let bytes = read_anywhere(path, SIZE_LIMIT)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A path as a user in this folder names it.
pub fn shown(folder: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    inside.display().to_string()
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
    let mut made = new_problem::create_from(folder, given, language, files.collect())
        .context("choose another name with --name")?;
    made.notes.splice(0..0, problem.notes);
    Ok(tell(published, &problem.entry, first, &made))
}

/// What the user has to do first where no function of the published file says what is right.
const LACKS_REFERENCE: &str = "write reference.cu, which says what is right";

/// Tells what was written for a function of a published file, and what to do next: `first` what the
/// user has to do before the first run, empty for nothing. Of a problem in this folder the argument
/// is empty.
fn tell(published: &str, function: &str, first: &str, made: &NewProblem) -> ExitCode {
    let argument = match made.argument.as_str() {
        "" => String::new(),
        argument => format!(" {argument}"),
    };
    let next = vec![format!("lab run{argument}"), format!("lab{argument}")];
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
}

/// Finds the file that the arguments mean, if it is CUDA C++ with kernels and nothing says how it is
/// judged: no problem.toml beside it, and no harness.py.
pub fn find(folder: &Path, options: &InitArgs) -> Result<Option<PublishedFile>> {
    let wants_problem = options.entry.is_some() || options.name.is_some();
    let path = match &options.kernel {
        Some(path) if path.is_dir() => folder.join(path).join(Language::Cuda.kernel_name()),
        Some(path) => folder.join(path),
        None => match find_kernel(folder) {
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
            None => "it is no .cu file that is here".to_owned(),
        };
        ensure!(
            !wants_problem,
            "no problem is written for {}: {why}",
            path.display()
        );
        return Ok(None);
    }
    let published = PublishedFile {
        folder: folder.to_owned(),
        shown: shown(folder, &path),
        text: read(&path)?,
        path,
    };
    if published.parsed(published.file_name()).kernels().is_empty() {
        let why = "it has no `__global__` function with a body, which would be the kernel";
        ensure!(
            !wants_problem,
            "no problem is written for {}: {why}",
            published.shown
        );
        return Ok(None);
    }
    Ok(Some(published))
}

impl PublishedFile {
    /// The file with the headers beside it. `name` is what the problem calls it.
    fn parsed(&self, name: &str) -> Published {
        let beside = self.path.parent().unwrap_or(&self.folder);
        let root = lab_project::work_tree(beside).unwrap_or_else(|_| beside.to_owned());
        // A header is named relative to the file, or to a folder around it, up to the repository's.
        let around = || beside.ancestors().take_while(|at| at.starts_with(&root));
        let header = |name: &str| {
            let path = around()
                .map(|at| at.join(name))
                .find(|path| path.is_file())?;
            let ends = ["h", "cuh", "hpp", "cu", "inl", "inc"];
            let is_header = path
                .extension()
                .is_some_and(|end| ends.iter().any(|e| end == *e));
            read(&path).ok().filter(|_| is_header)
        };
        Published::read(name, &self.text, &header)
    }

    fn file_name(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str());
        name.unwrap_or("published.cu")
    }

    /// A file called kernel.cu becomes the problem where it is.
    fn stays(&self, options: &InitArgs) -> bool {
        options.name.is_none() && self.file_name() == Language::Cuda.kernel_name()
    }

    /// Writes the problem, and says what to do next.
    pub fn init(&self, options: &InitArgs) -> Result<ExitCode> {
        let origin = match self.stays(options) {
            true => ORIGINAL,
            false => self.file_name(),
        };
        let published = self.parsed(origin);
        let functions = self.functions(&published, options.entry.as_deref())?;
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
        let name = match self.stays(options) {
            true => short.to_owned(),
            false => new_problem::name_of(&given)?.to_owned(),
        };
        let mut problem = published
            .problem(&functions, &name, origin)
            .map_err(|why| anyhow!("no problem can be written for {}: {why}", self.shown))?;
        problem.entry = functions.join(", ");
        match self.stays(options) {
            true => self.write_here(name, problem),
            false => write((&self.folder, &given), &self.shown, problem, Language::Cuda),
        }
    }

    /// The functions that become the kernel, in the order of their launches: those that are named,
    /// the only one, or the one that the user chooses on a terminal.
    fn functions(&self, published: &Published, named: Option<&str>) -> Result<Vec<String>> {
        let kernels = published.kernels();
        let names: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        let listed = || {
            let all = kernels.iter();
            all.map(|(name, line)| format!("{name} (line {line})"))
                .join(", ")
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

    /// Writes the problem around a file that is called kernel.cu, whose bytes stay as published.cu.
    fn write_here(&self, name: String, problem: Problem) -> Result<ExitCode> {
        let beside = self.path.parent().unwrap_or(&self.folder);
        let root = Root::new(beside);
        let failed = |name: &str, error: io::Error| {
            let error =
                anyhow!(error).context(format!("cannot write {}", beside.join(name).display()));
            space::explain(error, "the published kernel is as it was")
        };
        let bytes =
            read_anywhere(&self.path, SIZE_LIMIT).map_err(|error| failed(ORIGINAL, error))?;
        match root.create_whole(Path::new(ORIGINAL), &bytes) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = root.read(Path::new(ORIGINAL), SIZE_LIMIT);
                ensure!(
                    there.is_ok_and(|there| there == bytes),
                    "{} is there already and holds something else: rename it, and run `lab init` again",
                    beside.join(ORIGINAL).display()
                );
            }
            written => written.map_err(|error| failed(ORIGINAL, error))?,
        }
        let mut notes = problem.notes;
        notes.push(format!("the published file is {ORIGINAL} now"));
        // kernel.cu comes last: without the others it would not be a problem.
        let is_kernel = |file: &&NewFile| file.name == Language::Cuda.kernel_name();
        for file in problem.files.iter().filter(|file| !is_kernel(file)) {
            match root.create_whole(Path::new(&file.name), file.text.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    notes.push(format!(
                        "{} was there already and was not changed",
                        file.name
                    ));
                }
                written => written.map_err(|error| failed(&file.name, error))?,
            }
        }
        for file in problem.files.iter().filter(is_kernel) {
            root.replace(Path::new(&file.name), file.text.as_bytes())
                .map_err(|error| failed(&file.name, error))?;
        }
        let tree = lab_project::work_tree(beside)?;
        let argument = match shown(&self.folder, beside) {
            here if here.is_empty() => here,
            folder => quote(&folder),
        };
        let made = NewProblem {
            name,
            template: None,
            folder: shown(&tree, beside),
            kernel: shown(&tree, &self.path),
            files: problem.files.into_iter().map(|file| file.name).collect(),
            argument,
            notes,
        };
        let first = match problem.lacks_reference {
            true => LACKS_REFERENCE,
            false => "",
        };
        Ok(tell(&self.shown, &problem.entry, first, &made))
    }
}
