//! `lab mcp`, driven by the official client of the protocol: judge, decide, read, wait.

use crate::auto::in_turns;
use crate::built_in::rmsnorm;
use crate::lab::Lab;
use crate::peers::{PEERS, twice as with_peers};
use crate::schema::faults_by;
use crate::twice;
use lab_testing::{patience, until};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientJsonRpcMessage, ClientRequest,
    ErrorCode, ProgressNotificationParam, ReadResourceRequestParams, ResourceContents,
    ServerJsonRpcMessage, Tool,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The server's pipes as the client's transport.
struct Pipes {
    messages: UnboundedReceiver<ServerJsonRpcMessage>,
    stdin: Option<ChildStdin>,
}

impl Transport<RoleClient> for Pipes {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_string(&item).unwrap() + "\n";
        std::future::ready(self.stdin.as_mut().unwrap().write_all(line.as_bytes()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.stdin = None;
        Ok(())
    }
}

/// Tells the test of the progress.
struct Handler(UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Handler {
    fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        let _ = self.0.send(params);
        std::future::ready(())
    }
}

/// A client and its server.
struct Client {
    runtime: tokio::runtime::Runtime,
    service: RunningService<RoleClient, Handler>,
    progress: UnboundedReceiver<ProgressNotificationParam>,
    server: Arc<Mutex<Child>>,
    /// What each tool says of its answers.
    schemas: BTreeMap<String, Value>,
}

impl Client {
    fn of(lab: &Lab) -> Client {
        let mut command = lab.lab_command("mcp");
        let mut server = command
            .stdin(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (tell, messages) = unbounded_channel();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line);
                let _ = tell
                    .send(message.unwrap_or_else(|error| panic!("no message ({error}): {line}")));
            }
        });
        let pipes = Pipes {
            messages,
            stdin: server.stdin.take(),
        };
        let (told, progress) = unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let began = async { tokio::time::timeout(patience(), Handler(told).serve(pipes)).await };
        let service = runtime
            .block_on(began)
            .expect("the server answers")
            .unwrap();
        let mut client = Client {
            runtime,
            service,
            progress,
            server: Arc::new(Mutex::new(server)),
            schemas: BTreeMap::new(),
        };
        let tools = client.wait(client.service.list_all_tools()).unwrap();
        let schema = |tool: Tool| (tool.name.into_owned(), json!(tool.output_schema.unwrap()));
        client.schemas = tools.into_iter().map(schema).collect();
        client
    }

    /// Waits for an answer, not longer than the watchdog.
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime
            .block_on(async { tokio::time::timeout(patience(), answer).await })
            .expect("an answer")
    }

    fn try_call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let result = self.wait(
            self.service
                .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)),
        )?;
        let answer = result.structured_content.as_ref().unwrap();
        let faults = faults_by(&self.schemas[tool], answer);
        assert!(faults.is_empty(), "{tool}: {faults:#?}\n{answer:#}");
        Ok(result)
    }

    /// The structured answer of a call that succeeded.
    #[track_caller]
    fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let result = self.try_call(tool, arguments).unwrap();
        let value = result.structured_content.unwrap();
        assert_eq!(result.is_error, Some(false), "{value:#}");
        value
    }

    /// The summary and the advice of a call that was refused.
    #[track_caller]
    fn refused(&self, tool: &'static str, arguments: Value) -> String {
        let result = self.try_call(tool, arguments).unwrap();
        let value = result.structured_content.unwrap();
        assert_eq!(result.is_error, Some(true), "{value:#}");
        format!(
            "{} | {}",
            value["summary"].as_str().unwrap(),
            value["next"].as_str().unwrap()
        )
    }

    fn read(&self, uri: &str) -> String {
        let result = self
            .wait(
                self.service
                    .read_resource(ReadResourceRequestParams::new(uri)),
            )
            .unwrap();
        match &result.contents[0] {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the connection and waits for the server's end.
    fn close(mut self) -> i32 {
        let closed = self
            .runtime
            .block_on(async { tokio::time::timeout(patience(), self.service.close()).await });
        closed.expect("the client closes").unwrap();
        let mut server = self.server.lock().unwrap();
        until("the server ends", || server.try_wait().unwrap().is_some());
        server.wait().unwrap().code().unwrap()
    }
}

#[test]
fn an_agent_judges_decides_and_reads_the_history() {
    let lab = Lab::new();
    let client = Client::of(&lab);
    let tools = client.wait(client.service.list_all_tools()).unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        [
            "check",
            "discard",
            "experiment",
            "history",
            "judge",
            "keep",
            "measure",
            "peers",
            "profile",
            "rules",
            "sweep",
            "undo_or_restore",
            "wait",
        ]
    );

    // A keep without a verdict is refused as on the command line.
    assert!(
        client
            .refused("keep", json!({ "message": "x" }))
            .contains("no run yet: `lab run` first")
    );
    assert!(
        client
            .refused("undo_or_restore", json!({}))
            .contains("nothing was decided")
    );
    assert!(
        client
            .refused("profile", json!({}))
            .contains("built-in harness")
    );
    assert!(
        client
            .refused("profile", json!({ "set": "all" }))
            .contains("quick, full or source")
    );

    lab.write("kernel.cu", "// faster\n");
    in_turns(&lab, 1.05, "faster");
    let judged = client.call("judge", json!({}));
    assert!(
        judged["summary"]
            .as_str()
            .unwrap()
            .contains(" PASS  run 1 of kernel.cu"),
        "{judged:#}"
    );
    assert_eq!(
        judged["next"],
        "It is correct and faster: call keep with run 1."
    );
    assert_eq!(
        (&judged["outcome"], &judged["ratio"]["value"]),
        (&json!("pass"), &json!(1.05))
    );
    // Nothing that says nothing.
    let text = judged.to_string();
    for word in [":null", "[]", "\"\"", "\"pass\":true", "fingerprint"] {
        assert!(!text.contains(word), "{word}: {judged:#}");
    }
    assert!(text.len() < 1_400, "{} bytes: {judged:#}", text.len());
    let whole = client.call("experiment", json!({ "run": 1 }));
    assert_eq!(whole["gates"][0]["pass"], true);
    let kept = client.call(
        "keep",
        json!({ "message": "faster tiles", "run": 1, "hypothesis": "wider loads", "lesson": "they help" }),
    );
    assert_eq!(kept["decision"]["commit"], json!(lab.head()));
    assert_eq!(
        kept["summary"],
        json!(format!("keep run 1 of kernel.cu: {}", &lab.head()[..7]))
    );
    // The run is known: only the decision is new.
    let told: Vec<&String> = kept.as_object().unwrap().keys().collect();
    assert_eq!(
        told,
        ["decision", "job", "next", "notes", "run", "summary"],
        "{kept:#}"
    );
    let message = lab.git("log -1 --format=%B");
    assert!(message.starts_with("faster tiles\n"), "{message}");
    assert!(
        message.contains("Hypothesis: wider loads\n") && message.contains("Lesson: they help"),
        "{message}"
    );
    assert!(message.contains("Tested: "), "{message}");

    // The same kernel again, with another comment.
    lab.write("kernel.cu", "// faster, with a remark\n");
    let known = client.call("judge", json!({}));
    assert_eq!(known["known_as"], json!({ "run": 1, "same_bytes": false }));
    let summary = known["summary"].as_str().unwrap();
    assert!(
        summary.contains("not judged again, because run 1 judged the same kernel"),
        "{summary}"
    );
    assert!(
        known["next"]
            .as_str()
            .unwrap()
            .starts_with("Edit the kernel and call judge"),
        "{known:#}"
    );
    let history = client.call("history", json!({ "lessons": true }));
    assert_eq!(
        (
            &history["lessons"][0]["idea"],
            &history["lessons"][0]["kept"]
        ),
        (&json!("wider loads"), &json!(1))
    );
    assert_eq!(client.call("history", json!({})).get("lessons"), None);
    let again = client.call("judge", json!({ "unless_known": false }));
    assert_eq!((&again["run"], again.get("known_as")), (&json!(2), None));
    client.call("discard", json!({ "message": "the same" }));

    lab.write("kernel.cu", "// slower\n");
    in_turns(&lab, 0.95, "slower");
    let judged = client.call("judge", json!({}));
    assert!(
        judged["next"]
            .as_str()
            .unwrap()
            .contains("call discard with run 3"),
        "{judged:#}"
    );
    let undecided = client.call("history", json!({}));
    assert_eq!(
        (&undecided["undecided_run"], &undecided["counts"]["keep"]),
        (&json!(3), &json!(1))
    );
    client.call("discard", json!({ "message": "slower tiles" }));
    assert_eq!(lab.read("kernel.cu"), "// faster\n");

    let history = client.call("history", json!({ "limit": 1 }));
    assert_eq!(history["experiments"][0]["description"], "slower tiles");
    assert_eq!(
        (&history["older"], &history["incumbent"]["description"]),
        (&json!(2), &json!("faster tiles"))
    );
    assert!(
        history["next"].as_str().unwrap().contains("\"offset\": 1"),
        "{history:#}"
    );
    let kept = client.call("history", json!({ "status": "keep" }));
    assert_eq!(kept["experiments"].as_array().unwrap().len(), 1);

    assert_eq!(
        (&history["objective"], &history["unit"]),
        (&json!("throughput_sps"), &json!("sps"))
    );

    let beside = client.call("experiment", json!({ "run": 3, "against": "1" }));
    // A number is a name as text is.
    let also = client.call("experiment", json!({ "run": "3", "against": 1 }));
    assert_eq!(also["compared"], beside["compared"]);
    // The commands of a text are explained where it names one.
    let refused = client.refused("experiment", json!({}));
    assert!(
        refused.starts_with("give either `run` or `commit`") && !refused.contains("lab run"),
        "{refused}"
    );
    assert_eq!(
        beside["compared"]["second"],
        beside["decision"]["commit"].as_str().unwrap()[..7]
    );
    assert_eq!(
        beside["compared"]["first"],
        kept["experiments"][0]["commit"]
    );
    let experiment = client.call("experiment", json!({ "run": 3 }));
    assert_eq!(experiment["decision"]["status"], "discard");
    assert!(
        experiment["diff"]
            .as_str()
            .unwrap()
            .contains("-// faster\n+// slower\n"),
        "{experiment:#}"
    );
    let same = client.call(
        "experiment",
        json!({ "commit": history["experiments"][0]["commit"] }),
    );
    assert_eq!(same["diff"], experiment["diff"]);

    assert!(client.read("lab://run/3/run.log").contains("speed: slower"));
    assert!(client.read("lab://run/3/diff").contains("+// slower"));
    assert!(client.read("lab://results.tsv").contains("\tslower tiles"));
    assert!(client.read("lab://agent-guide").starts_with("# "));
    let gone = client.wait(
        client
            .service
            .read_resource(ReadResourceRequestParams::new("lab://run/9/run.log")),
    );
    let gone = gone.unwrap_err().to_string();
    assert!(gone.contains("there is no run 9: "), "{gone}");

    // An undo says of which run: another client may have decided since.
    let refused = client.refused("undo_or_restore", json!({}));
    assert!(
        refused
            .starts_with("nothing was undone without `run`. It would undo the discard of run 3 ("),
        "{refused}"
    );
    let undone = client.call("undo_or_restore", json!({ "run": 3 }));
    assert_eq!(
        (&undone["run"], &undone["undone"]["status"]),
        (&json!(3), &json!("discard"))
    );
    assert_eq!(lab.read("kernel.cu"), "// slower\n");
    let restored = client.call("undo_or_restore", json!({ "restore": "HEAD" }));
    assert_eq!(
        (&restored["changed"], lab.read("kernel.cu").as_str()),
        (&json!(true), "// faster\n")
    );
    assert_eq!(client.close(), 0);
}

#[test]
fn a_kernel_that_was_discarded_can_be_judged_again_and_kept() {
    let lab = Lab::new();
    let client = Client::of(&lab);
    let again = "call judge with \"unless_known\": false";
    in_turns(&lab, 1.05, "faster");
    lab.write("kernel.cu", "// faster\n");
    client.call("judge", json!({}));
    client.call("discard", json!({ "message": "too long" }));
    // The same bytes, and the same kernel with another comment: both stories end with a keep.
    for (bytes, same_bytes, refusal) in [
        (
            "// faster\n",
            true,
            "run 1 was decided already (discard): judge the bytes again (`lab run`)",
        ),
        (
            "// faster, again\n",
            false,
            "kernel.cu changed after the verdict of run 1: judge it first (`lab run`)",
        ),
    ] {
        lab.write("kernel.cu", bytes);
        let known = client.call("judge", json!({}));
        assert_eq!(
            (
                &known["known_as"]["same_bytes"],
                &known["decision"]["status"]
            ),
            (&json!(same_bytes), &json!("discard")),
            "{known:#}"
        );
        let summary = known["summary"].as_str().unwrap();
        assert!(
            summary.ends_with("run 1 is decided: discard 'too long'"),
            "{summary}"
        );
        assert!(known["next"].as_str().unwrap().contains(again), "{known:#}");
        let refused = client.refused("keep", json!({ "message": "short enough", "run": 1 }));
        assert!(
            refused.starts_with(refusal)
                && refused.contains("`lab run` is the tool judge with \"unless_known\": false"),
            "{refused}"
        );
    }
    let judged = client.call("judge", json!({ "unless_known": false }));
    assert_eq!(
        (&judged["run"], &judged["decision"]),
        (&json!(2), &Value::Null)
    );
    client.call("keep", json!({ "message": "short enough", "run": 2 }));
    assert_eq!(client.close(), 0);
}

#[test]
fn an_agent_asks_for_the_rules_and_the_peers() {
    let lab = with_peers(PEERS);
    let client = Client::of(&lab);
    let rules = client.call("rules", json!({}));
    let as_in_head = "the rules of kernel.cu are as in HEAD";
    assert_eq!(
        (&rules["summary"], &rules["next"]),
        (
            &json!(as_in_head),
            &json!("Edit the kernel and call judge.")
        )
    );
    let peers = client.call("peers", json!({}));
    assert_eq!(
        peers["summary"],
        "other: not timed yet; wrong: not timed yet"
    );
    assert_eq!(
        peers["peers"],
        lab.lab("peers --json").is(0).json()["peers"]
    );
    let problem = "problem.toml";
    lab.write(problem, lab.read(problem) + "\n# looser\n");
    let rules = client.call("rules", json!({}));
    assert!(
        rules["summary"].as_str().unwrap().contains(problem)
            && rules["next"]
                .as_str()
                .unwrap()
                .contains("`lab rules -m TEXT`"),
        "{rules:#}"
    );
    client.refused("rules", json!({ "message": "x" }));
    assert_eq!(client.close(), 0);
}

#[test]
fn an_agent_looks_for_a_race() {
    let lab = rmsnorm();
    let kernel = "kernels/rmsnorm/kernel.cu";
    let right = lab.read(kernel);
    lab.write(kernel, right.replacen("    __syncthreads();\n", "", 1));
    let client = Client::of(&lab);
    let checked = client.call("check", json!({ "tools": ["race"] }));
    assert_eq!(
        (
            &checked["run"],
            &checked["tools"],
            &checked["findings"][0]["file"]
        ),
        (&json!(1), &json!(["race"]), &json!(kernel)),
        "{checked:#}"
    );
    assert_eq!(
        checked["next"],
        "Mend the kernel, then call check or judge."
    );
    let unknown = client.refused("check", json!({ "tools": ["memcheck"] }));
    assert!(
        unknown.starts_with("device cpu has no tool memcheck: its tools are address, race"),
        "{unknown}"
    );
    client.refused("check", json!({ "tools": ["valgrind"] }));
    // A check is no verdict.
    let undecidable = client.refused("keep", json!({ "message": "x", "run": 1 }));
    assert!(undecidable.contains("run 1 was a check"), "{undecidable}");
    assert_eq!(client.close(), 0);
}

#[test]
fn an_undecided_speed_is_measured_longer_and_a_run_that_is_not_there_is_named() {
    let lab = Lab::new();
    let client = Client::of(&lab);
    in_turns(&lab, 1.0, "undecided");
    lab.write("kernel.cu", "// as fast\n");
    let judged = client.call("judge", json!({}));
    assert_eq!(
        judged["next"],
        "The speed is undecided: call measure, which measures longer. Or call keep or discard with run 1."
    );
    let measured = client.call("measure", json!({}));
    assert!(
        measured["next"]
            .as_str()
            .unwrap()
            .ends_with("call keep or discard with run 2."),
        "{measured:#}"
    );
    for tool in ["keep", "discard"] {
        let refused = client.refused(tool, json!({ "message": "x", "run": 999 }));
        assert!(refused.starts_with("there is no run 999: "), "{refused}");
    }
    assert_eq!(client.close(), 0);
}

/// A dimension that is called `n`, as 0.1.0 called the number of timed launches.
#[test]
fn each_workload_tells_its_size_whatever_its_dimensions_are_called() {
    let sizes = "[[workload]]\ndims = { n = 30 }\n[[workload]]\ndims = { n = 40 }\n";
    let lab = twice::repository(&twice::problem(sizes), &[]);
    let run = lab.lab("run --json").is(0).json();
    let log = lab.read(".lab/runs/1/run.log");
    assert!(log.contains("\nworkload: n=40 kernel_us="), "{log}");
    for (at, n) in [30, 40].into_iter().enumerate() {
        let row = &run["workloads"][at];
        assert_eq!(
            (&row["n"], &row["name"], &row["samples"]),
            (&json!(n), &json!(format!("n={n}")), &json!(1)),
            "{row}"
        );
        assert_eq!(row["dimensions"], json!({ "n": n }));
        assert_eq!(lab.lab("show 1 --json").is(0).json()["workloads"][at], *row);
    }
    // An agent learns which size failed.
    lab.write(
        "kernel.cu",
        twice::KERNEL.replace("2.0f *", "(n == 40 ? 3.0f : 2.0f) *"),
    );
    let client = Client::of(&lab);
    let judged = client.call("judge", json!({}));
    let rows = judged["workloads"].as_array().unwrap();
    assert_eq!(rows[0], json!({ "name": "n=40", "correctness": "fail" }));
    assert_eq!(client.close(), 0);
}

#[test]
fn of_many_workloads_a_verdict_tells_the_worst() {
    let lab = Lab::new();
    let rows: String = [1.01, 0.99, 1.0, 0.97, 1.02, 0.98]
        .iter()
        .enumerate()
        .map(|(row, ratio)| {
            let correctness = if row == 4 { "fail" } else { "pass" };
            format!(
                "echo 'workload: rows={row} kernel_us=2 low_us=1.9 n=40 ratio={ratio} correctness={correctness}'\n"
            )
        })
        .collect();
    lab.harness(&format!(
        "{rows}echo 'device: Test GPU'\necho 'y_mismatched: 1 limit=0'\necho 'correctness: fail'\nexit 1"
    ));
    lab.git("commit -qam harness");
    lab.write("kernel.cu", "// wrong in one\n");
    let client = Client::of(&lab);
    let judged = client.call("judge", json!({}));
    let rows = judged["workloads"].as_array().unwrap();
    let names: Vec<&Value> = rows.iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["rows=4", "rows=3", "rows=5", "rows=1"]);
    assert_eq!(
        judged["workloads"][0],
        json!({ "name": "rows=4", "kernel_us": 2, "ratio": 1.02, "correctness": "fail" })
    );
    assert_eq!(judged["left_out"], json!({ "workloads": 2 }));
    let all = client.call("experiment", json!({ "run": 1 }));
    assert_eq!(all["workloads"].as_array().unwrap().len(), 6);
    assert_eq!(all["workloads"][0]["low_us"], 1.9);
    assert_eq!(client.close(), 0);
}

#[test]
fn a_failed_judgement_is_a_result_and_a_refusal_is_an_error_of_the_tool() {
    let lab = Lab::new();
    let client = Client::of(&lab);
    lab.write("kernel.cu", "// wrong\n");
    lab.harness(
        "echo 'kernel.cu:3:7: error: no'; echo 'first_failure: h0[3]'; echo 'correctness: fail'; exit 1",
    );
    let wrong = client.call("judge", json!({}));
    assert_eq!(
        (&wrong["outcome"], &wrong["correctness"]),
        (&json!("fail"), &json!("fail"))
    );
    assert_eq!(wrong["diagnostics"][0]["line"], 3);
    assert!(
        wrong["next"]
            .as_str()
            .unwrap()
            .starts_with("Mend the kernel"),
        "{wrong:#}"
    );
    assert!(
        client
            .refused("keep", json!({ "message": "wrong" }))
            .contains("FAIL")
    );
    lab.write("kernel.cu", "// newer\n");
    let asks = client.refused("discard", json!({ "message": "wrong", "run": 1 }));
    assert!(asks.contains("\"unjudged\": true"), "{asks}");
    client.call(
        "discard",
        json!({ "message": "wrong", "run": 1, "unjudged": true }),
    );
    assert_eq!(lab.read("kernel.cu"), "// the first\n");

    // No tool accepts a figure, or another argument that it does not know.
    for (tool, arguments) in [
        ("judge", json!({ "throughput_sps": 1e9 })),
        ("keep", json!({ "message": "x", "ratio": 2 })),
        ("keep", json!({ "message": "x", "unjudged": true })),
        ("keep", json!({})),
        ("discard", json!({ "message": 7 })),
        ("discard", json!({ "message": "x".repeat(5000) })),
        ("keep", json!({ "message": "x", "trailers": ["no key"] })),
        ("history", json!({ "limit": -1 })),
        ("history", json!({ "status": "best" })),
        ("experiment", json!({})),
        ("experiment", json!({ "run": 1, "commit": "abcd" })),
        ("experiment", json!({ "commit": "a" })),
        ("judge", json!({ "device": "quantum" })),
        ("wait", json!({ "job": 10_000 })),
        ("undo_or_restore", json!({ "restore": "no such thing" })),
    ] {
        client.refused(tool, arguments);
    }
    let unknown = client.try_call("rm", json!({})).unwrap_err();
    assert!(
        matches!(&unknown, ServiceError::McpError(error) if error.code == ErrorCode::INVALID_PARAMS),
        "{unknown}"
    );
    // An untrusted folder needs a person before anything runs.
    lab.write(
        "lab.toml",
        lab.read("lab.toml").replace("harness.py", "other.py"),
    );
    lab.write("other.py", "touch was_run");
    assert!(
        client
            .refused("judge", json!({}))
            .contains("A person must run `lab trust`")
    );
    assert!(!lab.path("was_run").exists());
    assert_eq!(client.close(), 0);
}

/// The harness writes its process id, also into the list of all starts, and then waits for the file
/// `go`.
pub fn waits(lab: &Lab) {
    lab.harness(
        "echo 'device: Test GPU'; echo 'stage: the test'; echo $$ >> ../starts\n\
         echo $$ > pid.new; mv pid.new pid\n\
         while [ ! -e go ]; do sleep 0.01; done\n\
         echo 'throughput_sps: 1000'; echo 'correctness: pass'",
    );
}

#[test]
fn what_takes_long_is_a_job_that_tells_its_progress_and_can_be_waited_for() {
    let lab = Lab::new();
    waits(&lab);
    lab.write("kernel.cu", "// slow to judge\n");
    let mut client = Client::of(&lab);
    let begun = client.call("measure", json!({ "max_s": 0 }));
    let job = begun["job"].clone();
    assert!(
        begun["next"]
            .as_str()
            .unwrap()
            .contains(&format!("Call wait with \"job\": {job}")),
        "{begun:#}"
    );
    let state = begun["state"].as_str().unwrap();
    assert!(state == "queued" || state == "running", "{begun:#}");
    // Reading goes on beside it.
    client.call("history", json!({}));
    // The official client sends a token with each request.
    let params = CallToolRequestParams::new("wait")
        .with_arguments(json!({ "job": job }).as_object().unwrap().clone());
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let waiting = client
        .service
        .send_cancellable_request(request, PeerRequestOptions::default());
    let waiting = client.runtime.block_on(waiting).unwrap();
    let told = client.runtime.block_on(async {
        tokio::time::timeout(patience(), async {
            loop {
                let told = client.progress.recv().await.unwrap();
                if told
                    .message
                    .as_ref()
                    .is_some_and(|message| message.contains("stage: the test"))
                {
                    return told;
                }
            }
        })
        .await
    });
    assert!(told.unwrap().progress > 0.0);
    // Cancelling the wait ends the wait alone.
    client
        .runtime
        .block_on(waiting.cancel(Some("the test".into())))
        .unwrap();
    assert_eq!(
        client.call("wait", json!({ "job": job, "max_s": 0 }))["state"],
        "running"
    );
    lab.write("go", "");
    let ended = client.call("wait", json!({ "job": job }));
    assert_eq!(
        (&ended["outcome"], &ended["job"], &ended["reason"]),
        (&json!("pass"), &job, &json!("measure"))
    );
    assert_eq!(client.call("wait", json!({ "job": job })), ended);
    assert_eq!(client.close(), 0);
}
