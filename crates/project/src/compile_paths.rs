//! The files and folders that lab.toml's compiler options name, such as include roots. A confined
//! compiler may read those inside the repository; those outside only where the user trusts this
//! lab.toml.

use super::Project;
use std::path::{Path, PathBuf};

/// Paths that compiler options name, with links resolved, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompilePaths {
    pub inside: Vec<PathBuf>,
    pub outside: Vec<PathBuf>,
}

/// Returns what exists of the paths that the project's compiler options name. A relative path
/// counts from the repository's root, where the compiler runs.
pub fn of(project: &Project) -> CompilePaths {
    let mut found = CompilePaths::default();
    let root = project
        .root
        .canonicalize()
        .unwrap_or_else(|_| project.root.clone());
    let folders = project.config.compile.options.include_folders();
    for path in folders.filter_map(|text| root.join(text).canonicalize().ok()) {
        let records = [".git", ".lab"]
            .iter()
            .any(|name| path.starts_with(root.join(name)));
        // The root itself holds the records.
        let list = if path.starts_with(&root) && path != root && !records {
            &mut found.inside
        } else {
            &mut found.outside
        };
        // `-I/` would open everything.
        if path != Path::new("/") && !list.contains(&path) {
            list.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn options_name_paths_inside_and_outside_the_repository() {
        let temp = tempfile::tempdir().unwrap();
        let (root, out) = (temp.path().join("repo"), temp.path().join("out"));
        for folder in [root.join("inc"), root.join(".lab"), out.join("inc")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        git2::Repository::init(&root).unwrap();
        std::fs::write(root.join("kernel.cu"), "").unwrap();
        std::os::unix::fs::symlink(&out, root.join("link")).unwrap();
        std::fs::write(
            root.join("lab.toml"),
            format!(
                "[compile]\noptions = [\"-O3\", \"-DOUT={0}\", \"-Iinc\", \"-isystem\", \"{0}/inc\", \"-Ilink\", \
                 \"-I.lab\", \"-I/\", \"-Inowhere\"]\n",
                out.display()
            ),
        )
        .unwrap();
        let found = of(&Project::open(&root, None).unwrap());
        let real = |path: &Path| path.canonicalize().unwrap();
        assert_eq!(found.inside, [real(&root.join("inc"))]);
        assert_eq!(
            found.outside,
            [real(&out.join("inc")), real(&out), real(&root.join(".lab"))]
        );
    }
}
