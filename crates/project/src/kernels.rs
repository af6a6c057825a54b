//! The kernels of a work tree, for people who choose one.

use super::kernel_file::{NAMES, sources_in};
use crate::config::{Config, FILE};
use lab_system::listing;
use lab_text::{glob, suggest};
use std::path::{Component, Path, PathBuf};

/// Folders deeper than this below the root are not searched, nor more folders than this in all.
const DEPTH: usize = 8;
const FOLDERS: usize = 10_000;

/// Folders of tools and build outputs, which hold no kernels to work on.
const SKIPPED: [&str; 6] = [
    "target",
    "build",
    "node_modules",
    "__pycache__",
    "venv",
    "site-packages",
];

/// Folders of tests. A pattern of lab.toml may list their kernels.
const TESTS: [&str; 5] = ["tests", "test", "testdata", "test_data", "fixtures"];

/// Whether the list leaves folders of this name out unless lab.toml says otherwise.
pub(super) fn is_left_out(folder: &str) -> bool {
    SKIPPED.contains(&folder) || TESTS.contains(&folder)
}

/// Which kernels of a work tree are listed.
///
/// ```
/// use lab_project::kernels::KernelList;
///
/// let root = tempfile::tempdir()?;
/// for folder in ["kernels/rmsnorm", "kernels/softmax", "tests/wrong", ".hidden"] {
///     std::fs::create_dir_all(root.path().join(folder))?;
///     std::fs::write(root.path().join(folder).join("kernel.cu"), "")?;
/// }
/// let listed = || KernelList::of(root.path(), root.path()).find();
/// assert_eq!(listed(), ["kernels/rmsnorm/kernel.cu", "kernels/softmax/kernel.cu"]);
///
/// std::fs::write(root.path().join("lab.toml"), "[project]\nkernels = [\"**/wrong\", \"kernels/r*\"]\n")?;
/// assert_eq!(listed(), ["kernels/rmsnorm/kernel.cu", "tests/wrong/kernel.cu"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelList<'a> {
    root: &'a Path,
    /// The folder of the lab.toml that has patterns, relative to `root` and with `/` at its end;
    /// empty for `root` itself.
    home: String,
    /// As lab.toml has them; empty for the usual kernels.
    patterns: Vec<String>,
}

impl KernelList<'_> {
    /// The list of the work tree at `root`: the nearest lab.toml from `folder` up to `root` that
    /// has `[project] kernels` says which. A lab.toml that cannot be read is passed over: other
    /// commands report it.
    pub fn of<'a>(root: &'a Path, folder: &Path) -> KernelList<'a> {
        let usual = KernelList {
            root,
            home: String::new(),
            patterns: Vec::new(),
        };
        let folders = folder
            .ancestors()
            .take_while(|above| above.starts_with(root));
        let with_patterns = folders.filter_map(|above| {
            let file = above.join(FILE);
            file.symlink_metadata().ok()?;
            let patterns = Config::read(&file, root).ok()?.project.kernels;
            let home = above.strip_prefix(root).ok()?.to_str()?;
            let home = if home.is_empty() {
                String::new()
            } else {
                format!("{home}/")
            };
            (!patterns.is_empty()).then_some(KernelList {
                root,
                home,
                patterns,
            })
        });
        with_patterns.into_iter().next().unwrap_or(usual)
    }

    /// Whether a kernel, given by its path relative to the work tree, is listed.
    pub fn lists(&self, kernel: &str) -> bool {
        let folders = || {
            kernel
                .rsplit_once('/')
                .map_or("", |(folders, _)| folders)
                .split('/')
        };
        if folders()
            .any(|name| SKIPPED.contains(&name) || (name.starts_with('.') && !name.is_empty()))
        {
            return false;
        }
        let matches = |pattern: &str| {
            let Some(path) = kernel.strip_prefix(self.home.as_str()) else {
                return false;
            };
            // A pattern of a folder means every kernel below it.
            let ends = path
                .match_indices('/')
                .map(|(at, _)| at)
                .chain([path.len()]);
            ends.into_iter()
                .any(|end| glob::matches(pattern, &path[..end]))
        };
        let (mut any, mut wanted) = (false, false);
        for pattern in &self.patterns {
            match pattern.strip_prefix('!') {
                Some(excluded) if matches(excluded) => return false,
                Some(_) => {}
                None => (any, wanted) = (true, wanted || matches(pattern)),
            }
        }
        if any {
            wanted
        } else {
            !folders().any(|name| TESTS.contains(&name))
        }
    }

    /// The paths of the kernels, relative to the work tree, sorted: each `kernel.cu` and
    /// `kernel.py`, and in a folder with a `problem.toml` the other .cu files if there is neither.
    /// Hidden folders, links and other git repositories are left out.
    pub fn find(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![(self.root.to_owned(), 0)];
        let mut searched = 0;
        while let Some((folder, depth)) = folders.pop() {
            searched += 1;
            if searched > FOLDERS {
                break;
            }
            let (mut kernels, mut has_problem) = (Vec::new(), false);
            for entry in listing::entries(&folder) {
                let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else {
                    continue;
                };
                let Some(name) = name.to_str() else { continue };
                if kind.is_dir() {
                    let is_searched =
                        depth < DEPTH && !name.starts_with('.') && !SKIPPED.contains(&name);
                    let path = entry.path();
                    if is_searched && path.join(".git").symlink_metadata().is_err() {
                        folders.push((path, depth + 1));
                    }
                } else if kind.is_file() {
                    kernels.extend(NAMES.contains(&name).then(|| entry.path()));
                    has_problem |= name == "problem.toml";
                }
            }
            if !kernels.is_empty() {
                found.append(&mut kernels);
            } else if has_problem {
                let is_file =
                    |path: &std::path::PathBuf| path.symlink_metadata().is_ok_and(|m| m.is_file());
                found.extend(sources_in(&folder).into_iter().filter(is_file));
            }
        }
        let relative = |path: &std::path::PathBuf| {
            Some(path.strip_prefix(self.root).ok()?.to_str()?.to_owned())
        };
        let mut names: Vec<String> = found
            .iter()
            .filter_map(relative)
            .filter(|kernel| self.lists(kernel))
            .collect();
        names.sort();
        names
    }
}

/// Most kernels that a message lists.
const LISTED: usize = 30;

/// How a command may name a kernel of the work tree's folder: by its folder, if no other kernel of
/// `names` is in it, else by its path.
pub fn shown<'a>(name: &'a str, names: &[String]) -> &'a str {
    only_of_folder(name, names).unwrap_or(name)
}

fn only_of_folder<'a>(name: &'a str, names: &[String]) -> Option<&'a str> {
    let (folder, file) = name
        .rsplit_once('/')
        .filter(|(_, file)| NAMES.contains(file))?;
    let is_other = |other: &str| {
        other != file
            && names
                .iter()
                .any(|name| *name == format!("{folder}/{other}"))
    };
    (!NAMES.iter().any(|other| is_other(other))).then_some(folder)
}

/// How a command in the folder `from` names a path relative to `root`: `../softmax` in the folder of
/// another kernel.
fn path_from(from: &Path, root: &Path, name: &str) -> String {
    let Ok(here) = from.strip_prefix(root) else {
        return root.join(name).to_string_lossy().into_owned();
    };
    let here: Vec<Component> = here.components().collect();
    let there: Vec<Component> = Path::new(name).components().collect();
    let both = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
    let up = here[both..].iter().map(|_| &Component::ParentDir);
    let path: PathBuf = up.chain(&there[both..]).collect();
    match path.to_string_lossy() {
        here if here.is_empty() => ".".to_owned(),
        path => path.into_owned(),
    }
}

/// These kernels of the work tree at `root`, each as a command in the folder `from` names it.
fn named_from(from: &Path, root: &Path, names: &[String]) -> Vec<String> {
    let named = names
        .iter()
        .map(|name| path_from(from, root, shown(name, names)));
    named.collect()
}

/// The part of a message that suggests a kernel of the work tree at `root` for `unknown`, which a
/// command in the folder `from` named: ` (did you mean kernels/softmax?)`. Empty where none is near.
pub fn did_you_mean(from: &Path, root: &Path, unknown: &Path) -> String {
    let last = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let named = named_from(from, root, &KernelList::of(root, from).find());
    let whole = suggest::nearest(&unknown.to_string_lossy(), named.iter().map(String::as_str));
    let by_last = || {
        let lasts: Vec<String> = named.iter().filter_map(|it| last(Path::new(it))).collect();
        let unknown = last(unknown)?;
        let near = suggest::nearest(&unknown, lasts.iter().map(String::as_str))?;
        let is_near = |it: &&String| last(Path::new(it)).as_deref() == Some(near);
        named.iter().find(is_near).map(String::as_str)
    };
    suggest::meant(whole.or_else(by_last))
}

/// These kernels of the work tree at `root` as lines for a message in the folder `from`, empty if
/// there is none. A kernel is shown by its folder, which a command takes too.
pub(super) fn listed(root: &Path, from: &Path, names: &[String]) -> String {
    let names = named_from(from, root, names);
    if names.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nThe kernels of this repository:");
    for name in names.iter().take(LISTED) {
        text += &format!("\n  {}", lab_text::shell::quote(name));
    }
    if names.len() > LISTED {
        text += &format!("\n  … and {} more", names.len() - LISTED);
    }
    text + "\n`lab ls` shows the figures of each. `lab KERNEL` opens the screen on one; each kernel can have a screen of its own"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn listed(root: &Path, from: &Path) -> String {
        super::listed(root, from, &KernelList::of(root, from).find())
    }

    #[test]
    fn kernels_are_found_and_everything_else_is_left_out() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for file in [
            "kernel.cu",
            "a/kernel.cu",
            "a/other.cu",
            "b/problem.toml",
            "b/fast.cu",
            "b/reference.cu",
            "c/loose.cu",
            "target/kernel.cu",
            ".lab/runs/1/kernel.cu",
            "clone/.git/HEAD",
            "clone/kernel.cu",
            "1/2/3/4/5/6/7/8/kernel.cu",
            "1/2/3/4/5/6/7/8/9/kernel.cu",
        ] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        fs::create_dir_all(root.join("d/kernel.cu")).unwrap();
        symlink("/", root.join("e")).unwrap();
        symlink("../a", root.join("c/again")).unwrap();
        fs::create_dir_all(root.join("f")).unwrap();
        symlink("../a/kernel.cu", root.join("f/kernel.cu")).unwrap();
        let list = KernelList::of(root, root);
        assert_eq!(
            list.find(),
            [
                "1/2/3/4/5/6/7/8/kernel.cu",
                "a/kernel.cu",
                "b/fast.cu",
                "kernel.cu"
            ]
        );
        let listed = listed(root, root);
        assert!(
            listed.contains("\n  a\n  b/fast.cu\n  kernel.cu\n"),
            "{listed}"
        );
    }

    #[test]
    fn a_folder_may_hold_a_kernel_in_each_language() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for file in [
            "a/kernel.py",
            "a/reference.py",
            "b/kernel.cu",
            "b/kernel.py",
            "c/problem.toml",
            "c/peer.py",
        ] {
            write(root, file, "");
        }
        assert_eq!(
            KernelList::of(root, root).find(),
            ["a/kernel.py", "b/kernel.cu", "b/kernel.py"]
        );
        // Where one folder holds two kernels, its name means none of them.
        let listed = listed(root, root);
        assert!(
            listed.contains("\n  a\n  b/kernel.cu\n  b/kernel.py\n"),
            "{listed}"
        );
    }

    #[test]
    fn a_kernel_is_named_as_a_command_in_the_present_folder_takes_it() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for file in ["kernels/softmax/kernel.cu", "kernels/conv1d/kernel.cu"] {
            write(root, file, "");
        }
        let here = root.join("kernels/softmax");
        let listed = listed(root, &here);
        assert!(listed.contains("\n  ../conv1d\n  .\n"), "{listed}");
        let meant = |from: &Path, unknown: &str| did_you_mean(from, root, Path::new(unknown));
        assert_eq!(
            meant(root, "kernels/sofmax"),
            " (did you mean kernels/softmax?)"
        );
        assert_eq!(meant(root, "conv1"), " (did you mean kernels/conv1d?)");
        assert_eq!(meant(&here, "conv1d"), " (did you mean ../conv1d?)");
        assert_eq!(meant(root, "gemm"), "");
    }

    fn write(root: &Path, file: &str, text: &str) {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), text).unwrap();
    }

    #[test]
    fn kernels_of_tests_are_listed_only_where_lab_toml_names_them() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for kernel in [
            "a/kernel.cu",
            "a/old/kernel.cu",
            "tests/b/kernel.cu",
            "x/fixtures/c/kernel.cu",
            "target/kernel.cu",
        ] {
            write(root, kernel, "");
        }
        let listed = |patterns: &str| {
            write(
                root,
                "lab.toml",
                &format!("[project]\nkernels = [{patterns}]\n"),
            );
            KernelList::of(root, &root.join("a")).find().join(" ")
        };
        assert_eq!(listed(""), "a/kernel.cu a/old/kernel.cu");
        assert_eq!(listed("'!a/old'"), "a/kernel.cu");
        assert_eq!(listed("'tests'"), "tests/b/kernel.cu");
        assert_eq!(
            listed("'**', '!**/old/kernel.cu'"),
            "a/kernel.cu tests/b/kernel.cu x/fixtures/c/kernel.cu"
        );
        assert_eq!(listed("'nothing'"), "");
        // The nearest lab.toml with patterns decides; its patterns are relative to its folder.
        write(root, "a/old/lab.toml", "device = 'cpu'\n");
        write(root, "a/lab.toml", "[project]\nkernels = ['old']\n");
        assert_eq!(
            KernelList::of(root, &root.join("a/old")).find(),
            ["a/old/kernel.cu"]
        );
        assert_eq!(KernelList::of(root, &root.join("tests")).find(), [""; 0]);
        write(root, "a/lab.toml", "no toml");
        assert_eq!(
            KernelList::of(root, &root.join("a/old")).find(),
            [""; 0],
            "the next one above decides"
        );
    }
}
