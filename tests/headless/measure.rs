//! How speed is measured and reported: the request to the judge, the incumbent that it gets, and
//! the record. The judge is a script here, unless the story says that it is the real one.

use crate::built_in::rmsnorm;
use crate::lab::Lab;
use lab_project::Project;
use lab_run::Reason;
use lab_run::record::Record;
use lab_runner::execute::execute;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_store::RunIndex;
use lab_testing::READ_REQUEST;

/// A judge that prints its request, shows the incumbent that it was given, and passes.
const JUDGE: &str = r#"
echo "asked: $request"
incumbent=$(field incumbent)
if [ -n "$incumbent" ]; then
    echo "text of the incumbent: $(cat "$incumbent")"
    echo "text of its include: $(cat "$(dirname "$incumbent")/inc/tile.cuh")"
fi
echo 'device: Test GPU'
echo 'throughput_sps: 1021.3 low=1020 high=1022'
echo 'speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3'
echo 'speed: faster'
echo 'correctness: pass'
"#;

/// A repository whose HEAD holds a kernel and its include; both differ on disk.
fn edited() -> Lab {
    let lab = Lab::empty();
    std::fs::create_dir(lab.path("inc")).unwrap();
    lab.write("problem.toml", "# the problem\n");
    lab.write("kernel.cu", "#include \"inc/tile.cuh\"\n// kept\n");
    lab.write("inc/tile.cuh", "// of HEAD\n");
    lab.git("add -A");
    lab.git("commit -qm first");
    lab.write("kernel.cu", "#include \"inc/tile.cuh\"\n// tried\n");
    lab.write("inc/tile.cuh", "// edited\n");
    lab.script("../bin/judge", &format!("{READ_REQUEST}{JUDGE}"));
    lab
}

fn run(lab: &Lab, reason: Reason) -> (Record, String) {
    let project = Project::open(&lab.repo, None).unwrap();
    let spec = RunSpec {
        program: lab.path("../bin/judge"),
        ..RunSpec::new(reason)
    };
    let record = execute(
        None,
        &project,
        &spec,
        &mut RunIndex::new(&project),
        &Control::new().unwrap(),
        |_| {},
    )
    .unwrap();
    let log = lab.read(&format!(".lab/runs/{}/run.log", record.start.id));
    (record, log)
}

#[test]
fn the_judge_compares_with_what_head_holds_and_the_record_keeps_the_verdict_on_speed() {
    let lab = edited();
    let (record, log) = run(&lab, Reason::Command);
    assert!(
        log.contains("text of the incumbent: #include \"inc/tile.cuh\"\n// kept\n"),
        "{log}"
    );
    assert!(log.contains("text of its include: // of HEAD\n"), "{log}");
    let change = record.verdict.unwrap().change.unwrap();
    assert_eq!(change.to_string(), "faster +2.1 % (+1.9 … +2.4)");
    let kept = lab.read(".lab/runs/1/record.json");
    assert!(kept.contains("\"speed\": \"faster\""), "{kept}");
    assert!(
        !lab.path(".lab/runs/1/incumbent").exists(),
        "the copies go with the run"
    );
}

#[test]
fn before_the_first_commit_there_is_nothing_to_compare_with() {
    let lab = Lab::empty();
    lab.write("problem.toml", "");
    lab.write("kernel.cu", "// new\n");
    lab.script("../bin/judge", &format!("{READ_REQUEST}{JUDGE}"));
    let (record, log) = run(&lab, Reason::Command);
    assert!(log.contains("\"incumbent\":null"), "{log}");
    assert!(record.verdict.unwrap().caveats.is_empty());
}

#[test]
fn a_save_has_a_budget_and_a_bench_with_a_verdict_the_full_discipline() {
    let lab = edited();
    lab.write(
        "lab.toml",
        "[measure]\nbudget_ms = 400\nsame_within = 1\ntrials = 7\nwarm_up = 2\nlimit_s = 90.5\n",
    );
    let (_, saved) = run(&lab, Reason::Saved);
    let plan = "\"plan\":{\"budget\":{\"secs\":0,\"nanos\":400000000},\"same_within\":0.01,\"half_width\":0.0025,\"trials\":null";
    assert!(saved.contains(plan), "{saved}");
    assert!(saved.contains("\"when\":\"save\""), "{saved}");
    assert!(saved.contains("\"peers\":false"), "{saved}");
    let (record, measured) = run(&lab, Reason::Measure);
    let plan = "\"plan\":{\"budget\":{\"secs\":90,\"nanos\":500000000},\"same_within\":0.01,\"half_width\":0.0025,\
                \"trials\":{\"warm_up\":2,\"iterations\":100,\"trials\":7}";
    assert!(measured.contains(plan), "{measured}");
    assert!(measured.contains("\"when\":\"measure\""), "{measured}");
    assert!(measured.contains("\"peers\":true"), "{measured}");
    assert_eq!(record.start.reason, Reason::Measure);
}

#[test]
fn the_cpu_device_is_given_no_incumbent() {
    let lab = edited();
    lab.write("lab.toml", "device = \"cpu\"\n");
    let (_, log) = run(&lab, Reason::Saved);
    assert!(log.contains("\"incumbent\":null"), "{log}");
}

/// With the real judge, on the emulated device: its times are not figures, but the run is like any
/// other.
#[test]
fn a_bench_with_a_verdict_is_a_run_that_can_be_kept() {
    let lab = rmsnorm();
    let kernel = "kernels/rmsnorm/kernel.cu";
    lab.write(kernel, format!("// another\n{}", lab.read(kernel)));
    let output = lab.lab("bench --verdict --json").is(0).json();
    assert_eq!(output["outcome"], "pass");
    assert_eq!(output["measured"]["median"], output["throughput_sps"]);
    assert!(output["measured"]["speed"].is_null());
    assert!(
        lab.read(".lab/runs/1/record.json")
            .contains("\"reason\": \"measure\"")
    );
    lab.lab("keep -m another")
        .is(0)
        .says("keep run 1 of kernels/rmsnorm/kernel.cu");
    // A run of a bench has its peers, its discipline and its decision; the others have none.
    lab.lab("bench --verdict --runs 2").is(64);
    lab.lab("bench --decide -m x")
        .is(64)
        .says("a bench of several runs decides nothing: add --verdict");
    // The old word names the new one, with its options.
    lab.lab("measure --no-peers --json -m 'x y'").is(64).says(
        "`lab measure` is gone: `lab bench --verdict --no-peers --json -m 'x y'` does the same",
    );
}
