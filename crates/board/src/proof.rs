//! What a clone can prove of evidence without a GPU and without a secret: who signed it, that its
//! commit holds what was measured, and whether HEAD holds the same kernel.

use crate::evidence::Evidence;
use crate::unique::read_unique;
use crate::{EVIDENCE, ID_FORM};
use anyhow::Result;
use lab_git::{Repo, short};
use lab_run::record::{VERSION, is_inside};
use lab_store::signature::public::{self, Statement};
use lab_store::signature::signers::Signers;
use lab_system::root::Root;
use lab_text::json::each_text;
use lab_text::sanitise;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Most bytes of a file of evidence.
pub const LIMIT: u64 = 4 << 20;

/// Evidence that the repository holds, and what can be proved of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "HeldEvidence")]
pub struct Held {
    pub evidence: Evidence,
    /// Who signed it, by evidence/allowed_signers; null if no listed key did.
    pub signer: Option<String>,
    /// What it says and the repository denies, in words.
    pub faults: Vec<String>,
    /// Why its commit cannot be read in this clone, which is shallow, in words.
    pub unchecked: Option<String>,
    /// That HEAD holds another kernel, in words.
    pub stale: Option<String>,
}

/// The line of evidence/allowed_signers for this user's key, which is made on first use.
pub fn public_line(repo: &Repo) -> Result<String> {
    let name = lab_git::author_name(repo);
    let name = name.map(|name| sanitise::words(&name));
    let name = name.filter(|name| !name.is_empty());
    Ok(format!(
        "{} {}",
        name.as_deref().unwrap_or("lab"),
        public::key()?
    ))
}

/// Whether a text can name evidence: small letters, digits, `-` and `_`.
pub fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

/// Where the evidence of this id is.
pub fn path_of(root: &Path, id: &str) -> PathBuf {
    root.join(EVIDENCE).join(format!("{id}.json"))
}

impl Held {
    /// Reads evidence/ID.json and proves what can be proved. The error says why it cannot be used.
    pub fn read(repo: &Repo, signers: &Signers, id: &str) -> Result<Held, String> {
        let shown = format!("{EVIDENCE}/{id}.json");
        if !is_id(id) {
            return Err(format!("'{id}' is no id of evidence: {ID_FORM}"));
        }
        let root = &repo.project.root;
        let text = Root::new(root).read(&path_of(root, id), LIMIT);
        let text = text.map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                format!("{shown} is not there: `lab decisions add {id}` makes it from a record")
            }
            _ => format!("cannot read {shown}: {error}"),
        })?;
        if text
            .split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(b"<<<<<<<"))
        {
            return Err(format!(
                "a merge left a conflict in {shown}: take one side whole, as with `git checkout --theirs {shown}`"
            ));
        }
        let damaged = |error| format!("{shown} is damaged: {error}");
        let mut value = read_unique(&text).map_err(damaged)?;
        let version = value.get("version").and_then(Value::as_u64);
        if version.is_some_and(|version| version > VERSION.into()) {
            return Err(format!("a newer lab wrote {shown}: update lab"));
        }
        let signature = value.as_object_mut().and_then(|it| it.remove("signature"));
        let (mut signer, mut faults) = (None, Vec::new());
        match signature.as_ref().and_then(Value::as_str) {
            Some(signature) => match public::signer(Statement::Evidence, &value, signature) {
                Some(key) => signer = signers.name_of(&key).map(str::to_owned),
                None => faults.push("it was changed after it was signed".to_owned()),
            },
            // `lab decisions add` signs what it writes.
            None => {
                faults.push("its signature was taken away: take the file back with git".to_owned());
            }
        }
        each_text(&mut value, "", &|_, text| *text = sanitise::words(text));
        let evidence: Evidence = serde_json::from_value(value).map_err(damaged)?;
        let commit = evidence.commit.as_deref();
        let is_id = |commit: &&str| commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let named = commit.filter(|commit| commit.len() < 40 || !is_id(commit));
        faults
            .extend(named.map(|commit| format!("its commit '{commit}' is no full id of a commit")));
        let unchecked = commit.and_then(|commit| lab_git::cut_off(repo, commit));
        let readable = commit.filter(|_| unchecked.is_none()).into_iter();
        faults.extend(readable.flat_map(|commit| unproved(repo, &evidence, commit)));
        let stale = stale(repo, &evidence);
        Ok(Held {
            evidence,
            signer,
            faults,
            unchecked,
            stale,
        })
    }
}

impl Held {
    /// Whether a listed key signed it, and HEAD holds the kernel that was measured.
    pub fn is_of_head(&self) -> bool {
        self.signer.is_some() && self.stale.is_none()
    }
}

/// What a commit denies of what the evidence says of its files.
pub fn unproved(repo: &Repo, evidence: &Evidence, commit: &str) -> Vec<String> {
    let kernel = &evidence.kernel;
    let mut paths = evidence.inputs.keys().chain([kernel]);
    if let Some(path) = paths.find(|path| !is_inside(path)) {
        return vec![format!(
            "it names {path}, which is outside of the repository"
        )];
    }
    let another = |path: &str| format!("commit {} holds another {path}", short(commit));
    match lab_git::bytes_at(repo, commit, kernel) {
        Err(error) => return vec![format!("{error:#}")],
        Ok(Some((id, _))) if id == evidence.blob => {}
        Ok(_) => return vec![another(kernel)],
    }
    let is_another = |(path, hash): &(&String, &String)| {
        let held = lab_git::bytes_at(repo, commit, path).ok().flatten();
        held.is_none_or(|(_, bytes)| *blake3::hash(&bytes).to_hex() != ***hash)
    };
    let others = evidence.inputs.iter().filter(|(path, _)| *path != kernel);
    let others = others.filter(is_another);
    others.map(|(path, _)| another(path)).collect()
}

/// Whether HEAD holds a file of evidence, so that a clone has it.
pub fn is_committed(repo: &Repo, id: &str) -> bool {
    let head = lab_git::head_commit_id(repo);
    let held = head.map(|head| lab_git::bytes_at(repo, &head, &format!("{EVIDENCE}/{id}.json")));
    held.is_none_or(|held| held.is_ok_and(|held| held.is_some()))
}

/// What HEAD holds in another form than it was measured.
fn stale(repo: &Repo, evidence: &Evidence) -> Option<String> {
    let kernel = &evidence.kernel;
    let head = lab_git::head_commit_id(repo)?;
    let of_head = |path: &str| lab_git::bytes_at(repo, &head, path);
    match of_head(kernel).ok()? {
        None => return Some(format!("HEAD has no {kernel} any more")),
        Some((id, _)) if id != evidence.blob => {
            return Some(format!(
                "HEAD holds another {kernel} than the {} that was measured",
                short(&evidence.blob)
            ));
        }
        Some(_) => {}
    }
    // What the kernel includes, its problem and its peers decide its figures too.
    let inputs = evidence.inputs.iter().filter(|(path, _)| is_inside(path));
    let mut others = inputs.filter(|(path, hash)| {
        let held = of_head(path).ok().flatten();
        held.is_none_or(|(_, bytes)| *blake3::hash(&bytes).to_hex() != ***hash)
    });
    let (path, _) = others.next()?;
    let more = match others.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "HEAD holds another {path}{more} than what was measured"
    ))
}
