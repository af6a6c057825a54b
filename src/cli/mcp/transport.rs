//! The messages of the protocol on stdin and stdout, one in each line.
//!
//! rmcp has a transport of its own, which lacks what is kept here: it drops a line that is no JSON
//! or is too long without an answer, it writes characters that act on a terminal, and its reader on
//! tokio's stdin keeps a process from ending.

use super::answer::SummaryFirst;
use super::jobs::Jobs;
use crate::cli::json::to_line;
use crate::cli::output::complain;
use lab_protocol::console;
use lab_system::threads;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt::{self, Formatter};
use std::future::Future;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Written, channel as std_channel};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;

/// Most bytes of a message. The arguments of a tool have a few thousand at most.
const MESSAGE: usize = 1 << 20;

/// Messages between the threads and the server. While so many answers wait for the client, no
/// further message is read.
const WAITING: usize = 64;

/// How long the end of the server waits for a client that does not read its last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Most bytes of a longer message in which its id is looked for: clients write it last.
const SEARCHED: usize = 16 << 20;

/// A line of stdin: a message, or the answer that says why the line is not a message.
type Incoming = Result<ClientJsonRpcMessage, Refused>;

/// The answer to a line that is no message.
struct Refused {
    answer: Box<ServerJsonRpcMessage>,
    /// The line may hold a request whose id cannot be read. Its sender would wait for ever, so the server
    /// ends.
    ends: bool,
}

/// The server's end of the two pipes.
pub struct Stdio {
    incoming: Receiver<Incoming>,
    outgoing: Option<Sender<String>>,
    /// True once the client has closed stdin, which may still hold its last messages.
    hung_up: watch::Receiver<bool>,
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
        let (gone, hung_up) = watch::channel(false);
        threads::start("mcp input", move || read(io::stdin().lock(), &tell))?;
        threads::start("mcp output", move || {
            let _done = done;
            let mut out = console::stdout();
            while let Some(line) = lines.blocking_recv() {
                if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        })?;
        // The reader may wait for a client that reads no answers, and does not see the end of stdin.
        threads::start("mcp hangup", move || {
            let stdin = rustix::stdio::stdin();
            let mut hangup = [PollFd::new(&stdin, PollFlags::empty())];
            while matches!(poll(&mut hangup, None), Err(Errno::INTR)) {}
            gone.send_replace(true);
        })?;
        let stdio = Stdio {
            incoming,
            outgoing: Some(outgoing),
            hung_up,
            jobs,
            has_begun: false,
        };
        Ok((stdio, Output(written)))
    }

    /// The next line; `None` once the client is gone or the server ends.
    async fn next(&mut self) -> Option<Incoming> {
        let outgoing = self.outgoing.clone()?;
        let unread = self.unread();
        let next = async {
            tokio::select! {
                free = outgoing.reserve() => drop(free.ok()?),
                () = unread => return None,
            }
            self.incoming.recv().await
        };
        tokio::select! {
            next = next => next,
            () = self.jobs.closed() => None,
        }
    }

    /// Waits until the client or the server has ended the connection, and then as long as the client
    /// may take to read one answer.
    fn unread(&self) -> impl Future<Output = ()> + Send + 'static {
        let (mut hung_up, jobs) = (self.hung_up.clone(), Arc::clone(&self.jobs));
        async move {
            tokio::select! {
                Ok(_) = hung_up.wait_for(|gone| *gone) => {}
                () = jobs.closed() => {}
            }
            tokio::time::sleep(LAST_ANSWERS).await;
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
        let unread = self.unread();
        async move {
            let line = to_line(&SummaryFirst(&serde_json::to_value(item)?));
            let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone");
            let outgoing = outgoing.ok_or_else(gone)?;
            tokio::select! {
                sent = outgoing.send(line) => sent.map_err(|_| gone()),
                () = unread => Err(gone()),
            }
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
                Err(Refused { answer, ends }) => {
                    if self.send(*answer).await.is_err() || ends {
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
        line.shrink_to(MESSAGE);
        let mut limited = input.by_ref().take(SEARCHED as u64);
        if !matches!(limited.read_until(b'\n', &mut line), Ok(1..)) {
            return;
        }
        let incoming = if line.len() > MESSAGE {
            if line.last() != Some(&b'\n') && input.skip_until(b'\n').is_err() {
                return;
            }
            let why =
                format!("the message has more than {MESSAGE} bytes, the most that lab mcp reads");
            Err(refused(ErrorCode::INVALID_REQUEST, why, &line))
        } else {
            // Some clients begin with a byte order mark.
            let text = lab_source::without_bom(&line).trim_ascii();
            if text.is_empty() {
                continue;
            }
            message(text)
        };
        if tell.blocking_send(incoming).is_err() {
            return;
        }
    }
}

fn message(line: &[u8]) -> Incoming {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        let why = format!("the message is no JSON in one line of UTF-8: {error}");
        refused(ErrorCode::PARSE_ERROR, why, line)
    })?;
    serde_json::from_value(value).map_err(|_| {
        let why = "the message is no JSON-RPC 2.0 request or notification of MCP".to_owned();
        refused(ErrorCode::INVALID_REQUEST, why, line)
    })
}

/// The answer to a line that is no message, with the id of the request that the line holds.
fn refused(code: ErrorCode, mut why: String, line: &[u8]) -> Refused {
    let mut id = IdOf::default();
    let is_read = serde_json::Deserializer::from_slice(line)
        .deserialize_map(&mut id)
        .is_ok();
    // Only a number, a text, true, false or null surely holds no request.
    let value = serde_json::from_slice::<Value>(line);
    let may_hold_one = value.map_or(true, |value| value.is_object() || value.is_array());
    let ends = id.id.is_none() && !is_read && may_hold_one;
    if ends {
        why += "; the id of the request cannot be read, so nobody can be answered: the server ends";
        complain(&why);
    }
    Refused {
        answer: Box::new(ServerJsonRpcMessage::error(
            ErrorData::new(code, why, None),
            id.id,
        )),
        ends,
    }
}

/// The id of a JSON object, as far as the object can be read.
#[derive(Default)]
struct IdOf {
    id: Option<RequestId>,
}

impl<'de> Visitor<'de> for &mut IdOf {
    type Value = ();

    fn expecting(&self, out: &mut Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match &*key {
                "id" => self.id = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
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
                Err(refused) => serde_json::to_value(refused.answer).unwrap(),
            });
        }
        read
    }

    #[test]
    fn each_line_is_a_message_or_gets_an_answer() {
        let mut text =
            b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\nno json\n\xff\n[]\n".to_vec();
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
        assert_eq!([&read[4]["id"], &read[5]["id"], &read[6]["id"]], [7, 2, 3]);
    }
}
