//! A program in a pseudo terminal, seen from outside: its bytes with their times, and the screen
//! that results.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The size of a wide terminal.
pub const COLUMNS: u16 = 200;
pub const ROWS: u16 = 60;

/// No measurement takes nearly this long.
const PATIENCE: Duration = Duration::from_secs(30);

/// A frame is between a program's synchronized updates (DEC private mode 2026).
const FRAME_BEGINS: &[u8] = b"\x1b[?2026h";
const FRAME_ENDS: &[u8] = b"\x1b[?2026l";

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    chunks: Receiver<(Instant, Vec<u8>)>,
    parser: vt100::Parser,
    started: Instant,
    /// Since the start.
    pub first_bytes: Option<Duration>,
    /// The end of the first synchronized update, if the program makes them.
    pub first_frame: Option<Duration>,
    /// When the last bytes came.
    last: Instant,
    frames: Frames,
}

impl Terminal {
    /// Starts a command in `folder` with these variables and no others.
    pub fn start(command: &[String], folder: &Path, vars: &[(String, String)]) -> Self {
        let size = PtySize {
            rows: ROWS,
            cols: COLUMNS,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pty = native_pty_system()
            .openpty(size)
            .expect("a pseudo terminal");
        let mut builder = CommandBuilder::new(&command[0]);
        builder.args(&command[1..]);
        builder.cwd(folder);
        builder.env_clear();
        for (name, value) in vars {
            builder.env(name, value);
        }
        let mut reader = pty
            .master
            .try_clone_reader()
            .expect("the terminal's other end");
        let writer = pty.master.take_writer().expect("the terminal's other end");
        let (send, chunks) = channel();
        std::thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0
                    || send
                        .send((Instant::now(), bytes[..count].to_vec()))
                        .is_err()
                {
                    break;
                }
            }
        });
        let started = Instant::now();
        let child = pty
            .slave
            .spawn_command(builder)
            .expect("the program starts");
        drop(pty.slave);
        let one = |n: u16| NonZero::new(n).expect("not nothing");
        Terminal {
            child,
            _master: pty.master,
            writer,
            chunks,
            parser: vt100::Parser::new(one(ROWS), one(COLUMNS), 0),
            started,
            first_bytes: None,
            first_frame: None,
            last: started,
            frames: Frames::default(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("it was started")
    }

    /// If the program has ended, the next wait reports it.
    pub fn press(&mut self, keys: &str) {
        let _ = self
            .writer
            .write_all(keys.as_bytes())
            .and_then(|()| self.writer.flush());
    }

    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Reads the next output, if it comes before the deadline. Returns an error if the program
    /// ended.
    fn take(&mut self, deadline: Instant) -> Result<bool, String> {
        let rest = deadline.saturating_duration_since(Instant::now());
        match self.chunks.recv_timeout(rest) {
            Ok((when, bytes)) => {
                self.first_bytes.get_or_insert(when - self.started);
                self.last = when;
                self.answer(&bytes);
                self.frames.take(&bytes);
                if self.first_frame.is_none() && !self.frames.sizes.is_empty() {
                    self.first_frame = Some(when - self.started);
                }
                self.parser.process(&bytes);
                Ok(true)
            }
            Err(RecvTimeoutError::Timeout) => Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(self.in_vain("ended")),
        }
    }

    /// The answers of a terminal to queries: its kind, and the position of its cursor.
    fn answer(&mut self, bytes: &[u8]) {
        let asks = |what: &[u8]| bytes.windows(what.len()).any(|w| w == what);
        if asks(b"\x1b[c") || asks(b"\x1b[0c") {
            self.press("\x1b[?62;c");
        }
        if asks(b"\x1b[6n") {
            self.press("\x1b[1;1R");
        }
    }

    /// The result of a wait, and the screen at its end.
    fn in_vain(&self, what: &str) -> String {
        let rows = self
            .screen()
            .rows(0, COLUMNS)
            .map(|row| row.trim_end().to_owned());
        let rows: Vec<String> = rows.filter(|row| !row.is_empty()).collect();
        format!("{what}; on the screen:\n{}", rows.join("\n"))
    }

    /// Waits until the condition holds for the screen. Returns the time from the start to the bytes
    /// that made it hold.
    pub fn wait(
        &mut self,
        what: &str,
        is_so: impl Fn(&vt100::Screen) -> bool,
    ) -> Result<Duration, String> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self.parser.screen()) {
            if !self.take(deadline)? {
                return Err(self.in_vain(&format!("waited in vain for {what}")));
            }
        }
        Ok(self.last - self.started)
    }

    pub fn see(&mut self, text: &str) -> Result<Duration, String> {
        self.wait(text, |screen| screen.contents().contains(text))
    }

    /// Waits until no output has come for this long.
    pub fn settle(&mut self, quiet: Duration) {
        while self.take(Instant::now() + quiet) == Ok(true) {}
    }

    /// Reads output for this long.
    pub fn watch(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while self.take(deadline) == Ok(true) {}
    }

    /// Types, and waits until the screen shows the result. Returns the time between.
    pub fn echo(
        &mut self,
        keys: &str,
        is_so: impl Fn(&vt100::Screen) -> bool,
    ) -> Result<Duration, String> {
        // Output from before belongs to no key.
        while self.take(Instant::now())? {}
        let typed = Instant::now();
        self.press(keys);
        let deadline = typed + PATIENCE;
        loop {
            if !self.take(deadline)? {
                return Err(self.in_vain(&format!("no answer to {keys:?}")));
            }
            if is_so(self.parser.screen()) {
                return Ok(self.last.saturating_duration_since(typed));
            }
        }
    }

    /// The sizes, in bytes, of the frames since the last call.
    pub fn frames(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.frames.sizes)
    }

    /// Ends the program by `q`, or by a signal if that does not help.
    pub fn end(mut self, quit: &str) {
        self.press(quit);
        let deadline = Instant::now() + Duration::from_secs(2);
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            if self.chunks.recv_timeout(Duration::from_millis(20))
                == Err(RecvTimeoutError::Disconnected)
            {
                break;
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Cuts a stream of bytes into frames.
#[derive(Default)]
struct Frames {
    open: Option<Vec<u8>>,
    rest: Vec<u8>,
    sizes: Vec<usize>,
}

impl Frames {
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        loop {
            let mark = if self.open.is_some() {
                FRAME_ENDS
            } else {
                FRAME_BEGINS
            };
            let Some(at) = self.rest.windows(mark.len()).position(|w| w == mark) else {
                break;
            };
            let part: Vec<u8> = self.rest.drain(..at + mark.len()).collect();
            self.open = match self.open.take() {
                Some(begun) => {
                    self.sizes.push(begun.len() + part.len());
                    None
                }
                None => Some(mark.to_vec()),
            };
        }
        // Of the bytes outside frames, keeps only those that could be half a mark.
        if self.open.is_none() {
            let over = self.rest.len().saturating_sub(FRAME_BEGINS.len());
            self.rest.drain(..over);
        }
    }
}
