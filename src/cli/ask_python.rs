//! Asks a Python interpreter: it runs a program of the lab's own, which prints one line.

use lab_system::child_group::ChildGroup;
use lab_system::threads;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Most bytes of the interpreter's output that are read.
const OUTPUT_LIMIT: u64 = 1 << 22;

/// What the interpreter is asked.
pub struct Question<'q> {
    /// The program, which prints its answer behind `mark`.
    pub program: &'q str,
    pub mark: &'q str,
    /// How long it may take.
    pub limit: Duration,
    /// What it does in that time, as the end of "did not …".
    pub work: &'q str,
}

impl Question<'_> {
    /// The answer of an interpreter. The error is the end of a sentence whose subject is the
    /// interpreter.
    pub fn ask(
        &self,
        interpreter: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String, String> {
        let mut command = Command::new(interpreter);
        command
            .args(["-c", self.program])
            .args(arguments)
            .current_dir("/")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut group = ChildGroup::spawn(&mut command)
            .map_err(|error| format!("cannot be started: {error}"))?;
        let (output, errors) = self.read(&mut group)?;
        // It has closed its output, so it has nothing to say any more.
        group.kill();
        let status = group
            .wait()
            .map_err(|error| format!("cannot be waited for: {error}"))?;
        let mut lines = output.lines().rev();
        let line = lines.find_map(|line| line.strip_prefix(self.mark));
        line.map(str::to_owned).ok_or_else(|| {
            let last = errors
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no message");
            format!("does not run ({status}): {last}")
        })
    }

    /// What the interpreter prints on stdout and on stderr.
    fn read(&self, group: &mut ChildGroup) -> Result<(String, String), String> {
        let (send, receive) = mpsc::channel();
        let output = group
            .take_stdout()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        let errors = group
            .take_stderr()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
        // A thread for each pipe: a full one would stop the interpreter. They end with the last process
        // that holds the pipe.
        for (is_error, pipe) in [(false, output), (true, errors)] {
            let send = send.clone();
            let read = move || {
                let mut bytes = Vec::new();
                let _ = pipe.map(|pipe| pipe.take(OUTPUT_LIMIT).read_to_end(&mut bytes));
                let _ = send.send((is_error, String::from_utf8_lossy(&bytes).into_owned()));
            };
            threads::start("pipe", read).map_err(|error| format!("cannot be read: {error}"))?;
        }
        let (mut output, mut errors) = (String::new(), String::new());
        for _ in 0..2 {
            match receive.recv_timeout(self.limit) {
                Ok((true, text)) => errors = text,
                Ok((false, text)) => output = text,
                Err(_) => {
                    group.kill();
                    let _ = group.wait();
                    return Err(format!(
                        "did not {} within {} s, and was ended",
                        self.work,
                        self.limit.as_secs()
                    ));
                }
            }
        }
        Ok((output, errors))
    }
}
