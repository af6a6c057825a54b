//! A run that has ended: its verdict in words, and what can be done next. `lab run`, `lab bench
//! --verdict` and the tools of `lab mcp` say the same of it.

use super::diagnostics::diagnostics;
use super::measured::Measured;
use super::{peer_lines, unchecked};
use itertools::Itertools;
use lab_decide::auto::{self, AutoDecision, Enough};
use lab_decide::{NotAllowed, allowed, snapshot};
use lab_git::Repo;
use lab_history::last_peers;
use lab_project::Project;
use lab_project::objective::Objective;
use lab_protocol::report::{Severity, Speed};
use lab_protocol::{Exit, Language};
use lab_run::Reason;
use lab_run::inputs;
use lab_run::record::Record;
use lab_run::verdict::{Change, Figure, Outcome, Verdict};
use lab_store::{RunIndex, RunSummary};
use lab_text::figures;
use std::iter;

/// A run with its verdict, and what its answer is looked up in.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub project: &'a Project,
    /// `None` if git's repository cannot be read.
    pub repo: Option<&'a Repo>,
    pub index: &'a RunIndex,
    pub record: &'a Record,
    pub verdict: &'a Verdict,
}

/// What can be done after a verdict.
pub enum Next {
    /// The run is decided.
    Edit,
    /// What the verdict says keeps the kernel from being judged.
    Mend,
    /// No verdict belongs to these bytes.
    JudgeAgain,
    /// No later command finds the verdict, because its record was not written.
    NotRecorded,
    /// The kernel is wrong: it can be mended or discarded.
    Discard,
    /// An earlier keep holds the bytes; the text says which.
    KeptAlready(String),
    /// The rules of the problem are not as in HEAD.
    CommitRules,
    /// The run is of the incumbent's own bytes.
    Incumbent,
    Decide,
}

/// Most races whose lines are told. run.log has more.
const RACES: usize = 3;

/// What a run of HEAD's kernel ends with.
const OWN: &str = "these are the incumbent's own bytes, so nothing is to be decided";

/// What a run ends with whose record was not written. A caveat says why.
const NOT_RECORDED: &str = "nothing can be decided about this run, because it is not recorded: mend that, then judge again";

impl<'a> Judged<'a> {
    /// `None` while the run has no verdict.
    pub fn of(
        project: &'a Project,
        repo: Option<&'a Repo>,
        index: &'a RunIndex,
        record: &'a Record,
    ) -> Option<Self> {
        Some(Judged {
            project,
            repo,
            index,
            record,
            verdict: record.verdict.as_ref()?,
        })
    }

    /// The verdict in one line: its word, the run, the figure and how the kernel compares with the
    /// incumbent.
    pub fn line(&self) -> String {
        let (verdict, kernel) = (self.verdict, &self.project.kernel_name);
        // What was not judged has no number.
        let number = match verdict.outcome {
            Outcome::NotJudged => String::new(),
            _ => format!("run {} of ", self.record.start.id),
        };
        let mut text = format!("{} {}  {number}{kernel}", verdict.sign(), verdict.word());
        if !verdict.why.is_empty() {
            text += &format!("  {}", verdict.why);
        }
        text + &self.figures("emulated: its times say nothing about a GPU")
    }

    /// [`Judged::line`] with what was tried.
    pub fn with_description(&self) -> String {
        self.line() + &self.tried()
    }

    /// The figures, and what was tried, each behind two blanks.
    pub fn figures_and_tried(&self) -> String {
        self.figures("emulated") + &self.tried()
    }

    fn tried(&self) -> String {
        let decided = self.record.decision.as_ref().map(|it| &it.description);
        let said = decided.or(self.record.draft.as_ref().map(|draft| &draft.description));
        said.map_or_else(String::new, |said| format!("  '{said}'"))
    }

    /// `emulated` marks the figures of an emulated device.
    fn figures(&self, emulated: &str) -> String {
        let verdict = self.verdict;
        let mut text = String::new();
        if let Some(figure) = verdict.figure(&self.project.config.objective) {
            let (value, unit) = (figures::figure(figure.measure.value), self.unit(&figure));
            text += &format!("  {value} {unit}");
        }
        text.extend(verdict.change.map(|change| self.against(&change)));
        if verdict.emulated && verdict.objective.is_some() {
            text += &format!("  ({emulated})");
        }
        if self.record.is_foreign() && self.is_recorded() {
            text += "  (foreign: not your lab wrote its record, or it was changed since)";
        }
        text
    }

    /// The unit of the run's figure. A time that lab.toml names is called by its key.
    fn unit(&self, figure: &Figure) -> String {
        match (&figure.objective, &self.verdict.chosen) {
            (Objective::KernelTime, None) => "kernel_us".to_owned(),
            _ => figure.unit(),
        }
    }

    fn against(&self, change: &Change) -> String {
        let config = &self.project.config;
        let words = change.in_words(&config.objective, config.goal);
        format!("  {words} vs {}", change.against())
    }

    /// What the check before the keep measured, which lists show in place of the run's figures.
    /// `None` of a run that was not kept or not timed on sealed inputs.
    pub fn on_sealed_inputs(&self) -> Option<String> {
        let sealed = self.record.sealed()?;
        let of_run = self.verdict.figure(&self.project.config.objective)?;
        let (figure, unit) = (figures::figure(sealed.shown().value), self.unit(&of_run));
        let change = sealed.change.map(|change| self.against(&change));
        let change = change.unwrap_or_default();
        Some(format!(
            "on sealed inputs, as tables show it: {figure} {unit}{change}"
        ))
    }

    /// The first gate that a wrong kernel failed. One that crashed may have failed a gate before.
    pub fn failure(&self) -> Option<String> {
        let report = self.record.report();
        let failure = report.value("first_failure").map(str::to_owned);
        let is_wrong = matches!(self.verdict.outcome, Outcome::Fail | Outcome::Crash);
        failure.filter(|_| is_wrong)
    }

    /// [`Judged::line`] with the failure and the first caveats, in one line.
    pub fn summary(&self) -> String {
        let caveats = self.verdict.caveats.iter().take(3);
        let caveats = caveats.map(|caveat| format!("caveat: {caveat}"));
        let mut parts = [self.line()]
            .into_iter()
            .chain(self.failure())
            .chain(caveats);
        parts.join("; ")
    }

    /// All lines for a person, the commands that decide the run last.
    pub fn lines(&self) -> Vec<String> {
        let (verdict, project) = (self.verdict, self.project);
        let details = self.failure().into_iter();
        let details = details.chain(verdict.slower_workloads());
        let details = details.chain(verdict.left_workloads());
        let details = details.chain(unchecked::lines(self.record, verdict));
        let measured = Measured::of(self.record);
        let unit = project.config.objective.unit();
        let details = details.chain(measured.iter().flat_map(|it| it.lines(unit)));
        let mut lines: Vec<String> = details.map(|detail| format!("  {detail}")).collect();
        lines.splice(0..0, [String::new(), self.line()]);
        lines.extend(self.beside_peers());
        lines.extend(
            verdict
                .caveats
                .iter()
                .map(|caveat| format!("  caveat: {caveat}")),
        );
        let races = self.races();
        lines.extend(races.iter().map(|race| format!("  {race}")));
        let this = project.argument.clone() + &self.by_number();
        let discard = self.discard(&this);
        let discard = || discard.clone().into_iter();
        let commits = format!("`lab keep{this} -m TEXT` commits it");
        let keep = || iter::once(commits.clone()).chain(discard()).join("; ");
        let next = match self.next() {
            Next::Mend | Next::JudgeAgain | Next::Edit => return lines,
            Next::NotRecorded => NOT_RECORDED.to_owned(),
            Next::Discard => discard().join(""),
            Next::Incumbent if verdict.outcome != Outcome::Pass => OWN.to_owned(),
            Next::Incumbent if verdict.unmeasured().is_some() => OWN.to_owned(),
            Next::Incumbent => format!("{OWN}; `lab keep{this} -m TEXT` writes their row"),
            _ if verdict.unmeasured().is_some() => {
                let cannot = iter::once("so it cannot be kept".to_owned());
                cannot.chain(discard()).join("; ")
            }
            Next::KeptAlready(why) => why,
            Next::CommitRules => format!(
                "the rules are not as in HEAD: `lab rules{} -m TEXT` commits them, then {}",
                project.argument,
                keep()
            ),
            Next::Decide => keep(),
        };
        let looks = self.finds_the_line().filter(|_| races.is_empty());
        let next = looks.into_iter().chain([next]);
        lines.extend(next.map(|text| format!("  {text}")));
        lines
    }

    /// The races that a wrong kernel has, with their lines, which only run.log knows.
    fn races(&self) -> Vec<String> {
        if !self.is_wrong_cuda() {
            return Vec::new();
        }
        let found = diagnostics(self.index.store(), self.record.start.id, self.verdict);
        let races = found.iter().filter(|it| it.severity == Severity::Error);
        let races = races.map(|race| format!("{}:{}: {}", race.file, race.line, race.message));
        races.take(RACES).collect()
    }

    /// Where the line of a mistake is looked for, that a verdict does not name.
    fn finds_the_line(&self) -> Option<String> {
        self.is_wrong_cuda().then(|| {
            format!(
                "`lab check{}` looks for the line of a race or of a wrong access",
                self.project.argument
            )
        })
    }

    /// Whether the kernel is CUDA, builds, and is wrong or crashed.
    fn is_wrong_cuda(&self) -> bool {
        let is_wrong = matches!(self.verdict.outcome, Outcome::Fail | Outcome::Crash);
        let is_cuda = Language::of(&self.project.kernel_name) == Language::Cuda;
        is_wrong && is_cuda && !self.verdict.build_failed && !self.project.external()
    }

    /// Whether later commands find the run.
    fn is_recorded(&self) -> bool {
        self.index.summary(self.record.start.id).is_some()
    }

    /// The exit code of the command that judged.
    pub fn exit(&self) -> Exit {
        match self.is_recorded() {
            true => self.verdict.exit(),
            false => Exit::NOT_JUDGED,
        }
    }

    /// What a discard of this run would do; `None` for the incumbent's own bytes, of which there is
    /// nothing to discard. `this` names the run.
    fn discard(&self, this: &str) -> Option<String> {
        let text = match self.has_incumbent() {
            true => format!("`lab discard{this} -m TEXT` puts the incumbent back"),
            false => "there is no incumbent yet that a discard could put back".to_owned(),
        };
        (!self.is_incumbent()).then_some(text)
    }

    /// Whether HEAD has a kernel that a discard puts back. What cannot be read may have one.
    fn has_incumbent(&self) -> bool {
        !matches!(self.repo.map(lab_git::incumbent), Some(Ok(None)))
    }

    /// Whether the run is of the bytes that HEAD has.
    fn is_incumbent(&self) -> bool {
        let incumbent = self.repo.and_then(|repo| lab_git::incumbent(repo).ok());
        incumbent.flatten().as_deref() == Some(self.record.start.blob.as_str())
    }

    /// What can be done now. What cannot be read is left to the keep, which says why.
    fn next(&self) -> Next {
        if self.record.decision.is_some() {
            return Next::Edit;
        }
        match self.verdict.outcome {
            Outcome::NotJudged => Next::Mend,
            _ if !self.is_recorded() => Next::NotRecorded,
            Outcome::Void => Next::JudgeAgain,
            Outcome::Fail | Outcome::Crash if self.is_incumbent() => Next::Incumbent,
            Outcome::Fail | Outcome::Crash => Next::Discard,
            Outcome::Pass => {
                let present = inputs::read(self.project);
                let looked = self
                    .repo
                    .and_then(|repo| snapshot(repo, self.index, &present, Some(self.record)).ok());
                let Some(snapshot) = looked else {
                    return Next::Decide;
                };
                match allowed(&snapshot).keep {
                    Err(why @ NotAllowed::KeptAlready { .. }) => Next::KeptAlready(why.to_string()),
                    _ if snapshot
                        .present
                        .is_ok_and(|present| !present.rules.changed.is_empty()) =>
                    {
                        Next::CommitRules
                    }
                    _ if self.is_incumbent() => Next::Incumbent,
                    _ => Next::Decide,
                }
            }
        }
    }

    /// What a client of `lab mcp` can do now.
    pub fn next_call(&self) -> String {
        let id = self.record.start.id;
        match self.next() {
            Next::Edit => "The run is decided. Edit the kernel and call judge.".to_owned(),
            Next::Mend => {
                "The kernel was not judged: mend what `why` says, then call judge again.".to_owned()
            }
            Next::JudgeAgain => "No verdict belongs to these bytes: call judge again.".to_owned(),
            Next::NotRecorded => format!("Note: {NOT_RECORDED}."),
            Next::Discard if self.has_incumbent() => {
                format!("Mend the kernel and call judge again, or call discard with run {id}.")
            }
            Next::Discard => "Mend the kernel and call judge again.".to_owned(),
            Next::KeptAlready(why) => format!("{why}. Edit the kernel and call judge."),
            Next::Incumbent => {
                "These are the incumbent's own bytes. Edit the kernel and call judge.".to_owned()
            }
            Next::CommitRules => {
                "The rules are not as in HEAD, so nothing can be kept: a person commits them with `lab rules -m TEXT`, or \
                 takes the change back."
                    .to_owned()
            }
            Next::Decide => match self.repo {
                Some(repo) => self.by_rule(repo),
                None => "git's repository cannot be read: a person runs `lab doctor`.".to_owned(),
            },
        }
    }

    /// What the rule of `lab auto` would do with the run.
    fn by_rule(&self, repo: &Repo) -> String {
        let (id, project) = (self.record.start.id, self.project);
        let at_same = inputs::read(project)
            .is_ok_and(|present| lab_decide::keeps_at_same(repo, present.kernel()));
        let incumbent = lab_git::incumbent(repo).unwrap_or_default();
        let enough = Enough {
            at_same,
            correct: project.config.auto.keep_correct,
        };
        match auto::decide(self.record, incumbent.as_deref(), enough) {
            AutoDecision::Keep if self.verdict.emulated => format!(
                "It is correct, which is enough on the cpu device here: call keep with run {id}."
            ),
            AutoDecision::Keep if at_same => format!(
                "The rule keeps it, because it is faster, or as fast and shorter: call keep with run {id}."
            ),
            AutoDecision::Keep => format!("It is correct and faster: call keep with run {id}."),
            AutoDecision::Discard => format!(
                "It is not faster: call discard with run {id}, or keep it for another reason."
            ),
            AutoDecision::Leave(_) if self.needs_longer() => format!(
                "The speed is undecided: call measure, which measures longer. Or call keep or discard with run {id}."
            ),
            AutoDecision::Leave(why) => format!(
                "The rule leaves it to you, because {why}: call keep or discard with run {id}."
            ),
        }
    }

    /// Whether a longer measurement may decide the speed.
    fn needs_longer(&self) -> bool {
        let speed = self.verdict.change.and_then(|change| change.speed);
        speed == Some(Speed::Undecided)
            && !self.verdict.emulated
            && self.record.start.reason != Reason::Measure
    }

    /// The lines about the peers: of the run, else of an earlier run of the same bytes, else of the
    /// incumbent.
    fn beside_peers(&self) -> Vec<String> {
        let (record, project) = (self.record, self.project);
        if !record.peers.is_empty() || self.verdict.emulated {
            return peer_lines::lines(&record.peers, self.verdict.emulated);
        }
        let device = record.device.as_deref();
        let known = last_peers::of(project, self.index, &record.start.fingerprint, device);
        let known = known.as_ref().and_then(peer_lines::last);
        let of_incumbent = || {
            let inputs = &record.inputs;
            let known = last_peers::of_incumbent(self.repo?, self.index, inputs, device)?;
            Some(format!("the incumbent: {}", peer_lines::last(&known)?))
        };
        let text = known.or_else(of_incumbent);
        text.map(|text| format!("  {text}")).into_iter().collect()
    }

    /// Returns ` --run N` if there is a newer run of the kernel, because an open screen judges each
    /// save too. Without it a decision would be about the newer run.
    fn by_number(&self) -> String {
        let start = &self.record.start;
        let newer = |run: &RunSummary| run.judges(self.project);
        let mut since = self.index.newest().take_while(|run| run.id > start.id);
        if since.any(newer) {
            format!(" --run {}", start.id)
        } else {
            String::new()
        }
    }
}
