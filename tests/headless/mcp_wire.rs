//! `lab mcp` by single lines: malformed, huge, concurrent and cancelled messages, a client that
//! goes away, and the size of answers.

use crate::built_in::rmsnorm;
use crate::held_out::{STORE, doubling, edit, is_of_a_save};
use crate::lab::Lab;
use crate::mcp::waits;
use lab_testing::{patience, until};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// A server, and the lines that it writes.
pub struct Wire {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Answers that arrived before the test asked for them.
    early: Vec<Value>,
    last: u64,
}

impl Wire {
    /// A server before the handshake.
    fn silent(lab: &Lab) -> Wire {
        Wire::start(lab.lab_command("mcp"))
    }

    fn start(mut command: Command) -> Wire {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let (tell, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            out.lines()
                .map_while(Result::ok)
                .for_each(|line| drop(tell.send(line)));
        });
        Wire {
            stdin: child.stdin.take(),
            child,
            lines,
            early: Vec::new(),
            last: 0,
        }
    }

    pub fn of(lab: &Lab) -> Wire {
        Wire::of_command(lab.lab_command("mcp"))
    }

    /// A server by this command, after the handshake.
    pub fn of_command(command: Command) -> Wire {
        let mut wire = Wire::start(command);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        let id = wire.ask("initialize", hello);
        assert_eq!(wire.answer(id)["result"]["serverInfo"]["name"], "lab");
        wire.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        wire
    }

    fn line(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.line(
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        id
    }

    pub fn tool(&mut self, name: &str, arguments: Value) -> u64 {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "the test" });
        self.line(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })
                .to_string(),
        );
    }

    fn next(&mut self) -> (String, Value) {
        let line = self
            .lines
            .recv_timeout(patience())
            .expect("a line of the server");
        let value = serde_json::from_str(&line).unwrap();
        (line, value)
    }

    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        if let Some(at) = self.early.iter().position(|value| value["id"] == id) {
            return self.early.remove(at);
        }
        loop {
            let (_, value) = self.next();
            if value["id"] == id && value.get("method").is_none() {
                return value;
            }
            self.early.push(value);
        }
    }

    /// Whether an answer to this call arrived before those that the test has read since.
    pub fn was_answered(&self, id: u64) -> bool {
        self.early.iter().any(|value| value["id"] == json!(id))
    }

    /// The structured answer of a tool.
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.tool(name, arguments);
        self.answer(id)["result"]["structuredContent"].clone()
    }

    /// What a tool says of its answers.
    pub fn schema(&mut self, tool: &str) -> Value {
        let id = self.ask("tools/list", json!({}));
        let tools = self.answer(id)["result"]["tools"].clone();
        let named = |of: &&Value| of["name"] == tool;
        tools.as_array().unwrap().iter().find(named).unwrap()["outputSchema"].clone()
    }

    /// The next answer, which is an error without an id.
    #[track_caller]
    fn error(&mut self) -> i64 {
        let value = self.answer(Value::Null);
        value["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("{value}"))
    }

    /// Closes stdin and waits for the server's end.
    pub fn close(mut self) -> i32 {
        drop(self.stdin.take());
        until("the server ends", || {
            self.child.try_wait().unwrap().is_some()
        });
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the harness of [`waits`], and returns its process.
pub fn harness_process(lab: &Lab) -> String {
    until("the harness runs", || lab.path("pid").exists());
    let pid = lab.read("pid").trim().to_owned();
    fs::remove_file(lab.path("pid")).unwrap();
    pid
}

pub fn is_gone(pid: &str) -> bool {
    // A zombie that its parent has not reaped yet has ended too.
    let state = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    state.is_empty() || state.contains(") Z ")
}

#[test]
fn malformed_lines_get_an_answer_and_end_nothing() {
    let lab = Lab::new();
    let mut wire = Wire::silent(&lab);
    // Before the handshake too.
    wire.line("7");
    assert_eq!(wire.error(), -32600);
    wire.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    drop(wire);
    let mut wire = Wire::of(&lab);
    for (line, code) in [
        (&br#""text""#[..], -32600),
        (b"null", -32600),
        (br#"{"id":null,"jsonrpc":"2.0"}"#, -32600),
    ] {
        wire.line(line);
        assert_eq!(wire.error(), code, "{}", String::from_utf8_lossy(line));
    }
    // A byte order mark is no text.
    wire.line("");
    wire.line("\u{feff}");
    wire.line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":76,\"method\":\"ping\"}");
    assert_eq!(wire.answer(76)["result"], json!({}));
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": 7 }), -32602),
        (
            "tools/call",
            json!({ "name": "judge", "arguments": [] }),
            -32602,
        ),
        ("tools/call", json!({ "name": "x".repeat(500_000) }), -32602),
        ("resources/read", json!({}), -32602),
        (
            "resources/read",
            json!({ "uri": "lab://run/1/../../../../etc/passwd" }),
            -32002,
        ),
        ("completion/complete", json!({}), -32601),
        ("prompts/get", json!({}), -32602),
        ("prompts/get", json!({ "name": "x".repeat(5_000) }), -32602),
    ] {
        let id = wire.ask(method, params);
        let answer = wire.answer(id);
        assert_eq!(answer["error"]["code"], json!(code), "{method}: {answer}");
        assert!(answer.to_string().len() < 2_000, "{method}");
    }
    // A cancellation of nothing, an answer to nothing.
    wire.cancel(9_999);
    wire.line(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    assert!(
        wire.call("history", json!({}))["summary"]
            .as_str()
            .unwrap()
            .contains("no experiment yet")
    );
    assert_eq!(wire.close(), 0);
}

/// Clients write the id after the parameters, and wait for an answer with that id.
#[test]
fn a_request_that_is_no_message_is_answered_by_its_id() {
    let lab = Lab::new();
    let mut wire = Wire::of(&lab);
    let request = |text: &[u8], id: &str| {
        [
            br#"{"method":"tools/call","params":{"name":"keep","arguments":{"message":""#,
            text,
            br#""}},"jsonrpc":"2.0","id":"#,
            id.as_bytes(),
            b"}",
        ]
        .concat()
    };
    wire.line(request(&vec![b'x'; 2 << 20], "70"));
    let long = wire.answer(70);
    assert_eq!(long["error"]["code"], -32600, "{long}");
    assert!(
        long["error"]["message"]
            .as_str()
            .unwrap()
            .contains("more than 1048576 bytes"),
        "{long}"
    );
    // Half of a character in JavaScript, bytes in another encoding, a message that was cut off.
    wire.line(request(br"\ud800", "71"));
    assert_eq!(wire.answer(71)["error"]["code"], -32700);
    wire.line(request(b"\xe9", r#""seventy-two""#));
    assert_eq!(wire.answer("seventy-two")["error"]["code"], -32700);
    wire.line(br#"{"jsonrpc":"2.0","id":73,"method":"tools/ca"#);
    assert_eq!(wire.answer(73)["error"]["code"], -32700);
    wire.call("history", json!({}));
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_request_without_a_readable_id_ends_the_server_with_the_reason() {
    let lab = Lab::new();
    let nested = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        &b"{"[..],
        br#"{"method":"tools/call","params":{"name":"ke"#,
        br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        br#""jsonrpc":"2.0","id":7,"method":"ping"}"#,
        b"no JSON",
        // The beginning of a message in UTF-16, a batch of two requests.
        b"\xff\xfe{\0\"\0",
        br#"[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]"#,
        nested.as_bytes(),
        &vec![b'x'; 5 << 20],
    ] {
        let mut wire = Wire::of(&lab);
        wire.line(line);
        let answer = wire.answer(Value::Null);
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .ends_with("cannot be read, so nobody can be answered: the server ends"),
            "{answer}"
        );
        until("the server ends", || {
            wire.child.try_wait().unwrap().is_some()
        });
    }
}

#[test]
fn a_version_with_batches_is_not_negotiated() {
    let lab = Lab::new();
    for (asked, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
    ] {
        let mut wire = Wire::silent(&lab);
        let hello = json!({
            "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        let id = wire.ask("initialize", hello);
        assert_eq!(wire.answer(id)["result"]["protocolVersion"], agreed);
        assert_eq!(wire.close(), 0);
    }
}

#[test]
fn an_agent_reads_the_problem() {
    let lab = rmsnorm();
    let mut wire = Wire::of(&lab);
    let id = wire.ask("resources/read", json!({ "uri": "lab://problem" }));
    let answer = wire.answer(id);
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
    for file in ["problem.toml", "reference.cu"] {
        assert!(text.contains(&format!("{file} <==\n")), "{text}");
        let whole = lab.read(&format!("kernels/rmsnorm/{file}"));
        for line in whole.lines().take(20) {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
    assert!(!text.contains("kernel.cu <=="), "{text}");
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_person_gives_an_agent_a_task_by_its_name() {
    let lab = Lab::new();
    let mut wire = Wire::of(&lab);
    let id = wire.ask("prompts/list", json!({}));
    let prompts = wire.answer(id)["result"]["prompts"].clone();
    let names: Vec<&Value> = prompts
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["make_faster", "why_slow"]);
    for (name, tool) in [("make_faster", "call keep"), ("why_slow", "profile")] {
        let id = wire.ask("prompts/get", json!({ "name": name }));
        let answer = wire.answer(id);
        let message = &answer["result"]["messages"][0];
        assert_eq!(message["role"], "user");
        let text = message["content"]["text"].as_str().unwrap();
        assert!(
            text.contains("lab://problem") && text.contains(tool),
            "{text}"
        );
    }
    assert_eq!(wire.close(), 0);
}

#[test]
fn many_calls_at_once_are_all_answered() {
    let lab = Lab::new();
    let mut wire = Wire::of(&lab);
    let calls: Vec<u64> = (0..200).map(|_| wire.tool("history", json!({}))).collect();
    for id in calls {
        let answer = wire.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    // Judgements wait for one another; each has its own run, and nothing is judged in parallel.
    lab.write("kernel.cu", "// one\n");
    let calls: Vec<u64> = (0..4)
        .map(|_| wire.tool("judge", json!({ "unless_known": false })))
        .collect();
    let mut runs: Vec<Value> = calls
        .into_iter()
        .map(|id| wire.answer(id)["result"]["structuredContent"]["run"].clone())
        .collect();
    runs.sort_by_key(Value::as_u64);
    assert_eq!(runs, [1, 2, 3, 4]);
    assert_eq!(wire.close(), 0);
}

#[test]
fn an_agent_reads_while_as_many_runs_wait_as_are_allowed() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// slow to judge\n");
    let mut wire = Wire::of(&lab);
    let judge = |wire: &mut Wire| wire.call("judge", json!({ "max_s": 0 }));
    let first = judge(&mut wire)["job"].clone();
    (1..16).for_each(|_| drop(judge(&mut wire)));
    let refused = judge(&mut wire);
    assert!(
        refused["summary"]
            .as_str()
            .unwrap()
            .starts_with("16 runs and decisions have not ended: wait for one of them, or end one"),
        "{refused:#}"
    );
    assert_eq!(refused["open_jobs"].as_array().unwrap().len(), 16);
    // Many more reads than results are kept: the first run's result is not lost.
    for _ in 0..100 {
        let history = wire.call("history", json!({}));
        assert!(
            history["summary"]
                .as_str()
                .unwrap()
                .contains("no experiment yet"),
            "{history:#}"
        );
    }
    let log = wire.ask("resources/read", json!({ "uri": "lab://results.tsv" }));
    assert!(wire.answer(log)["result"]["contents"].is_array());
    lab.write("go", "");
    let judged = wire.call("wait", json!({ "job": first }));
    assert_eq!(judged["outcome"], "pass", "{judged:#}");
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_cancelled_call_ends_its_run_wherever_it_is() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// hangs\n");
    let mut wire = Wire::of(&lab);
    // Cancelled at once, in whatever stage.
    let at_once = wire.tool("judge", json!({}));
    wire.cancel(at_once);
    // While another one runs, and while it is queued.
    let running = wire.tool("judge", json!({}));
    let queued = wire.tool("judge", json!({}));
    let mut pid = harness_process(&lab);
    wire.cancel(queued);
    wire.cancel(running);
    until("the harness is gone", || {
        // The call that was cancelled at once may have reached its harness.
        if lab.path("pid").exists() {
            pid = harness_process(&lab);
        }
        is_gone(&pid)
    });
    // A job is ended by `wait`.
    let begun = wire.call("judge", json!({ "max_s": 0 }));
    let pid = harness_process(&lab);
    let ended = wire.call("wait", json!({ "job": begun["job"], "end": true }));
    assert_eq!(ended["outcome"], "void", "{ended:#}");
    assert!(is_gone(&pid));
    // A cancelled call gets no answer, and the server goes on.
    lab.write("go", "");
    let judged = wire.call("judge", json!({}));
    assert_eq!(judged["outcome"], "pass", "{judged:#}");
    assert!(!wire.was_answered(running) && !wire.was_answered(queued));
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_keep_that_is_ended_during_its_check_keeps_nothing() {
    let lab = doubling();
    lab.lab("run").is(0);
    // The check does not end by itself: the kernel hangs on the held-out workload, when it is launched
    // for the second time. The race detector launches it once.
    let hangs = format!(
        "if (!({}) && i == 0 && ++seen > 1) while (seen) {{}}",
        is_of_a_save()
    );
    edit(
        &lab,
        STORE,
        &format!("static volatile int seen;\n        {hangs}\n        {STORE}"),
    );
    lab.lab("run").is(0);
    let head = lab.head();
    let mut wire = Wire::of(&lab);
    let begun = wire.call("keep", json!({ "message": "hangs", "max_s": 0 }));
    let last_line = |wire: &mut Wire, job: &Value| {
        wire.call("wait", json!({ "job": job, "max_s": 0 }))["last_line"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    until("the check runs", || {
        !last_line(&mut wire, &begun["job"]).is_empty()
    });
    let id = wire.tool("wait", json!({ "job": begun["job"], "end": true }));
    let ended = wire.answer(id);
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    // The same by a cancelled call: its job is the next one.
    let keep = wire.tool("keep", json!({ "message": "hangs" }));
    let job = json!(begun["job"].as_u64().unwrap() + 1);
    until("the check runs", || !last_line(&mut wire, &job).is_empty());
    wire.cancel(keep);
    assert!(!wire.call("wait", json!({ "job": job }))["decision"]["commit"].is_string());
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/2/record.json")).unwrap();
    assert!(
        record["decision"].is_null() && record["held_out"].is_null(),
        "{record:#}"
    );
    assert_eq!(lab.head(), head);
    assert_eq!(wire.close(), 0);
}

#[test]
fn a_client_that_goes_away_ends_its_runs_and_loses_nothing() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// hangs\n");
    let mut wire = Wire::of(&lab);
    wire.tool("judge", json!({}));
    let pid = harness_process(&lab);
    assert_eq!(wire.close(), 0);
    assert!(is_gone(&pid));
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/1/record.json")).unwrap();
    assert_eq!(record["verdict"]["outcome"], "void", "{record:#}");
    assert_eq!(lab.read("kernel.cu"), "// hangs\n");

    // A signal ends the server in the same way.
    let mut wire = Wire::of(&lab);
    wire.tool("judge", json!({ "max_s": 0 }));
    let pid = harness_process(&lab);
    let server = rustix::process::Pid::from_child(&wire.child);
    rustix::process::kill_process(server, rustix::process::Signal::TERM).unwrap();
    until("the server ends", || {
        wire.child.try_wait().unwrap().is_some()
    });
    assert!(is_gone(&pid));

    // A client that says nothing at all.
    assert_eq!(Wire::silent(&lab).close(), 0);
    // The next server and the commands go on.
    lab.write("go", "");
    let mut wire = Wire::of(&lab);
    let judged = wire.call("judge", json!({}));
    assert_eq!(
        (&judged["outcome"], &judged["run"]),
        (&json!("pass"), &json!(3)),
        "{judged:#}"
    );
    wire.call("keep", json!({ "message": "it was only slow" }));
    assert_eq!(wire.close(), 0);
    lab.lab("log").is(0).says("it was only slow");
}

#[test]
fn no_answer_is_larger_than_its_limit_with_10_000_experiments() {
    /// Below 10,000 tokens.
    const MOST: usize = 25_000;
    let lab = Lab::new();
    lab.harness(
        "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo \"kernel.cu:$i:1: error: no such name as this one, number $i\"; done\n\
         printf 'odd \\033[2J\\342\\200\\256 text\\n'; echo 'correctness: fail'",
    );
    let long: String = (0..4000)
        .map(|n| format!("int value_{n} = {n}; // {}\n", "comment ".repeat(8)))
        .collect();
    lab.write("kernel.cu", long);
    lab.lab("run").is(1);
    lab.lab("discard -m first").is(0);
    let row = |n: usize| {
        format!(
            "{:07x}\t{n}.5\t1.25\tpass\tdiscard\t{} {n}\n",
            n + 0x1000000 / 16,
            "a long description".repeat(20)
        )
    };
    let ledger = lab.read("results.tsv") + &(0..10_000).map(row).collect::<String>();
    lab.write("results.tsv", ledger);
    lab.write("kernel.cu", "// wrong again\n");
    let mut wire = Wire::of(&lab);
    let mut sizes = Vec::new();
    let calls = [
        ("judge", json!({})),
        ("history", json!({})),
        ("history", json!({ "limit": 50 })),
        ("history", json!({ "limit": 50, "offset": 5000 })),
        ("experiment", json!({ "run": 1 })),
        ("experiment", json!({ "commit": "0100fff" })),
        ("discard", json!({ "message": "again" })),
        ("undo_or_restore", json!({ "run": 2 })),
        ("wait", json!({ "job": 1 })),
    ];
    for (tool, arguments) in calls {
        let id = wire.tool(tool, arguments.clone());
        let answer = wire.answer(id);
        let result = &answer["result"];
        let (value, text) = (
            &result["structuredContent"],
            result["content"][0]["text"].as_str().unwrap(),
        );
        assert!(
            value["summary"].is_string() && value["next"].is_string(),
            "{tool}: {answer}"
        );
        assert_eq!(
            &serde_json::from_str::<Value>(text).unwrap(),
            value,
            "{tool}"
        );
        assert!(text.starts_with("{\"summary\":"), "{tool}: {text}");
        sizes.push((tool, text.len()));
        assert!(text.len() <= MOST, "{sizes:?}");
        // A token has at least 2.5 bytes: 1,500 tokens for twenty experiments, 200 for a decision.
        match (tool, arguments.get("limit")) {
            ("history", None) => {
                assert_eq!(value["experiments"].as_array().unwrap().len(), 20);
                assert!(text.len() <= 3_750, "{} {text}", text.len());
            }
            ("discard", _) => assert!(text.len() <= 500, "{} {text}", text.len()),
            _ => {}
        }
        if tool == "judge" {
            let shown = value["diagnostics"].as_array().unwrap().len() as u64;
            assert!(shown > 10, "{value:#}");
            assert_eq!(
                value["left_out"]["diagnostics"].as_u64(),
                Some(1_000 - shown),
                "{value:#}"
            );
        }
    }
    for uri in [
        "lab://run/1/run.log",
        "lab://run/1/diff",
        "lab://results.tsv",
        "lab://agent-guide",
    ] {
        let id = wire.ask("resources/read", json!({ "uri": uri }));
        let answer = wire.answer(id);
        let text = answer["result"]["contents"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        assert!(
            text.len() <= MOST && !text.contains(['\x1b', '\u{202e}']),
            "{uri}: {}",
            text.len()
        );
        assert_eq!(
            text.contains("lines are left out here"),
            uri != "lab://agent-guide",
            "{uri}: {text}"
        );
    }
    let history = wire.call("history", json!({}));
    assert_eq!(history["counts"]["discard"], json!(10_001), "{history:#}");
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        let id = wire.ask(method, json!({}));
        assert!(wire.answer(id).to_string().len() <= MOST, "{method}");
    }
    assert_eq!(wire.close(), 0);
}
