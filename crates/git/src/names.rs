//! Finds commits by name: by an id or a ref that the lab has, and by whatever a user types.

use super::history::{check_commits, refs_matching};
use super::{Repo, bounds, log};
use anyhow::{Result, anyhow, bail};
use git2::{Commit, ErrorClass, ErrorCode, Oid, Repository};

/// The places where git looks for a ref, the first one first (gitrevisions(7)).
const PLACES: [&str; 6] = [
    "",
    "refs/",
    "refs/tags/",
    "refs/heads/",
    "refs/remotes/",
    "refs/lab/",
];

/// A commit that a name may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    /// Full id.
    pub id: String,
    pub subject: String,
    /// The refs by which the name means this commit. None of them: the name is a prefix of its id,
    /// or an expression.
    pub refs: Vec<String>,
}

/// Finds a commit by the prefix of its id, or by any other name that git knows. If a ref
/// has the name of an id, the id wins: the lab asks by ids of rows and records.
pub fn find<'r>(git: &'r Repository, name: &str) -> Result<Commit<'r>> {
    if is_prefix(name)
        && let [only] = with_prefix(git, name)?[..]
    {
        return Ok(git.find_commit(only)?);
    }
    parsed(git, name)?.ok_or_else(|| match is_prefix(name) {
        // The id of a row or of a record.
        true if git.is_shallow() => anyhow!(
            "this clone is shallow and does not hold the commit {name}: `git fetch --unshallow` fetches the older commits"
        ),
        // Another clone made it.
        true => {
            anyhow!("git does not hold the commit {name} here: `lab fetch` fetches commits of other clones")
        }
        false => unknown(name),
    })
}

/// The commit that an expression like `HEAD~1` means; `None` if it means none. The error is about a
/// name of several commits, or a commit on the way that git cannot read.
fn parsed<'r>(git: &'r Repository, name: &str) -> Result<Option<Commit<'r>>> {
    check_expression(git, name)?;
    let object = git.revparse_single(name);
    let error = match object.and_then(|object| object.peel_to_commit()) {
        Ok(commit) => return Ok(Some(commit)),
        Err(error) => error,
    };
    // An id may be of another clone, and a shallow clone has no older commits: neither is lost.
    let may_be_elsewhere = is_prefix(name) || git.is_shallow();
    match (error.code(), error.class()) {
        (ErrorCode::Ambiguous, _) => {
            bail!("'{name}' names more than one commit: give more digits")
        }
        (_, ErrorClass::Odb) if !may_be_elsewhere => Err(error.into()),
        _ => Ok(None),
    }
}

/// Every commit that a name may mean: a ref in any place where git looks, the prefix of an id, an
/// expression like `HEAD~1`, and for a number the attempts of discarded runs with this number and
/// of runs that were left, fetched ones too.
pub fn commits_named(repo: &Repo, name: &str) -> Result<Vec<NamedCommit>> {
    let git = &repo.git;
    let mut found: Vec<(Oid, Option<String>)> = Vec::new();
    if name.len() < 40 || !is_prefix(name) {
        for place in PLACES {
            let full = format!("{place}{name}");
            match git.find_reference(&full) {
                Ok(reference) => found.push((bounds::commit_at(git, &reference)?.id(), Some(full))),
                Err(error)
                    if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {}
                // The ref is damaged.
                Err(error) => return Err(error.into()),
            }
        }
    }
    if is_prefix(name) {
        found.extend(with_prefix(git, name)?.into_iter().map(|id| (id, None)));
    }
    if name.bytes().all(|b| b.is_ascii_digit()) {
        found.extend(discarded(git, name)?);
    }
    // What is all hex digits is a number or an id, which was looked for.
    if found.is_empty() && !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        found.extend(parsed(git, name)?.map(|commit| (commit.id(), None)));
    }
    let mut named: Vec<NamedCommit> = Vec::new();
    for (id, reference) in found {
        let id = id.to_string();
        match named.iter_mut().find(|known| known.id == id) {
            Some(known) => known.refs.extend(reference),
            None => {
                let subject = log::subject(&find(git, &id)?);
                named.push(NamedCommit {
                    id,
                    subject,
                    refs: reference.into_iter().collect(),
                });
            }
        }
    }
    Ok(named)
}

/// Full id and subject of the commit that a name means. Refuses a name that means several.
pub fn resolve(repo: &Repo, name: &str) -> Result<(String, String)> {
    let mut named = commits_named(repo, name)?;
    match (named.pop(), named.is_empty()) {
        (None, _) if repo.git.is_shallow() => Err(anyhow!(
            "there is no commit '{name}' here. This clone is shallow: `git fetch --unshallow` fetches the older commits"
        )),
        (None, _) => Err(unknown(name)),
        (Some(only), true) => Ok((only.id, only.subject)),
        (Some(last), false) => {
            named.push(last);
            let listed: Vec<String> = named.iter().map(|commit| format!("\n  {commit}")).collect();
            bail!(
                "'{name}' names more than one commit: give one of these ids{}",
                listed.concat()
            )
        }
    }
}

impl std::fmt::Display for NamedCommit {
    /// `8da73e8 'two rows a warp' (refs/lab/discarded/16)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Eleven digits: seven may be those of another candidate too.
        write!(
            f,
            "{} '{}'",
            self.id.get(..11).unwrap_or(&self.id),
            self.subject
        )?;
        match self.refs.as_slice() {
            [] => Ok(()),
            refs => write!(f, " ({})", refs.join(", ")),
        }
    }
}

/// The error about a name that means no commit.
pub fn unknown(name: &str) -> anyhow::Error {
    let what = match name.parse::<u64>() {
        Ok(_) => "run or commit",
        Err(_) => "commit",
    };
    anyhow!("there is no {what} '{name}': `lab log --all` lists the experiments with their commits")
}

fn is_prefix(name: &str) -> bool {
    (DIGITS..=40).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Refuses a name, or an expression like `HEAD~2`, where libgit2 would read a commit that is cut
/// off.
fn check_expression(git: &Repository, name: &str) -> Result<()> {
    let from = name.split(['~', '^']).next().unwrap_or_default();
    let tips = match git.resolve_reference_from_short_name(from) {
        Ok(reference) => vec![bounds::commit_at(git, &reference)?.id()],
        Err(_) if is_prefix(from) => with_prefix(git, from)?,
        Err(_) => Vec::new(),
    };
    if from.len() < name.len() {
        for tip in tips {
            check_commits(git, tip, Oid::ZERO_SHA1)?;
        }
    }
    Ok(())
}

/// The commits whose id begins with these digits. Other objects may begin with them too.
fn with_prefix(git: &Repository, digits: &str) -> Result<Vec<Oid>> {
    match git
        .odb()?
        .exists_prefix(Oid::from_str(digits)?, digits.len())
    {
        Ok(id) => {
            bounds::check_message(git, id)?;
            return Ok(git.find_commit(id).map(|it| it.id()).into_iter().collect());
        }
        Err(error) if error.code() != ErrorCode::Ambiguous => return Ok(Vec::new()),
        Err(_) => {}
    }
    let digits = digits.to_ascii_lowercase();
    let mut found = with_prefixes(git, std::iter::once(digits.as_str()))?;
    found.retain(|id| id.to_string().starts_with(&digits) && bounds::commit(git, *id).is_ok());
    Ok(found)
}

/// The attempts of discarded runs with this number: `refs/lab/discarded/N`, `N-2`, …, here and in
/// what was fetched.
fn discarded(git: &Repository, number: &str) -> Result<Vec<(Oid, Option<String>)>> {
    let mut found = Vec::new();
    for (name, reference) in refs_matching(git, "refs/lab/*")? {
        let found_in = |folder: &str| name.rsplit_once(folder).map(|(_, run)| run);
        let Some(run) = found_in("/discarded/").or_else(|| found_in("/left/")) else {
            continue;
        };
        let is_of_run = match run.strip_prefix(number) {
            Some("") => true,
            Some(further) => further
                .strip_prefix('-')
                .is_some_and(|n| n.parse::<u64>().is_ok()),
            None => false,
        };
        if is_of_run && let Ok(commit) = bounds::commit_at(git, &reference) {
            found.push((commit.id(), Some(name)));
        }
    }
    Ok(found)
}

/// Hex digits that a short id has at least.
pub const DIGITS: usize = 4;

/// Ids of objects that begin as one of the asked short ids does.
pub struct Present {
    /// Sorted.
    ids: Vec<Oid>,
}

impl Present {
    /// Looks through all objects of the repository once. A short id has at least
    /// `DIGITS` hex digits; others are not found.
    pub fn of<'s>(repo: &Repo, short_ids: impl Iterator<Item = &'s str>) -> Result<Present> {
        let ids = with_prefixes(&repo.git, short_ids)?;
        Ok(Present { ids })
    }

    /// Whether git holds an object whose id begins with these digits.
    pub fn holds(&self, short: &str) -> bool {
        first_with(&self.ids, short).is_some()
    }
}

/// The ids of all objects that begin with the first [`DIGITS`] of one of these short ids, sorted.
fn with_prefixes<'s>(
    git: &Repository,
    short_ids: impl Iterator<Item = &'s str>,
) -> Result<Vec<Oid>> {
    let mut wanted = vec![false; 1 << (4 * DIGITS)];
    for short in short_ids {
        if let Some(start) = short.get(..DIGITS)
            && let Ok(start) = usize::from_str_radix(start, 16)
        {
            wanted[start] = true;
        }
    }
    let mut ids = Vec::new();
    if wanted.contains(&true) {
        git.odb()?.foreach(|id| {
            let bytes = id.as_bytes();
            if wanted[usize::from(bytes[0]) << 8 | usize::from(bytes[1])] {
                ids.push(*id);
            }
            true
        })?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// The position of the first id that begins with these hex digits. The ids are sorted.
pub fn first_with(ids: &[Oid], digits: &str) -> Option<usize> {
    // Missing digits count as zeros.
    let least = Oid::from_str(digits).ok()?;
    let at = ids.partition_point(|id| *id < least);
    ids.get(at)?
        .to_string()
        .starts_with(&digits.to_ascii_lowercase())
        .then_some(at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_id_of_another_clone_is_told_from_a_name_that_nothing_has() {
        let temp = tempfile::tempdir().unwrap();
        let git = Repository::init(temp.path()).unwrap();
        let said = |name: &str| find(&git, name).unwrap_err().to_string();
        let remedy = "git does not hold the commit b2c3f88 here: `lab fetch` fetches commits of other clones";
        assert_eq!(said("b2c3f88"), remedy);
        assert_eq!(
            said("nothing"),
            "there is no commit 'nothing': `lab log --all` lists the experiments with their commits"
        );
    }
}
