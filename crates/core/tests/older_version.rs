//! What an earlier version wrote reads as that version meant it: records, index, ledger, notes and
//! refs. See `fixtures/lab-0.1/README.md`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use lab_core::decide::policy::{Discard, Keep, NotAllowed};
use lab_core::history::{self, History};
use lab_core::message::TrailerKey;
use lab_core::project::Project;
use lab_core::repo::{self, Notes, Repo};
use lab_core::run::experiment::{Correctness, Status};
use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Ending, RunId};
use lab_core::status;
use lab_core::store::signature::{self, Purpose};
use lab_core::store::{RunIndex, RunStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lab-0.1")
}

struct Folder {
    _temp: TempDir,
    root: PathBuf,
}

impl Folder {
    /// The repository alone, as another clone has it that fetched every ref.
    fn cloned() -> Folder {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let folder = Folder { _temp: temp, root };
        let bundle = fixture().join("repository.bundle");
        folder.git(&["init", "-q", "-b", "main"]);
        folder.git(&[
            "fetch",
            "-q",
            "--update-head-ok",
            bundle.to_str().unwrap(),
            "refs/*:refs/*",
        ]);
        folder.git(&["reset", "-q", "--hard", "main"]);
        fs::copy(
            fixture().join("results.tsv"),
            folder.root.join("results.tsv"),
        )
        .unwrap();
        folder
    }

    /// The folder as the earlier version left it.
    fn left() -> Folder {
        let folder = Folder::cloned();
        copy(&fixture().join("lab"), &folder.root.join(".lab"));
        fs::copy(fixture().join("harness.py"), folder.root.join("harness.py")).unwrap();
        fs::copy(
            fixture().join("lab/runs/7/kernel.cu"),
            folder.root.join("kernel.cu"),
        )
        .unwrap();
        folder
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(&self.root)
            .env("HOME", &self.root)
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for name in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{name}_NAME"), "A User")
                .env(format!("GIT_{name}_EMAIL"), "u@example.com");
        }
        assert!(
            command.stdin(Stdio::null()).status().unwrap().success(),
            "git {args:?}"
        );
    }

    fn project(&self) -> Project {
        Project::open(&self.root, None).unwrap()
    }

    /// Signs the record of a run, as this version does.
    fn sign(&self, run: u64) {
        signature::use_key_file(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("key"));
        let path = self.root.join(format!(".lab/runs/{run}/record.json"));
        let value: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        fs::write(&path, signature::signed(Purpose::Record, &value).unwrap()).unwrap();
    }

    fn record(&self, run: u64) -> Record {
        RunStore::new(&self.root.join(".lab"))
            .read(RunId(run))
            .unwrap()
    }

    fn history(&self) -> History {
        let project = self.project();
        history::read_once(&Repo::open(&project).unwrap(), &project)
    }

    /// Commit, status, figure, description and run of each experiment, a line each.
    fn experiments(&self) -> Vec<String> {
        let line = |e: &lab_core::run::experiment::Experiment| {
            let run = e.run.map_or("-".to_owned(), |run| run.to_string());
            format!(
                "{} {} {:?} {:?} {run}",
                e.row.commit, e.row.status, e.row.throughput_sps, e.row.description
            )
        };
        self.history().experiments.iter().map(line).collect()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

const EXPERIMENTS: [&str; 4] = [
    "fe79dc0 keep 1000.0 \"two rows a warp\" 1",
    "175b05b discard 900.0 \"unrolled by 8: it spills\" 2",
    "ab1e40b discard 1100.0 \"float4 stores, once more\" 3",
    "5f04a4d crash 0.0 \"a null pointer\" 4",
];

#[test]
fn the_history_is_the_same() {
    let folder = Folder::left();
    let history = folder.history();
    assert_eq!(history.problems, [""; 0]);
    assert_eq!(folder.experiments(), EXPERIMENTS);
    let [kept, described, caveated, crashed] = history.experiments.as_slice() else {
        panic!("four")
    };
    assert_eq!(
        (kept.row.correctness, kept.figure()),
        (Correctness::Pass, Some(1000.0))
    );
    assert_eq!(
        (kept.kernel.as_deref(), kept.device.as_deref()),
        (Some("kernel.cu"), Some("Test GPU"))
    );
    let keys: Vec<&TrailerKey> = kept.trailers.iter().map(|(key, _)| key).collect();
    assert_eq!(
        keys,
        [
            &TrailerKey::Confidence,
            &TrailerKey::Constraint,
            &TrailerKey::Tested
        ]
    );
    let change = described.measured.change.unwrap();
    assert_eq!(change.to_string(), "-10.0 % ± 1.3");
    assert!(caveated.measured.caveated && !kept.measured.caveated);
    assert_eq!(
        (crashed.row.correctness, crashed.figure()),
        (Correctness::Fail, None)
    );
}

#[test]
fn every_record_is_read_and_written_back_without_a_loss() {
    let folder = Folder::left();
    let outcomes: Vec<Outcome> = (1..=7)
        .map(|run| folder.record(run).verdict.unwrap().outcome)
        .collect();
    use Outcome::{Crash, Fail, Pass};
    assert_eq!(outcomes, [Pass, Pass, Pass, Crash, Fail, Pass, Pass]);
    for run in 1..=7 {
        let path = folder.root.join(format!(".lab/runs/{run}/record.json"));
        let old: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let again = serde_json::to_value(folder.record(run)).unwrap();
        assert_eq!(again, old, "run {run}");
    }
    let undone = folder.record(3).undone;
    assert_eq!(
        (undone.len(), undone[0].status, undone[0].made),
        (1, Status::Keep, Some(true))
    );
    assert_eq!(folder.record(3).verdict.unwrap().caveats, ["clocks moved"]);
    assert_eq!(folder.record(4).ending, Some(Ending::Signalled(11)));
    let unmeasured = folder.record(6).verdict.unwrap();
    assert_eq!(
        unmeasured.unmeasured().as_deref(),
        Some("nothing was measured")
    );
    assert_eq!(
        unmeasured.caveats,
        ["nothing was measured: the harness printed no throughput_sps line"]
    );
}

/// The index is trusted for runs that are not among the newest: here 64 empty folders are newer.
#[test]
fn the_index_is_read() {
    let folder = Folder::left();
    for run in 8..72 {
        fs::create_dir(folder.root.join(format!(".lab/runs/{run}"))).unwrap();
    }
    for run in 1..=7 {
        fs::write(
            folder.root.join(format!(".lab/runs/{run}/record.json")),
            "{ damaged",
        )
        .unwrap();
    }
    let index = RunIndex::open(&folder.project());
    assert_eq!(index.problems(), [""; 0]);
    let seen: Vec<_> = index
        .newest()
        .map(|run| (run.id.0, run.outcome()))
        .collect();
    let outcomes = [
        Outcome::Pass,
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Crash,
        Outcome::Pass,
    ];
    assert_eq!(seen.len(), 7);
    assert!(
        seen.iter()
            .zip(outcomes)
            .all(|(seen, outcome)| seen.1 == Some(outcome)),
        "{seen:?}"
    );
    let first = index.summary(RunId(1)).unwrap();
    assert_eq!(
        first.decision.as_ref().map(|d| d.status),
        Some(Status::Keep)
    );
}

#[test]
fn the_newest_run_can_be_kept_and_the_last_decision_undone() {
    let folder = Folder::left();
    let project = folder.project();
    let repo = Repo::open(&project).unwrap();
    folder.git(&["config", "user.name", "A User"]);
    folder.git(&["config", "user.email", "u@example.com"]);
    let look = || {
        status::look(
            &Repo::open(&project).unwrap(),
            &project,
            &RunIndex::open(&project),
        )
        .unwrap()
    };

    // The earlier version signed nothing. What it decided is shown as before, but nothing is
    // decided by its records.
    let status = look();
    assert_eq!(
        status.judged, None,
        "the present bytes are to be judged again"
    );
    assert_eq!(
        status.last.as_ref().map(|record| record.start.id),
        Some(RunId(7))
    );
    let foreign: Vec<bool> = (1..=7).map(|run| folder.record(run).is_foreign()).collect();
    assert_eq!(foreign, [false, false, false, false, true, true, true]);
    let allowed = status.allowed();
    let refused = NotAllowed::Foreign {
        run: RunId(7),
        argument: String::new(),
    };
    assert!(
        refused
            .to_string()
            .contains("or by a version that signed none. Judge the bytes again (`lab run`)")
    );
    assert_eq!(allowed.keep, Err(refused.clone()));
    assert_eq!(allowed.discard, Err(refused));
    assert!(
        matches!(allowed.undo, Err(NotAllowed::ForeignDecision { .. })),
        "{:?}",
        allowed.undo
    );

    // The same records with a signature.
    for run in 1..=7 {
        folder.sign(run);
    }
    let status = look();
    assert_eq!(
        status.judged.as_ref().map(|record| record.start.id),
        Some(RunId(7))
    );
    let allowed = status.allowed();
    assert_eq!(allowed.keep, Ok(Keep::Commit));
    assert_eq!(allowed.discard, Ok(Discard::Run(RunId(7))));
    assert_eq!(allowed.undo, Ok(()));
    assert_eq!(status.snapshot.last_decision.unwrap().run, RunId(4));

    // The refs are found where they were put.
    let (commit, _) = repo::resolve(&repo, "2").unwrap();
    assert!(commit.starts_with("175b05b"));
    assert_eq!(
        repo::stored_kernel(&repo, &commit).unwrap().as_deref(),
        Some("kernel.cu")
    );
    assert_eq!(
        repo::bytes_of(&repo, &project, &commit).unwrap(),
        b"// worse\n"
    );
    assert_eq!(
        repo::resolve(&repo, "refs/lab/undone/3").unwrap().1,
        "float4 stores"
    );
}

#[test]
fn a_clone_without_runs_has_the_history_by_the_notes() {
    let folder = Folder::cloned();
    let history = folder.history();
    assert_eq!(history.problems, [""; 0]);
    let told = folder.experiments();
    for (told, full) in told.iter().zip(EXPERIMENTS) {
        assert_eq!(
            told[..told.len() - 1],
            full[..full.len() - 1],
            "but for the run"
        );
    }
    assert!(
        history
            .experiments
            .iter()
            .all(|e| e.device.as_deref() == Some("Test GPU"))
    );
    let repo = Repo::open(&folder.project()).unwrap();
    let note: Record = serde_json::from_str(&Notes::of(&repo).note("fe79dc0").unwrap()).unwrap();
    assert_eq!(note, Folder::left().record(1));
}
