//! Signals become events. While an editor has the terminal, a stop of the whole group stops this
//! process too, or the shell would wait for it. While the screen closes, a signal does what it does
//! to any process: somebody does not want to wait for the last work.

use lab_tui::event::Event;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

pub struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    whose: Arc<AtomicU8>,
}

/// Whose the terminal is.
const OURS: u8 = 0;
const LENT: u8 = 1;
const GIVEN_BACK: u8 = 2;

impl SignalThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH])?;
        let handle = signals.handle();
        let whose = Arc::new(AtomicU8::new(OURS));
        let terminal = Arc::clone(&whose);
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let event = match (signal, terminal.load(Ordering::SeqCst)) {
                    // What is drawn next is drawn in the terminal's size anyway.
                    (SIGWINCH, LENT | GIVEN_BACK) => continue,
                    (SIGWINCH, _) => Event::Resize,
                    (signal, GIVEN_BACK) | (signal @ SIGTSTP, LENT) => {
                        let _ = emulate_default_handler(signal);
                        continue;
                    }
                    // Ctrl-C in an editor that left the terminal in its usual mode is the editor's.
                    (SIGINT, LENT) => continue,
                    (SIGTSTP, _) => Event::Suspend,
                    (SIGCONT, _) => Event::Continued,
                    (SIGHUP, _) => Event::Hangup,
                    (other, _) => Event::Terminate(other),
                };
                if events.send(event).is_err() {
                    return;
                }
            }
        })?;
        Ok(SignalThread { handle, thread: Some(thread), whose })
    }

    /// Whether somebody else, an editor, has the terminal.
    pub fn lend(&self, lent: bool) {
        self.whose.store(if lent { LENT } else { OURS }, Ordering::SeqCst);
    }

    /// The screen is closed; only work that has begun is finished.
    pub fn give_back(&self) {
        self.whose.store(GIVEN_BACK, Ordering::SeqCst);
    }
}

impl Drop for SignalThread {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
