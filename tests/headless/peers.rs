//! The problem's peers: the commands that time them, their figures in a record, a keep and a clone,
//! and `lab peers`. The judge is the real one on the emulated device.

use crate::lab::{Beside, Lab, signed};
use crate::not_judged::with_a_worker_ended_by;
use crate::twice::{self, KERNEL};
use lab_store::signature::Purpose;
use lab_testing::until;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

const WORKLOADS: &str = "[[workload]]\ndims = { n = 30 }\n[[workload]]\ndims = { n = 40 }\n";

pub const PEERS: &str = "[[peer]]\nname = \"other\"\nkernel = \"old/other.cu\"\n[[peer]]\nname = \"wrong\"\nkernel = \"wrong.cu\"\n";

fn problem() -> String {
    twice::problem(WORKLOADS)
}

pub fn twice(peers: &str) -> Lab {
    let others = [
        ("old/other.cu", KERNEL.to_owned() + "// the other\n"),
        ("wrong.cu", KERNEL.replace("2.0f", "3.0f")),
    ];
    twice::repository(&(problem() + peers), &others)
}

/// The names of peers that were timed, and of those that were not. Emulated times give no ratio.
fn names(peers: &Value) -> (Vec<&str>, Vec<&str>) {
    let peers = peers.as_array().unwrap();
    assert!(
        peers.iter().all(|peer| peer["ratio"].is_null()),
        "{peers:?}"
    );
    let of = |timed: bool| {
        let peers = peers
            .iter()
            .filter(|peer| peer["failure"].is_null() == timed);
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
    lab.lab("peers")
        .is(0)
        .says("other  old/other.cu  not timed yet");
    let measured = lab.lab("bench --verdict --json").is(0).json();
    assert_eq!(names(&measured["peers"]), (vec!["other"], vec!["wrong"]));
    let [other, wrong] = [0, 1].map(|at| measured["peers"][at].clone());
    let why = wrong["failure"].as_str().unwrap();
    assert!(
        why.starts_with("its results are wrong: ") && why.ends_with(" (wrong.cu)"),
        "{wrong}"
    );
    let hash = blake3::hash(lab.read("old/other.cu").as_bytes())
        .to_hex()
        .to_string();
    assert_eq!(
        other["source"],
        json!({ "path": "old/other.cu", "hash": hash })
    );
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/2/record.json")).unwrap();
    assert_eq!(record["peers"][0]["peer_us"], other["peer_us"]);
    assert!(other["peer_us"].is_number(), "{other}");
    // The last figure belongs to the same bytes.
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        (&run["peers"], names(&run["last_peers"])),
        (&json!([]), (vec!["other"], vec!["wrong"]))
    );
    // Emulated times are not compared in words.
    let said = lab.lab("run").is(0);
    assert!(!said.out.contains('×'), "{said:?}");
    lab.lab("peers")
        .is(0)
        .says("computes the same, and emulated times are not compared, just now");
    let listed = lab.lab("peers --json").is(0).json();
    assert_eq!(
        (&listed["of_incumbent"], names(&listed["peers"]).0),
        (&json!(false), vec!["other"])
    );
    assert_eq!(listed["peers"][1]["failure"], wrong["failure"]);
    assert_eq!(
        (
            &listed["peers"][0]["failure"],
            &run["last_peers"][1]["failure"]
        ),
        (&Value::Null, &wrong["failure"])
    );
    // An edited kernel has no figure; the incumbent's is named as such.
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.lab("run").is(0);
    lab.lab("peers").is(0).says("the incumbent: computes");
    assert_eq!(lab.lab("peers --json").is(0).json()["of_incumbent"], true);
    // After a change of the rules, the old figure does not hold.
    lab.write("problem.toml", problem().replace("30", "31") + PEERS);
    lab.lab("run").is(0);
    lab.lab("peers").is(0).says("not timed yet");
}

/// No commit, no report and no evidence has a ratio of emulated times, whatever an earlier lab recorded.
#[test]
fn emulated_times_are_published_beside_no_peer() {
    let lab = twice(PEERS);
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.lab("bench --verdict")
        .is(0)
        .says("not compared with wrong: its results are wrong");
    let text = lab.read(".lab/runs/1/record.json");
    let mut record: Value = serde_json::from_str(&text).unwrap();
    record["peers"][0]["ratio"] = json!({ "value": 1.49, "low": null, "high": null });
    lab.write(
        ".lab/runs/1/record.json",
        signed(Purpose::Record, &record.to_string()),
    );
    lab.lab("run").is(0);
    lab.lab("keep -m tried").is(0);
    let message = lab.git("log -1 --format=%B");
    assert!(!message.contains("Lab-Peer"), "{message}");
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(names(&log["experiments"][0]["peers"]), (vec![], vec![]));
    for command in [
        "show 1",
        "log",
        "ls",
        "report --markdown --base HEAD~1",
        "decisions add e --run 1",
    ] {
        let said = lab.lab(command).is(0).out;
        assert!(!said.contains('×') && !said.contains("vs_other"), "{said}");
    }
    lab.lab("report").is(0);
    assert!(!lab.read(".lab/report.html").contains("1.49×"));
}

#[test]
fn a_keep_names_the_peers_in_its_trailers_and_a_clone_reads_them() {
    let lab = Lab::new();
    lab.harness(
        "echo 'device: Test GPU'; echo 'throughput_sps: 1000'; echo 'peer: other ratio=1.5 low=1.4 high=1.6'\n\
         echo 'peer: wrong failed=its~results~are~wrong'; echo 'correctness: pass'",
    );
    lab.git("commit -qam harness");
    lab.write("kernel.cu", "// tried\n");
    lab.lab("run").is(0);
    lab.lab("keep -m tried").is(0);
    let message = lab.git("log -1 --format=%B");
    let trailer = "\nLab-Peer: 1.50× other (1.40 … 1.60)\n";
    assert!(message.contains(trailer), "{message}");
    assert!(!message.contains("wrong"), "{message}");
    // A clone has the commit and the ledger, and no record.
    lab.git("clone -q . ../clone");
    fs::copy(lab.path("results.tsv"), lab.path("../clone/results.tsv")).unwrap();
    let mut command = lab.lab_command("log --json");
    let clone = crate::lab::finish(command.current_dir(lab.path("../clone")).spawn().unwrap())
        .is(0)
        .json();
    let fetched = &clone["experiments"][0];
    assert_eq!(fetched["run"], Value::Null);
    assert_eq!(
        (
            &fetched["peers"][0]["name"],
            &fetched["peers"][0]["ratio"]["value"]
        ),
        (&json!("other"), &json!(1.5))
    );
}

#[test]
fn a_bench_times_the_peers_once_after_its_last_run() {
    let lab = twice(PEERS);
    let few = "bench --runs 2 --warm-up 0 --iterations 1 --trials 1 --json";
    let bench = lab.lab(few).is(0);
    assert_eq!(
        bench
            .err
            .matches("timed beside the problem's peers")
            .count(),
        1,
        "{bench:?}"
    );
    let bench = bench.json();
    assert_eq!(names(&bench["peers"]), (vec!["other"], vec!["wrong"]));
    assert_eq!(bench["peers_failure"], Value::Null);
    for run in 1..=2 {
        assert!(
            !lab.read(&format!(".lab/bench/1/run-{run}.log"))
                .contains("peer")
        );
    }
    let shown = lab.lab("bench --show last --export md").is(0);
    assert!(shown.out.contains("- beside other: "), "{shown:?}");
    // Nothing is missing, so nothing is timed again.
    let again = lab.lab("bench --resume").is(0);
    assert!(!again.err.contains("timed beside"), "{again:?}");
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        names(&run["last_peers"]).0,
        ["other"],
        "the figure of a bench is one of these bytes too"
    );
}

/// The second of its peers never ends: the judge would wait for its limit.
fn with_an_endless_peer() -> Lab {
    let lab = twice(&PEERS.replace("wrong", "endless"));
    let endless = KERNEL.replace("{ y", "{ while (atomicAdd(&zero, 0) == 0); y");
    let endless = endless.replace("extern", "__device__ int zero;\nextern");
    lab.write("endless.cu", endless);
    lab
}

/// A peer whose process the machine ended, as for want of memory, did not fail. `lab bench --resume`
/// times the peers again.
#[test]
fn a_peer_that_the_machine_ended_is_timed_again() {
    let lab = with_an_endless_peer();
    let few = "bench --runs 1 --warm-up 0 --iterations 1 --trials 1";
    let ended = "its process was ended by SIGKILL (ended from outside, or the machine ran out of memory); measure again";
    with_a_worker_ended_by(&lab, few, Signal::KILL)
        .is(0)
        .says(&format!("not compared with endless: {ended}"));
    let shown = lab.lab("bench --show last --json").is(0).json();
    assert_eq!(names(&shown["peers"]), (vec!["other"], vec!["endless"]));
    assert_eq!(
        shown["peers"][1]["left_out"],
        json!([]),
        "no workload of it"
    );
    assert_eq!(shown["peers_failure"], format!("endless: {ended}"));
    let log = lab.path(".lab/bench/1/peers.log");
    fs::remove_file(&log).unwrap();
    let resumed = Beside::spawn(lab.lab_command("bench --resume"));
    until("the first peer is timed again", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("\npeer: other ratio="))
    });
    resumed.signal(Signal::INT);
    resumed.finish().is(3);
}

#[test]
fn peers_that_were_timed_before_an_interruption_stay() {
    let lab = with_an_endless_peer();
    let few = "bench --runs 1 --warm-up 0 --iterations 1 --trials 1";
    let bench = Beside::spawn(lab.lab_command(few));
    until("the first peer is timed", || {
        fs::read_to_string(lab.path(".lab/bench/1/peers.log"))
            .is_ok_and(|log| log.contains("\npeer: other ratio="))
    });
    bench.signal(Signal::INT);
    let bench = bench.finish().is(3);
    assert!(bench.out.contains("interrupted after 1 peer"), "{bench:?}");
    let shown = lab.lab("bench --show last --json").is(0).json();
    assert_eq!(names(&shown["peers"]), (vec!["other"], vec![]));
    assert_eq!(shown["peers_failure"], "interrupted after 1 peer");
    // So they do where the bench would go on with another compiler: it ends before the peers.
    let other = "case $1 in --version) echo 'g++ (Other) 99.1.0';; *) exec g++ \"$@\";; esac";
    lab.script("../bin/other-g++", other);
    let mut command = lab.lab_command("bench --resume");
    command.env("CXX", lab.path("../bin/other-g++"));
    let resumed = Beside::spawn(command).finish().is(64);
    let why = "and is g++ 99.1.0, so its times do not belong to this bench";
    assert!(resumed.out.contains(why), "{resumed:?}");
    let shown = lab.lab("bench --show last --json").is(0).json();
    assert_eq!(names(&shown["peers"]), (vec!["other"], vec![]));
}

#[test]
fn the_first_peer_of_a_problem_is_added_by_a_command_and_runs_at_once() {
    let lab = twice("");
    lab.lab("peers")
        .is(0)
        .says("kernel.cu has no peers: `lab peers new` adds the first");
    let added = lab.lab("peers new").is(0);
    assert!(
        added.out.contains("`lab rules -m TEXT` commits them"),
        "{added:?}"
    );
    assert!(
        lab.read("problem.toml").starts_with(&problem()),
        "the rest of the file is as it was"
    );
    let measured = lab.lab("bench --verdict --json").is(0).json();
    assert_eq!(names(&measured["peers"]), (vec!["reference"], vec![]));
    let again = lab.lab("peers new --json").is(1).json();
    assert!(
        again["error"]
            .as_str()
            .unwrap()
            .contains("has peers already (reference)"),
        "{again}"
    );
    // The change is one of the rules, and the peer's file with it.
    let refused = lab.lab("rules").is(0);
    assert!(
        refused.out.contains("problem.toml is not as in HEAD"),
        "{refused:?}"
    );
    lab.lab("rules -m peers").is(0);
    assert_eq!(lab.git("status --porcelain"), "");
}

#[test]
fn why_no_peer_has_a_figure_is_listed_too() {
    let lab = twice("[[peer]]\nname = \"wrong\"\nkernel = \"wrong.cu\"\n");
    let none = lab.lab("peers --json").is(0).json();
    assert_eq!(
        (&none["peers"][0]["failure"], &none["peers"][0]["measured"]),
        (&Value::Null, &Value::Null)
    );
    let measured = lab.lab("bench --verdict --json").is(0).json();
    let listed = lab.lab("peers --json").is(0).json();
    assert!(listed["peers"][0]["failure"].is_string(), "{listed}");
    assert_eq!(
        listed["peers"][0]["failure"],
        measured["peers"][0]["failure"]
    );
    assert_eq!(
        (&listed["of_incumbent"], &listed["device"]),
        (&json!(false), &measured["device"])
    );
    lab.lab("peers")
        .is(0)
        .says("wrong  wrong.cu  not compared: its results are wrong");
}

#[test]
fn no_peers_leaves_them_out() {
    let lab = twice(PEERS);
    let measured = lab.lab("bench --verdict --no-peers --json").is(0).json();
    assert_eq!(measured["peers"], json!([]));
    let few = "bench --runs 1 --warm-up 0 --iterations 1 --trials 1 --no-peers --json";
    let bench = lab.lab(few).is(0);
    assert!(!bench.err.contains("timed beside"), "{bench:?}");
    assert_eq!(bench.json()["peers"], json!([]));
    // They can be timed later.
    let later = lab.lab("bench --resume --json").is(0);
    assert_eq!(names(&later.json()["peers"]).0, ["other"]);
    assert!(lab.lab("completions bash").is(0).out.contains("--no-peers"));
}

#[test]
fn a_wrong_problem_is_refused_as_a_run_refuses_it() {
    let lab = twice("[[peer]]\nname = \"a\"\nfunction = \"lambda\"\n");
    let why = "problem.toml:24:12: error: peer 'a': function: 'lambda' is a word of Python, and no function can have this name";
    let run = lab.lab("run --json").is(64).json();
    assert!(run["why"].as_str().unwrap().contains(why), "{run}");
    for command in ["peers", "peers new", "rules", "rules -m x"] {
        let said = lab.lab(command).is(64);
        assert!(
            said.err.contains(why) && !said.err.contains(&lab.path("").display().to_string()),
            "{said:?}"
        );
        let said = lab.lab(&format!("{command} --json")).is(64).json();
        assert!(
            said["error"]
                .as_str()
                .unwrap()
                .ends_with(run["why"].as_str().unwrap()),
            "{said} {run}"
        );
    }
    assert_eq!(lab.git("log --format=%s"), "twice\n");
}

/// The kernel is CUDA C++ and needs no trust. Its peer is Python and needs trust: trust belongs to
/// the lab.toml, as for a kernel.py.
#[test]
fn a_peer_in_python_runs_in_a_trusted_folder_only() {
    let lab = twice("[[peer]]\nname = \"eager\"\nfunction = \"eager\"\n");
    let marker = lab.path("../it ran");
    lab.write(
        "peer.py",
        format!("open({marker:?}, 'w').close()\ndef eager(x, y):\n    y[:] = 2 * x\n"),
    );
    let skipped = |why: &str| {
        let measured = lab.lab("bench --verdict --json").is(0).json();
        let failure = measured["peers"][0]["failure"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            failure.contains("look at peer.py, then `lab trust`"),
            "{why}: {measured}"
        );
        assert!(!marker.exists(), "{why}");
    };
    skipped("nobody trusts the folder");
    let trusted = lab.lab("trust --yes --json").is(0).json();
    assert_eq!(trusted["peers"], json!(["peer.py"]));
    let said = trusted["text"].as_str().unwrap();
    assert!(
        said.contains(
            "A measurement also runs the peers in these Python files, with your rights:\n    peer.py"
        ),
        "{said}"
    );
    let before = lab.read("lab.toml");
    lab.write("lab.toml", before.clone() + "narrow = 0.5\n");
    skipped("another lab.toml");
    lab.write("lab.toml", before);
    // Whether it has a figure then depends on whether this machine's Python has NumPy.
    let measured = lab.lab("bench --verdict --json").is(0).json();
    let why = measured["peers"][0]["failure"].as_str().unwrap_or_default();
    assert!(!why.contains("lab trust"), "{measured}");
    assert_eq!(
        marker.exists(),
        measured["peers"][0]["failure"].is_null(),
        "{measured}"
    );
}

#[test]
fn a_peer_that_computes_some_workloads_is_compared_in_these() {
    let lab = twice("[[peer]]\nname = \"small\"\nkernel = \"small.cu\"\n");
    lab.write("small.cu", KERNEL.replace("{ y[", "{ if (n < 40) y["));
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.git("add small.cu");
    lab.git("commit -qm small small.cu");
    let measured = lab.lab("bench --verdict --json").is(0).json();
    let peer = &measured["peers"][0];
    assert_eq!(
        (&peer["part"], &peer["failure"]),
        (&json!({ "compared": 1, "of": 2 }), &Value::Null),
        "{measured}"
    );
    assert_eq!(peer["left_out"][0]["name"], "n=40");
    let why = peer["left_out"][0]["why"].as_str().unwrap();
    assert!(
        why.starts_with("its results are wrong: ") && why.ends_with(" (small.cu)"),
        "{peer}"
    );
    let listed = lab.lab("peers").is(0);
    assert!(
        listed
            .out
            .contains("are not compared, 1 of 2 workloads, just now"),
        "{listed:?}"
    );
    lab.lab("bench --verdict")
        .is(0)
        .says("small computes the same, and emulated times are not compared, 1 of 2 workloads")
        .says("    not n=40: its results are wrong");
    lab.lab("keep -m tried").is(0);
    let kept = lab.lab("log --json").is(0).json();
    assert_eq!(kept["experiments"][0]["peers"][0]["part"], peer["part"]);
}
