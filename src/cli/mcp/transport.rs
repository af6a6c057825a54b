//! The messages of the protocol on stdin and stdout, one in each line, with a size limit and an
//! answer to what is no message.

use super::jobs::Jobs;
use super::wire_text::to_text;
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
use std::sync::mpsc::{Receiver, channel as std_channel};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver as AsyncReceiver, Sender, channel};

/// Most bytes of a message. The arguments of a tool have a few thousand at most.
const MESSAGE: usize = 1 << 20;

/// Messages between the threads and the server. While so many answers wait for the client, no
/// further message is read.
const WAITING: usize = 64;

/// How long the end of the server waits for a client that does not read its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A line of stdin.
#[derive(Debug)]
enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// It was no message; the answer says why.
    Refused(Box<ServerJsonRpcMessage>),
}

/// The server's end of the two pipes.
pub struct Stdio {
    incoming: AsyncReceiver<Incoming>,
    outgoing: Option<Sender<String>>,
    jobs: Arc<Jobs>,
    /// The client has sent a request. Before that, its notifications mean nothing.
    has_begun: bool,
}

/// The thread that writes to stdout.
pub struct Output(Receiver<()>);

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
        std::thread::Builder::new()
            .name("mcp input".into())
            .spawn(move || read(io::stdin().lock(), &tell))?;
        std::thread::Builder::new()
            .name("mcp output".into())
            .spawn(move || {
                let _done = done;
                let mut out = console::stdout();
                while let Some(line) = lines.blocking_recv() {
                    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
            })?;
        Ok((
            Stdio {
                incoming,
                outgoing: Some(outgoing),
                jobs,
                has_begun: false,
            },
            Output(written),
        ))
    }

    /// The next line; `None` once the client is gone or the server ends.
    async fn next(&mut self) -> Option<Incoming> {
        let outgoing = self.outgoing.clone()?;
        let room = async { outgoing.reserve().await.is_ok() };
        let next = async {
            if room.await {
                self.incoming.recv().await
            } else {
                None
            }
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
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            let line = to_text(&serde_json::to_value(item)?);
            outgoing
                .ok_or_else(gone)?
                .send(line)
                .await
                .map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.next().await {
                Some(Incoming::Message(message)) => {
                    self.has_begun |= matches!(*message, JsonRpcMessage::Request(_));
                    if self.has_begun {
                        return Some(*message);
                    }
                }
                Some(Incoming::Refused(answer)) => {
                    let sent = self.send(*answer).await;
                    if sent.is_err() {
                        self.jobs.close();
                        return None;
                    }
                }
                None => {
                    // Calls that wait for a job must be answered now.
                    self.jobs.close();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.outgoing = None;
        Ok(())
    }
}

/// Reads lines until stdin ends or the server does.
fn read(mut input: impl BufRead, tell: &Sender<Incoming>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input
            .by_ref()
            .take(MESSAGE as u64 + 1)
            .read_until(b'\n', &mut line)
        {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let incoming = if line.len() > MESSAGE {
            if line.last() != Some(&b'\n') && !skip_line(&mut input) {
                return;
            }
            let why =
                format!("the message has more than {MESSAGE} bytes, the most that lab mcp reads");
            Some(refused(ErrorCode::INVALID_REQUEST, why, None))
        } else {
            message(line.trim_ascii())
        };
        if let Some(incoming) = incoming
            && tell.blocking_send(incoming).is_err()
        {
            return;
        }
    }
}

/// Skips the rest of a line. False where the input ends with it.
fn skip_line(input: &mut impl BufRead) -> bool {
    loop {
        let Ok(bytes) = input.fill_buf() else {
            return false;
        };
        if bytes.is_empty() {
            return false;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(bytes.len(), |at| at + 1);
        input.consume(length);
        if end.is_some() {
            return true;
        }
    }
}

/// What a line says. `None` of an empty one.
fn message(line: &[u8]) -> Option<Incoming> {
    if line.is_empty() {
        return None;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            let why = format!("the message is no JSON in one line of UTF-8: {error}");
            return Some(refused(ErrorCode::PARSE_ERROR, why, None));
        }
    };
    let id = value
        .get("id")
        .and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    Some(match serde_json::from_value(value) {
        Ok(message) => Incoming::Message(Box::new(message)),
        Err(_) => {
            let why = "the message is no JSON-RPC 2.0 request or notification of MCP".to_owned();
            refused(ErrorCode::INVALID_REQUEST, why, id)
        }
    })
}

fn refused(code: ErrorCode, why: String, id: Option<RequestId>) -> Incoming {
    Incoming::Refused(Box::new(ServerJsonRpcMessage::error(
        ErrorData::new(code, why, None),
        id,
    )))
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
                Incoming::Message(message) => serde_json::to_value(message).unwrap(),
                Incoming::Refused(answer) => serde_json::to_value(answer).unwrap(),
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
