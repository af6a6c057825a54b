//! Turns signals into events. While an editor has the terminal, SIGTSTP to the process group stops
//! this process too; otherwise the shell would wait for it. While the screen closes, every signal
//! has its default effect, because the user does not want to wait for the last work.

use lab_system::lifetime::end_soon;
use lab_system::threads;
use lab_tui::event::{Event, TerminalEvent};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

pub struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    whose: Arc<AtomicU8>,
}

/// Who has the terminal: the screen, an editor, nobody because the screen is closed, or nobody
/// because the terminal is.
const OURS: u8 = 0;
const LENT: u8 = 1;
const GIVEN_BACK: u8 = 2;
const HUNG_UP: u8 = 3;

impl SignalThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH])?;
        let handle = signals.handle();
        let whose = Arc::new(AtomicU8::new(OURS));
        let terminal = Arc::clone(&whose);
        let thread = threads::start("signals", move || {
            for signal in signals.forever() {
                let event = match (signal, terminal.load(Ordering::SeqCst)) {
                    // The next frame is drawn in the current size anyway.
                    (SIGWINCH, LENT | GIVEN_BACK | HUNG_UP) => continue,
                    (SIGWINCH, _) => TerminalEvent::Resize,
                    // The signal of the terminal that was closed comes after the error that said
                    // so.
                    (SIGHUP, HUNG_UP) => continue,
                    (signal, GIVEN_BACK | HUNG_UP) | (signal @ SIGTSTP, LENT) => {
                        let _ = emulate_default_handler(signal);
                        continue;
                    }
                    // Ctrl-C in an editor that did not set raw mode is meant for the editor.
                    (SIGINT, LENT) => continue,
                    (SIGTSTP, _) => TerminalEvent::Suspend,
                    (SIGCONT, _) => TerminalEvent::Continued,
                    (SIGHUP, _) => TerminalEvent::Hangup,
                    (other, _) => TerminalEvent::Terminate(other),
                };
                if events.send(Event::Terminal(event)).is_err() {
                    return;
                }
            }
        })?;
        Ok(SignalThread {
            handle,
            thread: Some(thread),
            whose,
        })
    }

    /// Says whether an editor has the terminal.
    pub fn lend(&self, lent: bool) {
        self.whose
            .store(if lent { LENT } else { OURS }, Ordering::SeqCst);
    }

    /// Gives signals their default effect: the screen is closed and only finishes work in progress.
    /// If a signal closed it, the work in progress must end soon.
    pub fn give_back(&self, closed_by: Option<i32>) {
        let whose = match closed_by {
            Some(SIGHUP) => HUNG_UP,
            _ => GIVEN_BACK,
        };
        self.whose.store(whose, Ordering::SeqCst);
        if let Some(signal) = closed_by {
            end_soon(signal);
        }
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
