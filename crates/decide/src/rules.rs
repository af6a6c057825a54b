//! The rules of a problem: what says how its kernel is judged. A keep takes no change of them
//! along.
//!
//! The rules are problem.toml and the .npy and .jsonl files that it names, `reference.*` and peer.py
//! and what these include, and the keys of lab.toml that change a verdict. They are compared with
//! those in HEAD, which everybody gets who checks the commit out.

use anyhow::Result;
use lab_git::Repo;
use lab_project::config::{self, Config};
use lab_run::inputs::{self, Inputs, Role, Source};
use std::fmt;
use std::path::{Path, PathBuf};

/// How the rules on disk compare with those in HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// What differs from HEAD. The change needs a commit of its own before a keep.
    pub changed: Vec<RuleChange>,
    /// Files that HEAD does not hold yet, because the problem has no rules there: its first keep
    /// commits them together with the kernel. Repository-relative.
    pub first: Vec<String>,
}

/// One file of the rules that is not as in HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// Repository-relative.
    pub path: String,
    pub what: RuleDifference,
}

/// How a file of the rules differs from HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleDifference {
    /// HEAD holds other bytes.
    Content,
    /// HEAD does not hold the file, but other rules of the problem.
    NotInHead,
    /// HEAD holds the file, and it is not on disk.
    Gone,
    /// These keys of lab.toml have other values.
    Keys(Vec<String>),
}

/// `lab.toml is not as in HEAD (measure.same_within)`.
impl fmt::Display for RuleChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.what {
            RuleDifference::Content => write!(f, "{path} is not as in HEAD"),
            RuleDifference::NotInHead => write!(f, "{path} is not in HEAD"),
            RuleDifference::Gone => write!(f, "{path} is in HEAD and not on disk"),
            RuleDifference::Keys(keys) => {
                write!(f, "{path} is not as in HEAD ({})", keys.join(", "))
            }
        }
    }
}

impl RuleChange {
    /// What a commit of this change does: `lab.toml is changed (measure.same_within)`. Beside the
    /// commit HEAD is another one.
    pub fn committed(&self) -> String {
        let path = &self.path;
        match &self.what {
            RuleDifference::Content => format!("{path} is changed"),
            RuleDifference::NotInHead => format!("{path} is added"),
            RuleDifference::Gone => format!("{path} is removed"),
            RuleDifference::Keys(keys) => format!("{path} is changed ({})", keys.join(", ")),
        }
    }

    fn new(path: impl Into<String>, what: RuleDifference) -> RuleChange {
        RuleChange {
            path: path.into(),
            what,
        }
    }
}

/// Compares the rules among the inputs with those in HEAD.
pub fn compare(repo: &Repo, inputs: &Inputs) -> Result<Rules> {
    let project = &repo.project;
    let held = held_files(repo)?;
    let is_first = held.is_empty();
    let mut rules = Rules::default();
    for source in inputs
        .sources
        .iter()
        .filter(|source| source.role == Role::Rule)
    {
        let path = &source.file.path;
        // A file outside of the repository is refused as an include.
        let is_outside = project.relative(&source.path).is_none();
        if is_outside
            || is_unreadable(source)
            || is_as_in_head(repo, path, source.bytes.as_deref())?
        {
            continue;
        }
        match (&source.bytes, lab_git::head_holds(repo, path)) {
            (Some(_), false) if is_first => rules.first.push(path.clone()),
            (Some(_), false) => rules
                .changed
                .push(RuleChange::new(path, RuleDifference::NotInHead)),
            (Some(_), true) => rules
                .changed
                .push(RuleChange::new(path, RuleDifference::Content)),
            (None, _) => rules
                .changed
                .push(RuleChange::new(path, RuleDifference::Gone)),
        }
    }
    for path in held {
        let is_input = inputs.sources.iter().any(|source| source.file.path == path);
        if !is_input && !project.root.join(&path).exists() {
            rules
                .changed
                .push(RuleChange::new(path, RuleDifference::Gone));
        }
    }
    compare_config(repo, inputs, is_first, &mut rules)?;
    Ok(rules)
}

/// A file that is too large for an input, or cannot be read. No run reads it as one either.
fn is_unreadable(source: &Source) -> bool {
    source.bytes.is_none() && source.path.exists()
}

/// Whether HEAD holds these bytes at this path, also behind a link that HEAD holds.
fn is_as_in_head(repo: &Repo, path: &str, bytes: Option<&[u8]>) -> Result<bool> {
    let target = lab_git::behind_links(repo, path)?;
    lab_git::in_head(repo, &target, bytes)
}

/// The files of the problem's rules that HEAD holds beside the kernel.
fn held_files(repo: &Repo) -> Result<Vec<String>> {
    let folder = Path::new(&repo.project.kernel_name)
        .parent()
        .unwrap_or(Path::new(""));
    let names = lab_git::names_in_head(repo, folder)?
        .into_iter()
        .filter(|name| inputs::is_rule(name));
    Ok(names
        .map(|name| folder.join(name).to_string_lossy().into_owned())
        .collect())
}

fn compare_config(repo: &Repo, inputs: &Inputs, is_first: bool, rules: &mut Rules) -> Result<()> {
    let held = held_config(repo)?;
    let source = inputs
        .sources
        .iter()
        .find(|source| source.role == Role::Config);
    let present = source
        .and_then(|source| source.bytes.as_deref())
        .map_or_else(Config::default, |bytes| {
            Config::parse(&String::from_utf8_lossy(bytes), config::FILE)
                .unwrap_or_else(|_| repo.project.config.clone())
        });
    let keys = match &held {
        Some((_, Some(held))) => present.judging_differences(held),
        // An older or a newer lab wrote it.
        Some((_, None)) => vec!["its keys in HEAD cannot be read".to_owned()],
        None => present.judging_differences(&Config::default()),
    };
    if keys.is_empty() {
        return Ok(());
    }
    let on_disk = source.map(|source| source.file.path.clone());
    match (on_disk, held) {
        (Some(path), None) if is_first => {
            rules.first.push(path);
            rules.first.extend(first_extras(repo, inputs));
        }
        (Some(path), _) => rules
            .changed
            .push(RuleChange::new(path, RuleDifference::Keys(keys))),
        (None, Some((path, _))) => rules
            .changed
            .push(RuleChange::new(path, RuleDifference::Keys(keys))),
        (None, None) => {}
    }
    Ok(())
}

/// The files of a harness of the user's own that the first commit of its lab.toml takes along: without
/// them the commit does not repeat the measurement. What git ignores stays out.
fn first_extras(repo: &Repo, inputs: &Inputs) -> Vec<String> {
    let extras = inputs.sources.iter().filter(|source| {
        let path = &source.file.path;
        source.role == Role::Extra
            && source.bytes.is_some()
            && repo.project.relative(&source.path).is_some()
            && !lab_git::head_holds(repo, path)
            && !lab_git::ignores(repo, path)
    });
    extras.map(|source| source.file.path.clone()).collect()
}

/// The lab.toml that HEAD holds for this kernel, and its keys if they can be read. It is the
/// nearest one, looked for as on disk; a nearer one that is on disk too belongs to commands that
/// are given in its folder.
fn held_config(repo: &Repo) -> Result<Option<(String, Option<Config>)>> {
    let project = &repo.project;
    let start = if project.problem_dir.starts_with(&project.home) {
        &project.problem_dir
    } else {
        &project.home
    };
    for folder in start
        .ancestors()
        .take_while(|above| above.starts_with(&project.root))
    {
        let file: PathBuf = folder.join(config::FILE);
        let is_nearer = folder != project.home && folder.starts_with(&project.home);
        let Some(path) = project
            .relative(&file)
            .filter(|_| !(is_nearer && file.is_file()))
        else {
            continue;
        };
        if let Some(bytes) = lab_git::bytes_in_head(repo, &lab_git::behind_links(repo, &path)?)? {
            let text = String::from_utf8_lossy(&bytes);
            return Ok(Some((path.clone(), Config::parse(&text, &path).ok())));
        }
    }
    Ok(None)
}
