//! `lab mcp`: measurements and profiles that are cancelled while they run and while they are queued, a
//! decision that is cancelled while it is written, and a client that goes away without reading its
//! answers.

use crate::built_in::rmsnorm;
use crate::lab::{Beside, Lab};
use crate::mcp::waits;
use crate::mcp_wire::{Wire, harness_process, is_gone};
use crate::profile::ncu;
use crate::schema::faults_by;
use lab_testing::until;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

#[test]
fn a_decision_that_is_cancelled_while_it_is_written_is_completed() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// one\n");
    lab.lab("run").is(0);
    let held = fs::File::options()
        .append(true)
        .create(true)
        .open(lab.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let mut wire = Wire::of(&lab);
    let discard = wire.tool("discard", json!({ "message": "slower" }));
    until("the decision waits for the ledger", || {
        lab.path(".lab/unfinished.json").exists()
    });
    wire.cancel(discard);
    drop(held);
    until("the decision is written", || {
        !lab.path(".lab/unfinished.json").exists()
    });
    assert_eq!(
        wire.call("history", json!({}))["experiments"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        (lab.rows().len(), lab.read("kernel.cu")),
        (1, "// the first\n".to_owned())
    );
    lab.git("rev-parse --verify refs/lab/discarded/1");
    assert!(!wire.was_answered(discard));
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_client_that_goes_away_without_reading_its_answers_ends_the_server() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// hangs\n");
    let mut child = lab
        .lab_command("mcp")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let unread = child.stdout.take();
    let mut stdin = child.stdin.take().unwrap();
    let server = Beside::of(child);
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    let call = |id: u64, name: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": {} } });
    for line in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(2, "judge"),
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    let harness = harness_process(&lab);
    drop(unread);
    for id in 3..40 {
        // The server may end at its first answer.
        let _ = writeln!(stdin, "{}", call(id, "history"));
    }
    drop(stdin);
    let ended = server.finish();
    assert!((0..=1).contains(&ended.code), "{ended:?}");
    assert!(is_gone(&harness), "the run ends with the server");
    lab.write("go", "");
    lab.lab("run").is(0);
}

#[test]
fn a_client_that_stops_reading_does_not_keep_the_server_alive() {
    let lab = Lab::new();
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    for signal in [None, Some(rustix::process::Signal::TERM)] {
        let mut child = lab
            .lab_command("mcp")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        let mut unread = child.stdout.take().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let server = Beside::of(child);
        for line in [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ] {
            writeln!(stdin, "{line}").unwrap();
        }
        // The answers fill the pipe and all that waits behind it.
        for id in 2..500 {
            writeln!(
                stdin,
                "{}",
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })
            )
            .unwrap();
        }
        until("the pipe fills", || {
            rustix::io::ioctl_fionread(&unread).unwrap() >= 32_000
        });
        // stdin stays open if a signal is to end the server.
        let stdin = match signal {
            Some(signal) => {
                rustix::process::kill_process(pid, signal).unwrap();
                Some(stdin)
            }
            None => {
                drop(stdin);
                None
            }
        };
        let ended = server.finish();
        assert_eq!(ended.code, 0, "{signal:?}: {ended:?}");
        drop(stdin);
        // What it wrote are whole answers, but for the last.
        let mut text = String::new();
        unread.read_to_string(&mut text).unwrap();
        let whole = text.rsplit_once('\n').unwrap().0;
        for line in whole.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
}

#[test]
fn a_measurement_that_is_cancelled_ends_wherever_it_is() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// hangs\n");
    let mut wire = Wire::of(&lab);
    // While it runs, and while it is queued behind the one that runs.
    let running = wire.tool("measure", json!({}));
    let queued = wire.tool("measure", json!({}));
    let pid = harness_process(&lab);
    wire.cancel(queued);
    wire.cancel(running);
    until("the harness is gone", || is_gone(&pid));
    // As a job: a cancelled `wait` leaves it alone, and `wait` with `end` ends it.
    let begun = wire.call("measure", json!({ "max_s": 0 }));
    let pid = harness_process(&lab);
    let waiting = wire.tool("wait", json!({ "job": begun["job"] }));
    wire.cancel(waiting);
    let still = wire.call("wait", json!({ "job": begun["job"], "max_s": 0 }));
    assert!(still["state"] == "running" && !is_gone(&pid), "{still:#}");
    let ended = wire.call("wait", json!({ "job": begun["job"], "end": true }));
    assert_eq!(ended["outcome"], "void", "{ended:#}");
    assert!(is_gone(&pid));
    assert_eq!(
        lab.read("../starts").lines().count(),
        2,
        "the call that was cancelled in the queue never reached the harness"
    );
    // At once, in whatever stage: the next one waits for the end of its run.
    let at_once = wire.tool("measure", json!({}));
    wire.cancel(at_once);
    let next = wire.call("measure", json!({ "max_s": 0 }))["job"].clone();
    until("the next measurement runs", || {
        wire.call("wait", json!({ "job": next, "max_s": 0 }))["state"] == "running"
    });
    lab.write("go", "");
    let measured = wire.call("wait", json!({ "job": next }));
    assert_eq!(measured["outcome"], "pass", "{measured:#}");
    for cancelled in [running, queued, waiting, at_once] {
        assert!(!wire.was_answered(cancelled), "{cancelled} has an answer");
    }
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_profile_that_is_cancelled_ends_ncu_and_leaves_nothing() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    let mut command = lab.lab_command("mcp");
    command.env("LAB_NCU", ncu(&lab));
    lab.write("../tool/mode", "hang");
    let started = lab.path("../tool/started");
    let hanging = || {
        until("ncu hangs over the kernel", || {
            fs::read_to_string(&started).is_ok_and(|pid| pid.ends_with('\n'))
        });
        let pid = fs::read_to_string(&started).unwrap().trim().to_owned();
        fs::remove_file(&started).unwrap();
        pid
    };
    let mut wire = Wire::of_command(command);
    // While ncu works, and while it is queued behind that one.
    let running = wire.tool("profile", json!({}));
    let queued = wire.tool("profile", json!({}));
    let pid = hanging();
    wire.cancel(queued);
    wire.cancel(running);
    until("what ncu started ends", || is_gone(&pid));
    // As a job.
    let begun = wire.call("profile", json!({ "max_s": 0 }));
    let pid = hanging();
    let ended = wire.tool("wait", json!({ "job": begun["job"], "end": true }));
    let ended = wire.answer(ended);
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    until("what ncu started ends", || is_gone(&pid));
    assert!(!lab.path(".lab/runs/1/profile.json").exists());
    // The next one is not held up.
    lab.write("../tool/mode", "");
    let profiled = wire.call("profile", json!({}));
    assert_eq!(profiled["run"], 1, "{profiled:#}");
    let schema = wire.schema("profile");
    assert_eq!(faults_by(&schema, &profiled), Vec::<String>::new());
    assert!(
        !started.exists(),
        "the call that was cancelled in the queue never reached ncu"
    );
    assert!(!lab.path(".lab/runs/1/profiling").exists());
    assert!(!wire.was_answered(running) && !wire.was_answered(queued));
    assert_eq!(wire.close(), 0);
}
