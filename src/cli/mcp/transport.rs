//! The messages of the protocol on stdin and stdout, one in each line.
//!
//! rmcp has a transport of its own, which lacks what is kept here: it drops a line that is no JSON
//! or is too long without an answer, it writes characters that act on a terminal, and its reader on
//! tokio's stdin keeps a process from ending.

use super::answer::SummaryFirst;
use super::jobs::Jobs;
use crate::cli::json::to_line;
use lab_protocol::console;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use std::future::Future;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Written, channel as std_channel};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Most bytes of a message. The arguments of a tool have a few thousand at most.
const MESSAGE: usize = 1 << 20;

/// Messages between the threads and the server. While so many answers wait for the client, no
/// further message is read.
const WAITING: usize = 64;

/// How long the end of the server waits for a client that does not read its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A line of stdin: a message, or the answer that says why the line is not a message.
type Incoming = Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>>;

/// The server's end of the two pipes.
pub struct Stdio {
    incoming: Receiver<Incoming>,
    outgoing: Option<Sender<String>>,
    jobs: Arc<Jobs>,
    /// The client has sent a request. Before that, its notifications mean nothing.
    has_begun: bool,
}

/// The thread that writes to stdout.
pub struct Output(Written<()>);

impl Output {
    /// Waits until the last answer is written.
    pub fn finish(self) {
        // It ends with an error when the thread ends, which is when all is written.
        let _ = self.0.recv_timeout(LAST_ANSWERS);
    }
}

impl Stdio {
    /// Starts the threads that read and write.
    pub fn open(jobs: Arc<Jobs>) -> io::Result<(Stdio, Output)> {
        let (tell, incoming) = channel(WAITING);
        let (outgoing, mut lines) = channel::<String>(WAITING);
        let (done, written) = std_channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("mcp input").spawn(move || read(io::stdin().lock(), &tell))?;
        thread("mcp output").spawn(move || {
            let _done = done;
            let mut out = console::stdout();
            while let Some(line) = lines.blocking_recv() {
                if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        })?;
        let stdio = Stdio {
            incoming,
            outgoing: Some(outgoing),
            jobs,
            has_begun: false,
        };
        Ok((stdio, Output(written)))
    }

    /// The next line; `None` once the client is gone or the server ends.
    async fn next(&mut self) -> Option<Incoming> {
        let outgoing = self.outgoing.clone()?;
        let next = async {
            drop(outgoing.reserve().await.ok()?);
            self.incoming.recv().await
        };
        tokio::select! {
            next = next => next,
            () = self.jobs.closed() => None,
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let line = to_line(&SummaryFirst(&serde_json::to_value(item)?));
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            let sent = outgoing.ok_or_else(gone)?.send(line).await;
            sent.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(line) = self.next().await {
            match line {
                Ok(message) => {
                    self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
                    if self.has_begun {
                        return Some(message);
                    }
                }
                Err(answer) => {
                    if self.send(*answer).await.is_err() {
                        break;
                    }
                }
            }
        }
        // Calls that wait for a job must be answered now.
        self.jobs.close();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        Ok(())
    }
}

/// Reads lines until stdin ends or the server does.
fn read(mut input: impl BufRead, tell: &Sender<Incoming>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = input.by_ref().take(MESSAGE as u64 + 1);
        if !matches!(limited.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        let incoming = if line.len() > MESSAGE {
            if line.last() != Some(&b'\n') && input.skip_until(b'\n').is_err() {
                return;
            }
            let why =
                format!("the message has more than {MESSAGE} bytes, the most that lab mcp reads");
            refused(ErrorCode::INVALID_REQUEST, why, None)
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            message(line.trim_ascii())
        };
        if tell.blocking_send(incoming).is_err() {
            return;
        }
    }
}

fn message(line: &[u8]) -> Incoming {
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let why = format!("the message is no JSON in one line of UTF-8: {error}");
            return refused(ErrorCode::PARSE_ERROR, why, None);
        }
    };
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value(id.clone()).ok());
    serde_json::from_value(value).or_else(|_| {
        let why = "the message is no JSON-RPC 2.0 request or notification of MCP".to_owned();
        refused(ErrorCode::INVALID_REQUEST, why, id)
    })
}

fn refused(code: ErrorCode, why: String, id: Option<RequestId>) -> Incoming {
    let error = ErrorData::new(code, why, None);
    Err(Box::new(ServerJsonRpcMessage::error(error, id)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read_all(text: &[u8]) -> Vec<Value> {
        let (tell, mut got) = channel(100);
        read(text, &tell);
        drop(tell);
        let mut read = Vec::new();
        while let Some(incoming) = got.blocking_recv() {
            read.push(match incoming {
                Ok(message) => serde_json::to_value(message).unwrap(),
                Err(answer) => serde_json::to_value(answer).unwrap(),
            });
        }
        read
    }

    #[test]
    fn each_line_is_a_message_or_gets_an_answer() {
        let mut text =
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\nno json\n\xff\n[]\n".to_vec();
        text.extend(b"{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}\n");
        text.extend(
            [
                b"{\"jsonrpc\":\"2.0\",\"id\":2,\"x\":\"".as_slice(),
                &[b'y'; 3 * MESSAGE],
                b"\"}\n",
            ]
            .concat(),
        );
        text.extend(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n{\"jsonrpc\"");
        let read = read_all(&text);
        let codes: Vec<Option<i64>> = read
            .iter()
            .map(|value| value["error"]["code"].as_i64())
            .collect();
        assert_eq!(
            codes,
            [
                None,
                Some(-32700),
                Some(-32700),
                Some(-32600),
                Some(-32600),
                Some(-32600),
                None,
                Some(-32700)
            ]
        );
        assert_eq!(
            (&read[4]["id"], &read[6]["id"]),
            (&Value::from(7), &Value::from(3))
        );
    }
}
