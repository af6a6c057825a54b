//! Turns signals into events. While an editor has the terminal, SIGTSTP to the process group stops
//! this process too; otherwise the shell would wait for it. While the screen closes, every signal
//! has its default effect, because the user does not want to wait for the last work.

use lab_system::lifetime::end_soon;
use lab_system::threads;
use lab_tui::event::{Event, TerminalEvent};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the screen may take to close after a signal. It does not close while it writes to a terminal
/// that nobody reads.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct SignalThread {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    whose: Arc<AtomicI32>,
    /// Tells the thread that the screen is closed.
    closed: Option<Sender<()>>,
}

/// Who has the terminal: the screen, an editor that starts, nobody because the screen is closed, or
/// nobody because the terminal is; or an editor that starts and ends at once, because a signal came
/// meanwhile. A positive number is the process id of the editor that has it.
const OURS: i32 = 0;
const LENT: i32 = -1;
const GIVEN_BACK: i32 = -2;
const HUNG_UP: i32 = -3;
const ENDING: i32 = -4;

impl SignalThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let mut signals = Signals::new([SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH])?;
        let handle = signals.handle();
        let whose = Arc::new(AtomicI32::new(OURS));
        let terminal = Arc::clone(&whose);
        let (closed, is_closed) = channel();
        let thread = threads::start("signals", move || {
            for signal in signals.forever() {
                let whose = terminal.load(Ordering::SeqCst);
                let event = match (signal, whose) {
                    // The next frame is drawn in the current size anyway.
                    (SIGWINCH, OURS) => TerminalEvent::Resize,
                    (SIGWINCH, _) => continue,
                    // The signal of the terminal that was closed comes after the error that said
                    // so.
                    (SIGHUP, HUNG_UP) => continue,
                    (signal, GIVEN_BACK | HUNG_UP) | (signal @ SIGTSTP, LENT | 1..) => {
                        let _ = emulate_default_handler(signal);
                        continue;
                    }
                    // Ctrl-C in an editor that did not set raw mode is meant for the editor.
                    (SIGINT, LENT | 1..) => continue,
                    (SIGTSTP, _) => TerminalEvent::Suspend,
                    (SIGCONT, _) => TerminalEvent::Continued,
                    (SIGHUP, _) => TerminalEvent::Hangup,
                    (other, _) => TerminalEvent::Terminate(other),
                };
                let closes = matches!(event, TerminalEvent::Hangup | TerminalEvent::Terminate(_));
                if events.send(Event::Terminal(event)).is_err() {
                    return;
                }
                // The screen waits for its editor, which ends too.
                if closes {
                    end_editor(exchange(&terminal, ENDING));
                }
                if closes
                    && whose == OURS
                    && is_closed.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
                {
                    let _ = emulate_default_handler(signal);
                }
            }
        })?;
        Ok(SignalThread {
            handle,
            thread: Some(thread),
            whose,
            closed: Some(closed),
        })
    }

    /// An editor gets the terminal. Returns how it ended.
    pub fn lend(&self, mut editor: Command) -> std::io::Result<ExitStatus> {
        let set = |whose| self.whose.store(whose, Ordering::SeqCst);
        set(LENT);
        let ended = editor.spawn().and_then(|mut editor| {
            let process = editor.id().cast_signed();
            if exchange(&self.whose, process) == ENDING {
                end_editor(process);
            }
            editor.wait()
        });
        set(OURS);
        ended
    }

    /// Gives signals their default effect: the screen is closed and only finishes work in progress.
    /// If a signal closed it, the work in progress must end soon.
    pub fn give_back(&mut self, closed_by: Option<i32>) {
        let whose = match closed_by {
            Some(SIGHUP) => HUNG_UP,
            _ => GIVEN_BACK,
        };
        self.whose.store(whose, Ordering::SeqCst);
        self.closed = None;
        if let Some(signal) = closed_by {
            end_soon(signal);
        }
    }
}

/// Says of an editor that starts what becomes of it. Returns what was said before.
fn exchange(whose: &AtomicI32, next: i32) -> i32 {
    let (Ok(before) | Err(before)) =
        whose.compare_exchange(LENT, next, Ordering::SeqCst, Ordering::SeqCst);
    before
}

/// Ends the editor that has the terminal, if one has.
fn end_editor(whose: i32) {
    if let Some(editor) = Pid::from_raw(whose.max(0)) {
        let _ = kill_process(editor, Signal::TERM);
    }
}

impl Drop for SignalThread {
    fn drop(&mut self) {
        self.closed = None;
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
