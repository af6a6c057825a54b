//! Runs a program for a limited time and reads a limited output.

use lab_system::child_group::ChildGroup;
use lab_system::threads;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How much a program may take and print.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub time: Duration,
    pub bytes: u64,
}

/// Runs the command and returns what it printed on stdout. Ends it with everything that it started
/// when it takes or prints too much. The error is the end of a sentence that begins with the
/// program's name.
pub fn output(command: &mut Command, limit: Limit) -> Result<Vec<u8>, String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut group =
        ChildGroup::spawn(command).map_err(|error| format!("cannot be started: {error}"))?;
    let (done, read) = channel();
    let unread = |error| format!("cannot be read: {error}");
    let errors = group.take_stderr().map(|pipe| {
        // What is said of a failure fits; the rest is read and dropped, so that the program does
        // not wait.
        threads::start("errors", move || {
            let (mut text, mut pipe) = (Vec::new(), pipe);
            let _ = pipe.by_ref().take(MOST_ERRORS).read_to_end(&mut text);
            let _ = io::copy(&mut pipe, &mut io::sink());
            text
        })
    });
    let errors = errors.transpose().map_err(unread)?;
    let Some(pipe) = group.take_stdout() else {
        return Err("has no output".into());
    };
    threads::start("output", move || {
        let mut bytes = Vec::new();
        let result = pipe
            .take(limit.bytes + 1)
            .read_to_end(&mut bytes)
            .map(|_| bytes);
        // Nobody waits any more if the time is over.
        let _ = done.send(result);
    })
    .map_err(unread)?;
    let printed = match read.recv_timeout(limit.time) {
        Ok(printed) => printed.map_err(unread)?,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            group.kill();
            let _ = group.wait();
            return Err(format!(
                "did not end within {} s and was ended",
                limit.time.as_secs_f64()
            ));
        }
    };
    if printed.len() as u64 > limit.bytes {
        group.kill();
        let _ = group.wait();
        return Err(format!(
            "printed more than {} MiB and was ended",
            limit.bytes >> 20
        ));
    }
    let status = group
        .wait()
        .map_err(|error| format!("cannot be waited for: {error}"))?;
    if status.success() {
        return Ok(printed);
    }
    let said = errors
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    let said = [said, printed].concat();
    let text = String::from_utf8_lossy(&said);
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it printed nothing");
    Err(format!("ended with {status}: {first}"))
}

/// Most bytes of stderr that are kept.
const MOST_ERRORS: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn shell(text: &str, time: Duration, bytes: u64) -> Result<String, String> {
        let mut command = Command::new("/bin/sh");
        output(command.args(["-c", text]), Limit { time, bytes })
            .map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_program_that_hangs_floods_or_fails_is_an_error_in_words() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo page", long, 100), Ok("page\n".into()));
        assert!(
            shell("echo why >&2; exit 3", long, 100)
                .unwrap_err()
                .ends_with("exit status: 3: why")
        );
        assert!(
            shell("kill -9 $$", long, 100)
                .unwrap_err()
                .contains("signal: 9")
        );
        assert!(
            shell("yes", long, 1 << 20)
                .unwrap_err()
                .contains("printed more than 1 MiB")
        );
        let hung = shell("sleep 600 & sleep 600", Duration::from_millis(50), 100).unwrap_err();
        assert_eq!(hung, "did not end within 0.05 s and was ended");
    }
}
