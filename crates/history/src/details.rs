//! One experiment in detail, and two experiments compared: more than fits into memory for all of
//! them.

use crate::profile::{self, compare::Moved};
use crate::same_rules;
use itertools::Itertools;
use lab_bench::{BenchDigest, BenchStore};
use lab_git::{Notes, Repo};
use lab_project::Project;
use lab_protocol::profile::Profile;
use lab_run::common_workloads::{self, CommonWorkloads};
use lab_run::experiment::ExperimentKey;
use lab_run::message::Trailer;
use lab_run::peers::forget_emulated;
use lab_run::record::{Origin, Record};
use lab_run::verdict::{Change, Outcome};
use lab_run::{KernelBlob, Reason, RunId};
use lab_runner::follow::read_log;
use lab_store::RunStore;
use lab_text::sanitise::LogLine;
use std::collections::HashMap;

/// Lines of run.log that are read at most, the last ones.
const LOG_LINES: usize = 20_000;

/// An experiment with its record, source, diff and log. Each part may be missing: the run.log of an
/// experiment of another clone is not here, and neither is the source of a commit that was not
/// fetched.
#[derive(Clone, Debug)]
pub struct ExperimentDetails {
    pub key: ExperimentKey,
    /// `None` if neither the runs nor the notes of this repository hold it.
    pub record: Option<Record>,
    /// The trailers of its commit.
    pub trailers: Vec<Trailer>,
    /// The judged kernel; the error says why it cannot be read.
    pub source: Result<String, String>,
    /// The experiment's change of the kernel, as a unified diff.
    pub diff: Result<String, String>,
    /// Unchanged lines that were asked for around each change.
    pub around: u32,
    /// The last lines of its run.log.
    pub log: Vec<LogLine>,
    /// The benches of the same bytes and rules, newest first.
    pub benches: Vec<BenchDigest>,
}

/// Reads an experiment in detail, with `around` unchanged lines around each change. Reads disk and
/// git: not for the screen's own thread.
pub fn experiment_details(
    project: &Project,
    key: &ExperimentKey,
    around: u32,
) -> ExperimentDetails {
    let repo = Repo::open(project);
    let records = RunStore::of(project);
    let record = record(repo.as_ref().ok(), project, key);
    let repo = repo.map(|repo| about(repo, record.as_ref()));
    let log = key
        .run
        .and_then(|run| read_log(records.open_log(run).ok()?, LOG_LINES).ok())
        .unwrap_or_default();
    let benches = record.as_ref().map(|record| {
        let (store, start) = (BenchStore::of(project), &record.start);
        BenchDigest::of_bytes(&store, &start.kernel, &start.fingerprint)
    });
    ExperimentDetails {
        benches: benches.unwrap_or_default(),
        record,
        trailers: with(&repo, |repo| lab_git::trailers_of(repo, &key.commit)).unwrap_or_default(),
        source: with(&repo, |repo| lab_git::show(repo, &key.commit)),
        diff: with(&repo, |repo| changes(repo, &key.commit, around)),
        around,
        log,
        key: key.clone(),
    }
}

/// The change of the kernel by a commit; of a commit that leaves the kernel as it is, as a change of
/// the rules does, that of all its files. Each hunk's head then names its file.
fn changes(repo: &Repo, commit: &str, around: u32) -> anyhow::Result<String> {
    let of_kernel = lab_git::change(repo, commit, around)?;
    if !of_kernel.is_empty() {
        return Ok(of_kernel);
    }
    let mut all = String::new();
    for file in lab_git::commit_details(repo, commit, around)?.files {
        for line in file.diff.lines() {
            match line
                .strip_prefix("@@ ")
                .and_then(|head| head.split_once(" @@"))
            {
                Some((ranges, _)) => all.push_str(&format!("@@ {ranges} @@ {}\n", file.path)),
                None => all.extend([line, "\n"]),
            }
        }
    }
    Ok(all)
}

/// The lines that commits changed in a kernel, in small letters: each by its commit, and empty where
/// git cannot show the change. `commits` are experiments, each with its kernel's path if that is
/// known.
pub fn changed_lines(
    project: &Project,
    commits: &[(String, Option<String>)],
) -> HashMap<String, String> {
    let mut repo = Repo::open(project);
    let mut changed = HashMap::new();
    for (commit, kernel) in commits {
        if let Some(kernel) = kernel {
            repo = repo.map(|repo| repo.for_kernel(kernel));
        }
        let diff = with(&repo, |repo| lab_git::change(repo, commit, 0)).unwrap_or_default();
        let mut lines = diff
            .lines()
            .filter_map(|line| line.strip_prefix(['+', '-']));
        changed.insert(commit.clone(), lines.join("\n").to_lowercase());
    }
    changed
}

/// The times of the workload of this name in these runs, in µs. Reads each record.
pub fn workload_times(project: &Project, runs: &[RunId], name: &str) -> HashMap<RunId, f64> {
    let records = RunStore::of(project);
    let time = |run: &RunId| Some((*run, workload_time(&records.read(*run).ok()?, name)?));
    runs.iter().filter_map(time).collect()
}

/// The time of the workload of this name in a run, in µs.
pub fn workload_time(record: &Record, name: &str) -> Option<f64> {
    let workloads = record.report().workload_figures().into_iter();
    let mut named = workloads.filter(|workload| workload.name == name);
    Some(named.next()?.us?.value)
}

/// Reads from the repository; the error, also that of opening it, is one line of text.
fn with<T>(
    repo: &anyhow::Result<Repo>,
    read: impl FnOnce(&Repo) -> anyhow::Result<T>,
) -> Result<T, String> {
    match repo {
        Ok(repo) => read(repo).map_err(|error| lab_git::told(&error)),
        Err(error) => Err(lab_git::told(error)),
    }
}

/// The record of an experiment: its run's here or, in another clone, the note of its commit.
pub fn record(repo: Option<&Repo>, project: &Project, key: &ExperimentKey) -> Option<Record> {
    let noted = || {
        let note = Notes::of(repo?).note(&key.commit)?;
        let mut record: Record = serde_json::from_str(&note).ok()?;
        let emulated = record.emulated();
        forget_emulated(&mut record.peers, emulated);
        Some(record)
    };
    key.run
        .and_then(|run| RunStore::of(project).read(run).ok())
        .or_else(noted)
}

/// The repository, for the kernel that the record is about.
fn about(repo: Repo, record: Option<&Record>) -> Repo {
    match record {
        Some(record) => repo.for_kernel(&record.start.kernel),
        None => repo,
    }
}

/// Two experiments compared, the older first.
#[derive(Clone, Debug)]
pub struct Compared {
    pub keys: [ExperimentKey; 2],
    pub records: [Option<Record>; 2],
    /// From the kernel of the first to that of the second, as a unified diff.
    pub diff: Result<String, String>,
    /// Unchanged lines that were asked for around each change.
    pub around: u32,
    /// The files of the rules that the two were judged by differently.
    pub rules: Vec<String>,
    /// What they have in common, if they did not judge the same workloads.
    pub common: CommonWorkloads,
    /// What moved from the profile of the first to that of the second.
    pub profiles: ComparedProfiles,
}

/// Two profiles compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ComparedProfiles {
    /// Neither has a profile.
    #[default]
    Neither,
    /// One has none, or one cannot be read: why there is no comparison.
    Not(String),
    /// What moved, and why the figures may say little about one another.
    Moved {
        moved: Vec<Moved>,
        caution: Option<String>,
        /// From the machine code of the first to that of the second, as a unified diff.
        code: Result<String, String>,
    },
}

/// Compares two experiments, the older first. Reads disk and git: not for the screen's own thread.
pub fn compare(project: &Project, keys: [ExperimentKey; 2], around: u32) -> Compared {
    let repo = Repo::open(project);
    let mut records = [
        record(repo.as_ref().ok(), project, &keys[0]),
        record(repo.as_ref().ok(), project, &keys[1]),
    ];
    // The two may name one kernel before and after its folder was renamed.
    for record in records.iter_mut().flatten() {
        let start = &mut record.start;
        let is_gone = project.root.join(&start.kernel).symlink_metadata().is_err();
        let renamed = repo
            .as_ref()
            .ok()
            .filter(|_| is_gone)
            .and_then(|r| lab_git::renamed_to(r, &start.kernel));
        start.kernel = renamed.unwrap_or_else(|| start.kernel.clone());
    }
    let rules = match &records {
        [Some(a), Some(b)] => same_rules::differences(repo.as_ref().ok(), [a, b]),
        _ => Vec::new(),
    };
    let kernels = records
        .each_ref()
        .map(|r| r.as_ref().map(|r| r.start.kernel.as_str()));
    let diff = match kernels {
        [Some(a), Some(b)] if a != b => {
            Err(format!("{a} and {b} are kernels of different problems"))
        }
        _ => {
            let repo = repo.map(|repo| about(repo, records.iter().flatten().next()));
            with(&repo, |repo| {
                let read = |key| kernel_of(project, repo, key);
                lab_git::text_diff(&read(&keys[0])?, &read(&keys[1])?, around)
            })
        }
    };
    let common = match &records {
        [Some(a), Some(b)] => {
            common_workloads::compare(&a.report(), &b.report(), &project.config.objective)
        }
        _ => CommonWorkloads::Same,
    };
    let profiles = profiles(project, &keys);
    Compared {
        keys,
        records,
        diff,
        around,
        rules,
        common,
        profiles,
    }
}

/// The kernel of an experiment; of a run that no commit holds, the bytes that it judged.
fn kernel_of(project: &Project, repo: &Repo, key: &ExperimentKey) -> anyhow::Result<String> {
    match key.run.filter(|_| key.commit.is_empty()) {
        Some(run) => {
            let judged = RunStore::of(project).judged_kernel(run)?;
            Ok(String::from_utf8_lossy(&judged).into_owned())
        }
        None => lab_git::show(repo, &key.commit),
    }
}

fn profiles(project: &Project, keys: &[ExperimentKey; 2]) -> ComparedProfiles {
    let read = |key: &ExperimentKey| {
        key.run
            .map_or(Ok(None), |run| profile::read::with_origin(project, run))
    };
    let foreign = |at: usize, origin| {
        let is_foreign = origin == Origin::Foreign;
        is_foreign.then(|| format!("the profile of {} is foreign", keys[at]))
    };
    match (read(&keys[0]), read(&keys[1])) {
        (Ok(Some((before, first))), Ok(Some((after, second)))) => ComparedProfiles::Moved {
            moved: profile::compare::moved(&before, &after),
            caution: foreign(0, first)
                .or_else(|| foreign(1, second))
                .or_else(|| profile::compare::caution(&before, &after)),
            code: machine_code(&[before, after], keys),
        },
        (Ok(None), Ok(None)) => ComparedProfiles::Neither,
        (Err(error), _) | (_, Err(error)) => ComparedProfiles::Not(format!("{error:#}")),
        (Ok(None), _) => ComparedProfiles::Not(format!("{} has no profile", keys[0])),
        (_, Ok(None)) => ComparedProfiles::Not(format!("{} has no profile", keys[1])),
    }
}

/// The change of the machine code that the profiles hold.
fn machine_code(both: &[Profile; 2], keys: &[ExperimentKey; 2]) -> Result<String, String> {
    let texts = both.each_ref().map(profile::compare::machine_code);
    if let Some(at) = texts.iter().position(String::is_empty) {
        return Err(format!(
            "the profile of {} holds no machine code: `lab profile --set source` reads it",
            keys[at]
        ));
    }
    lab_git::text_diff(&texts[0], &texts[1], 3).map_err(|error| format!("{error:#}"))
}

impl Compared {
    /// The second objective over the first. If the run of either timed the two in turns, the ratio
    /// is that of the turns and has an interval. Otherwise the ratio holds every difference between
    /// the two runs. The error says why they cannot be compared.
    pub fn ratio(&self) -> Result<Change, String> {
        let [Some(a), Some(b)] = &self.records else {
            return Err("the record of one of them is not here".to_owned());
        };
        let (Some(old), Some(new)) = (a.objective(), b.objective()) else {
            let mut both = self.keys.iter().zip([a, b]);
            let without = both.find(|(_, record)| record.objective().is_none());
            return Err(without.map_or_else(String::new, |(key, record)| {
                format!("{key} {}", why_unmeasured(record))
            }));
        };
        if let Some(difference) = difference(a, b, self.common) {
            return Err(difference);
        }
        if !self.rules.is_empty() {
            return Err(format!("their rules differ: {}", self.rules.join(", ")));
        }
        if let Some(change) = in_turns(a, b) {
            return Ok(change);
        }
        match self.common {
            CommonWorkloads::Same => {
                Change::of_figures(&new, &old).ok_or_else(|| "the figures have no ratio".to_owned())
            }
            CommonWorkloads::Some(common) => Ok(common.change),
            CommonWorkloads::None => Err("no workload was timed by both".to_owned()),
        }
    }

    /// Whether the ratio is of a run that timed the two in turns.
    pub fn is_in_turns(&self) -> bool {
        self.ratio().is_ok_and(|change| change.interval.is_some())
    }

    /// The experiment whose run was timed in turns with a kernel that it does not name, where no run
    /// is known to have timed the two in turns.
    pub fn unnamed(&self) -> Option<&ExperimentKey> {
        let names_none = |record: &Record| {
            let change = record.verdict.as_ref().and_then(|verdict| verdict.change);
            change.is_some_and(|change| change.names_no_incumbent())
        };
        let both = self.keys.iter().zip(&self.records);
        let mut unnamed = both.filter(|(_, record)| record.as_ref().is_some_and(names_none));
        let (key, _) = unnamed.next()?;
        Some(key).filter(|_| !self.is_in_turns())
    }

    /// What is said behind the ratio; `None` where one run timed the two in turns.
    pub fn caution(&self) -> Option<String> {
        match self.unnamed() {
            _ if self.is_in_turns() => None,
            Some(key) => Some(format!("{key} names no incumbent")),
            None => Some("not in turns".to_owned()),
        }
    }

    /// How many workloads the ratio is about, if the two did not judge the same ones.
    pub fn common_workloads(&self) -> Option<usize> {
        match self.common {
            // In turns, one run judged both on the same workloads.
            CommonWorkloads::Some(common) => Some(common.workloads).filter(|_| !self.is_in_turns()),
            CommonWorkloads::Same | CommonWorkloads::None => None,
        }
    }
}

/// The second over the first, if the run of either timed the two in turns.
fn in_turns(first: &Record, second: &Record) -> Option<Change> {
    let beside = |run: &Record, other: &Record| {
        let own = run.verdict.as_ref().and_then(|verdict| verdict.change);
        let change = run.sealed().and_then(|sealed| sealed.change).or(own)?;
        Some(change).filter(|of| of.is_in_turns_with(KernelBlob::of(&other.start.blob)))
    };
    let turned = || beside(first, second).map(Change::turned_round);
    beside(second, first).or_else(turned)
}

/// Why a record has no objective, as in `crashed`.
fn why_unmeasured(record: &Record) -> &'static str {
    match record.verdict.as_ref() {
        Some(verdict) if verdict.build_failed => "did not build",
        Some(verdict) => match verdict.outcome {
            Outcome::Fail => "failed a gate",
            Outcome::Crash => "crashed",
            Outcome::Pass | Outcome::Void | Outcome::NotJudged => "measured nothing",
        },
        None => "measured nothing",
    }
}

/// Why two measures are not of the same kind, if so.
fn difference(a: &Record, b: &Record, common: CommonWorkloads) -> Option<String> {
    let is_trials = |r: &Record| r.start.reason == Reason::Measure;
    if a.start.kernel != b.start.kernel {
        return Some("they are kernels of different problems".to_owned());
    }
    if a.emulated() || b.emulated() {
        return Some("times of an emulated device say nothing about a GPU".to_owned());
    }
    if a.device != b.device {
        return Some("they were measured on different devices".to_owned());
    }
    if a.start.external != b.start.external {
        return Some("they were measured by different harnesses".to_owned());
    }
    // `lab bench --verdict` judges more workloads than a save: what both timed is compared.
    let is_other = is_trials(a) != is_trials(b) && common == CommonWorkloads::Same;
    is_other.then(|| "one was measured by `lab bench --verdict`, the other on a save".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_project::objective::Objective;
    use lab_protocol::report::Measure;
    use lab_run::record::InputFile;
    use lab_run::verdict::{Outcome, Verdict};
    use lab_testing::record;

    fn measured(value: f64) -> Record {
        let objective = Some(Measure {
            value,
            low: Some(value * 0.99),
            high: Some(value * 1.01),
        });
        let verdict = Verdict {
            objective,
            ..Verdict::bare(Outcome::Pass, "")
        };
        Record {
            verdict: Some(verdict),
            device: Some("H200".into()),
            ..record(RunId(1))
        }
    }

    fn ratio(a: Record, b: Record) -> Result<String, String> {
        let key = ExperimentKey {
            commit: "a".into(),
            run: None,
            decided: None,
        };
        let keys = [key.clone(), key];
        let common = common_workloads::compare(&a.report(), &b.report(), &Objective::Throughput);
        Compared {
            rules: same_rules::differences(None, [&a, &b]),
            keys,
            records: [Some(a), Some(b)],
            diff: Ok(String::new()),
            around: 3,
            common,
            profiles: ComparedProfiles::Neither,
        }
        .ratio()
        .map(|c| c.to_string())
    }

    #[test]
    fn a_save_and_a_measurement_are_compared_on_the_workloads_that_both_timed() {
        let of = |rows: &[&str]| Record {
            workloads: rows.iter().map(|row| (*row).to_owned()).collect(),
            ..measured(100.0)
        };
        let saved = of(&["n=1 kernel_us=10"]);
        let mut longer = of(&["n=1 kernel_us=5", "n=2 kernel_us=900"]);
        longer.start.reason = Reason::Measure;
        assert_eq!(
            ratio(saved.clone(), longer.clone()),
            Ok("+100.0 %".to_owned())
        );
        longer.workloads.remove(0);
        assert_eq!(
            ratio(saved, longer),
            Err("no workload was timed by both".to_owned())
        );
    }

    #[test]
    fn two_that_were_measured_in_the_same_way_have_a_ratio_with_its_interval() {
        assert_eq!(
            ratio(measured(100.0), measured(110.0)),
            Ok("+10.0 % ± 1.6".to_owned())
        );
        let said = |change: fn(&mut Record)| {
            let mut other = measured(110.0);
            change(&mut other);
            ratio(measured(100.0), other).expect_err("they are not of one kind")
        };
        assert!(said(|r| r.device = Some("L40S".into())).contains("different devices"));
        assert!(said(|r| r.start.kernel = "b.cu".into()).contains("different problems"));
        assert!(said(|r| r.start.reason = Reason::Measure).contains("lab bench --verdict"));
        assert!(said(|r| r.start.external = false).contains("different harnesses"));
        assert!(said(|r| r.verdict = None).contains("measured nothing"));
        let with = |path: &str, hash: &str| InputFile {
            path: path.into(),
            hash: Some(hash.into()),
        };
        let of = |harness: &str| Record {
            inputs: vec![
                with("a/kernel.py", harness),
                with("a/tile.py", harness),
                with("lab.toml", "0"),
                with("a/harness.py", harness),
            ],
            ..measured(100.0)
        };
        assert_eq!(ratio(of("1"), of("1")), Ok("+0.0 % ± 1.4".to_owned()));
        assert_eq!(
            ratio(of("1"), of("2")),
            Err("their rules differ: a/harness.py".to_owned()),
            "the kernel and what it imports are what is compared"
        );
    }
}
