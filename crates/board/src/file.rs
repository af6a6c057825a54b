//! decisions.toml: its keys, and where in it something stands.

use crate::claim::{Numbers, fill};
use crate::evidence::Evidence;
use crate::next::NextEntry;
use crate::proof::{LIMIT as EVIDENCE_LIMIT, is_id, path_of};
use crate::status::{Expected, Status};
use crate::{DECISIONS, ID_FORM};
use anyhow::{Context, Result, bail, ensure};
use lab_git::Repo;
use lab_store::RunIndex;
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::root::{Root, if_there};
use lab_text::toml_error;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Most bytes of the file.
const LIMIT: u64 = 1 << 20;

/// Most faults that are told.
const FAULTS: usize = 50;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    decision: Vec<Entry>,
}

/// A `[[decision]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: Spanned<String>,
    pub domain: String,
    pub title: Spanned<String>,
    pub claim: Spanned<String>,
    /// Lower than the rule's; without it the rule's.
    pub status: Option<Spanned<Status>>,
    /// What every named workload must show beside the peer.
    pub verdict: Option<Expected>,
    /// What the evidence does not show.
    pub boundary: Option<Spanned<String>>,
    pub evidence: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    pub next: Vec<NextEntry>,
}

impl Entry {
    /// The evidence that it lists.
    pub fn listed(&self) -> &[Spanned<String>] {
        self.evidence.as_ref().map_or(&[], |list| list.get_ref())
    }
}

/// The file as it was read.
#[derive(Default)]
pub struct DecisionsFile {
    pub entries: Vec<Entry>,
    /// Conflicts of a merge, and decisions that cannot be read, each in a sentence with its place.
    pub faults: Vec<String>,
    text: String,
}

impl DecisionsFile {
    /// Reads the file; a repository without one has no decisions.
    pub fn read(root: &Path) -> Result<DecisionsFile> {
        let path = root.join(DECISIONS);
        let text = if_there(Root::new(root).read_text(&path, LIMIT)).cannot("read", &path)?;
        text.map_or_else(
            || Ok(DecisionsFile::default()),
            |text| DecisionsFile::parse(&text),
        )
    }

    /// Reads a text. A decision that cannot be read is left out, so that the others stay readable.
    /// Returns an error if more than [`FAULTS`] are wrong.
    pub fn parse(text: &str) -> Result<DecisionsFile> {
        let (mut text, mut faults) = without_conflicts(text);
        loop {
            let error = match toml::from_str::<Content>(&text) {
                Ok(Content { decision: entries }) => {
                    return Ok(DecisionsFile {
                        entries,
                        faults,
                        text,
                    });
                }
                Err(error) => error,
            };
            let (range, fault) = located(&text, &error);
            faults.push(fault);
            let is_left = faults.len() < FAULTS && !text[range.clone()].trim().is_empty();
            ensure!(is_left, "{}", faults.join("\n"));
            let lines = "\n".repeat(text[range.clone()].matches('\n').count());
            text.replace_range(range, &lines);
        }
    }

    /// `decisions.toml:LINE:COLUMN` of a value.
    pub fn position<T>(&self, value: &Spanned<T>) -> String {
        toml_error::position(&self.text, DECISIONS, value.span().start)
    }
}

/// Refuses what cannot be the id of a decision.
pub fn check_id(decision: &str) -> Result<()> {
    ensure!(
        is_id(decision),
        "'{decision}' is no id of a decision: {ID_FORM}"
    );
    Ok(())
}

/// Lists evidence in a decision of decisions.toml, and marks what was to be measured by the same
/// command as done; the other lines stay as they are. Makes the decision if there is none of this
/// id: its claim is the time, for a person to write on. Returns what is done now.
pub fn list(repo: &Repo, decision: &str, id: &str, evidence: &Evidence) -> Result<Vec<String>> {
    let root = &repo.project.root;
    let file = DecisionsFile::read(root)?;
    if let Some(fault) = file.faults.first() {
        bail!("{fault}");
    }
    check_id(decision)?;
    let entry = file.entries.iter().find(|it| it.id.get_ref() == decision);
    let behind = |at: usize, text: String| (at..at, text);
    let mut edits = Vec::new();
    match entry.map(|entry| (entry, entry.listed())) {
        Some((_, listed)) if listed.iter().any(|it| it.get_ref() == id) => {}
        Some((_, [.., last])) => edits.push(behind(last.span().end, format!(", \"{id}\""))),
        Some((entry, [])) => edits.push(match &entry.evidence {
            Some(empty) => (empty.span(), format!("[\"{id}\"]")),
            None => behind(entry.claim.span().end, format!("\nevidence = [\"{id}\"]")),
        }),
        None => edits.push(behind(
            file.text.len(),
            new_decision(repo, decision, id, evidence),
        )),
    }
    let listed = entry.map_or(&[][..], |entry| entry.listed()).iter();
    let earlier = listed.map(Spanned::get_ref).take_while(|it| *it != id);
    let earlier: Vec<_> = earlier
        .filter_map(|id| Some((id.as_str(), present(root, id)?)))
        .collect();
    let earlier: Vec<_> = earlier.iter().map(|(id, of)| (*id, of)).collect();
    let next = entry.map_or(&[][..], |entry| &entry.next).iter();
    let next = next.filter(|next| next.done.is_none() && next.repeated().is_some());
    let done = next.filter(|next| next.denies(evidence, &earlier).is_none());
    let done: Vec<_> = done.collect();
    edits.extend(done.iter().map(|next| {
        let at = next.what.span().end;
        let is_inline = file.text[at..].trim_start().starts_with([',', '}']);
        behind(
            at,
            format!("{}done = \"{id}\"", if is_inline { ", " } else { "\n" }),
        )
    }));
    // From the end, so that the places before an edit stay as they are.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = file.text.clone();
    edits
        .into_iter()
        .for_each(|(range, new)| text.replace_range(range, &new));
    let path = root.join(DECISIONS);
    DecisionsFile::parse(&text).with_context(|| format!("{id} cannot be listed"))?;
    let files = Root::new(root);
    leftovers::sweep(&files, Path::new(""));
    let written = files.replace(&path, text.as_bytes());
    written.cannot("write", &path)?;
    Ok(done
        .iter()
        .map(|next| next.what.get_ref().clone())
        .collect())
}

/// Evidence that is there.
fn present(root: &Path, id: &str) -> Option<Evidence> {
    let text = Root::new(root).read(&path_of(root, id), EVIDENCE_LIMIT);
    serde_json::from_slice(&text.ok()?).ok()
}

/// A decision for a person to write on. Its title is what was tried in the measured bytes. A text with a
/// number of its own could be no title: then the decision's id stands there, in words.
fn new_decision(repo: &Repo, decision: &str, id: &str, evidence: &Evidence) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let kernel = evidence.kernel.rsplit('/').nth(1);
    let kernel = kernel.unwrap_or(&evidence.kernel);
    let index = RunIndex::open(&repo.project);
    let decided = index.newest_of_blob(&evidence.blob);
    let decided = decided.filter_map(|run| run.decision.as_ref());
    let is_title = |text: &&str| {
        let (_, faults) = fill(text, Numbers::Cited, &[], &BTreeMap::new());
        !text.is_empty() && faults.is_empty()
    };
    let tried = decided.map(|it| it.description.as_str()).find(is_title);
    let title = tried.map_or_else(|| decision.replace(['-', '_'], " "), str::to_owned);
    let claim = match evidence.figures.contains_key("us") {
        true => format!("{kernel} takes {{{id}.us}}."),
        false => format!("What follows for {kernel}?"),
    };
    format!(
        "\n[[decision]]\nid = {}\ndomain = \"New\"\ntitle = {}\nclaim = {}\nevidence = [\"{id}\"]\n",
        quoted(decision),
        quoted(&title),
        quoted(&claim),
    )
}

/// The lines of the decision that an error is about, or those before the first decision, and the error
/// in a sentence. What cannot be read by itself is wrong, wherever the parser stumbled over it.
fn located(text: &str, error: &toml::de::Error) -> (Range<usize>, String) {
    let starts = text.match_indices('\n').map(|(end, _)| end + 1);
    let is_head = |at: &usize| {
        let rest = &text[*at..];
        rest.starts_with('[') && !rest.trim_start_matches('[').starts_with("decision.")
    };
    let heads = [0].into_iter().chain(starts).filter(is_head);
    let ends: Vec<usize> = heads.chain([text.len()]).collect();
    let begins = [0].into_iter().chain(ends.iter().copied());
    let parts: Vec<Range<usize>> = begins.zip(&ends).map(|(from, to)| from..*to).collect();
    if text.parse::<toml::Table>().is_err() {
        let is_wrong =
            |part: &&Range<usize>| text[(**part).clone()].parse::<toml::Table>().is_err();
        if let Some(part) = parts.iter().find(is_wrong) {
            let above = "\n".repeat(text[..part.start].matches('\n').count());
            let alone = above + &text[part.clone()];
            let why = alone.parse::<toml::Table>().err();
            let why = why.map(|why| toml_error::explain(&alone, DECISIONS, &why));
            return (part.clone(), why.unwrap_or_default());
        }
    }
    let at = error.span().map_or(0, |span| span.start);
    let nth = parts.partition_point(|part| part.end <= at);
    let part = parts.get(nth).cloned().unwrap_or(0..text.len());
    (part, toml_error::explain(text, DECISIONS, error))
}

/// The text with the side of HEAD in the place of each conflict, and with as many lines; and where
/// the conflicts are.
fn without_conflicts(text: &str) -> (String, Vec<String>) {
    let (mut out, mut found) = (String::new(), Vec::new());
    // The line at which the conflict began, and whether the side of HEAD is over.
    let mut open: Option<(usize, bool)> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let begins = |mark: &str| line.starts_with(mark);
        match open {
            None if begins("<<<<<<<") => open = Some((number, false)),
            Some((from, _)) if begins("|||||||") || line == "=======" => open = Some((from, true)),
            Some((from, _)) if begins(">>>>>>>") => {
                found.push(conflict(from, number));
                open = None;
            }
            Some((_, true)) => {}
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    found.extend(open.map(|(from, _)| conflict(from, text.lines().count())));
    (out, found)
}

fn conflict(from: usize, to: usize) -> String {
    format!(
        "{DECISIONS}:{from}: a merge left a conflict in the lines {from} to {to}: the side of HEAD is shown. Choose \
         the lines that hold, and remove the marks"
    )
}
