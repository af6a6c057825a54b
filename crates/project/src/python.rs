//! Which Python runs for a project, and what of the project runs in it.

use super::{Project, SIZE_LIMIT, plain};
use crate::config::{self, Harness};
use lab_protocol::Language;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Environment variable that names the interpreter for every project. It goes before lab.toml.
pub const VARIABLE: &str = "LAB_PYTHON";

/// The interpreter where nobody names one: a name that PATH leads to.
pub const USUAL: &str = "python3";

/// Where the interpreter of a folder's own virtual environment usually is.
const ENVIRONMENTS: [&str; 2] = [".venv/bin/python", "venv/bin/python"];

/// Who named the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// `LAB_PYTHON`
    Environment,
    /// `python` in lab.toml
    Config,
    /// Nobody: it is that of a virtual environment beside the kernel, beside lab.toml, or at the top
    /// of the work tree.
    Folder,
    /// Nobody: it is python3 on the path.
    Path,
}

impl NamedBy {
    /// `LAB_PYTHON`, `lab.toml`, `the virtual environment here` or `the path`.
    pub fn name(self) -> &'static str {
        match self {
            NamedBy::Environment => VARIABLE,
            NamedBy::Config => "lab.toml",
            NamedBy::Folder => "the virtual environment here",
            NamedBy::Path => "the path",
        }
    }
}

/// The interpreter of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// Absolute; or a name, where PATH leads to no such program. A link stays what it is: it may be
    /// the interpreter of a virtual environment. The file need not exist.
    pub program: PathBuf,
    pub named_by: NamedBy,
    /// The program, or the link that leads to it, lies in the work tree.
    pub is_inside: bool,
}

impl Interpreter {
    /// The interpreter that runs Python of this project.
    pub fn of(project: &Project) -> Interpreter {
        let of_config = project.config.python.as_ref();
        let folders = [
            &project.problem_dir,
            &project.home,
            &project.root,
            &project.base,
        ];
        Interpreter::find(of_config, &project.home, &project.root, &folders)
    }

    /// The interpreter where there is no project: that of the environment.
    pub fn without_project(folder: &Path) -> Interpreter {
        Interpreter::find(None, folder, folder, &[])
    }

    /// `of_config` is relative to `home`, and LAB_PYTHON to the current folder. In one of `folders` a
    /// virtual environment is looked for, in this order.
    fn find(
        of_config: Option<&String>,
        home: &Path,
        root: &Path,
        folders: &[&PathBuf],
    ) -> Interpreter {
        let of_environment = env::var_os(VARIABLE).filter(|named| !named.is_empty());
        let environments = || {
            let mut paths = folders
                .iter()
                .flat_map(|folder| ENVIRONMENTS.map(|path| folder.join(path)));
            paths.find(|path| path.is_file())
        };
        let here = || env::current_dir().unwrap_or_else(|_| root.to_owned());
        let (program, named_by) = match (of_environment, of_config) {
            (Some(named), _) => (located(&named, &here()), NamedBy::Environment),
            (None, Some(named)) => (located(OsStr::new(named), home), NamedBy::Config),
            (None, None) => environments().map_or_else(
                || (located(OsStr::new(USUAL), home), NamedBy::Path),
                |path| (path, NamedBy::Folder),
            ),
        };
        Interpreter {
            is_inside: lies_in(&program, root),
            program,
            named_by,
        }
    }
}

/// The path of a program: a name without `/` is looked up in PATH, and a relative path counts from
/// `folder`.
fn located(named: &OsStr, folder: &Path) -> PathBuf {
    match Path::new(named).components().count() > 1 {
        true => plain(&folder.join(named)),
        false => which::which(named).unwrap_or_else(|_| named.into()),
    }
}

/// Whether a program, or the file that it links to, lies below a folder.
fn lies_in(program: &Path, root: &Path) -> bool {
    let folder = program
        .parent()
        .and_then(|folder| folder.canonicalize().ok());
    [folder, program.canonicalize().ok()]
        .into_iter()
        .flatten()
        .any(|path| path.starts_with(root))
}

/// The sources that Python runs for a project, relative to the work tree: the kernel, its
/// reference.py, or the script that is its harness. Empty if there are none, or if a command judges.
pub fn sources(project: &Project) -> Vec<String> {
    match &project.config.harness {
        Some(Harness::Command(_)) => return Vec::new(),
        Some(Harness::Python { python }) => return vec![script_name(project, python)],
        None => {}
    }
    let is_python = project.language() == Language::Python;
    let kernel = is_python.then(|| project.kernel_name.clone());
    let [cuda, python] =
        [Language::Cuda, Language::Python].map(|of| project.problem_dir.join(of.reference_name()));
    let is_reference = python.is_file() && !cuda.is_file();
    let reference = is_reference.then(|| project.relative(&python)).flatten();
    kernel.into_iter().chain(reference).collect()
}

/// Why the script or program that lab.toml names as the harness cannot run, and what to do. `None`
/// if it is there, and for a command whose first word is no path.
pub fn missing_script(project: &Project) -> Option<String> {
    let script = match project.config.harness.as_ref()? {
        Harness::Python { python } => python,
        Harness::Command(line) => {
            let first = line.split_whitespace().next()?;
            let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
            Some(first).filter(|word| word.contains('/') && word.chars().all(is_plain))?
        }
    };
    let path = plain(&project.home.join(script));
    if path.is_file() {
        return None;
    }
    let config = project
        .config_file
        .as_ref()
        .and_then(|file| project.relative(file));
    Some(format!(
        "{} names {script} as the harness, and there is no such file: write it, or correct `harness` there",
        config.as_deref().unwrap_or(config::FILE)
    ))
}

/// The path of a harness's script, which lab.toml names relative to itself; relative to the work
/// tree where it lies in it.
fn script_name(project: &Project, script: &str) -> String {
    let path = plain(&project.home.join(script));
    project
        .relative(&path)
        .unwrap_or_else(|| path.to_string_lossy().into_owned())
}

/// The Python files of the peers that problem.toml names, relative to the work tree, each once.
/// Empty if a command judges.
pub fn peers(project: &Project) -> Vec<String> {
    if project.config.harness.is_some() {
        return Vec::new();
    }
    let table = problem(project).unwrap_or_default();
    let Some(toml::Value::Array(peers)) = table.get("peer") else {
        return Vec::new();
    };
    let mut sources: Vec<String> = Vec::new();
    for peer in peers.iter().filter(|peer| peer.get("function").is_some()) {
        let file = project.problem_dir.join(
            peer.get("file")
                .and_then(toml::Value::as_str)
                .unwrap_or("peer.py"),
        );
        let shown = project
            .relative(&file)
            .unwrap_or_else(|| file.to_string_lossy().into_owned());
        if !sources.contains(&shown) {
            sources.push(shown);
        }
    }
    sources
}

/// The problem.toml of a project; `None` if it cannot be read.
fn problem(project: &Project) -> Option<toml::Table> {
    let text = project
        .files()
        .read_resolved(&project.problem_dir.join("problem.toml"), SIZE_LIMIT)
        .ok()?;
    String::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_virtual_environment_is_found_beside_the_kernel_first() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let kernel = root.join("kernels/k");
        let found = || Interpreter::find(None, &root, &root, &[&kernel, &root]);
        assert_ne!(found().named_by, NamedBy::Folder);
        for folder in [&root, &kernel] {
            let program = folder.join(".venv/bin/python");
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&program, "").unwrap();
            if env::var_os(VARIABLE).is_none() {
                assert_eq!(found().program, program);
                assert!(found().is_inside && found().named_by == NamedBy::Folder);
            }
        }
        let named = "bin/own".to_owned();
        let of_config = Interpreter::find(Some(&named), &root, &root, &[&kernel]);
        assert_ne!(of_config.named_by, NamedBy::Folder);
    }

    #[test]
    fn an_interpreter_of_the_folder_is_told_from_one_of_the_system() {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().canonicalize().unwrap();
        let (root, venv) = (temp.join("repo"), temp.join("repo/.venv/bin"));
        fs::create_dir_all(&venv).unwrap();
        fs::create_dir_all(temp.join("bin")).unwrap();
        fs::write(temp.join("bin/python3"), "").unwrap();
        symlink(temp.join("bin/python3"), venv.join("python")).unwrap();
        symlink(venv.join("python"), temp.join("bin/linked")).unwrap();
        fs::write(venv.join("own"), "").unwrap();
        symlink(venv.join("own"), temp.join("bin/own")).unwrap();
        let located = |named: &str| located(OsStr::new(named), &root);
        assert_eq!(
            located(".venv/bin/python"),
            venv.join("python"),
            "a link stays one"
        );
        for (named, is_inside) in [
            (".venv/bin/python", true),
            ("../bin/python3", false),
            ("../bin/own", true),
            (".venv/bin/../../../bin/python3", false),
            ("./missing/python", false),
        ] {
            assert_eq!(lies_in(&located(named), &root), is_inside, "{named}");
        }
        assert_eq!(
            located("no-such-program-1234"),
            Path::new("no-such-program-1234")
        );
        assert!(located("sh").is_absolute());
    }
}
