//! This version reads what released versions wrote: tests/formats/VERSION, which tests/formats/write made with the
//! program of that version.

use crate::lab::{CommandOutput, Lab, finish};
use crate::mcp_wire::Wire;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions of formats that were released.
const RELEASED: &[&str] = &["0.1"];

/// The answers in a folder of a version, and the commands that gave them.
const ANSWERS: &[(&str, &str)] = &[
    ("log", "log --all"),
    ("show-1", "show 1"),
    ("show-2", "show 2"),
    ("lessons", "lessons"),
    ("diff", "diff 1 2"),
    ("decisions", "decisions"),
    ("decisions-check", "decisions check"),
    ("bench", "bench --show 1"),
    ("sweep", "sweep --show 1"),
    ("auto-status", "auto status"),
];

/// The folder of a version's second repository, and the answers there.
const SECOND: &str = "second";
const SECOND_ANSWERS: &[(&str, &str)] = &[
    ("show-1", "show 1"),
    ("show-2", "show 2"),
    ("bench", "bench --show 1"),
    ("peers", "peers"),
];

/// The repository that a version left, with the key that signed its records.
struct Left {
    lab: Lab,
    folder: PathBuf,
}

impl Left {
    fn by(version: &str) -> Left {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/formats")
            .join(version);
        let lab = Lab::empty();
        let from = folder.display();
        lab.git(&format!(
            "fetch -q --update-head-ok {from}/repository.bundle refs/*:refs/*"
        ));
        lab.git("reset -q --hard main");
        lab.sh(&format!(
            "cp -r {from}/lab .lab && cp {from}/results.cpu.tsv . && cp {from}/key ../key && chmod 600 ../key"
        ))
        .is(0);
        Left { lab, folder }
    }

    fn second(version: &str) -> Left {
        Left::by(&format!("{version}/{SECOND}"))
    }

    fn command(&self, args: &str) -> Command {
        let mut command = self.lab.lab_command(args);
        command.env(
            lab_store::signature::KEY_FILE,
            self.lab.path("../key").canonicalize().unwrap(),
        );
        command
    }

    fn lab(&self, args: &str) -> CommandOutput {
        finish(self.command(args).spawn().unwrap())
    }

    /// Gives a file a version that this lab does not know, and returns its text.
    fn newer(&self, file: &str, key: &str) -> String {
        let mut value: Value = serde_json::from_str(&self.lab.read(file)).unwrap();
        assert_eq!(value[key], 1, "{file}");
        value[key] = json!(2);
        self.lab.write(file, value.to_string());
        value.to_string()
    }

    fn answer(&self, name: &str) -> Value {
        let path = self.folder.join("answers").join(format!("{name}.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }
}

/// What an old answer says and a new one does not, one line each. A new answer may say more.
fn lost(old: &Value, new: &Value, at: &str) -> Vec<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old
            .iter()
            .flat_map(|(key, value)| match new.get(key) {
                Some(new) => lost(value, new, &format!("{at}.{key}")),
                None => vec![format!("{at}.{key} is gone")],
            })
            .collect(),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => old
            .iter()
            .zip(new)
            .enumerate()
            .flat_map(|(index, (old, new))| lost(old, new, &format!("{at}[{index}]")))
            .collect(),
        _ if old == new => Vec::new(),
        _ => vec![format!("{at} was {old}, and is {new}")],
    }
}

#[test]
fn the_answers_about_released_records_stay() {
    for version in RELEASED {
        same_answers(&Left::by(version), ANSWERS);
        same_answers(&Left::second(version), SECOND_ANSWERS);
    }
}

fn same_answers(left: &Left, answers: &[(&str, &str)]) {
    let here = left.lab.repo.display().to_string();
    for (name, command) in answers {
        let mut old = left.answer(name);
        // The space of git's files depends on how git packed them.
        old.as_object_mut().unwrap().remove("disk");
        let code = old["exit_code"].as_i64().unwrap() as i32;
        let mut output = left.lab(&format!("{command} --json")).is(code);
        output.out = output.out.replace(&here, "REPOSITORY");
        let lost = lost(&old, &output.json(), name);
        assert!(
            lost.is_empty(),
            "{}: {}",
            left.folder.display(),
            lost.join("\n")
        );
    }
}

#[test]
fn a_released_profile_is_read_and_becomes_evidence() {
    for version in RELEASED {
        let left = Left::second(version);
        left.lab("decisions add profiled --profile 1")
            .is(0)
            .says("profile 1 of kernel.cu on NVIDIA H200")
            .says("{profiled.occupancy_pct}  12.5 %");
    }
}

#[test]
fn a_point_that_a_released_version_applied_is_named_by_its_keep() {
    for version in RELEASED {
        let left = Left::second(version);
        left.lab.sh("cp .lab/runs/2/kernel.cu kernel.cu").is(0);
        left.lab("keep -m smaller").is(0).says("keep run 2");
        let message = left.lab.git("log -1 --format=%B");
        assert!(
            message.contains("Sweep: 1, point 2 of 2: BLOCK=32"),
            "{message}"
        );
    }
}

#[test]
fn applied_points_of_a_newer_version_are_not_replaced() {
    let left = Left::second("0.1");
    let file = ".lab/sweep/1/applied.json";
    let newer = left.newer(file, "version");
    left.lab("sweep --apply 1")
        .is(64)
        .says("a newer lab wrote it");
    assert_eq!(left.lab.read(file), newer);
}

#[test]
fn a_decision_that_a_released_version_began_is_carried_out() {
    for version in RELEASED {
        let left = Left::second(version);
        let begun = left.folder.join("unfinished.json");
        left.lab
            .write(".lab/unfinished.json", fs::read(begun).unwrap());
        left.lab("log")
            .is(0)
            .says("is now 'described anew', as an earlier lab began to write");
        let ledger = left.lab.read("results.cpu.tsv");
        assert!(ledger.ends_with("\tdescribed anew\n"), "{ledger}");
    }
}

#[test]
fn released_experiments_can_be_changed_and_restored() {
    for version in RELEASED {
        let left = Left::by(version);
        left.lab("describe 1 -m 'described anew'").is(0);
        let ledger = left.lab.read("results.cpu.tsv");
        let rows: Vec<&str> = ledger.lines().collect();
        assert!(rows[1].ends_with("\tdescribed anew"), "{ledger}");
        assert_eq!(rows.len(), 4, "{ledger}");
        left.lab("restore 2").is(0);
        assert!(left.lab.read("kernel.cu").contains("3 * x[i]"));
        // The next run goes on where the released version ended.
        left.lab("run").is(1).says("run 4 of kernel.cu");
        left.lab("discard -m again").is(0);
        assert_eq!(left.lab.read("results.cpu.tsv").lines().count(), 5);
    }
}

#[test]
fn a_call_that_a_released_mcp_server_took_is_taken() {
    for version in RELEASED {
        let left = Left::by(version);
        let old = left.answer("mcp-tools");
        let mut wire = Wire::of_command(left.command("mcp"));
        let id = wire.ask("tools/list", json!({}));
        let new = wire.answer(id);
        let new = new["result"]["tools"].as_array().unwrap();
        for tool in old["result"]["tools"].as_array().unwrap() {
            let name = &tool["name"];
            let Some(now) = new.iter().find(|now| now["name"] == *name) else {
                panic!("{version} had the tool {name}");
            };
            let (was, now) = (&tool["inputSchema"], &now["inputSchema"]);
            let keys = was["properties"].as_object().into_iter().flatten();
            let gone: Vec<_> = keys
                .map(|(key, _)| key)
                .filter(|key| now["properties"].get(key).is_none())
                .collect();
            assert!(gone.is_empty(), "{version}: {name} took {gone:?}");
            let required = |schema: &Value| schema["required"].as_array().cloned();
            let was = required(was).unwrap_or_default();
            let added = required(now).unwrap_or_default();
            assert!(
                added.iter().all(|key| was.contains(key)),
                "{version}: {name} needs {added:?}, and needed {was:?}"
            );
        }
    }
}

#[test]
fn what_a_newer_version_wrote_is_refused_and_stays_as_it_is() {
    let refused = [
        (".lab/runs/1/record.json", "show 1", 1),
        (".lab/runs/1/record.json", "keep --run 1 -m other", 1),
        (".lab/bench/1/bench.json", "bench --show 1", 64),
        (".lab/sweep/1/sweep.json", "sweep --show 1", 64),
        ("evidence/scale.json", "decisions check", 1),
    ];
    for (file, command, code) in refused {
        let left = Left::by("0.1");
        let newer = left.newer(file, "version");
        left.lab(command)
            .is(code)
            .says("a newer lab wrote")
            .says("pdate lab");
        left.lab("log").is(0);
        left.lab("clean").is(0);
        assert_eq!(left.lab.read(file), newer, "{file} after lab {command}");
    }
}

#[test]
fn a_version_that_is_none_is_said_and_the_file_stays_as_it_is() {
    let left = Left::by("0.1");
    let file = ".lab/runs/1/record.json";
    let text = left.lab.read(file);
    for (wrong, why) in [
        (
            json!("1"),
            "its version is \"1\", and must be a whole number from 1 on",
        ),
        (json!(1e20), "its version is 1e+20, and must be"),
        (json!(0), "its version is 0, and must be"),
        (Value::Null, "it names no version"),
    ] {
        let mut record: Value = serde_json::from_str(&text).unwrap();
        let keys = record.as_object_mut().unwrap();
        match wrong.is_null() {
            true => keys.remove("version"),
            false => keys.insert("version".to_owned(), wrong),
        };
        left.lab.write(file, record.to_string());
        left.lab("log").is(0).says("run 1 is left out: ").says(why);
        left.lab("show 1").is(1).says(why);
        left.lab("describe 1 -m other").is(1).says(why);
        assert_eq!(left.lab.read(file), record.to_string());
    }
}

#[test]
fn a_lost_row_and_lost_points_are_said() {
    let left = Left::by("0.1");
    let ledger = left.lab.read("results.cpu.tsv");
    left.lab.write("results.cpu.tsv", &ledger[..30]);
    left.lab("describe 1 -m other")
        .is(1)
        .says("run 1 was decided, and no row of the ledger is that of its experiment");
    let points = left.lab.read(".lab/sweep/1/points.jsonl");
    left.lab.write(".lab/sweep/1/points.jsonl", &points[..200]);
    let shown = left.lab("sweep --show 1").is(0).out;
    assert!(
        shown.contains("points.jsonl cannot be read: what such a line told is measured again"),
        "{shown}"
    );
    assert!(
        shown.contains("no point is measured: `lab sweep` goes on"),
        "{shown}"
    );
}

/// lab.toml, problem.toml, the ledger and run.log have version 1 without saying so.
#[test]
fn what_names_no_version_is_read_as_version_1() {
    for version in RELEASED {
        let left = Left::by(version);
        let ledger = left.lab.read("results.cpu.tsv");
        let columns = lab_run::ledger::COLUMNS.join("\t");
        assert_eq!(ledger.lines().next(), Some(&*columns), "{version}");
        // A column more does not hide the six.
        let more: String = ledger
            .lines()
            .map(|line| format!("{line}\tmore\n"))
            .collect();
        left.lab.write("results.cpu.tsv", &more);
        left.lab("log")
            .is(0)
            .says("one more comment")
            .says("another factor");
        left.lab.write("results.cpu.tsv", &ledger);
        // What a harness printed then says now what its record said then.
        for run in [1, 2, 3] {
            let record: Value =
                serde_json::from_str(&left.lab.read(&format!(".lab/runs/{run}/record.json")))
                    .unwrap();
            let log = left.lab.read(&format!(".lab/runs/{run}/run.log"));
            let mut report = lab_protocol::report::Report::default();
            // The held-out check of a keep has lines of its own behind those of the run.
            let until = log.lines().position(|line| line.starts_with("stage: done"));
            for line in log.lines().take(until.unwrap_or(usize::MAX - 1) + 1) {
                report.push_line(line);
            }
            let results = record["results"].as_array().unwrap();
            assert!(!results.is_empty(), "run {run}");
            for result in results {
                let [key, value] = [0, 1].map(|at| result[at].as_str().unwrap());
                assert_eq!(report.value(key), Some(value), "run {run}: {key}");
            }
        }
        let toml = left.lab.read("lab.toml") + &left.lab.read("problem.toml");
        assert!(!toml.contains("version"), "{toml}");
    }
}

/// A later form of these files begins with its version.
#[test]
fn a_newer_file_that_people_write_is_refused_and_stays_as_it_is() {
    for (file, command, code, why) in [
        ("lab.toml", "log", 1, "unknown key 'version'"),
        ("problem.toml", "run", 64, "unknown field `version`"),
        ("decisions.toml", "decisions check", 1, "version"),
    ] {
        let left = Left::by("0.1");
        let newer = format!("version = 2\n{}", left.lab.read(file));
        left.lab.write(file, &newer);
        left.lab(command)
            .is(code)
            .says(why)
            .says("a newer lab may know more");
        assert_eq!(left.lab.read(file), newer);
    }
}

#[test]
fn a_loop_of_a_newer_version_is_not_resumed() {
    let left = Left::by("0.1");
    let state = ".lab/auto/039047f3e5976b75/state.json";
    let newer = left.newer(state, "schema_version");
    for command in ["auto status", "auto --experiments 1 -- true"] {
        left.lab(command).is(1).says("a newer lab wrote");
    }
    assert_eq!(left.lab.read(state), newer);
}
