//! `--json`: a script gets one object for every answer, also for an error, and it keeps to
//! docs/json.schema.json ([`crate::lab::CommandOutput::json`] checks that in every story).

use crate::auto::in_turns;
use crate::lab::{CommandOutput, Lab, finish};
use serde_json::{Value, json};
use std::fs;

/// Each command that has `--json`, as a script would call it.
const COMMANDS: [&str; 26] = [
    "new 2d",
    "init",
    "trust --yes",
    "fetch",
    "clean",
    "auto status",
    "run",
    "run --decide -m x",
    "bench --verdict",
    "bench",
    "sweep",
    "sweep --apply",
    "check",
    "profile",
    "keep -m x",
    "discard -m x",
    "undo",
    "peers",
    "peers new",
    "rules",
    "rules -m x",
    "describe HEAD -m x",
    "restore HEAD",
    "log",
    "doctor",
    "probe --device cpu",
];

/// The error of an answer, which is on stderr too.
#[track_caller]
fn error(output: &CommandOutput) -> String {
    let text = output.json()["error"]
        .as_str()
        .unwrap_or_else(|| panic!("no error in {output:?}"))
        .to_owned();
    let first = text.lines().next().unwrap_or_default();
    assert!(
        output.err.contains(first),
        "{first} is not on stderr: {output:?}"
    );
    text
}

#[test]
fn a_script_judges_decides_and_looks_back() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// faster\n");
    in_turns(&lab, 1.0213, "faster");
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        (&run["schema_version"], &run["command"], &run["error"]),
        (&json!(1), &json!("run"), &Value::Null)
    );
    assert_eq!(
        (&run["outcome"], &run["decision"]),
        (&json!("pass"), &Value::Null)
    );
    assert_eq!(
        run["ratio"],
        json!({ "value": 1.0213, "low": 1.0193, "high": 1.0233 })
    );
    assert_eq!(
        (&run["speed"], &run["against"]),
        (&json!("faster"), &json!("incumbent"))
    );

    let kept = lab
        .lab("keep --json -m 'Wider tiles' --trailer 'Confidence: high'")
        .is(0)
        .json();
    assert_eq!(
        (&kept["run"], &kept["outcome"]),
        (&run["run"], &json!("pass")),
        "the run that was decided"
    );
    let decision = &kept["decision"];
    assert_eq!(decision["commit"], json!(lab.head()));
    assert_eq!(
        (&decision["status"], &decision["description"]),
        (&json!("keep"), &json!("Wider tiles"))
    );
    assert_eq!(
        decision["trailers"][0],
        json!({ "key": "Confidence", "value": "high" })
    );
    assert_eq!(decision["row"]["throughput_sps"], json!(1000.0));

    let undone = lab.lab("undo --json").is(0).json();
    assert_eq!(
        (&undone["run"], &undone["undone"]["status"]),
        (&run["run"], &json!("keep"))
    );
    let discarded = lab.lab("discard --json -m 'Not now'").is(0).json();
    assert_eq!(discarded["decision"]["status"], "discard");
    let attempt = discarded["decision"]["commit"].as_str().unwrap().to_owned();
    let described = lab
        .lab(&format!("describe {attempt} -m 'Not yet' --json"))
        .is(0)
        .json();
    assert_eq!(
        (&described["row"]["description"], &described["before"]),
        (&json!("Not yet"), &json!("Not now"))
    );
    let restored = lab.lab(&format!("restore {attempt} --json")).is(0).json();
    assert_eq!(
        (&restored["commit"], &restored["changed"]),
        (&json!(attempt), &json!(true))
    );
    assert_eq!(lab.read("kernel.cu"), "// faster\n");
    let log = lab.lab("log --json").is(0).json();
    let experiment = &log["experiments"][0];
    assert_eq!(
        (&experiment["description"], &experiment["status"]),
        (&json!("Not yet"), &json!("discard"))
    );
    assert!(
        (experiment["ratio"]["value"].as_f64().unwrap() - 1.0213).abs() < 1e-9,
        "{experiment}"
    );

    lab.write("kernel.cu", "// nobody judged these\n");
    let unjudged = lab.lab("discard --json --unjudged -m away").is(0).json();
    assert_eq!(
        (&unjudged["run"], &unjudged["decision"]["status"]),
        (&Value::Null, &json!("discard"))
    );
    assert_eq!(lab.lab("rules --json").is(0).json()["changed"], json!([]));
}

#[test]
fn what_the_harness_said_is_in_the_answer() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// wrong\n");
    lab.harness(
        "echo 'kernel.cu:3:7: warning: unused'; echo 'registers: 168'; echo 'spill_bytes: 0'; echo 'shared_bytes: 1024'\n\
         echo 'workload: rows=3 T=f32 kernel_us=4.5 gbps=nan correctness=pass'; echo 'caveat: the clocks moved'\n\
         echo 'first_failure: y[3]: 1 is not 2'; echo 'y_error: inf limit=1 at=y[3,~0]'; echo 'correctness: fail'",
    );
    let run = lab.lab("run --json").is(1).json();
    assert_eq!(
        (&run["outcome"], &run["correctness"]),
        (&json!("fail"), &json!("fail"))
    );
    assert_eq!(
        [&run["registers"], &run["spill_bytes"], &run["shared_bytes"]],
        [168, 0, 1024]
    );
    assert_eq!(
        run["workloads"],
        json!([{
            "name": "rows=3 T=f32", "dimensions": { "rows": 3, "T": "f32" },
            "rows": 3, "T": "f32", "kernel_us": 4.5, "gbps": null, "correctness": "pass"
        }])
    );
    assert_eq!(run["first_failure"], "y[3]: 1 is not 2");
    assert_eq!(run["caveats"], json!(["the clocks moved"]));
    assert_eq!(
        run["gates"],
        json!([{ "name": "y_error", "value": null, "limit": 1.0, "pass": false, "at": "y[3, 0]" }])
    );
    let message = json!({ "file": "kernel.cu", "line": 3, "column": 7, "severity": "warning", "message": "unused" });
    assert_eq!(run["diagnostics"], json!([message]));
    assert_eq!(
        (&run["ratio"], &run["speed"], &run["against"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
}

#[test]
fn a_kernel_that_does_not_build_has_an_outcome_of_its_own() {
    let lab = Lab::empty();
    lab.copy_problem("kernels/rmsnorm", "");
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    let kernel = lab.read("kernel.cu");
    lab.write("kernel.cu", format!("#error \"no tiles\"\n{kernel}"));
    let run = lab.lab("run --json").is(2).json();
    assert_eq!(
        (&run["outcome"], &run["correctness"]),
        (&json!("build_error"), &json!("fail"))
    );
    let first = &run["diagnostics"][0];
    assert_eq!(
        (&first["line"], &first["severity"]),
        (&json!(1), &json!("error")),
        "{run}"
    );
    assert!(first["message"].as_str().unwrap().contains("no tiles"));
    let left = lab.lab("run --decide -m x --json").is(12).json();
    assert_eq!(
        (&left["outcome"], &left["decision"]["status"]),
        (&json!("build_error"), &json!("undecided"))
    );
}

#[test]
fn a_script_knows_by_the_exit_code_what_was_decided() {
    let lab = Lab::new();
    in_turns(&lab, 1.05, "faster");
    lab.write("kernel.cu", "// faster\n");
    let kept = lab.lab("run --decide -m faster --json").is(10).json();
    assert_eq!(kept["decision"]["commit"], json!(lab.head()));
    assert_eq!(
        (&kept["decision"]["status"], &kept["exit_code"]),
        (&json!("keep"), &json!(10))
    );
    in_turns(&lab, 0.95, "slower");
    lab.write("kernel.cu", "// slower\n");
    let discarded = lab.lab("run --decide -m slower --json").is(11).json();
    assert_eq!(discarded["decision"]["status"], "discard");
    assert_eq!(discarded["ratio"]["value"], 0.95);
    lab.write("kernel.cu", "// crashes\n");
    lab.harness("kill -SEGV $$");
    let left = lab.lab("run --decide -m crashes --json").is(12).json();
    assert_eq!(
        (&left["decision"]["status"], &left["decision"]["why"]),
        (&json!("undecided"), &json!("it crashed"))
    );
    assert_eq!(left["outcome"], "crash");
    // If git refuses the decision, it is left to the user.
    in_turns(&lab, 1.05, "faster");
    lab.write("kernel.cu", "// refused\n");
    lab.script(
        ".git/hooks/pre-commit",
        "echo 'the hook says no' >&2; exit 1",
    );
    let refused = lab.lab("run --decide -m refused --json").is(12).json();
    assert_eq!(refused["decision"]["status"], "undecided");
    assert!(
        refused["decision"]["why"]
            .as_str()
            .unwrap()
            .contains("the hook says no"),
        "{refused}"
    );
    assert_eq!(lab.read("kernel.cu"), "// refused\n");
}

/// In each of these places a command fails, and says so in JSON.
#[test]
fn errors_are_json_wherever_the_command_runs() {
    let outside = Lab::new();
    fs::remove_dir_all(outside.path(".git")).unwrap();
    let empty = Lab::empty();
    let wrong = Lab::new();
    wrong.write("lab.toml", "kernel = 1\n");
    for (place, lab) in [
        ("outside of git", &outside),
        ("an empty repository", &empty),
        ("a wrong lab.toml", &wrong),
    ] {
        // The device is the same everywhere, and measuring it takes long.
        for command in COMMANDS
            .iter()
            .filter(|c| place == "outside of git" || !c.starts_with("probe"))
        {
            let output = lab.lab(&format!("{command} --json"));
            let answer = output.json();
            let name = command.split(' ').next().unwrap();
            assert_eq!(answer["command"], json!(name), "`lab {command}` in {place}");
            // A missing kernel is not an error of these commands; `doctor` reports it.
            if !matches!(
                name,
                "doctor" | "probe" | "log" | "rules" | "trust" | "clean"
            ) {
                assert_ne!(output.code, 0, "`lab {command}` in {place}: {output:?}");
                error(&output);
            }
        }
    }
    assert!(error(&outside.lab("log --json").is(1)).contains("no git repository at"));
}

#[test]
fn wrong_arguments_are_json_too() {
    let lab = Lab::new();
    for command in COMMANDS {
        let output = lab
            .lab(&format!("{command} --json --no-such-option"))
            .is(64);
        assert!(error(&output).contains("--no-such-option"), "{output:?}");
    }
    assert!(error(&lab.lab("keep --json").is(64)).contains("--message"));
    let unknown = lab.lab("--json").is(64);
    assert_eq!(
        (
            unknown.json()["command"].clone(),
            error(&unknown).is_empty()
        ),
        (Value::Null, false)
    );
    // An argument after `--` is not an option.
    let output = lab.lab("run -- --json");
    assert!(
        output.out.is_empty() && output.err.contains("there is no --json"),
        "{output:?}"
    );
}

#[test]
fn a_refusal_is_json() {
    let lab = Lab::new();
    assert!(!error(&lab.lab("undo --json").is(1)).is_empty());
    assert!(!error(&lab.lab("keep -m x --json").is(1)).is_empty());
    assert!(!error(&lab.lab("restore nothing --json").is(1)).is_empty());
    assert!(!error(&lab.lab("describe nothing -m x --json").is(1)).is_empty());
    lab.git("clone -q . ../clone");
    let mut command = lab.lab_command("run --json");
    command.current_dir(lab.path("../clone"));
    assert!(
        error(&finish(command.spawn().unwrap()).is(64)).contains("you have not trusted it yet")
    );
}

/// JSON stays valid with names that are not UTF-8 and figures that are not finite.
#[test]
fn odd_names_and_figures_break_no_answer() {
    use std::os::unix::ffi::OsStrExt;
    let mut lab = Lab::new();
    let folder = lab
        .repo
        .with_file_name(std::ffi::OsStr::from_bytes(b"odd \xff\x9b folder"));
    fs::rename(&lab.repo, &folder).unwrap();
    lab.repo = folder;
    lab.lab("trust --yes").is(0);
    lab.harness(
        "echo 'throughput_sps: nan low=nan high=inf'; echo 'kernel_us: nan'; echo 'registers: nan'\n\
         echo 'speed_ratio: nan low=nan high=inf'; echo 'workload: a=inf b= c'; echo 'correctness: pass'",
    );
    lab.write("kernel.cu", "// odd\n");
    let run = lab.lab("run --json").is(3).json();
    assert!(
        run["log"].as_str().unwrap().contains("odd \u{fffd}"),
        "{run}"
    );
    assert_eq!(
        (&run["objective"]["value"], &run["registers"]),
        (&Value::Null, &Value::Null)
    );
    let odd = json!({ "a": null, "b": "" });
    assert_eq!(
        run["workloads"],
        json!([{ "name": "a=inf b=", "dimensions": odd, "a": null, "b": "" }])
    );
    lab.lab("run --json --decide -m odd").is(12).json();
    lab.lab("discard --json -m odd").is(0).json();
    let ledger = lab.read("results.tsv");
    lab.write(
        "results.tsv",
        ledger + "abc1234\tinf\tnan\tpass\tkeep\todd\n",
    );
    lab.lab("log --json").is(0).json();
    lab.lab("describe abc1234 -m odder --json").json();
}

/// The commands that set a repository up and look after it answer in JSON too.
#[test]
fn a_script_sets_a_repository_up_and_looks_after_it() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.passing(1000.0);
    let init = lab.lab("init --json").is(0).json();
    assert_eq!(
        (&init["kernel"], &init["harness"]),
        (&json!("kernel.cu"), &json!("uv run harness.py"))
    );
    assert_eq!(init["config"], json!(lab.path("lab.toml").to_str()));
    assert!(error(&lab.lab("init --json").is(1)).contains("exists already"));
    lab.write(
        "lab.toml",
        "device = \"cpu\"\n".to_owned() + &lab.read("lab.toml"),
    );
    let trust = lab.lab("trust --yes --json").is(0).json();
    assert_eq!(
        (&trust["harness"], &trust["place"]),
        (&json!("uv run harness.py"), &init["config"])
    );
    assert!(
        trust["text"]
            .as_str()
            .unwrap()
            .contains("It runs with your rights at every save."),
        "{trust}"
    );
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab.lab("discard -m better").is(0);

    let loose: u64 = lab
        .git("count-objects")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let clean = lab.lab("clean --json").is(0).json();
    assert_eq!(
        (&clean["packed"], &clean["before"]["loose"]),
        (&json!(loose), &json!(loose))
    );
    assert_eq!(clean["after"]["loose"], 0);
    assert!(
        clean["after"]["bytes"].as_u64() < clean["before"]["bytes"].as_u64(),
        "{clean}"
    );

    assert!(error(&lab.lab("fetch --json").is(1)).contains("`lab fetch FROM` names one"));
    lab.git("clone -q --no-local . ../clone");
    let fetch = |line: &str| {
        let mut command = lab.lab_command(line);
        command.current_dir(lab.path("../clone"));
        finish(command.spawn().unwrap())
    };
    let fetched = fetch("fetch --json").is(0).json();
    let first = &fetched["fetched"][0];
    assert_eq!(
        (&first["from"], &first["records"]),
        (&json!("origin"), &json!(1))
    );
    assert!(first["refs"].as_u64() >= Some(1), "{first}");
    assert!(
        first["folder"]
            .as_str()
            .unwrap()
            .starts_with("refs/lab/fetched/"),
        "{first}"
    );
    lab.git("init -q --bare ../nothing");
    assert!(error(&fetch("fetch ../nothing --json").is(1)).contains("neither commits nor records"));
}
