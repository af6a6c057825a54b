//! A project: a git work tree, its lab.toml, and one kernel.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod config;
pub mod objective;

mod choice;
pub mod compile_paths;
pub mod kernel_file;
pub mod kernels;
mod lane;
pub mod loop_claim;
pub mod new_problem;
pub mod python;
mod python_request;
pub mod screen_lock;
pub mod trust;
mod trust_mark;
mod work_tree;

pub use work_tree::{cannot_open, work_tree};

use crate::choice::{Meant, default_kernel, of_folder};
use crate::config::{Config, Harness};
use crate::python::Interpreter;
use crate::trust_mark::TrustMark;
use anyhow::{Context, Result, anyhow, bail};
use lab_protocol::Language;
use lab_system::failure::Failure;
use lab_system::root::Root;
use lab_text::shell::quote;
use std::path::{Component, Path, PathBuf};

/// Name of the folder at the root of the work tree in which the lab keeps its runs.
const LAB_DIR: &str = ".lab";

/// Most bytes of a kernel and of each other file that a verdict depends on. Nobody writes a larger
/// one by hand.
pub const SIZE_LIMIT: u64 = 8 << 20;

/// Where everything of one kernel is. Opened once by a command, and again by the screen when
/// lab.toml changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The git work tree.
    pub root: PathBuf,
    /// The work tree whose `.lab` and ledgers are this project's: `root`, except in a lane, which
    /// shares those of the work tree that it was made for.
    pub base: PathBuf,
    /// The name of the lane, if `root` is the work tree of one.
    pub lane: Option<String>,
    /// `base/.lab`.
    pub lab_dir: PathBuf,
    /// The folder of lab.toml, or `root` without one: an external harness starts here.
    pub home: PathBuf,
    /// Path of lab.toml, if there is one.
    pub config_file: Option<PathBuf>,
    /// Absolute path of the kernel.
    pub kernel: PathBuf,
    /// Path of the kernel relative to `root`, with `/`.
    pub kernel_name: String,
    /// The folder of the kernel. The built-in harness reads problem.toml and the reference in it.
    pub problem_dir: PathBuf,
    pub config: Config,
    /// Names the trust in this folder and in lab.toml as it was read for `config`.
    pub trust_mark: TrustMark,
    /// The argument that makes a command mean this kernel, with a blank before it. Empty where the
    /// command means it without an argument.
    pub argument: String,
}

impl Project {
    /// Opens the project that the folder `from` lies in. `kernel` goes before lab.toml; it is a
    /// file, or a folder with a kernel.cu or a kernel.py. Errors say what to do.
    pub fn open(from: &Path, kernel: Option<&Path>) -> Result<Project> {
        let from = from.canonicalize().cannot("open", from)?;
        let mut project = Project::opened(&from, kernel)?;
        if let Some(given) = kernel {
            project.argument = argument(&from, given, &project.kernel);
        }
        Ok(project)
    }

    /// [`Project::open`] without the argument. `from` is canonical.
    fn opened(from: &Path, kernel: Option<&Path>) -> Result<Project> {
        let given = kernel.map(|path| from.join(path));
        // A kernel given by its path may lie in another repository than the current folder.
        let start = match &given {
            Some(path) => existing_folder(path)?,
            None => from.to_owned(),
        };
        let root = work_tree(&start).map_err(|error| match &given {
            Some(path) if path.symlink_metadata().is_err() => {
                anyhow!("there is no {}", path.display())
            }
            _ => error,
        })?;
        let config_file = Config::find(&start, &root);
        let (config, trust_mark) = match &config_file {
            Some(file) => {
                let (config, content) = Config::read_with_content(file, &root)?;
                (
                    config,
                    TrustMark::of_config(file.parent().unwrap_or(&root), content.as_bytes()),
                )
            }
            None => (Config::default(), TrustMark::of_folder(&root)),
        };
        let home = config_file
            .as_deref()
            .and_then(Path::parent)
            .map_or_else(|| root.clone(), Path::to_path_buf);
        let named = config.kernel.as_ref().map(|named| home.join(named));
        let wanted = match given {
            Some(path) if path.is_dir() => {
                let shown = kernel.unwrap_or(Path::new(""));
                of_folder(&path, shown, &root, named.as_deref())?
            }
            Some(path) => path,
            None => match default_kernel(from, &home, &root, named, config.harness.is_some())? {
                Meant::Here(kernel) => kernel,
                // Its own folder may have a lab.toml.
                Meant::Only(kernel) => return Project::opened(from, Some(&kernel)),
            },
        };
        let kernel = canonical(&wanted)?;
        kernel_file::refuse_of_harness(&kernel, &config, &home)?;
        let Ok(inside) = kernel.strip_prefix(&root) else {
            bail!(
                "{} lies outside the git work tree {}",
                wanted.display(),
                root.display()
            );
        };
        let kernel_name = inside
            .to_str()
            .with_context(|| format!("{}: the path is no UTF-8; rename it", inside.display()))?
            .to_owned();
        if config.harness.is_none() && kernel_name.contains(['\n', '\t']) {
            bail!("{kernel_name:?}: a kernel's path must not hold tabs or newlines");
        }
        let problem_dir = kernel.parent().unwrap_or(&root).to_path_buf();
        let (base, lane) = match lane::of(&root) {
            Some((base, lane)) => (base, Some(lane)),
            None => (root.clone(), None),
        };
        Ok(Project {
            lab_dir: base.join(LAB_DIR),
            base,
            lane,
            root,
            home,
            config_file,
            kernel,
            kernel_name,
            problem_dir,
            config,
            trust_mark,
            argument: String::new(),
        })
    }

    /// The project with another kernel of the same repository, whose path is relative to `root`.
    /// The kernel's own settings are not read.
    #[must_use]
    pub fn with_kernel(&self, kernel: &str) -> Project {
        Project {
            kernel: self.root.join(kernel),
            kernel_name: kernel.to_owned(),
            ..self.clone()
        }
    }

    /// Opens the project for a command that needs no kernel. Where no kernel is named or found, it
    /// takes the path of a kernel.cu in this folder, which need not exist.
    pub fn of_any(from: &Path) -> Result<Project> {
        Project::open(from, None)
            .or_else(|why| Project::open(from, Some(Path::new("kernel.cu"))).map_err(|_| why))
    }

    /// Whether a command in the folder `from` that names no kernel means this one for being the only one
    /// of the work tree: neither the folder nor its lab.toml means it. `from` is canonical.
    pub fn is_only_one_for(&self, from: &Path) -> bool {
        let is_of_config = from.starts_with(&self.home) && self.config.kernel.is_some();
        !is_of_config && !from.starts_with(&self.problem_dir)
    }

    /// Whether lab.toml or the file's own name says that it is a kernel. Any other file may be one
    /// that a command runs.
    pub fn is_named_as_kernel(&self) -> bool {
        let named = self.config.kernel.as_ref().map(|name| self.home.join(name));
        let is_named = named.and_then(|file| canonical(&file).ok());
        is_named.is_some_and(|file| file == self.kernel) || kernel_file::is_by_name(&self.kernel)
    }

    /// The language that the kernel is written in.
    pub fn language(&self) -> Language {
        Language::of(&self.kernel)
    }

    /// The kernel's name on the screen: that of its folder.
    pub fn name(&self) -> String {
        let folder = self
            .problem_dir
            .file_name()
            .unwrap_or(self.problem_dir.as_os_str());
        folder.to_string_lossy().into_owned()
    }

    /// A name for files that belong to this kernel in this work tree alone: 16 hexadecimal digits
    /// that depend on the kernel's path and the lane.
    pub fn kernel_key(&self) -> String {
        self.kernel_key_in(self.lane.as_deref())
    }

    /// [`Project::kernel_key`] of the same kernel in a lane.
    pub(crate) fn kernel_key_in(&self, lane: Option<&str>) -> String {
        let lane = lane.map(|lane| format!("\0{lane}")).unwrap_or_default();
        let mut key = blake3::hash(format!("{}{lane}", self.kernel_name).as_bytes())
            .to_hex()
            .to_string();
        key.truncate(16);
        key
    }

    /// The command line for `sh -c` that runs the user's own harness, in `home`. `None` for the
    /// built-in harness.
    pub fn harness_line(&self) -> Option<String> {
        Some(match self.config.harness.as_ref()? {
            Harness::Command(line) => line.clone(),
            Harness::Python { python } => {
                let program = Interpreter::of(self).program;
                format!(
                    "exec {} {}",
                    quote(&program.to_string_lossy()),
                    quote(python)
                )
            }
        })
    }

    /// The script in Python that lab.toml names as the harness, relative to lab.toml.
    pub fn harness_script(&self) -> Option<&str> {
        match self.config.harness.as_ref()? {
            Harness::Python { python } => Some(python),
            Harness::Command(_) => None,
        }
    }

    /// Whether lab.toml names a harness of the user's own.
    pub fn external(&self) -> bool {
        self.config.harness.is_some()
    }

    /// Opens the files of the work tree and the lab's own, without following links out of them.
    pub fn files(&self) -> Root {
        Root::new(&self.base)
    }

    /// Opens the files of the work tree, without following links out of it.
    pub fn tree_files(&self) -> Root {
        Root::new(&self.root)
    }

    /// The path relative to `root`, with `/`. `None` where it lies outside or is no UTF-8.
    pub fn relative(&self, path: &Path) -> Option<String> {
        path.strip_prefix(&self.root)
            .ok()?
            .to_str()
            .map(str::to_owned)
    }
}

/// The canonical path of a folder, or of a file's folder. The file itself need not exist.
fn existing_folder(path: &Path) -> Result<PathBuf> {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    folder
        .canonicalize()
        .with_context(|| format!("there is no folder {}", folder.display()))
}

/// The path with its folder made canonical. The file itself may be missing, or a link, which stays
/// a link.
fn canonical(path: &Path) -> Result<PathBuf> {
    let name = path
        .file_name()
        .with_context(|| format!("{} names no file", path.display()))?;
    Ok(existing_folder(path.parent().unwrap_or(path))?.join(name))
}

/// Removes `.` and `..` from a path without reading the disk: `a/./b/../c` becomes `a/c`. A link
/// keeps its name.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// See [`Project::argument`]. `kernel` is what `given` means.
fn argument(from: &Path, given: &Path, kernel: &Path) -> String {
    let meant = Project::opened(from, None).is_ok_and(|project| project.kernel == kernel);
    if meant {
        String::new()
    } else {
        format!(" {}", quote(&given.to_string_lossy()))
    }
}
