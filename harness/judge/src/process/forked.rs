//! A worker that a Python parent on standby has forked: it is no child of this process, and its
//! parent says how it ended.
//!
//! The parent is the module `lab_harness.standby`, whose docstring describes the messages. It has
//! imported what takes long. A connection to it is one worker: while the connection is open the
//! worker lives, and its parent kills it, with everything that it has started, when this process
//! shuts the connection down or dies.

use super::descriptors;
use serde::Deserialize;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

/// How long the parent may take to fork, and to reap a worker that it has killed. It does nothing
/// else meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest message of the parent, in bytes.
const LONGEST: u64 = 1 << 16;

/// The signal of a worker whose parent is gone: Linux has killed it.
const KILLED: i32 = 9;

/// What the parent says, one line each.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Message {
    Started(u32),
    Ended(End),
    Refused(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Code(i32),
    Signal(i32),
}

/// A worker of a parent on standby. Dropping it kills the worker.
pub struct Forked {
    process: u32,
    connection: BufReader<UnixStream>,
    /// The beginning of a message whose end has not come yet.
    received: Vec<u8>,
    status: Option<ExitStatus>,
}

impl Forked {
    /// Has the parent that listens on `socket` fork a worker with these descriptors (its socket,
    /// its stdout, its stderr), which finds modules in the folders of `python_path`.
    pub fn start(
        socket: &Path,
        python_path: &OsStr,
        descriptors: [BorrowedFd<'_>; 3],
    ) -> io::Result<Forked> {
        Forked::ask(socket, json!({ "run": "worker" }), python_path, descriptors)
    }

    /// Has the parent fork what `request` asks for, a JSON object.
    pub fn ask(
        socket: &Path,
        mut request: Value,
        python_path: &OsStr,
        descriptors: [BorrowedFd<'_>; 3],
    ) -> io::Result<Forked> {
        let connection = UnixStream::connect(socket)?;
        connection.set_write_timeout(Some(PATIENCE))?;
        request["environment"] = json!({ "PYTHONPATH": python_path.to_string_lossy() });
        descriptors::send(&connection, format!("{request}\n").as_bytes(), &descriptors)?;
        let mut forked = Forked {
            process: 0,
            connection: BufReader::new(connection),
            received: Vec::new(),
            status: None,
        };
        match forked.next_within(PATIENCE)? {
            Some(Message::Started(process)) => {
                forked.process = process;
                Ok(forked)
            }
            Some(Message::Refused(why)) => Err(io::Error::other(why)),
            Some(Message::Ended(_)) | None => {
                Err(io::Error::other("the Python on standby started no worker"))
            }
        }
    }

    /// The worker's process id.
    pub fn id(&self) -> u32 {
        self.process
    }

    /// What [`Forked::kill`] does, for other threads.
    pub fn killer(&self) -> io::Result<impl Fn() + Clone + Send + use<>> {
        let connection = Arc::new(self.connection.get_ref().try_clone()?);
        Ok(move || shut_down(&connection))
    }

    /// Whether the parent has said how the worker ended.
    pub fn has_ended(&self) -> bool {
        self.status.is_some()
    }

    /// Has the parent kill the worker with everything that it has started.
    pub fn kill(&self) {
        shut_down(self.connection.get_ref());
    }

    /// The worker's status if it has ended.
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.read_end(Duration::from_millis(1))?;
        }
        Ok(self.status)
    }

    /// Waits until the worker has ended. One that does not end although it was killed counts as
    /// killed.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.status.is_none() {
            self.read_end(PATIENCE)?;
        }
        Ok(*self
            .status
            .get_or_insert_with(|| ExitStatus::from_raw(KILLED)))
    }

    /// Reads the message about the end, if it comes within this time.
    fn read_end(&mut self, patience: Duration) -> io::Result<()> {
        let end = match self.next_within(patience) {
            Ok(Some(Message::Ended(end))) => end,
            Ok(Some(_)) => return Ok(()),
            // The parent is gone, and with it the worker.
            Ok(None) => End::Signal(KILLED),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => End::Signal(KILLED),
            Err(error) => return Err(error),
        };
        self.status = Some(ExitStatus::from_raw(match end {
            End::Code(code) => (code & 0xff) << 8,
            End::Signal(signal) => signal & 0x7f,
        }));
        Ok(())
    }

    /// The next message, if it comes within this time; `None` at the end of the connection.
    fn next_within(&mut self, patience: Duration) -> io::Result<Option<Message>> {
        self.connection.get_ref().set_read_timeout(Some(patience))?;
        // What has come of a message stays in `received` if the rest does not come in time.
        let mut connection = self.connection.by_ref().take(LONGEST);
        connection.read_until(b'\n', &mut self.received)?;
        let is_too_long = connection.limit() == 0;
        let line = std::mem::take(&mut self.received);
        match line.ends_with(b"\n") {
            true => serde_json::from_slice(&line)
                .map(Some)
                .map_err(io::Error::other),
            false if is_too_long => Err(io::Error::other(
                "the Python on standby sent a message that is too long",
            )),
            false => Ok(None),
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Shuts down the sending half: the parent kills the worker, and still says how it ended.
fn shut_down(connection: &UnixStream) {
    // An error says that the connection is closed already.
    let _ = connection.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    /// A parent that answers the first request with these lines, and then says whether the judge
    /// has shut the connection down.
    fn parent(answers: &'static [&'static str]) -> (tempfile::TempDir, JoinHandle<(String, bool)>) {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut request = String::new();
            reader.read_line(&mut request).unwrap();
            let (last, first) = answers.split_last().unwrap();
            first
                .iter()
                .for_each(|line| writeln!(stream, "{line}").unwrap());
            if *last != "close" {
                let mut rest = String::new();
                let is_shut_down = reader.read_line(&mut rest).unwrap() == 0;
                writeln!(stream, "{last}").unwrap();
                return (request, is_shut_down);
            }
            (request, false)
        });
        (folder, thread)
    }

    fn start(folder: &tempfile::TempDir) -> io::Result<Forked> {
        let null = std::fs::File::open("/dev/null")?;
        Forked::start(
            &folder.path().join("socket"),
            OsStr::new("/a:/b"),
            [null.as_fd(); 3],
        )
    }

    #[test]
    fn a_worker_is_asked_for_killed_and_its_end_is_read() {
        let (folder, thread) = parent(&["{\"started\": 1234}", "{\"ended\": {\"signal\": 9}}"]);
        let mut worker = start(&folder).unwrap();
        assert_eq!(
            (worker.id(), worker.poll().unwrap(), worker.has_ended()),
            (1234, None, false)
        );
        let kill = worker.killer().unwrap();
        kill();
        assert_eq!(worker.wait().unwrap().signal(), Some(9));
        assert_eq!(worker.poll().unwrap().unwrap().signal(), Some(9));
        let (request, was_shut_down) = thread.join().unwrap();
        assert!(was_shut_down);
        assert_eq!(
            request,
            "{\"environment\":{\"PYTHONPATH\":\"/a:/b\"},\"run\":\"worker\"}
"
        );
    }

    #[test]
    fn a_worker_that_ends_by_itself_has_its_own_status() {
        let (folder, thread) = parent(&["{\"started\": 7}", "{\"ended\": {\"code\": 3}}", "close"]);
        let mut worker = start(&folder).unwrap();
        assert_eq!(worker.wait().unwrap().code(), Some(3));
        thread.join().unwrap();
    }

    #[test]
    fn a_parent_that_refuses_or_ends_starts_nothing() {
        let (folder, thread) = parent(&["{\"refused\": \"16 runs are going on\"}", "close"]);
        assert_eq!(
            start(&folder).err().unwrap().to_string(),
            "16 runs are going on"
        );
        thread.join().unwrap();
        let (folder, thread) = parent(&["close"]);
        assert!(start(&folder).is_err());
        thread.join().unwrap();
        assert!(
            start(&tempfile::tempdir().unwrap()).is_err(),
            "nobody listens"
        );
    }

    #[test]
    fn with_its_parent_a_worker_has_ended() {
        let (folder, thread) = parent(&["{\"started\": 7}", "close"]);
        let mut worker = start(&folder).unwrap();
        thread.join().unwrap();
        assert_eq!(worker.wait().unwrap().signal(), Some(KILLED));
    }
}
