//! A new problem from a template: a folder with `problem.toml`, a reference, a kernel and
//! `README.md`.

use super::kernels::{KernelList, is_left_out};
use super::{plain, work_tree};
use crate::config::{self, Config};
use anyhow::{Context, Result, anyhow, bail, ensure};
use lab_protocol::{Language, Target};
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::root::Root;
use lab_system::temporary::TemporaryFolder;
use lab_text::shell::quote;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Most characters of a problem's name: it is a part of the names of its entries, and of paths.
const NAME_LENGTH: usize = 64;

/// What a new problem computes at first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    EnumString,
    IntoStaticStr,
    VariantNames,
    JsonSchema,
    Serialize,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Template {
    /// `z[i] = a * x[i] + y[i]`
    #[default]
    Elementwise,
    /// `y[r]` = the sum of row `r` of `x`
    Reduction,
    /// `c = a * b`, row-major
    Matmul,
    /// `z[i] = a * x[i] + y[i]`, by functions in Python
    Python,
}

impl Template {
    /// The names of all templates.
    pub const NAMES: &[&str] = Template::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The language of its kernel and its reference.
    fn language(self) -> Language {
        match self {
            Template::Python => Language::Python,
            Template::Elementwise | Template::Reduction | Template::Matmul => Language::Cuda,
        }
    }

    /// Name and text of each file, with `NAME` for the problem's name.
    fn files(self) -> [(&'static str, &'static str); 4] {
        macro_rules! files {
            ($folder:literal, $reference:literal, $kernel:literal) => {
                [
                    (
                        "problem.toml",
                        include_str!(concat!("../templates/", $folder, "/problem.toml")),
                    ),
                    (
                        $reference,
                        include_str!(concat!("../templates/", $folder, "/", $reference)),
                    ),
                    (
                        $kernel,
                        include_str!(concat!("../templates/", $folder, "/", $kernel)),
                    ),
                    (
                        "README.md",
                        include_str!(concat!("../templates/", $folder, "/README.md")),
                    ),
                ]
            };
            ($folder:literal) => {
                files!($folder, "reference.cu", "kernel.cu")
            };
        }
        match self {
            Template::Elementwise => files!("elementwise"),
            Template::Reduction => files!("reduction"),
            Template::Matmul => files!("matmul"),
            Template::Python => files!("python", "reference.py", "kernel.py"),
        }
    }
}

/// A problem that was written.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct NewProblem {
    /// The problem's name.
    pub name: String,
    /// `None` if its files come from somewhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<Template>,
    /// Its folder, relative to the work tree, with `/`.
    pub folder: String,
    /// Its kernel, relative to the work tree, with `/`.
    pub kernel: String,
    /// The paths of the files in its folder.
    pub files: Vec<String>,
    /// The folder as an argument of a command that starts in the same folder as this one did,
    /// quoted for a shell.
    #[serde(skip)]
    pub argument: String,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// Writes a new problem from a template. See [`create_from`].
pub fn create(from: &Path, given: &Path, template: Template) -> Result<NewProblem> {
    let name = name_of(given)?;
    let files = template
        .files()
        .map(|(file, text)| (file.to_owned(), with_name(text, name)));
    let made = create_from(from, given, template.language(), files.into())?;
    Ok(NewProblem {
        template: Some(template),
        ..made
    })
}

/// Writes a new problem that has these files, by path and text. `given` is its name or its path: a
/// plain name means `kernels/NAME` if the folder `from` has a folder `kernels`, else `NAME` in
/// `from`. The error says what to do: the name is no name for a kernel's entry, the folder is there
/// already, or it cannot be written. In each of these cases nothing is left behind.
pub fn create_from(
    from: &Path,
    given: &Path,
    language: Language,
    mut files: Vec<(String, String)>,
) -> Result<NewProblem> {
    let from = from.canonicalize().cannot("open", from)?;
    let name = name_of(given)?;
    let text = given.to_str().unwrap_or(name);
    let argument = match text.contains('/') {
        true => text.trim_end_matches('/').to_owned(),
        false if is_folder(&from.join("kernels")) => format!("kernels/{name}"),
        false => name.to_owned(),
    };
    let target = plain(&from.join(&argument));
    let start = target
        .ancestors()
        .find(|above| above.is_dir())
        .unwrap_or(&from);
    let root = work_tree(start)?;
    let inside = target.strip_prefix(&root).map_err(|_| {
        anyhow!(
            "{} lies outside of the git work tree {}",
            target.display(),
            root.display()
        )
    })?;
    let folder = inside
        .to_str()
        .with_context(|| format!("{}: the path is no UTF-8", inside.display()))?;
    if let Some(hidden) = folder.split('/').find(|part| part.starts_with('.')) {
        bail!(
            "{folder}: `{hidden}` is a hidden folder, which holds no kernels to work on: choose another place"
        );
    }
    ensure!(
        !folder.contains(['\n', '\t']),
        "{folder:?}: a kernel's path must not hold tabs or newlines"
    );
    ensure!(
        target.symlink_metadata().is_err(),
        "{folder} exists already and was not changed: choose another name, or remove it first"
    );
    let above = Config::find(target.parent().unwrap_or(&root), &root);
    let config = above
        .as_deref()
        .map_or_else(|| Ok(Config::default()), |file| Config::read(file, &root))?;
    let mut notes = Vec::new();
    if let Some(above) = above.filter(|_| config.harness.is_some()) {
        let depth = above
            .parent()
            .and_then(|home| target.strip_prefix(home).ok())
            .map_or(0, |below| below.components().count());
        let own = own_config(&config, depth, language);
        files.push((config::FILE.to_owned(), own));
        notes.push(format!(
            "{} names a harness of your own, so this problem has a {} of its own: the built-in harness judges it",
            above.strip_prefix(&root).unwrap_or(&above).display(),
            config::FILE
        ));
    }
    write(&Root::new(&root), folder, &files).and_so("no problem was written")?;
    let kernel = format!("{folder}/{}", language.kernel_name());
    if !KernelList::of(&root, &target).lists(&kernel) {
        notes.push(format!(
            "the list of kernels leaves {folder} out: see `[project] kernels` in `lab help configuration`"
        ));
    }
    Ok(NewProblem {
        name: name.to_owned(),
        template: None,
        folder: folder.to_owned(),
        kernel,
        files: files.into_iter().map(|(file, _)| file).collect(),
        argument: quote(&argument),
        notes,
    })
}

/// The name of the problem that a path is for. The error says which names are allowed.
pub fn name_of(given: &Path) -> Result<&str> {
    let text = given
        .to_str()
        .with_context(|| format!("{}: the path is no UTF-8", given.display()))?;
    checked_name(text)
}

/// The last part of a path, if it can be the name of a problem.
fn checked_name(path: &str) -> Result<&str> {
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let holds = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !begins || !holds {
        bail!(
            "{name:?} cannot be the name of a problem: the names of its kernels begin with it. Take a letter first, then \
             letters, digits, `_` and `-`, as in `lab new softmax`"
        );
    }
    ensure!(
        name.len() <= NAME_LENGTH,
        "the name of a problem has at most {NAME_LENGTH} characters, and {name:?} has {}",
        name.len()
    );
    ensure!(
        !is_left_out(name),
        "{name:?} cannot be the name of a problem: the list of kernels leaves folders of that name out. Choose another name"
    );
    Ok(name)
}

/// Whether a plain folder is there. A link to a folder does not count.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// The text of a template for this name. `NAME_` begins the name of an entry, in which `-` cannot
/// stand.
fn with_name(template: &str, name: &str) -> String {
    template
        .replace("NAME_", &format!("{}_", name.replace('-', "_")))
        .replace("NAME", name)
}

/// A lab.toml for a problem `depth` folders below one that names a harness.
fn own_config(above: &Config, depth: usize, language: Language) -> String {
    let device = match above.device {
        Target::Auto => String::new(),
        device => format!("device = \"{device}\"\n"),
    };
    let python = above
        .python
        .as_ref()
        .filter(|_| language == Language::Python)
        .map_or_else(String::new, |python| {
            let is_relative = python.contains('/') && !python.starts_with('/');
            let up = if is_relative {
                "../".repeat(depth)
            } else {
                String::new()
            };
            format!("python = {}\n", toml::Value::String(up + python))
        });
    format!(
        "# The built-in harness judges this problem. Without this file the harness of the {} above would.\n\
         kernel = \"{}\"\n{device}{python}",
        config::FILE,
        language.kernel_name()
    )
}

/// Writes the folder and its files. The folder gets its name once it is whole, so a process that is
/// killed leaves no half of a problem.
fn write(root: &Root, folder: &str, files: &[(String, String)]) -> Result<()> {
    let folder = Path::new(folder);
    let failed = |error: io::Error| {
        let shown = root.path().join(folder);
        anyhow::Error::new(error).context(format!(
            "cannot write {}; nothing of the new problem was left",
            shown.display()
        ))
    };
    leftovers::sweep(root, Path::new(""));
    let temporary = TemporaryFolder::inside(root.path()).map_err(failed)?;
    // Only the user may open the temporary folder. The one in it has the rights of any folder.
    let whole = temporary.path().join("problem");
    let fill = || -> io::Result<()> {
        root.create_dir(&whole)?;
        for (name, text) in files {
            let path = whole.join(name);
            if let Some(above) = path.parent() {
                root.create_dir_all(above)?;
            }
            let mut new = root.create_new(&path)?;
            new.write_all(text.as_bytes())?;
            new.sync_all()?;
        }
        match folder.parent() {
            Some(parent) if parent != Path::new("") => root.create_dir_all(parent),
            _ => Ok(()),
        }
    };
    fill().map_err(failed)?;
    root.rename(&whole, folder)
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => {
                anyhow!("{} exists already and was not changed", folder.display())
            }
            _ => failed(error),
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        git2::Repository::init(temp.path()).unwrap();
        let root = temp.path().canonicalize().unwrap();
        (temp, root)
    }

    fn error(from: &Path, given: &str) -> String {
        format!(
            "{:#}",
            create(from, Path::new(given), Template::Elementwise).unwrap_err()
        )
    }

    #[test]
    fn a_plain_name_is_a_folder_of_kernels_where_there_is_one() {
        let (_temp, root) = repository();
        let made = |from: &Path, given: &str| {
            let made = create(from, Path::new(given), Template::Reduction).unwrap();
            assert!(root.join(&made.kernel).is_file());
            (made.folder, made.argument)
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(made(&root, "first"), pair("first", "first"));
        fs::create_dir(root.join("kernels")).unwrap();
        assert_eq!(
            made(&root, "second"),
            pair("kernels/second", "kernels/second")
        );
        assert_eq!(made(&root, "./third"), pair("third", "./third"));
        assert_eq!(
            made(&root, "new/deep/fourth/"),
            pair("new/deep/fourth", "new/deep/fourth")
        );
        assert_eq!(
            made(&root.join("kernels"), "fifth"),
            pair("kernels/fifth", "fifth")
        );
        assert_eq!(
            made(&root.join("kernels/fifth"), "../sixth"),
            pair("kernels/sixth", "../sixth")
        );
    }

    #[test]
    fn the_name_stands_in_every_file_and_a_dash_is_no_part_of_an_entry() {
        let (_temp, root) = repository();
        for name in Template::NAMES {
            let template: Template = name.parse().unwrap();
            let name = format!("my-{name}");
            let made = create(&root, Path::new(&name), template).unwrap();
            let sources = [
                template.language().reference_name(),
                template.language().kernel_name(),
            ];
            assert_eq!(
                made.files,
                ["problem.toml", sources[0], sources[1], "README.md"]
            );
            for file in made.files {
                let text = fs::read_to_string(root.join(&name).join(&file)).unwrap();
                assert!(!text.contains("NAME"), "{file}: {text}");
            }
            let kernel = fs::read_to_string(root.join(&made.kernel)).unwrap();
            let function = if template == Template::Python {
                "def"
            } else {
                "void"
            };
            assert!(
                kernel.contains(&format!("{function} my_{}_f32(", template.name())),
                "{kernel}"
            );
        }
    }

    #[test]
    fn what_cannot_be_a_problem_is_refused_and_leaves_nothing() {
        let (_temp, root) = repository();
        for name in [
            "", "2d", "a b", "a;b", "größe", "a.b", "-x", "_x", "..", ".", "a/..", "a\nb",
        ] {
            assert!(
                error(&root, name).contains("cannot be the name of a problem"),
                "{name}"
            );
        }
        assert!(error(&root, &"x".repeat(65)).contains("at most 64 characters"));
        assert!(error(&root, "target").contains("leaves folders of that name out"));
        assert!(error(&root, "kernels/tests").contains("leaves folders of that name out"));
        assert!(error(&root, ".lab/softmax").contains("hidden folder"));
        assert!(error(&root, "../softmax").contains("no git repository"));
        fs::write(root.join("file"), "").unwrap();
        assert!(error(&root, "file").contains("exists already and was not changed"));
        error(&root, "file/softmax");
        std::os::unix::fs::symlink("/tmp", root.join("link")).unwrap();
        error(&root, "link/softmax");
        assert!(!Path::new("/tmp/softmax").exists());
        std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
        assert!(error(&root, "dangling").contains("exists already"));
        let mut left: Vec<_> = fs::read_dir(&root)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, [".git", "dangling", "file", "link"]);
    }

    #[test]
    fn below_a_harness_of_the_users_own_a_problem_has_its_own_settings() {
        let (_temp, root) = repository();
        fs::write(
            root.join("lab.toml"),
            "harness = \"sh judge\"\ndevice = \"cpu\"\n",
        )
        .unwrap();
        let made = create(&root, Path::new("softmax"), Template::Elementwise).unwrap();
        assert!(
            made.notes[0].contains("lab.toml names a harness of your own"),
            "{:?}",
            made.notes
        );
        let config = Config::read(&root.join("softmax/lab.toml"), &root).unwrap();
        assert_eq!(
            (config.harness, config.kernel.as_deref()),
            (None, Some("kernel.cu"))
        );
        assert_eq!(config.device, Target::Cpu);
        let above = "harness = \"sh judge\"\npython = \".venv/bin/python\"\n";
        fs::write(root.join("lab.toml"), above).unwrap();
        create(&root, Path::new("./a/b"), Template::Python).unwrap();
        let config = Config::read(&root.join("a/b/lab.toml"), &root).unwrap();
        assert_eq!(
            (config.kernel.as_deref(), config.python.as_deref()),
            (Some("kernel.py"), Some("../../.venv/bin/python"))
        );
        fs::write(root.join("lab.toml"), "no toml").unwrap();
        assert!(error(&root, "another").contains("lab.toml"));
        assert!(!root.join("another").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_not_left_half_done() {
        let (_temp, root) = repository();
        let files = ["a", "a/below-a-file"].map(|name| (name.to_owned(), String::new()));
        let error = write(&Root::new(&root), "new/deep/problem", &files).unwrap_err();
        assert!(
            format!("{error:#}").contains("nothing of the new problem was left"),
            "{error:#}"
        );
        assert!(!root.join("new").exists());
    }

    #[test]
    fn a_problem_has_its_name_once_it_is_whole_and_what_a_killed_one_left_is_removed() {
        use std::os::unix::fs::PermissionsExt;
        let (_temp, root) = repository();
        let left = root.join(".lab-new-abcdefghijkl");
        fs::create_dir_all(left.join("problem")).unwrap();
        fs::create_dir(root.join("usual")).unwrap();
        let made = create(&root, Path::new("softmax"), Template::default()).unwrap();
        let mode = |name: &str| root.join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode(&made.folder), mode("usual"));
        let mut names: Vec<_> = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, [".git", "softmax", "usual"]);
    }
}
