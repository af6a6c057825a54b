//! Whether git has refs in a folder.

use super::Repo;
use lab_system::listing;
use lab_system::root::Root;
use std::path::Path;

/// Most bytes of git's packed refs that are looked through.
const PACKED_LIMIT: u64 = 1 << 30;

impl Repo {
    /// Whether a ref stands in one of these folders, as in `refs/lab/exact/`. It opens no ref: there
    /// may be 10,000.
    pub(super) fn has_refs_in(&self, folders: &[&str]) -> bool {
        let files = self.git.commondir();
        let has_loose = |folder: &&str| {
            listing::read_dir(files.join(folder)).is_ok_and(|mut entries| entries.next().is_some())
        };
        let are_packed = || {
            let packed = Root::new(files).read(Path::new("packed-refs"), PACKED_LIMIT);
            packed.is_ok_and(|packed| {
                let packed = String::from_utf8_lossy(&packed);
                let mut folders = folders.iter();
                folders.any(|folder| packed.contains(&format!(" {folder}")))
            })
        };
        folders.iter().any(has_loose) || are_packed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_project::Project;
    use std::fs;

    #[test]
    fn a_folder_is_found_among_packed_refs_whether_they_are_sorted_or_not() {
        let temp = tempfile::tempdir().unwrap();
        let git = git2::Repository::init(temp.path()).unwrap();
        let project = Project::open(temp.path(), Some(Path::new("kernel.cu"))).unwrap();
        let repo = Repo::open(&project).unwrap();
        let id = "0123456789".repeat(4);
        let write = |header: &str, names: &[String]| {
            let lines: String = names
                .iter()
                .map(|name| format!("{id} {name}\n^{id}\n"))
                .collect();
            fs::write(git.path().join("packed-refs"), format!("{header}{lines}")).unwrap();
        };
        let mut names: Vec<String> = (0..2_000)
            .map(|run| format!("refs/lab/discarded/{run}"))
            .collect();
        names.extend(["refs/heads/main", "refs/lab/raw/x", "refs/notes/lab"].map(str::to_owned));
        names.sort();
        let found = || {
            let folders = [
                "refs/heads/",
                "refs/lab/discarded/",
                "refs/lab/exact/",
                "refs/lab/raw/",
                "refs/a/",
                "refs/z/",
            ];
            folders.map(|folder| repo.has_refs_in(&[folder]))
        };
        let there = [true, true, false, true, false, false];
        write("# pack-refs with: peeled fully-peeled sorted \n", &names);
        assert_eq!(found(), there);
        names.reverse();
        write("", &names);
        assert_eq!(found(), there);
        write("# pack-refs with: peeled fully-peeled sorted \n", &[]);
        assert_eq!(found(), [false; 6]);
        // A loose one.
        git.reference("refs/lab/exact/a", git.blob(b"").unwrap(), true, "")
            .unwrap();
        assert!(repo.has_refs_in(&["refs/a/", "refs/lab/exact/"]));
    }
}
