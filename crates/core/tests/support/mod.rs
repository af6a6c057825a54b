//! A repository in a temporary folder, and a runner whose harness is a shell script.

#![allow(clippy::unwrap_used, dead_code)]

use lab_core::project::Project;
use lab_core::run::RunId;
use lab_core::run::record::Record;
use lab_core::runner::spec::RunSpec;
use lab_core::runner::{RunEvent, Runner};
use lab_core::store::RunStore;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// No event takes nearly this long; a test that waits in vain fails.
pub fn patience() -> Duration {
    let seconds = std::env::var("LAB_TEST_PATIENCE_S")
        .ok()
        .and_then(|s| s.parse().ok());
    Duration::from_secs(seconds.unwrap_or(300))
}

/// Records of this process are signed with a key of the tests.
pub fn sign_for_tests() {
    lab_core::store::signature::use_key_file(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("key"));
}

/// The beginning of a script that plays the judge: it reads its request. `field KEY` prints a text
/// of the request; $2, $4 and $6 are the kernel's folder, its file and its shown path.
pub const READ_REQUEST: &str = r#"read -r request; export request
field() { printf '%s' "$request" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
set -- harness "$(field folder)" --kernel "$(field kernel)" --shown-as "$(field shown_as)"
"#;

/// HEAD holds kernel.cu with the text `// kept`.
pub struct Bench {
    runner: Option<Runner>,
    events: Receiver<RunEvent>,
    pub project: Arc<Project>,
    pub temp: tempfile::TempDir,
}

impl Bench {
    /// A repository without a standby judge.
    pub fn new() -> Bench {
        Bench::with(Runner::with_program)
    }

    pub fn with_standby() -> Bench {
        Bench::with(Runner::with_standby)
    }

    fn with(
        runner: fn(Arc<Project>, PathBuf, lab_core::runner::Sink) -> std::io::Result<Runner>,
    ) -> Bench {
        sign_for_tests();
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        fs::create_dir(&repo).unwrap();
        git2::Repository::init(&repo).unwrap();
        commit(&repo, "// kept\n");
        fs::write(repo.join("problem.toml"), "# of the script\n").unwrap();
        let judge = temp.path().join("judge");
        write_script(
            &judge,
            &format!(
                "{READ_REQUEST}case \"$request\" in *on_standby??true*) read order || exit;; esac\n\
                 exec sh ../script \"$@\""
            ),
        );
        let project = Arc::new(Project::open(&repo, None).unwrap());
        let (send, events) = channel();
        let sink = Arc::new(move |event| drop(send.send(event)));
        let runner = runner(Arc::clone(&project), judge, sink).unwrap();
        Bench {
            runner: Some(runner),
            events,
            project,
            temp,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project.root.join(name)
    }

    /// The shell commands of the harness, from its next start on.
    pub fn script(&self, text: &str) {
        fs::write(self.temp.path().join("script"), text).unwrap();
    }

    pub fn runner(&self) -> &Runner {
        self.runner.as_ref().unwrap()
    }

    #[track_caller]
    pub fn event(&self) -> RunEvent {
        self.events
            .recv_timeout(patience())
            .expect("an event comes")
    }

    /// Starts a run and returns the record of its `Ended`.
    #[track_caller]
    pub fn run(&self, spec: impl Into<RunSpec>) -> Record {
        self.runner().start(spec);
        loop {
            match self.event() {
                RunEvent::Ended(record) => return *record,
                RunEvent::Started(_) | RunEvent::Progress(..) => {}
                other => panic!("no run: {other:?}"),
            }
        }
    }

    /// The record of a run as it is on disk.
    pub fn recorded(&self, run: u64) -> Record {
        RunStore::new(&self.project.lab_dir)
            .read(RunId(run))
            .unwrap()
    }
}

impl Drop for Bench {
    /// The runner's processes end before their folder is removed.
    fn drop(&mut self) {
        drop(self.runner.take());
    }
}

/// An executable shell script. Another process writes it: if this process did, a child that another
/// thread starts meanwhile would hold the file open for writing until it runs its own program, and
/// Linux runs no file that is open for writing.
pub fn write_script(path: &Path, text: &str) {
    let write = "rm -f \"$0\" && printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", write])
        .arg(path)
        .arg(format!("#!/bin/sh\n{text}\n"));
    assert!(
        shell.status().unwrap().success(),
        "{} was not written",
        path.display()
    );
}

fn commit(repo: &Path, kernel: &str) {
    fs::write(repo.join("kernel.cu"), kernel).unwrap();
    let git = git2::Repository::open(repo).unwrap();
    let mut index = git.index().unwrap();
    index.add_path("kernel.cu".as_ref()).unwrap();
    index.write().unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let user = git2::Signature::now("A User", "user@example.com").unwrap();
    let parent = git.head().ok().map(|head| head.peel_to_commit().unwrap());
    let parents: Vec<_> = parent.iter().collect();
    git.commit(Some("HEAD"), &user, &user, "a commit", &tree, &parents)
        .unwrap();
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < patience(), "it never came: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
