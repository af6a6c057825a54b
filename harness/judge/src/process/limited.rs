//! Runs a program for a limited time and reads a limited output.

use lab_system::child_group::ChildGroup;
use lab_system::threads;
use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How much a program may take and print.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub time: Duration,
    pub bytes: u64,
}

/// What a program printed, and how it ended.
pub struct Printed {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    /// What it printed on stderr, of at most 1 MiB.
    pub errors: Vec<u8>,
}

/// Most bytes of stderr that are kept: what is said of a failure fits.
const MOST_ERRORS: u64 = 1 << 20;

/// Runs the command to its end. Ends it with everything that it started when it takes or prints too
/// much. `work` is what it does in that time, as the end of "did not …". The error is the end of a
/// sentence that begins with the program's name.
pub fn run(command: &mut Command, work: &str, limit: Limit) -> Result<Printed, String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut group =
        ChildGroup::spawn(command).map_err(|error| format!("cannot be started: {error}"))?;
    let (Some(output), Some(errors)) = (group.take_stdout(), group.take_stderr()) else {
        return Err("has no output".into());
    };
    let unread = |error| format!("cannot be read: {error}");
    let errors = read(errors, MOST_ERRORS).map_err(unread)?;
    let output = read(output, limit.bytes + 1).map_err(unread)?;
    let printed = output.recv_timeout(limit.time);
    let too_much = match &printed {
        Err(_) => format!("did not {work} within {} s", limit.time.as_secs_f64()),
        Ok(printed) if printed.len() as u64 > limit.bytes => {
            format!("printed more than {} MiB", limit.bytes >> 20)
        }
        Ok(_) => String::new(),
    };
    if !too_much.is_empty() {
        group.kill();
        let _ = group.wait();
        return Err(format!("{too_much} and was ended"));
    }
    let status = group
        .wait()
        .map_err(|error| format!("cannot be waited for: {error}"))?;
    Ok(Printed {
        status,
        output: printed.unwrap_or_default(),
        errors: errors.recv_timeout(limit.time).unwrap_or_default(),
    })
}

/// The first so many bytes of a pipe. The rest is read and dropped, so that the program does not
/// wait.
fn read(mut pipe: impl Read + Send + 'static, most: u64) -> io::Result<Receiver<Vec<u8>>> {
    let (done, read) = channel();
    threads::start("pipe", move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
        // Nobody waits any more if the time is over.
        let _ = done.send(bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
    })?;
    Ok(read)
}

/// [`run`] for what the program printed on stdout. A program that fails is an error with its first
/// words.
pub fn output(command: &mut Command, limit: Limit) -> Result<Vec<u8>, String> {
    let Printed {
        status,
        output,
        errors,
    } = run(command, "end", limit)?;
    if status.success() {
        return Ok(output);
    }
    let said = [errors, output].concat();
    let text = String::from_utf8_lossy(&said);
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it printed nothing");
    Err(format!("ended with {status}: {first}"))
}

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
