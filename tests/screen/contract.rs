//! The contract between the made-up world and the crates below it: the same steps are taken in a [`World`]
//! and in a real repository. After each step the screen, the world and the rules over the
//! repository give the same answers: what may be kept, discarded and undone, and why not. Both then
//! have the same experiments.

use super::world::World;
use super::world::made::measure;
use lab_decide::policy::{Allowed, Discard, allowed};
use lab_git::Repo;
use lab_project::Project;
use lab_run::inputs;
use lab_run::message::Message;
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_run::{Ending, Reason, RunId, RunStart};
use lab_runner::held_out::RunContext;
use lab_runner::process::Control;
use lab_store::{RunIndex, RunStore, signature};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// One step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The editor writes new bytes.
    Save,
    /// A run judges the bytes on disk.
    Judge(Outcome),
    /// A run passes and prints no figure.
    Unmeasured,
    /// The kernel's file is deleted.
    Remove,
    Keep,
    Discard,
    /// A discard with the answer yes.
    DiscardAnyway,
    Undo,
}
use Step::{DiscardAnyway, Judge, Keep, Remove, Save, Undo, Unmeasured};

const PASS: Step = Judge(Outcome::Pass);

const SEQUENCES: &[&[Step]] = &[
    &[Undo, Keep, Keep, Step::Discard, Undo, Undo],
    &[Save, PASS, Keep, Keep, Undo, Keep],
    &[Save, PASS, Step::Discard, Undo, Keep, Step::Discard],
    &[Save, Judge(Outcome::Fail), Keep, Step::Discard, Keep, Undo],
    &[Save, Judge(Outcome::Crash), Keep, Step::Discard, Undo],
    &[
        Save,
        Judge(Outcome::Void),
        Keep,
        Step::Discard,
        DiscardAnyway,
    ],
    &[
        Save,
        Judge(Outcome::NotJudged),
        Keep,
        Step::Discard,
        DiscardAnyway,
    ],
    &[Save, PASS, Save, Keep, Step::Discard, DiscardAnyway, Undo],
    &[Save, Keep, Step::Discard, DiscardAnyway],
    &[Save, PASS, Remove, Keep, DiscardAnyway],
    &[Save, Unmeasured, Keep, Step::Discard],
    &[Save, PASS, Keep, Save, PASS, Keep, Undo, Undo],
    &[
        Save,
        PASS,
        Keep,
        Save,
        Judge(Outcome::Fail),
        Step::Discard,
        Save,
        Step::Discard,
        DiscardAnyway,
    ],
];

/// The answers of the rules in words.
fn answers(allowed: &Allowed) -> [String; 3] {
    let keep = match &allowed.keep {
        Ok(_) => "keep".to_owned(),
        Err(why) => format!("no keep: {}", why.hint()),
    };
    let discard = match &allowed.discard {
        Ok(Discard::Run(_)) => "discard".to_owned(),
        Ok(Discard::AlsoNewer(..)) => "discard newer bytes too".to_owned(),
        Ok(Discard::Decided(..)) => "put the incumbent back".to_owned(),
        Ok(Discard::Unjudged { .. }) => "discard unjudged bytes".to_owned(),
        Err(why) => format!("no discard: {}", why.hint()),
    };
    let undo = match &allowed.undo {
        Ok(()) => "undo".to_owned(),
        Err(why) => format!("no undo: {}", why.hint()),
    };
    [keep, discard, undo]
}

#[test]
fn the_world_decides_as_lab_decide_does() {
    for sequence in SEQUENCES {
        let mut world = World::new().external();
        world.tell("open; press y; press p; say correctness: pass; end pass 1000");
        let mut repository = Repository::new();
        repository.judge(verdict(Outcome::Pass));
        for (at, step) in sequence.iter().enumerate() {
            let done = &sequence[..=at];
            let named = world.model.decision_run();
            in_world(&mut world, *step);
            repository.take(*step, named);
            // A decision names the run that the screen shows; a command names none.
            let shown = world.model.decision_run();
            for run in [shown, None] {
                let real = answers(&repository.allowed(run));
                assert_eq!(
                    answers(&world.allowed(run)),
                    real,
                    "the world, of {run:?}, after {done:?}"
                );
            }
            let real = answers(&repository.allowed(shown));
            assert_eq!(
                answers(&world.model.allowed()),
                real,
                "the screen after {done:?}"
            );
            let words: Vec<_> = world.history.iter().map(|e| e.row.status).collect();
            assert_eq!(
                words,
                repository.history(),
                "the experiments after {done:?}"
            );
        }
    }
}

fn in_world(world: &mut World, step: Step) {
    match step {
        Save => {
            world.tell("save");
        }
        Judge(Outcome::Pass) => {
            world.tell("press r; say correctness: pass; end pass 1000");
        }
        Judge(Outcome::Fail) => {
            {
                world.tell("press r; say correctness: fail; end fail it is wrong");
            };
        }
        Judge(Outcome::Crash) => {
            world.tell("press r; end crash it crashed");
        }
        Judge(Outcome::Void) => {
            world.tell("press r; end void the files changed");
        }
        Judge(Outcome::NotJudged) => {
            world.tell("press r; end not-judged no driver");
        }
        Unmeasured => {
            world.tell("press r; say correctness: pass; end pass");
        }
        Remove => {
            world.unreadable = Some("kernels/rmsnorm/kernel.cu cannot be read".into());
            world.tell("elsewhere");
        }
        Keep => {
            world.tell("press c; type some words; press enter");
        }
        Step::Discard => {
            world.tell("press d; type some words; press enter");
        }
        DiscardAnyway => {
            world.tell("press d; type some words; press enter");
            if !world.model.overlays.is_empty() {
                world.tell("press y");
            }
        }
        Undo => {
            world.tell("press u; press y");
        }
    }
    // The dialog of a refusal is closed.
    for _ in 0..3 {
        if !world.model.overlays.is_empty() {
            world.tell("press esc");
        }
    }
    world.tell("wait 1000");
}

fn verdict(outcome: Outcome) -> Verdict {
    let mut verdict = Verdict::bare(outcome, if outcome == Outcome::Pass { "" } else { "why" });
    verdict.objective = (outcome == Outcome::Pass).then(|| measure(1000.0));
    verdict
}

/// A repository on disk whose harness is external. HEAD holds the first bytes.
struct Repository {
    _folder: TempDir,
    project: Project,
    saves: u32,
}

impl Repository {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let git = git2::Repository::init(folder.path()).unwrap();
        let mut config = git.config().unwrap();
        config.set_str("user.name", "Ada").unwrap();
        config.set_str("user.email", "ada@example.org").unwrap();
        let kernel = "kernels/rmsnorm/kernel.cu";
        fs::create_dir_all(folder.path().join("kernels/rmsnorm")).unwrap();
        fs::write(folder.path().join(kernel), "// bytes-0\n").unwrap();
        fs::write(
            folder.path().join("lab.toml"),
            format!("kernel = \"{kernel}\"\nharness = \"true\"\n"),
        )
        .unwrap();
        let mut index = git.index().unwrap();
        index.add_path(kernel.as_ref()).unwrap();
        index.add_path("lab.toml".as_ref()).unwrap();
        index.write().unwrap();
        let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
        let user = git.signature().unwrap();
        git.commit(Some("HEAD"), &user, &user, "the first kernel", &tree, &[])
            .unwrap();
        let project = Project::open(folder.path(), None).unwrap();
        signature::use_key_file(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("screen-key"));
        Repository {
            _folder: folder,
            project,
            saves: 0,
        }
    }

    /// `named` is the run that the decision names.
    fn take(&mut self, step: Step, named: Option<RunId>) {
        let project = &self.project;
        let message = Message::new("some words", []);
        match step {
            Save => {
                self.saves += 1;
                fs::write(&project.kernel, format!("// bytes-{}\n", self.saves)).unwrap();
            }
            // The run leaves no record in `.lab/runs`.
            Judge(Outcome::NotJudged) => {}
            Judge(outcome) => self.judge(verdict(outcome)),
            Unmeasured => self.judge(Verdict {
                objective: None,
                ..verdict(Outcome::Pass)
            }),
            Remove => fs::remove_file(&project.kernel).unwrap(),
            Keep => {
                let control = Control::new().unwrap();
                let tell = &mut |_, _| {};
                let mut asked = RunContext {
                    control: &control,
                    program: "false".into(),
                    tell,
                    by_rule: false,
                };
                let _ = lab_decide::keep(
                    project,
                    &mut RunIndex::new(project),
                    named,
                    &message,
                    &mut asked,
                );
            }
            Step::Discard => {
                drop(lab_decide::discard(
                    project,
                    &mut RunIndex::new(project),
                    named,
                    &message,
                    false,
                ));
            }
            DiscardAnyway => {
                drop(lab_decide::discard(
                    project,
                    &mut RunIndex::new(project),
                    named,
                    &message,
                    true,
                ));
            }
            Undo => drop(lab_decide::undo(project, None, |_| {})),
        }
    }

    /// Writes the folder of a run that judged the bytes on disk.
    fn judge(&self, verdict: Verdict) {
        let project = &self.project;
        let inputs = inputs::read(project).unwrap();
        let records = RunStore::new(&project.lab_dir);
        let id = records.create().unwrap();
        let start = RunStart {
            id,
            reason: Reason::Rerun,
            kernel: project.kernel_name.clone(),
            blob: lab_git::blob_id(&self.git(), &project.kernel_name, inputs.kernel()).unwrap(),
            fingerprint: inputs.fingerprint.clone(),
            started: jiff::Timestamp::now(),
            external: true,
        };
        fs::write(records.folder(id).join("kernel.cu"), inputs.kernel()).unwrap();
        let record = Record {
            ended: Some(start.started),
            ending: Some(Ending::Exited(0)),
            verdict: Some(verdict),
            ..Record::begun(start, inputs.files(), "true".into())
        };
        records.write(&record).unwrap();
    }

    /// The decisions that the rules allow for this run, or for the run of a command without a
    /// number.
    fn allowed(&self, run: Option<RunId>) -> Allowed {
        let project = &self.project;
        let index = RunIndex::open(project);
        let present = inputs::read(project);
        let fingerprint = present.as_ref().ok().map(|inputs| &inputs.fingerprint);
        let record = match run {
            Some(run) => Some(RunStore::new(&project.lab_dir).read(run).unwrap()),
            None => lab_decide::default_run(project, &index, fingerprint),
        };
        allowed(&lab_decide::snapshot(&self.git(), &index, &present, record.as_ref()).unwrap())
    }

    fn git(&self) -> Repo {
        Repo::open(&self.project).unwrap()
    }

    fn history(&self) -> Vec<lab_run::experiment::Status> {
        let history = lab_history::look(&self.git(), &mut RunIndex::open(&self.project));
        history
            .experiments
            .iter()
            .map(|experiment| experiment.row.status)
            .collect()
    }
}
