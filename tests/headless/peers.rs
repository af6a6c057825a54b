//! The problem's peers: who times them, what a record, a keep and a clone know of them, and `lab peers`. The judge is the real one on
//! the emulated device.

use crate::lab::Lab;
use crate::twice::{self, KERNEL};
use serde_json::{Value, json};

const WORKLOADS: &str = "[[workload]]\ndims = { n = 30 }\n[[workload]]\ndims = { n = 40 }\n";

const PEERS: &str = "[[peer]]\nname = \"other\"\nkernel = \"old/other.cu\"\n[[peer]]\nname = \"wrong\"\nkernel = \"wrong.cu\"\n";

fn problem() -> String {
    twice::problem(WORKLOADS)
}

fn twice(peers: &str) -> Lab {
    let others = [
        ("old/other.cu", KERNEL.to_owned() + "// the other\n"),
        ("wrong.cu", KERNEL.replace("2.0f", "3.0f")),
    ];
    twice::repository(&(problem() + peers), &others)
}

/// The names of peers with a ratio, and those without.
fn names(peers: &Value) -> (Vec<&str>, Vec<&str>) {
    let of = |compared: bool| {
        let peers = peers.as_array().unwrap().iter().filter(|peer| peer["ratio"].is_object() == compared);
        peers.map(|peer| peer["name"].as_str().unwrap()).collect()
    };
    (of(true), of(false))
}

#[test]
fn a_measurement_times_the_peers_and_a_run_of_the_same_bytes_shows_its_figures() {
    let lab = twice(PEERS);
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        (&run["peers"], &run["last_peers"]),
        (&json!([]), &json!([])),
        "a save does not wait for peers"
    );
    lab.lab("peers").is(0).says("other  old/other.cu  not timed yet");
    let measured = lab.lab("measure --json").is(0).json();
    assert_eq!(names(&measured["peers"]), (vec!["other"], vec!["wrong"]));
    let [other, wrong] = [0, 1].map(|at| measured["peers"][at].clone());
    assert!(wrong["failure"].as_str().unwrap().starts_with("its results are wrong"), "{wrong}");
    let hash = blake3::hash(lab.read("old/other.cu").as_bytes()).to_hex().to_string();
    assert_eq!(other["source"], json!({ "path": "old/other.cu", "hash": hash }));
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/2/record.json")).unwrap();
    assert_eq!(record["peers"][0]["ratio"]["value"], other["ratio"]["value"]);
    // The last figure belongs to the same bytes.
    let run = lab.lab("run --json").is(0).json();
    assert_eq!((&run["peers"], names(&run["last_peers"])), (&json!([]), (vec!["other"], vec!["wrong"])));
    let said = lab.lab("run").is(0);
    assert!(said.out.contains("× other, just now") && !said.out.contains("the incumbent:"), "{said:?}");
    let listed = lab.lab("peers --json").is(0).json();
    assert_eq!((&listed["of_incumbent"], names(&listed["peers"]).0), (&json!(false), vec!["other"]));
    // An edited kernel has no figure; that of the incumbent is named as such.
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    let run = lab.lab("run").is(0);
    assert!(run.out.contains("  the incumbent: ") && run.out.contains("× other, just now"), "{run:?}");
    assert_eq!(lab.lab("peers --json").is(0).json()["of_incumbent"], true);
    // Other rules make another figure.
    lab.write("problem.toml", problem().replace("30", "31") + PEERS);
    let run = lab.lab("run").is(0);
    assert!(!run.out.contains("× other"), "{run:?}");
}

#[test]
fn a_keep_names_the_peers_in_its_trailers_and_a_clone_reads_them() {
    let lab = twice(PEERS);
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.lab("measure").is(0).says("not compared with wrong: its results are wrong");
    lab.lab("run").is(0);
    lab.lab("keep -m tried").is(0);
    let message = lab.git("log -1 --format=%B");
    let trailer = message.lines().find_map(|line| line.strip_prefix("Lab-Peer: ")).unwrap_or_default();
    assert!(trailer.ends_with("× other"), "{message}");
    assert!(!message.contains("wrong"), "{message}");
    let log = lab.lab("log --json").is(0).json();
    let kept = &log["experiments"][0];
    assert_eq!(names(&kept["peers"]), (vec!["other"], vec![]));
    lab.lab("log").is(0).says(&format!("  ({trailer})"));
    // A clone has the commit and the ledger, and no record.
    lab.git("clone -q . ../clone");
    std::fs::copy(lab.path("results.cpu.tsv"), lab.path("../clone/results.cpu.tsv")).unwrap();
    let mut command = lab.lab_command("log --json");
    let clone = crate::lab::finish(command.current_dir(lab.path("../clone")).spawn().unwrap()).is(0).json();
    let fetched = &clone["experiments"][0];
    assert_eq!(fetched["run"], Value::Null);
    assert_eq!(fetched["peers"][0]["name"], "other");
    assert_eq!(fetched["peers"][0]["ratio"]["value"], kept["peers"][0]["ratio"]["value"]);
}

#[test]
fn a_bench_times_the_peers_once_after_its_last_run() {
    let lab = twice(PEERS);
    let few = "bench --runs 2 --warm-up 0 --iterations 1 --trials 1 --json";
    let bench = lab.lab(few).is(0);
    assert_eq!(bench.err.matches("timed beside the problem's peers").count(), 1, "{bench:?}");
    let bench = bench.json();
    assert_eq!(names(&bench["peers"]), (vec!["other"], vec!["wrong"]));
    assert_eq!(bench["peers_failure"], Value::Null);
    for run in 1..=2 {
        assert!(!lab.read(&format!(".lab/bench/1/run-{run}.log")).contains("peer"));
    }
    let shown = lab.lab("bench --show last --export md").is(0);
    assert!(shown.out.contains("- beside other: "), "{shown:?}");
    // Nothing is missing, so nothing is timed again.
    let again = lab.lab("bench --resume").is(0);
    assert!(!again.err.contains("timed beside"), "{again:?}");
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(names(&run["last_peers"]).0, ["other"], "the figure of a bench is one of these bytes too");
}

#[test]
fn the_first_peer_of_a_problem_is_added_by_a_command_and_runs_at_once() {
    let lab = twice("");
    lab.lab("peers").is(0).says("kernel.cu has no peers: `lab peers new` adds the first");
    let added = lab.lab("peers new").is(0);
    assert!(added.out.contains("`lab rules -m TEXT` commits them"), "{added:?}");
    assert!(lab.read("problem.toml").starts_with(&problem()), "the rest of the file is as it was");
    let measured = lab.lab("measure --json").is(0).json();
    assert_eq!(names(&measured["peers"]), (vec!["reference"], vec![]));
    let again = lab.lab("peers new --json").is(1).json();
    assert!(again["error"].as_str().unwrap().contains("has peers already (reference)"), "{again}");
    // The change is one of the rules, and the peer's file with it.
    let refused = lab.lab("rules").is(0);
    assert!(refused.out.contains("problem.toml is not as in HEAD"), "{refused:?}");
    lab.lab("rules -m peers").is(0);
    assert_eq!(lab.git("status --porcelain"), "");
}
