//! The board: every decision with its status, and what is wrong.

use crate::claim::{Numbers, fill};
use crate::evidence::Evidence;
use crate::file::{DecisionsFile, Entry};
use crate::filled::{Cited, Filled};
use crate::next::{Next, OUT_OF_REACH, to_do};
use crate::proof::{Held, is_committed, is_id};
use crate::status::{self, Expected, Reason, Status};
use crate::typed::{cards, misnamed, uncited};
use crate::universal::overclaimed;
use crate::{DECISIONS, ID_FORM, SIGNERS};
use anyhow::{Context, Result};
use lab_git::Repo;
use lab_history::kernels::{self, Standing};
use lab_project::Project;
use lab_run::experiment::Experiment;
use lab_store::RunIndex;
use lab_store::signature::signers::Signers;
use lab_text::sanitise;
use lab_text::suggest::did_you_mean;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use toml::Spanned;

/// The decisions of a repository.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Board {
    pub counts: Counts,
    /// In the order of decisions.toml.
    pub decisions: Vec<Decision>,
    /// The evidence that decisions list and that is there, by its id.
    pub evidence: BTreeMap<String, Held>,
    /// What is false, and what is only to be known.
    pub problems: Vec<Problem>,
}

/// How many decisions have which status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "DecisionCounts")]
pub struct Counts {
    pub supported: usize,
    pub measured: usize,
    pub caveated: usize,
    pub rejected: usize,
    /// Those with evidence of another kernel than HEAD's. They have a status besides.
    pub stale: usize,
}

/// A decision, as the board shows it. Its texts are clean for a terminal, and are no HTML.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "BoardDecision")]
pub struct Decision {
    pub id: String,
    pub domain: String,
    pub title: String,
    pub claim: Filled,
    /// The rule's, or the lower one that a person chose.
    pub status: Status,
    /// What the evidence allows.
    pub rule: Status,
    /// Why the rule's status is not better.
    pub reasons: Vec<Reason>,
    /// What the evidence must show; null if the file does not say it.
    pub verdict: Option<Expected>,
    /// What the evidence does not show.
    pub boundary: Filled,
    /// The ids of its evidence.
    pub evidence: Vec<String>,
    /// Its evidence that is of another kernel than HEAD's, each in a sentence.
    pub stale: Vec<String>,
    /// Evidence that is to be made.
    pub next: Vec<Next>,
}

/// Something that is to be put right, or to be known.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "BoardProblem")]
pub struct Problem {
    /// Whether the board says something false: `lab decisions check` then exits with 1. Else it is a
    /// warning.
    pub is_false: bool,
    /// Where it is, what it is, and what to do.
    pub text: String,
}

impl Board {
    /// Reads the decisions and their evidence, and proves what can be proved. Reads no record and no
    /// ledger. The error is of a file that cannot be read at all.
    pub fn read(repo: &Repo) -> Result<Board> {
        let root = &repo.project.root;
        let file = DecisionsFile::read(root)?;
        let signers = Signers::read(root)?;
        let mut board = Board::default();
        let faults = file.faults.iter().chain(&signers.problems);
        faults.for_each(|text| board.wrong(text.clone()));
        let mut seen = HashSet::new();
        for entry in &file.entries {
            let id = entry.id.get_ref();
            let fault = match (is_id(id), seen.insert(id)) {
                (false, _) => format!("'{id}' is no id of a decision: {ID_FORM}"),
                (_, false) => format!("two decisions have the id '{id}': rename one"),
                _ => String::new(),
            };
            if !fault.is_empty() {
                board.wrong(format!("{}: {fault}", file.position(&entry.id)));
                continue;
            }
            board.hold(repo, &signers, &file, entry);
            for next in entry.next.iter().filter(|next| next.is_out_of_reach()) {
                let at = file.position(&next.what);
                board.problem(false, format!("{at}: {OUT_OF_REACH}"));
            }
            let decision = board.decide(&file, entry);
            board.decisions.push(decision);
        }
        board.counts = Counts::of(&board.decisions);
        board.problems.extend(board.cut_off());
        Ok(board)
    }

    /// That a shallow clone cannot check some of the evidence. The remedy is one for all of it.
    fn cut_off(&self) -> Option<Problem> {
        let unchecked = self.evidence.iter();
        let mut unchecked = unchecked.filter_map(|(id, held)| Some((id, held.unchecked.as_ref()?)));
        let (first, why) = unchecked.next()?;
        let more = match unchecked.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!("evidence {first}{more} cannot be checked here: {why}");
        Some(Problem {
            is_false: false,
            text,
        })
    }

    /// The decisions by domain, in the order in which the file first names the domains.
    pub fn domains(&self) -> Vec<(&str, Vec<&Decision>)> {
        let mut domains: Vec<(&str, Vec<&Decision>)> = Vec::new();
        for decision in &self.decisions {
            let known = domains
                .iter_mut()
                .find(|(name, _)| *name == decision.domain);
            match known {
                Some((_, of)) => of.push(decision),
                None => domains.push((&decision.domain, vec![decision])),
            }
        }
        domains
    }

    /// The decision of this id; the error names one that is called alike.
    pub fn named(&self, id: &str) -> Result<&Decision> {
        let mut all = self.decisions.iter();
        let found = all.find(|decision| decision.id == id);
        let like = || did_you_mean(id, self.decisions.iter().map(|it| it.id.as_str()));
        found.with_context(|| format!("{DECISIONS} has no decision '{id}'{}", like()))
    }

    /// What is known of a kernel, and the repository as it is opened for it. `None` if the kernel
    /// has no experiment.
    pub fn standing<'e>(
        &self,
        (project, kernel): (&Project, &str),
        index: &RunIndex,
        experiments: &'e [Experiment],
    ) -> Result<Option<(Repo, Standing<'e>)>> {
        if experiments
            .iter()
            .all(|e| e.kernel.as_deref() != Some(kernel))
        {
            return Ok(None);
        }
        let repo = kernels::open(project, kernel)?;
        let mut standing = Standing::of(&repo, index, experiments);
        self.fill_peers(kernel, &mut standing);
        Ok(Some((repo, standing)))
    }

    /// Gives a kernel without records of its peers the ratios of the newest signed evidence of its
    /// present bytes.
    pub fn fill_peers(&self, kernel: &str, standing: &mut Standing) {
        if !standing.peers.is_empty() || standing.incumbent.is_none_or(|e| e.emulated) {
            return;
        }
        let proved = self.evidence.values().filter(|held| held.is_of_head());
        let of_kernel = proved.map(|held| &held.evidence).filter(|evidence| {
            evidence.kernel == kernel && !evidence.emulated && !evidence.peers.is_empty()
        });
        let newest = of_kernel.max_by_key(|evidence| evidence.measured);
        standing.peers = newest.map(Evidence::peer_figures).unwrap_or_default();
    }

    /// Whether nothing on it is false.
    pub fn is_true(&self) -> bool {
        self.problems.iter().all(|problem| !problem.is_false)
    }

    fn wrong(&mut self, text: String) {
        self.problem(true, text);
    }

    fn problem(&mut self, is_false: bool, text: String) {
        let text = sanitise::words(&text);
        self.problems.push(Problem { is_false, text });
    }

    /// Reads the evidence that an entry lists, unless another entry listed it before.
    fn hold(&mut self, repo: &Repo, signers: &Signers, file: &DecisionsFile, entry: &Entry) {
        let done = entry.next.iter().filter_map(|next| next.done.as_ref());
        for listed in entry.listed().iter().chain(done) {
            let id = listed.get_ref();
            if self.evidence.contains_key(id) {
                continue;
            }
            match Held::read(repo, signers, id) {
                Ok(held) => {
                    let faults = held.faults.iter();
                    faults.for_each(|fault| self.wrong(format!("evidence {id}: {fault}")));
                    if held.signer.is_none() && held.faults.is_empty() {
                        let why = format!(
                            "evidence {id} is signed by no key of {SIGNERS}: whoever made it is not known"
                        );
                        self.problem(false, why);
                    }
                    if let Some(stale) = &held.stale {
                        self.problem(false, format!("evidence {id} is stale: {stale}"));
                    }
                    if !is_committed(repo, id) {
                        let why = format!("evidence {id} is not committed, so a clone lacks it");
                        self.problem(false, why);
                    }
                    self.evidence.insert(id.clone(), held);
                }
                Err(why) => self.wrong(format!("{}: {why}", file.position(listed))),
            }
        }
    }

    fn decide(&mut self, file: &DecisionsFile, entry: &Entry) -> Decision {
        let ids = entry.listed().iter().map(|id| id.get_ref().as_str());
        let ids: Vec<&str> = ids.collect();
        let held = ids.iter().copied();
        let held = held.filter_map(|id| Some((id, self.evidence.get(id)?)));
        let held: BTreeMap<&str, &Held> = held.collect();
        let mut faults = Vec::new();
        let mut filled = |text: &Spanned<String>, numbers: Numbers| {
            let (filled, wrong) = fill(&sanitise::words(text.get_ref()), numbers, &ids, &held);
            // To find the place reads the file up to it.
            faults.extend(wrong.into_iter().map(|wrong| (file.position(text), wrong)));
            filled
        };
        let title = filled(&entry.title, Numbers::Cited);
        let claim = filled(&entry.claim, Numbers::Cited);
        let boundary = entry.boundary.as_ref();
        let boundary = boundary.map(|text| filled(text, Numbers::Any));
        let boundary = boundary.unwrap_or_default();
        let mut reasons = reasons(entry.verdict, &held, [&title, &claim]);
        let mut caveat = |text| {
            let allows = Status::Caveated;
            reasons.push(Reason { allows, text });
        };
        let gone = ids.iter().filter(|id| !held.contains_key(*id));
        gone.for_each(|id| caveat(format!("{id} is listed, and cannot be read")));
        let wrong = cards([&title, &claim], &held).into_iter();
        let wrong = wrong.chain(overclaimed([&title, &claim], entry.verdict, &held));
        faults.extend(wrong.map(|wrong| (file.position(&entry.claim), wrong)));
        faults.iter().for_each(|(_, wrong)| caveat(wrong.clone()));
        let rule = status::by_rule(&reasons);
        let (next, undone) = to_do(&entry.next, |done| file.position(done), &ids, &held);
        faults.extend(undone);
        let chosen = entry.status.as_ref();
        let status = chosen.map_or(rule, |chosen| rule.max(*chosen.get_ref()));
        let stale = held
            .iter()
            .filter_map(|(id, held)| Some(format!("{id}: {}", held.stale.as_ref()?)));
        let decision = Decision {
            id: entry.id.get_ref().clone(),
            domain: sanitise::words(&entry.domain),
            title: title.text,
            status,
            rule,
            verdict: entry.verdict,
            boundary,
            evidence: ids.iter().map(|id| sanitise::words(id)).collect(),
            stale: stale.collect(),
            next,
            reasons: reasons.into_iter().map(clean).collect(),
            claim,
        };
        let faults = faults
            .into_iter()
            .map(|(at, wrong)| format!("{at}: {wrong}"));
        // A status that this clone cannot check is not raised.
        let is_checked = held.values().all(|held| held.unchecked.is_none());
        let faults = faults.chain(raised(file, entry, rule).filter(|_| is_checked));
        faults.for_each(|fault| self.wrong(fault));
        decision
    }
}

/// Everything that limits the status, but for wrong figures.
fn reasons(
    verdict: Option<Expected>,
    held: &BTreeMap<&str, &Held>,
    [title, claim]: [&Filled; 2],
) -> Vec<Reason> {
    let cited: Vec<&Cited> = claim.cited().chain(title.cited()).collect();
    let mut reasons = status::reasons(verdict, held, &cited);
    if verdict.is_some() {
        let uncited = uncited([title, claim], held).into_iter();
        let uncited = uncited.chain(misnamed([title, claim], held));
        let allows = Status::Measured;
        reasons.extend(uncited.map(|text| Reason { allows, text }));
    }
    reasons
}

/// That a person chose a better status than the rule's.
fn raised(file: &DecisionsFile, entry: &Entry, rule: Status) -> Option<String> {
    let chosen = entry.status.as_ref();
    let chosen = chosen.filter(|chosen| *chosen.get_ref() < rule)?;
    Some(format!(
        "{}: the status of '{}' is {}, and its evidence allows {}: write that, a lower one or none",
        file.position(chosen),
        entry.id.get_ref(),
        chosen.get_ref().word(),
        rule.word()
    ))
}

fn clean(reason: Reason) -> Reason {
    let text = sanitise::words(&reason.text);
    Reason { text, ..reason }
}

impl Decision {
    /// Whether it lists evidence of this id, or a next step brought it.
    pub fn uses(&self, id: &str) -> bool {
        let mut done = self.next.iter().filter_map(|next| next.done.as_deref());
        self.evidence.iter().any(|listed| listed == id) || done.any(|brought| brought == id)
    }
}

impl Counts {
    fn of(decisions: &[Decision]) -> Counts {
        let count = |wanted| decisions.iter().filter(|it| it.status == wanted).count();
        Counts {
            supported: count(Status::Supported),
            measured: count(Status::Measured),
            caveated: count(Status::Caveated),
            rejected: count(Status::Rejected),
            stale: decisions.iter().filter(|it| !it.stale.is_empty()).count(),
        }
    }

    /// The number of this status.
    pub fn get(&self, status: Status) -> usize {
        match status {
            Status::Supported => self.supported,
            Status::Measured => self.measured,
            Status::Caveated => self.caveated,
            Status::Rejected => self.rejected,
        }
    }
}
