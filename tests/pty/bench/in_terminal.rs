//! A program in a pseudo terminal: its keys, its screen, its end.

use lab_testing::patience;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// `lab` in its terminal.
pub struct Lab {
    child: Box<dyn Child + Send + Sync>,
    /// `None` once the terminal was closed.
    master: Option<Box<dyn MasterPty + Send>>,
    /// The thread that reads the terminal, and the flag that ends it with the next bytes.
    reader: Option<std::thread::JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    writer: Box<dyn Write + Send>,
    seen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    /// Every byte that reached the terminal.
    sent: Arc<Mutex<Vec<u8>>>,
    /// The output was read to its end.
    is_read: Arc<AtomicBool>,
    /// The terminal's modes before the screen took it.
    modes: String,
}

impl Lab {
    /// Starts a command in a terminal of this size.
    pub(super) fn start(columns: u16, rows: u16, command: CommandBuilder) -> Lab {
        // Every child that starts before the descriptor is marked inherits the terminal. The screen
        // of another test would hold it, and closing it here would not hang up.
        static STARTING: Mutex<()> = Mutex::new(());
        let starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let pty = native_pty_system().openpty(size(columns, rows)).unwrap();
        let modes = format!("{:?}", pty.master.get_termios());
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        drop(starting);
        let seen = Arc::new((
            Mutex::new(vt100::Parser::new(
                at_least_one(rows),
                at_least_one(columns),
                0,
            )),
            Condvar::new(),
        ));
        let mut reader = pty.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&seen);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&sent);
        let is_read = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&is_read);
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || is_closing.load(Ordering::SeqCst) {
                    break;
                }
                // A test that failed while it looked leaves the lock poisoned.
                let Ok(mut parser) = sink.0.lock() else { break };
                record.lock().unwrap().extend_from_slice(&bytes[..count]);
                parser.process(&bytes[..count]);
                sink.1.notify_all();
            }
            ended.store(true, Ordering::SeqCst);
            sink.1.notify_all();
        });
        Lab {
            child,
            seen,
            sent,
            is_read,
            writer: pty.master.take_writer().unwrap(),
            master: Some(pty.master),
            reader: Some(thread),
            closing,
            modes,
        }
    }

    pub fn press(&mut self, keys: &str) -> &mut Self {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
        self
    }

    /// Types a text that is longer than the terminal's buffer, on a thread of its own.
    pub fn paste_in_background(&mut self, text: &str) -> std::thread::JoinHandle<()> {
        let mut writer = std::mem::replace(&mut self.writer, Box::new(std::io::sink()));
        let text = text.to_owned();
        // Fails once the terminal is closed.
        std::thread::spawn(move || drop(writer.write_all(text.as_bytes())))
    }

    /// How many frames the screen has drawn: each begins a synchronized update.
    pub fn frames(&self) -> usize {
        let begin = b"\x1b[?2026h";
        self.sent
            .lock()
            .unwrap()
            .windows(begin.len())
            .filter(|part| part == begin)
            .count()
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.process_id().unwrap() as i32).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.seen
            .0
            .lock()
            .unwrap()
            .screen_mut()
            .set_size(at_least_one(rows), at_least_one(columns));
        self.master
            .as_ref()
            .unwrap()
            .resize(size(columns, rows))
            .unwrap();
    }

    /// Waits until the condition holds for the terminal.
    pub fn wait(&self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) {
        assert!(
            self.becomes(patience(), is_so),
            "waited in vain for {what}; on the screen:\n{}",
            self.seen.0.lock().unwrap().screen().contents()
        );
    }

    /// Whether the condition holds within this time.
    pub fn becomes(&self, time: Duration, is_so: impl Fn(&vt100::Screen) -> bool) -> bool {
        let deadline = Instant::now() + time;
        let mut parser = self.seen.0.lock().unwrap();
        while !is_so(parser.screen()) {
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            parser = self.seen.1.wait_timeout(parser, rest).unwrap().0;
        }
        true
    }

    pub fn see(&self, text: &str) -> &Self {
        self.wait(&format!("'{text}'"), |screen| {
            screen.contents().contains(text)
        });
        self
    }

    /// Waits for bytes that the screen does not show.
    pub fn hear(&self, bytes: &str) -> &Self {
        self.hear_after(0, bytes);
        self
    }

    /// The same for bytes after this many.
    pub fn hear_after(&self, from: usize, bytes: &str) {
        let is_there = |sent: &[u8]| {
            sent.windows(bytes.len())
                .any(|part| part == bytes.as_bytes())
        };
        self.wait(&format!("the bytes {bytes:?}"), |_| {
            is_there(&self.sent.lock().unwrap()[from..])
        });
    }

    /// How many bytes came.
    pub fn sent(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// All output, once the program has ended.
    pub fn said(&self) -> String {
        // The master is read to its end: the program was the last that had the other side open.
        self.wait("the end of the output", |_| {
            self.is_read.load(Ordering::SeqCst)
        });
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }

    /// The present screen.
    pub fn contents(&self) -> String {
        self.seen.0.lock().unwrap().screen().contents()
    }

    /// The verdict of a run that has ended, not the last one beside a run in progress.
    pub fn see_verdict(&self, word: &str) -> &Self {
        self.wait(&format!("the verdict {word}"), |screen| {
            let text = screen.contents();
            text.contains(word) && !text.contains(" last  ") && !text.contains("in progress")
        });
        self
    }

    /// Waits for the end and returns the exit code. The terminal must be as before.
    pub fn end(&mut self) -> u32 {
        let code = self.wait_for_end();
        self.see_sane();
        code
    }

    fn wait_for_end(&mut self) -> u32 {
        // The watchdog for a screen that never ends: then it is ended, and the code shows it.
        let mut killer = self.child.clone_killer();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if is_done.recv_timeout(patience()) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = killer.kill();
            }
        });
        let code = self.child.wait().unwrap().exit_code();
        drop(done);
        watchdog.join().unwrap();
        code
    }

    /// Leaves what the screen draws from now on unread, as a terminal does that was stopped by Ctrl+S.
    pub fn stop_reading(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The reading thread waits for the frame in the new size.
        self.resize(100, 30);
        self.reader.take().unwrap().join().unwrap();
    }

    /// Whether the drawing thread waits until the terminal takes what it writes to stdout.
    #[allow(dead_code, reason = "soak uses this file too")]
    pub fn waits_to_write(&self) -> bool {
        let call = std::fs::read_to_string(format!("/proc/{}/syscall", self.pid().as_raw_pid()));
        // The number of write on x86-64 and on 64-bit Arm.
        call.is_ok_and(|call| {
            ["1 0x1 ", "64 0x1 "]
                .iter()
                .any(|write| call.starts_with(write))
        })
    }

    /// Closes the terminal, as closing its window does; waits for the end and returns the exit
    /// code.
    pub fn close(&mut self) -> u32 {
        self.stop_reading();
        self.writer = Box::new(std::io::sink());
        self.master = None;
        self.wait_for_end()
    }

    /// The terminal is as it was before the screen.
    pub fn see_sane(&self) {
        self.wait("a sane terminal", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        assert_eq!(
            format!("{:?}", self.master.as_ref().unwrap().get_termios()),
            self.modes,
            "the terminal's modes are back"
        );
    }
}

impl Drop for Lab {
    /// A test that fails leaves no screen behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn at_least_one(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}
