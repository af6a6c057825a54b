//! The files that the watcher read are the files that the judge gets and that the record names,
//! even if they change between the save and the start of the run.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "../../runner/tests/support/mod.rs"]
mod support;

use lab_run::inputs::{self, Inputs};
use lab_run::record::Record;
use lab_run::{Fingerprint, Reason};
use lab_runner::spec::RunSpec;
use lab_testing::patience;
use lab_watch::WatchEvent;
use proptest::prelude::*;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;
use support::Bench;

/// The harness prints the kernel and the problem file that it was given.
const SHOWS: &str = "cat \"$4\" \"$2/problem.toml\"; echo 'correctness: pass'";

fn spec(inputs: &Arc<Inputs>) -> RunSpec {
    RunSpec {
        inputs: Some(Arc::clone(inputs)),
        ..RunSpec::new(Reason::Saved)
    }
}

/// The texts of kernel.cu and problem.toml; `None` if there is no such file.
type Files = [Option<String>; 2];

fn write(bench: &Bench, files: &Files) {
    for (name, text) in ["kernel.cu", "problem.toml"].iter().zip(files) {
        match text {
            Some(text) => fs::write(bench.path(name), text).unwrap(),
            None => fs::remove_file(bench.path(name)).unwrap_or_default(),
        }
    }
}

/// The fingerprint of these files in a repository of their own.
fn fingerprint(files: &Files) -> Fingerprint {
    let bench = Bench::new();
    write(&bench, files);
    inputs::read(&bench.project).unwrap().fingerprint
}

#[track_caller]
fn judged(bench: &Bench, record: &Record, saved: &Files) {
    let [kernel, problem] = saved.each_ref().map(|text| text.as_deref().unwrap());
    let folder = bench.path(&format!(".lab/runs/{}", record.start.id));
    let log = fs::read_to_string(folder.join("run.log")).unwrap();
    assert_eq!(
        log,
        format!("{kernel}{problem}correctness: pass\n"),
        "the judge got the saved bytes"
    );
    assert_eq!(
        fs::read_to_string(folder.join("kernel.cu")).unwrap(),
        kernel,
        "the snapshot"
    );
    assert_eq!(record.start.fingerprint, fingerprint(saved));
    assert_eq!(
        record.inputs[0].hash,
        Some(blake3::hash(kernel.as_bytes()).to_hex().to_string())
    );
    let blob = git2::Oid::hash_object(git2::ObjectType::Blob, kernel.as_bytes()).unwrap();
    assert_eq!(record.start.blob, blob.to_string());
    assert_eq!(bench.recorded(record.start.id.0), *record);
}

fn saved() -> impl Strategy<Value = Files> {
    ("[a-z ]{0,20}", "[a-z ]{0,20}")
        .prop_map(|(a, b)| [Some(format!("// {a}\n")), Some(format!("# {b}\n"))])
}

fn at_start() -> impl Strategy<Value = Files> {
    let text = |mark: &'static str| {
        prop::option::of("[a-z ]{0,20}".prop_map(move |t| format!("{mark} {t}\n")))
    };
    (text("//"), text("#")).prop_map(|(kernel, problem)| {
        // Without a problem file a run is refused before it starts.
        [kernel, problem.or(Some("# other\n".into()))]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_record_names_the_bytes_that_the_judge_got(
        saves in prop::collection::vec((saved(), at_start()), 1..4), standby in prop::bool::ANY,
    ) {
        let bench = if standby { Bench::with_standby() } else { Bench::new() };
        bench.script(SHOWS);
        for (saved, at_start) in &saves {
            write(&bench, saved);
            let inputs = Arc::new(inputs::read(&bench.project).unwrap());
            write(&bench, at_start);
            let record = bench.run(spec(&inputs));
            judged(&bench, &record, saved);
        }
    }
}

#[test]
fn a_run_by_key_judges_what_is_on_disk_when_it_starts() {
    let bench = Bench::with_standby();
    bench.script(SHOWS);
    let files = [
        Some("// by key\n".to_owned()),
        Some("# problem\n".to_owned()),
    ];
    write(&bench, &files);
    let record = bench.run(Reason::Rerun);
    judged(&bench, &record, &files);
}

#[test]
fn what_the_watcher_read_is_what_the_run_records() {
    let bench = Bench::new();
    bench.script(SHOWS);
    let (send, events) = channel();
    let sink = Arc::new(move |event| drop(send.send(event)));
    let _watcher = lab_watch::start(Arc::clone(&bench.project), sink).unwrap();
    let files = [
        Some("// saved\n".to_owned()),
        Some("# of the script\n".to_owned()),
    ];
    write(&bench, &files);
    let inputs = loop {
        match events.recv_timeout(patience()).expect("an event comes") {
            WatchEvent::Changed { inputs, .. } => break inputs,
            WatchEvent::RepositoryChanged
            | WatchEvent::Profiled
            | WatchEvent::Swept
            | WatchEvent::LoopChanged { .. } => {}
            WatchEvent::Problem(why) | WatchEvent::Unreadable(why) => panic!("{why}"),
        }
    };
    // The next save is under way: the file is gone for a moment.
    fs::remove_file(bench.path("kernel.cu")).unwrap();
    let record = bench.run(spec(&inputs));
    judged(&bench, &record, &files);
    assert_eq!(record.inputs, inputs.files());
}

#[test]
fn inputs_of_another_kernel_are_not_judged_as_this_one() {
    let (bench, other) = (Bench::new(), Bench::new());
    bench.script(SHOWS);
    let files = [Some("// ours\n".to_owned()), Some("# problem\n".to_owned())];
    write(&bench, &files);
    write(&other, &[Some("// theirs\n".to_owned()), None]);
    let theirs = Arc::new(inputs::read(&other.project).unwrap());
    let record = bench.run(spec(&theirs));
    judged(&bench, &record, &files);
}

/// Values from a file are inputs: another file needs another verdict.
#[test]
fn a_file_of_values_is_an_input() {
    let bench = Bench::new();
    fs::create_dir(bench.path("data")).unwrap();
    fs::write(bench.path("data/x.npy"), "one").unwrap();
    fs::write(
        bench.path("problem.toml"),
        "[[tensor]]\nname = 'x'\nvalues = { npy = 'data/x.npy' }\n",
    )
    .unwrap();
    let before = inputs::read(&bench.project).unwrap();
    let named = before
        .files()
        .into_iter()
        .find(|file| file.path == "data/x.npy")
        .unwrap();
    assert_eq!(named.hash, Some(blake3::hash(b"one").to_hex().to_string()));
    fs::write(bench.path("data/x.npy"), "two").unwrap();
    let after = inputs::read(&bench.project).unwrap();
    assert_ne!(before.fingerprint, after.fingerprint);
    after
        .write(&bench.project, &bench.path(".lab/copy"))
        .unwrap();
    assert_eq!(
        fs::read_to_string(bench.path(".lab/copy/data/x.npy")).unwrap(),
        "two"
    );

    fs::File::create(bench.path("data/x.npy"))
        .unwrap()
        .set_len((8 << 20) + 1)
        .unwrap();
    let error = inputs::read(&bench.project).unwrap_err().to_string();
    assert_eq!(
        error,
        "data/x.npy has 8388609 bytes: a file of values may have 8388608. Take fewer values from it"
    );
    fs::remove_file(bench.path("data/x.npy")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", bench.path("data/x.npy")).unwrap();
    let error = inputs::read(&bench.project).unwrap_err().to_string();
    assert!(
        error.starts_with("data/x.npy is a link that leads out of the repository"),
        "{error}"
    );
}
