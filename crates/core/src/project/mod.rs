//! A project: the git work tree, its lab.toml, and the one kernel that is worked on.

pub mod screen_lock;
pub mod trust;
mod work_tree;

pub use work_tree::work_tree;

use crate::config::Config;
use crate::text::shell::quote;
use anyhow::{Context, Result, anyhow, bail};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The git work tree.
    pub root: PathBuf,
    /// `root/.lab`.
    pub lab_dir: PathBuf,
    /// The folder of lab.toml, or `root` without one: an external harness starts here.
    pub home: PathBuf,
    pub config_file: Option<PathBuf>,
    /// Absolute path of the kernel.
    pub kernel: PathBuf,
    /// The same, relative to `root`, with `/`.
    pub kernel_name: String,
    /// The folder of the kernel; problem.toml and reference.cu lie here for the built-in harness.
    pub problem_dir: PathBuf,
    pub config: Config,
    /// What a command needs after its name to mean this kernel, with a blank before it; empty where
    /// it is meant without a word.
    pub argument: String,
}

impl Project {
    /// Opens the project that `from` lies in. `kernel` overrides lab.toml: a file, or a folder
    /// that holds a kernel.cu. Errors say what to do.
    pub fn open(from: &Path, kernel: Option<&Path>) -> Result<Project> {
        let from = from.canonicalize().with_context(|| format!("cannot open {}", from.display()))?;
        let given = kernel.map(|path| from.join(path));
        // A kernel given by its path may lie in another repository than the current folder.
        let start = match &given {
            Some(path) => existing_folder(path)?,
            None => from.clone(),
        };
        let root = work_tree(&start).map_err(|error| match &given {
            Some(path) if path.symlink_metadata().is_err() => anyhow!("there is no {}", path.display()),
            _ => error,
        })?;
        let config_file = Config::find(&start, &root);
        let config = config_file.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let home =
            config_file.as_deref().and_then(Path::parent).map_or_else(|| root.clone(), Path::to_path_buf);
        let wanted = match given {
            Some(path) if path.is_dir() => path.join("kernel.cu"),
            Some(path) => path,
            None => default_kernel(&from, &home, &config)?,
        };
        let argument = argument(&from, kernel);
        let kernel = settle(&wanted)?;
        let Ok(inside) = kernel.strip_prefix(&root) else {
            bail!("{} lies outside the git work tree {}", wanted.display(), root.display());
        };
        let kernel_name = inside
            .to_str()
            .with_context(|| format!("{}: the path is no UTF-8; rename it", inside.display()))?
            .to_owned();
        if config.harness.is_none() && kernel_name.contains(['\n', '\t']) {
            bail!("{kernel_name:?}: a kernel's path must not hold tabs or newlines");
        }
        let problem_dir = kernel.parent().unwrap_or(&root).to_path_buf();
        Ok(Project {
            lab_dir: root.join(".lab"),
            root,
            home,
            config_file,
            kernel,
            kernel_name,
            problem_dir,
            config,
            argument,
        })
    }

    /// The project of a command that is about no kernel of its own: the one that is meant here, or else a kernel.cu of
    /// this folder stands in, there or not.
    pub fn of_any(from: &Path) -> Result<Project> {
        Project::open(from, None)
            .or_else(|why| Project::open(from, Some(Path::new("kernel.cu"))).map_err(|_| why))
    }

    /// What the kernel goes by on the screen: the name of its folder.
    pub fn name(&self) -> String {
        let folder = self.problem_dir.file_name().unwrap_or(self.problem_dir.as_os_str());
        folder.to_string_lossy().into_owned()
    }

    /// Whether the harness is a command of the user's.
    pub fn external(&self) -> bool {
        self.config.harness.is_some()
    }

    /// Relative to `root`, with `/`, where the path lies inside.
    pub fn relative(&self, path: &Path) -> Option<String> {
        path.strip_prefix(&self.root).ok()?.to_str().map(str::to_owned)
    }
}

/// The nearest folder of a path that is there: the file itself may be deleted just now.
fn existing_folder(path: &Path) -> Result<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))
}

/// The path with its folder made canonical; the file itself may be missing, or a link.
fn settle(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().with_context(|| format!("{} names no file", path.display()))?;
    Ok(existing_folder(path.parent().unwrap_or(path))?.join(name))
}

/// The kernel that is meant where a command names none: that of the current folder, where it is one
/// below lab.toml's with a kernel of its own, else the one that lab.toml names.
fn default_kernel(from: &Path, home: &Path, config: &Config) -> Result<PathBuf> {
    let own = || ["kernel.cu", "problem.toml"].iter().any(|name| from.join(name).symlink_metadata().is_ok());
    match &config.kernel {
        Some(_) if from != home && own() => Ok(from.join("kernel.cu")),
        Some(named) => Ok(home.join(named)),
        None => only_kernel(from, home),
    }
}

/// `given` as a command repeats it, unless the command would mean that kernel anyway.
fn argument(from: &Path, given: Option<&Path>) -> String {
    let Some(given) = given else { return String::new() };
    let file = if from.join(given).is_dir() { given.join("kernel.cu") } else { given.to_owned() };
    let meant =
        Project::open(from, None).is_ok_and(|p| settle(&from.join(file)).is_ok_and(|k| k == p.kernel));
    if meant { String::new() } else { format!(" {}", quote(&given.to_string_lossy())) }
}

/// Without a word about it anywhere: kernel.cu here, beside lab.toml, or the only .cu file here.
fn only_kernel(from: &Path, home: &Path) -> Result<PathBuf> {
    for folder in [from, home] {
        let usual = folder.join("kernel.cu");
        if usual.symlink_metadata().is_ok() {
            return Ok(usual);
        }
    }
    let kernels = sources_in(from);
    match kernels.as_slice() {
        [only] => Ok(only.clone()),
        [] => bail!(
            "no kernel.cu in {}: name one in the command (`path/to/kernel.cu`), or write `kernel = \"…\"` into lab.toml",
            from.display()
        ),
        several => {
            let names: Vec<_> =
                several.iter().filter_map(|p| p.file_name()).map(|n| n.to_string_lossy()).collect();
            bail!(
                "{} .cu files in {} ({}): name one, or write `kernel = \"…\"` into lab.toml",
                several.len(),
                from.display(),
                names.join(", ")
            )
        }
    }
}

/// The .cu files of a folder, sorted; a reference is none of the user's kernels.
pub fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .filter(|path| path.file_name().is_none_or(|n| n != "reference.cu"))
        .collect();
    found.sort();
    found
}
