//! The data of the view Source: the bytes on disk, the kernel in HEAD or of any experiment, and the
//! bytes that a run judged.

use super::lab::Lab;
use lab::screen::source_files::read;
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::ExperimentKey;
use lab_tui::diff::{ContextLines, LineLocation};
use lab_tui::source::{Baseline, SourceRequest, SourceView};

fn look(lab: &Lab, baseline: Baseline) -> SourceView {
    let project = Project::open(&lab.repo, None).unwrap();
    read(
        &project,
        SourceRequest {
            baseline,
            runs: vec![RunId(1), RunId(99)],
            present: None,
            head: None,
            around: ContextLines::Near,
        },
    )
}

fn experiment(commit: &str) -> Baseline {
    Baseline::Experiment(ExperimentKey {
        commit: commit.to_owned(),
        run: None,
        decided: None,
    })
}

#[test]
fn the_kernel_is_read_with_what_it_is_compared_with() {
    let lab = Lab::new();
    let head = lab.head();
    lab.write("kernel.cu", "// the second\r\nint a;\n");
    lab.lab("run").is(0);
    lab.write("kernel.cu", "// above\n// the second\r\nint \u{fffd}b;\n");

    let source = look(&lab, Baseline::Incumbent);
    let base = source.base.unwrap();
    assert_eq!(
        (base.name, base.text.line(0)),
        (format!("incumbent {}", &head[..7]), "// the first")
    );
    assert_eq!(source.present.unwrap().text.line(1), "// the second");
    assert_eq!(source.diff.tally(), "+3 −1");
    let (run, since) = &source.since[0];
    assert_eq!(
        (*run, since.locate(1), source.since.len()),
        (RunId(1), LineLocation::Kept(2), 1)
    );
    assert_eq!(since.locate(2), LineLocation::Gone(3));

    // A discarded experiment, by its commit; and a commit that this clone does not have.
    lab.write("kernel.cu", "// the second\r\nint a;\n");
    lab.lab("discard -m 'no use'").is(0);
    let commit = lab
        .git("rev-parse --short refs/lab/discarded/1")
        .trim()
        .to_owned();
    let source = look(&lab, experiment(&commit));
    assert_eq!(source.base.unwrap().name, format!("experiment {commit}"));
    assert_eq!(source.diff.tally(), "+1 −2");
    let missing = look(&lab, experiment("0123456")).base.unwrap_err();
    assert!(
        missing.contains("0123456") && missing.contains("lab fetch"),
        "{missing}"
    );
}

#[test]
fn what_is_missing_says_so_and_the_rest_is_there() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.passing(1.0);
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    let source = look(&lab, Baseline::Incumbent);
    assert!(source.present.is_ok());
    assert_eq!(source.base.unwrap_err(), "HEAD holds no commit yet");

    lab.git("add -A");
    lab.git("commit -qm start");
    std::fs::remove_file(lab.path("kernel.cu")).unwrap();
    let source = look(&lab, Baseline::Incumbent);
    assert!(
        source
            .present
            .unwrap_err()
            .starts_with("kernel.cu is not there")
    );
    assert!(source.base.is_ok() && source.diff.is_empty());
}
