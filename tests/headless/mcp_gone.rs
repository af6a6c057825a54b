//! `lab mcp`: a decision that is cancelled while it is written, and a client that goes away without reading its answers.

use crate::lab::{Beside, Lab, until};
use crate::mcp::waits;
use crate::mcp_wire::{Wire, harness_process, is_gone};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::process::Stdio;

#[test]
fn a_decision_that_is_cancelled_while_it_is_written_is_completed() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// one\n");
    lab.lab("run").is(0);
    let held = fs::File::options().append(true).create(true).open(lab.path("results.tsv")).unwrap();
    held.lock().unwrap();
    let mut wire = Wire::of(&lab);
    let discard = wire.tool("discard", json!({ "message": "slower" }));
    until("the decision waits for the ledger", || lab.path(".lab/unfinished.json").exists());
    wire.cancel(discard);
    drop(held);
    until("the decision is written", || !lab.path(".lab/unfinished.json").exists());
    assert_eq!(wire.call("history", json!({}))["experiments"].as_array().unwrap().len(), 1);
    assert_eq!((lab.rows().len(), lab.read("kernel.cu")), (1, "// the first\n".to_owned()));
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_client_that_goes_away_without_reading_its_answers_ends_the_server() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// hangs\n");
    let mut child = lab.lab_command("mcp").stdin(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    let server = Beside::of(child);
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
    });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    lines.extend((2..40).map(|id| {
        let name = if id == 2 { "judge" } else { "history" };
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": {} } })
    }));
    for line in lines {
        // The server may have ended by then.
        let _ = writeln!(stdin, "{line}");
    }
    drop(stdin);
    let ended = server.finish();
    assert!((0..=1).contains(&ended.code), "{ended:?}");
    // A run that it had begun has ended with it.
    if lab.path("pid").exists() {
        assert!(is_gone(&harness_process(&lab)));
    }
    lab.write("go", "");
    lab.lab("run").is(0);
}
