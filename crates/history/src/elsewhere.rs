//! Experiments whose commits are not in this clone: how many they are, and where `lab fetch` finds
//! them.

use super::History;
use anyhow::{Result, bail};
use itertools::Itertools;
use lab_git::{Bundle, Fetched, Repo};
use lab_project::trust;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The rows whose commits git does not hold here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// How many rows.
    pub rows: usize,
    /// Where they may be; `None` if neither a bundle nor a remote is known.
    pub source: Option<Source>,
}

/// Where to fetch from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Bundles that hold some of the commits, or records: their paths, relative to the work tree
    /// where they are in it.
    Bundles(Vec<PathBuf>),
    /// A remote; nobody looked there.
    Remote(String),
}

impl Elsewhere {
    /// `None` if git holds the commit of every row.
    pub fn look(repo: &Repo, history: &History) -> Result<Option<Elsewhere>> {
        let present = history.present(repo)?;
        let missing = history
            .without_record()
            .filter(|commit| !present.holds(commit));
        let (mut rows, mut commits) = (0, BTreeSet::new());
        for commit in missing {
            rows += 1;
            commits.insert(commit);
        }
        if rows == 0 {
            return Ok(None);
        }
        Ok(Some(Elsewhere {
            rows,
            source: source(repo, Some(&commits)),
        }))
    }

    /// One or two sentences: how many rows, and the command.
    pub fn text(&self) -> String {
        let (rows, have, them) = match self.rows {
            1 => ("1 row has".to_owned(), "its commit is", "it"),
            rows => (format!("{rows} rows have"), "their commits are", "them"),
        };
        let what = format!("{rows} neither record nor commit here: {have} of another clone");
        match &self.source {
            Some(source) => format!("{what}. {}: `lab fetch` fetches {them}", source.text()),
            None => format!(
                "{what}. `lab fetch FROM` fetches {them} from a bundle, a remote or that clone"
            ),
        }
    }
}

impl Source {
    fn text(&self) -> String {
        match self {
            Source::Bundles(paths) => {
                let more = paths.len().saturating_sub(NAMED);
                let more = (more > 0).then(|| format!("{more} more bundles"));
                let named = paths
                    .iter()
                    .take(NAMED)
                    .map(|path| path.display().to_string());
                let names = named.chain(more).join(", ");
                let hold = if paths.len() == 1 { "holds" } else { "hold" };
                format!("{names} {hold} commits and records of experiments")
            }
            Source::Remote(name) => format!("The remote {name} may have them"),
        }
    }
}

/// Most bundles that are named.
const NAMED: usize = 3;

/// Where `lab fetch` would look: bundles that hold one of these commits or records (without
/// `commits`: any), else a remote.
pub fn source(repo: &Repo, commits: Option<&BTreeSet<&str>>) -> Option<Source> {
    let project = &repo.project;
    let folders = [project.root.as_path(), &project.home, &project.problem_dir];
    let none = BTreeSet::new();
    let is_wanted = |bundle: &Bundle| bundle.holds_any(commits.unwrap_or(&none));
    let bundles: Vec<PathBuf> = lab_git::bundles(repo, &folders)
        .into_iter()
        .filter(is_wanted)
        .map(|bundle| {
            bundle
                .path
                .strip_prefix(&project.root)
                .map_or(bundle.path.clone(), Path::to_path_buf)
        })
        .collect();
    if !bundles.is_empty() {
        return Some(Source::Bundles(bundles));
    }
    let remotes = lab_git::remotes(repo);
    let usual = remotes
        .iter()
        .find(|name| *name == "origin")
        .or(remotes.first());
    usual.map(|name| Source::Remote(name.clone()))
}

/// Fetches commits and records from `from`: a bundle, a remote or another repository. Without it,
/// from where [`source()`] finds them. Returns what each source brought.
pub fn fetch(repo: &Repo, here: &Path, from: Option<&str>) -> Result<Vec<(String, Fetched)>> {
    require_trust(repo)?;
    let project = &repo.project;
    let sources: Vec<String> = match from {
        Some(from) => vec![from.to_owned()],
        None => match source(repo, None) {
            Some(Source::Bundles(paths)) => paths
                .iter()
                .map(|path| project.root.join(path).display().to_string())
                .collect(),
            Some(Source::Remote(name)) => vec![name],
            None => bail!(
                "there is neither a bundle with experiments here nor a remote: `lab fetch FROM` names one"
            ),
        },
    };
    let mut brought = Vec::new();
    for from in sources {
        let bundle = [here, &project.root]
            .iter()
            .find_map(|folder| Bundle::read(&folder.join(&from)));
        let (path, name) = match &bundle {
            Some(bundle) => (bundle.path.display().to_string(), name_of(bundle)),
            None if lab_git::remotes(repo).contains(&from) => (from.clone(), plain(&from)),
            None => {
                let path = here.join(&from);
                let is_folder = path.is_dir();
                let path = if is_folder {
                    path.display().to_string()
                } else {
                    from.clone()
                };
                (
                    path,
                    plain(
                        from.trim_end_matches('/')
                            .rsplit('/')
                            .next()
                            .unwrap_or(&from),
                    ),
                )
            }
        };
        brought.push((from, lab_git::fetch(repo, &path, &name)?));
    }
    Ok(brought)
}

/// Refuses a fetch that would start a program which the folder names, unless the user trusts the
/// folder.
fn require_trust(repo: &Repo) -> Result<()> {
    match lab_git::fetch_programs(repo)? {
        // Without a place to remember trust, nothing is trusted.
        Some(program) if !trust::is_granted(&repo.project) => bail!(
            "a fetch here would use {program}, which may have come with this folder: look at it, then `lab trust` lets it run"
        ),
        _ => Ok(()),
    }
}

/// A name for a bundle's refs. Another content has another name: what was fetched before keeps its
/// refs.
fn name_of(bundle: &Bundle) -> String {
    let stem = bundle
        .path
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let refs: String = bundle
        .refs
        .iter()
        .map(|(id, name)| format!("{id} {name}\n"))
        .collect();
    format!(
        "{}-{}",
        plain(&stem),
        &blake3::hash(refs.as_bytes()).to_hex()[..8]
    )
}

/// A text as one part of a ref's name.
fn plain(text: &str) -> String {
    let name: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    if name.is_empty() {
        "experiments".to_owned()
    } else {
        name
    }
}
