//! Signals become events. While an editor has the terminal, a stop of the whole group stops this
//! process too, or the shell would wait for it.

use super::event::Event;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

pub struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// Somebody else, an editor, has the terminal.
    lent: Arc<AtomicBool>,
}

impl SignalThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP])?;
        let handle = signals.handle();
        let lent = Arc::new(AtomicBool::new(false));
        let is_lent = Arc::clone(&lent);
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let event = match signal {
                    SIGTSTP if is_lent.load(Ordering::SeqCst) => {
                        let _ = emulate_default_handler(SIGTSTP);
                        continue;
                    }
                    // Ctrl-C in an editor that left the terminal in its usual mode is the editor's.
                    SIGINT if is_lent.load(Ordering::SeqCst) => continue,
                    SIGTSTP => Event::Suspend,
                    SIGCONT => Event::Continued,
                    SIGHUP => Event::Hangup,
                    other => Event::Terminate(other),
                };
                if events.send(event).is_err() {
                    return;
                }
            }
        })?;
        Ok(SignalThread { handle, thread: Some(thread), lent })
    }

    /// Whether somebody else has the terminal.
    pub fn lend(&self, lent: bool) {
        self.lent.store(lent, Ordering::SeqCst);
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
