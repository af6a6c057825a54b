//! How much work the patterns of `.gitattributes` and `.gitignore` make. libgit2 tries each `*` at
//! each place of a path: a line with a dozen of them and a long name take it years.

use anyhow::{Result, ensure};
use git2::Repository;
use std::path::{Path, PathBuf};

/// Most bytes of such a file.
pub const FILE: u64 = 1 << 20;

/// Most places of a path, for all patterns of a file together, at which libgit2 tries a `*`.
const PLACES: u64 = 20_000_000;

/// Files of one kind of patterns.
pub struct Kind {
    /// Its name in a folder of the work tree.
    pub in_folders: &'static str,
    /// Its place in git's own folder.
    in_git: &'static str,
    /// The setting that names one more.
    setting: &'static str,
    /// Its name beside the user's and the system's settings.
    beside: [Option<&'static str>; 2],
}

pub const ATTRIBUTES: Kind = Kind {
    in_folders: ".gitattributes",
    in_git: "info/attributes",
    setting: "core.attributesFile",
    beside: [Some("attributes"), Some("gitattributes")],
};

pub const IGNORED: Kind = Kind {
    in_folders: ".gitignore",
    in_git: "info/exclude",
    setting: "core.excludesFile",
    beside: [Some("ignore"), None],
};

/// The files whose patterns git compares with a path: the repository's own, that of the settings,
/// those beside the user's and the system's settings, those of the folders.
pub fn files(git: &Repository, path: &str, kind: &Kind) -> Vec<PathBuf> {
    let folders = folders(path).map(|folder| folder.join(kind.in_folders));
    let named = git
        .config()
        .ok()
        .and_then(|config| config.get_path(kind.setting).ok());
    let beside = |settings: Result<PathBuf, git2::Error>, name: Option<&str>| {
        Some(settings.ok()?.with_file_name(name?))
    };
    let of_user = named.or_else(|| beside(git2::Config::find_xdg(), kind.beside[0]));
    let of_system = beside(git2::Config::find_system(), kind.beside[1]);
    let of_tree = |file: PathBuf| git.workdir().map(|root| root.join(file));
    [Some(git.commondir().join(kind.in_git)), of_user, of_system]
        .into_iter()
        .flatten()
        .chain(folders.filter_map(of_tree))
        .collect()
}

pub fn folders(path: &str) -> impl Iterator<Item = &Path> {
    Path::new(path).ancestors().skip(1)
}

/// Refuses patterns with which libgit2 would compare a path of `length` bytes for too long.
pub fn check(text: &[u8], length: usize, shown: &str) -> Result<()> {
    let lines = text.split(|byte| *byte == b'\n');
    let patterns = lines.filter(|line| !line.starts_with(b"#"));
    let tried = patterns
        .map(|pattern| places(runs_of_stars(pattern), length))
        .fold(0, u64::saturating_add);
    ensure!(
        tried <= PLACES,
        "{shown} has patterns with so many `*` that git would compare them with a path for ever: write fewer `*` in a line"
    );
    Ok(())
}

fn runs_of_stars(pattern: &[u8]) -> u64 {
    let runs = pattern.chunk_by(|one, next| (*one == b'*') == (*next == b'*'));
    runs.filter(|run| run.starts_with(b"*")).count() as u64
}

/// In how many ways so many `*` can end at places of a path.
fn places(stars: u64, length: usize) -> u64 {
    let length = length as u64;
    (1..=stars).fold(1, |ways, star| {
        (ways * (length + star) / star).min(PLACES + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_are_compared_for_ever_are_told_from_usual_ones() {
        let fits = |text: &str, length| check(text.as_bytes(), length, ".gitattributes").is_ok();
        let usual = "*.cu text eol=lf\n**/build/**/*.tmp.*\n# ****** a heading ******\n";
        assert!(fits(usual, 60));
        assert!(fits(&"**/[Pp]ackages/*.o\n".repeat(500), 60));
        assert!(!fits("*a*a*a*a*a*a*a*a*a*a*a*a*b/kernel.cu text\n", 40));
        assert!(!fits("*a*a*a*a*b/kernel.cu text\n", 250));
        assert!(!fits(&"*a*a*a*b\n".repeat(10_000), 60));
        assert!(!fits(&format!("{}b\n", "*a".repeat(500_000)), 60));
    }
}
