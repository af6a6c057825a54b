//! The thread that reads keys. It waits for the terminal and for the end of the screen at once, so
//! it uses no processor time while nobody types. An editor or the shell gets the terminal while the
//! thread is paused.

use crate::screen::inbox::KeySender;
use lab_system::threads::{self, lock};
use lab_tui::event::{Event, TerminalEvent, UserInput};
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long crossterm polls for a key. With a timeout of zero it does not poll at all. Below a
/// millisecond it polls in a busy loop, which takes the processor from the thread that draws the
/// key: so no longer than needed.
const POLL: Duration = Duration::from_micros(50);

/// This long after a key the thread polls once more. If this thread lost the processor during the
/// first poll, crossterm may hold keys that the terminal will not report again.
const POLL_AGAIN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// At most so many keys are read before the thread can be paused: a long paste does not delay a
/// pause.
const KEYS: usize = 256;

/// How long the thread leaves keys with the terminal before it looks again whether the main loop
/// has caught up.
const CATCH_UP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

pub struct InputThread {
    /// Locked by whoever reads the terminal. True once the screen has closed.
    closed: Arc<Mutex<bool>>,
    bell: Arc<OwnedFd>,
}

impl InputThread {
    pub fn start(events: KeySender) -> std::io::Result<Self> {
        let input = InputThread {
            closed: Arc::default(),
            bell: Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?),
        };
        let (closed, bell) = (Arc::clone(&input.closed), Arc::clone(&input.bell));
        threads::start("input", move || {
            // The screen has closed, or the terminal is gone.
            if read(&events, &closed, &bell).is_err() {
                let _ = events.send(Event::Terminal(TerminalEvent::Hangup));
            }
        })?;
        Ok(input)
    }

    /// Waits until the thread does not read the terminal. The thread goes on when the guard is
    /// dropped.
    pub fn pause(&self) -> MutexGuard<'_, bool> {
        lock(&self.closed)
    }
}

impl Drop for InputThread {
    fn drop(&mut self) {
        *lock(&self.closed) = true;
        // The eventfd counts up to 2⁶⁴, so the write cannot fail.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// Runs until the screen has closed. Returns an error if the terminal is gone.
fn read(events: &KeySender, closed: &Mutex<bool>, bell: &OwnedFd) -> std::io::Result<()> {
    let mut taken = Taken::Nothing;
    loop {
        let full = events.is_full();
        let ready = match (full, &taken) {
            (true, _) => wait(bell, false, Some(&CATCH_UP))?,
            (false, Taken::Nothing) => wait(bell, true, None)?,
            (false, Taken::All) => wait(bell, true, Some(&POLL_AGAIN))?,
            (false, Taken::Part) => wait(bell, true, Some(&Timespec::default()))?,
        };
        // While another program has the terminal, its keys are not read.
        let closed = lock(closed);
        if *closed {
            return Ok(());
        }
        if !full && (ready || taken != Taken::Nothing) {
            match take(events)? {
                Some(now) => taken = now,
                None => return Ok(()),
            }
        }
    }
}

/// Waits for the end of the screen, until `most` has passed and, with `terminal`, for input (true).
/// Returns an error if the terminal is gone.
fn wait(bell: &OwnedFd, terminal: bool, most: Option<&Timespec>) -> std::io::Result<bool> {
    let stdin = std::io::stdin();
    let mut fds = [
        PollFd::new(bell, PollFlags::IN),
        PollFd::new(&stdin, PollFlags::IN),
    ];
    match poll(&mut fds[..=usize::from(terminal)], most) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let input = fds[1].revents();
    if input.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        Err(Errno::IO.into())
    } else {
        Ok(input.contains(PollFlags::IN))
    }
}

/// What was read of the waiting keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// There was none.
    Nothing,
    All,
    /// More may wait.
    Part,
}

/// Sends waiting keys as events. `None` if the screen has closed.
fn take(events: &KeySender) -> std::io::Result<Option<Taken>> {
    let mut keys = 0;
    while event::poll(POLL)? {
        keys += 1;
        let event = match event::read()? {
            Raw::Key(key) if key.kind != KeyEventKind::Release => Event::Input(UserInput::Key(key)),
            Raw::Paste(text) => Event::Input(UserInput::Paste(text)),
            Raw::Mouse(mouse) => Event::Input(UserInput::Mouse(mouse)),
            Raw::FocusGained => Event::Terminal(TerminalEvent::Focus(true)),
            Raw::FocusLost => Event::Terminal(TerminalEvent::Focus(false)),
            // SIGWINCH reports a new size, also while nobody types.
            Raw::Resize(..) | Raw::Key(_) => continue,
        };
        if events.send(event).is_err() {
            return Ok(None);
        }
        if keys >= KEYS {
            return Ok(Some(Taken::Part));
        }
    }
    Ok(Some(if keys > 0 { Taken::All } else { Taken::Nothing }))
}
