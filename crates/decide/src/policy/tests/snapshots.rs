//! The cases that the tests begin with, and changes of them.

use super::*;
use lab_run::record::InputFile;

pub const KERNEL: &str = "kernels/a/kernel.cu";

pub fn file(path: &str, hash: &str) -> InputFile {
    InputFile {
        path: path.into(),
        hash: Some(hash.into()),
    }
}

/// A run of new bytes that passed; the same bytes are on disk; HEAD holds older bytes.
pub fn passed() -> Snapshot {
    let files = vec![file(KERNEL, "new"), file("problem.toml", "p")];
    Snapshot {
        kernel: KERNEL.into(),
        argument: " a".into(),
        external: false,
        incumbent: Some("old".into()),
        present: Ok(Present {
            fingerprint: Fingerprint("new".into()),
            blob: Some("new".into()),
            files: files.clone(),
            ..Present::from(Fingerprint("new".into()))
        }),
        obstacle: None,
        candidate: Some(Candidate {
            id: RunId(7),
            kernel: KERNEL.into(),
            is_check: false,
            is_foreign: false,
            fingerprint: Fingerprint("new".into()),
            blob: "new".into(),
            device: Some("GPU".into()),
            inputs: files,
            outcome: Some(Outcome::Pass),
            word: "PASS",
            unmeasured: None,
            decided: None,
            held_out: None,
            sealed_runs: 1,
        }),
        running: None,
        deciding: false,
        last_decision: None,
        kept: Vec::new(),
        damaged: None,
    }
}

pub fn with(change: impl FnOnce(&mut Snapshot)) -> Snapshot {
    let mut snapshot = passed();
    change(&mut snapshot);
    snapshot
}

pub fn run(change: impl FnOnce(&mut Candidate)) -> Snapshot {
    with(|s| change(s.candidate.as_mut().expect("a run")))
}

pub fn present(snapshot: &mut Snapshot, change: impl FnOnce(&mut Present)) {
    if let Ok(present) = &mut snapshot.present {
        change(present);
    }
}

/// The bytes on disk are newer than the judged ones.
pub fn newer(snapshot: &mut Snapshot) {
    present(snapshot, |p| {
        p.fingerprint = Fingerprint("newer".into());
        p.blob = Some("newer".into());
        p.files[0] = file(KERNEL, "newer");
    });
}

/// The last decision, of another run.
pub fn decided(status: Status, made: Option<bool>, later_work: LaterWork) -> Snapshot {
    with(|s| {
        let (commit, description) = ("a1b2c3d4e5".into(), "two rows".into());
        s.last_decision = Some(LastDecision {
            run: RunId(6),
            status,
            description,
            commit,
            made,
            is_foreign: false,
            later_work,
        });
    })
}
