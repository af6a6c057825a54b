//! Evidence that is still to be made, and whether it was made since.

use crate::evidence::Evidence;
use crate::proof::Held;
use crate::typed::unmeasured_cards;
use lab_text::sanitise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Spanned;

/// What is said of a command that no run of lab can repeat.
pub const OUT_OF_REACH: &str = "its command makes no evidence of lab, so no run can tick it: name `lab bench FOLDER`, or say it in \
                            `boundary`";

/// Evidence that is to be made.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "NextEvidence")]
pub struct Next {
    pub what: String,
    /// Empty if the file names none.
    pub command: String,
    /// Empty if the file names none.
    pub reason: String,
    /// The evidence that it brought; null if it is still to be made.
    pub done: Option<String>,
}

/// Evidence that is to be made, as decisions.toml has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextEntry {
    pub what: Spanned<String>,
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub reason: String,
    /// The evidence that it brought.
    pub done: Option<Spanned<String>>,
}

impl NextEntry {
    /// The command and the folder, if a run of lab can make evidence by it.
    pub fn repeated(&self) -> Option<Vec<&str>> {
        let words = in_three_words(&self.command);
        let is_of_lab = matches!(
            words.as_slice(),
            ["lab", "run" | "bench" | "sweep" | "profile", _]
        );
        is_of_lab.then_some(words)
    }

    /// Whether no run can tick it: its command makes no evidence.
    pub fn is_out_of_reach(&self) -> bool {
        self.done.is_none() && !self.command.is_empty() && self.repeated().is_none()
    }

    /// Why evidence is not what is to be made, in words behind its id. `earlier` is what the decision
    /// listed before it.
    pub fn denies(&self, evidence: &Evidence, earlier: &[(&str, &Evidence)]) -> Option<String> {
        let mut older = earlier.iter();
        let older = older.find(|(_, it)| it.measured >= evidence.measured);
        let mut cards = unmeasured_cards(self.what.get_ref(), evidence).into_iter();
        let words = in_three_words(&evidence.command);
        if earlier.is_empty() {
            return Some("is the evidence that the decision began with".to_owned());
        }
        if let Some((id, _)) = older {
            return Some(format!(
                "was measured no later than '{id}', which is listed before it"
            ));
        }
        // An emulated time is no evidence of a GPU.
        if evidence.emulated {
            return Some("was measured on an emulated device".to_owned());
        }
        if let Some(card) = cards.next() {
            return Some(format!("was not measured on {card}"));
        }
        let wanted = self.repeated().filter(|wanted| *wanted != words)?;
        Some(format!(
            "was made by `{}`, and not by `{}`",
            words.join(" "),
            wanted.join(" ")
        ))
    }
}

/// `lab`, the command and the folder, without a slash at its end.
fn in_three_words(command: &str) -> Vec<&str> {
    let words = command.split_whitespace().take(3);
    words.map(|word| word.trim_end_matches('/')).collect()
}

/// What is to be made, and what is wrong with what is said to be done, each with its place.
pub fn to_do(
    entries: &[NextEntry],
    position: impl Fn(&Spanned<String>) -> String,
    listed: &[&str],
    held: &BTreeMap<&str, &Held>,
) -> (Vec<Next>, Vec<(String, String)>) {
    let (mut all, mut faults) = (Vec::new(), Vec::new());
    for next in entries {
        let done = next.done.as_ref();
        let wrong = done.and_then(|done| not_done(next, done, listed, held));
        let done = done.filter(|_| wrong.is_none());
        all.push(Next {
            what: sanitise::words(next.what.get_ref()),
            command: sanitise::words(&next.command),
            reason: sanitise::words(&next.reason),
            done: done.map(|id| sanitise::words(id.get_ref())),
        });
        let at = next.done.as_ref().map(&position);
        faults.extend(at.zip(wrong));
    }
    (all, faults)
}

/// Why the evidence that `done` names does not bring what was to be made, in a sentence.
fn not_done(
    next: &NextEntry,
    done: &Spanned<String>,
    listed: &[&str],
    held: &BTreeMap<&str, &Held>,
) -> Option<String> {
    let id = done.get_ref();
    let Some(at) = listed.iter().position(|it| it == id) else {
        return Some(format!(
            "'{id}' is done, and is not among the evidence of this decision"
        ));
    };
    let evidence = |id: &&str| held.get(id).map(|held| &held.evidence);
    let earlier = listed[..at].iter();
    let earlier: Vec<_> = earlier
        .filter_map(|id| Some((*id, evidence(id)?)))
        .collect();
    let why = match evidence(&listed[at]) {
        Some(of) => next.denies(of, &earlier)?,
        None => "cannot be read".to_owned(),
    };
    let what = next.what.get_ref();
    Some(format!("'{what}' is not done: '{id}' {why}"))
}
