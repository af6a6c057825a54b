//! The thread that reads keys. It waits for the terminal and for a command at once, so it uses no
//! processor time while nobody types. It can be paused, and confirms the pause, before an editor or
//! the shell gets the terminal.

use crate::screen::inbox::{KeySender, UrgentSender};
use lab_tui::event::{Event, TerminalEvent, UserInput};
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
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

/// At most so many keys are read before the thread looks for a command: a long paste does not delay
/// a pause.
const KEYS: usize = 256;

/// How long the thread leaves keys with the terminal before it looks again whether the main loop
/// has caught up.
const CATCH_UP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

enum InputCommand {
    Pause(Sender<()>),
    GoOn,
}

pub struct InputThread {
    commands: Option<Sender<InputCommand>>,
    wake: Arc<OwnedFd>,
}

impl InputThread {
    pub fn start(events: KeySender, urgent: UrgentSender) -> std::io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let bell = Arc::clone(&wake);
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || {
                // The screen has closed, or the terminal is gone.
                if read(&events, &inbox, &bell).is_err() {
                    let _ = urgent.send(TerminalEvent::Hangup);
                }
            })?;
        Ok(InputThread {
            commands: Some(commands),
            wake,
        })
    }

    /// Returns when the thread no longer reads the terminal.
    pub fn pause(&self) {
        let (done, answer) = mpsc::channel();
        self.command(InputCommand::Pause(done));
        // An error means that the thread has ended: it reads the terminal no more either.
        let _ = answer.recv();
    }

    pub fn go_on(&self) {
        self.command(InputCommand::GoOn);
    }

    fn command(&self, command: InputCommand) {
        if self
            .commands
            .as_ref()
            .is_some_and(|commands| commands.send(command).is_ok())
        {
            self.ring();
        }
    }

    fn ring(&self) {
        // The eventfd counts up to 2⁶⁴: a write can fail only if a wake-up already waits.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl Drop for InputThread {
    fn drop(&mut self) {
        drop(self.commands.take());
        self.ring();
    }
}

/// Runs until the screen has closed. Returns an error if the terminal is gone.
fn read(
    events: &KeySender,
    commands: &Receiver<InputCommand>,
    bell: &OwnedFd,
) -> std::io::Result<()> {
    let mut taken = Taken::Nothing;
    loop {
        let full = events.is_full();
        let ready = match (full, &taken) {
            (true, _) => wait_for_bell(bell)?,
            (false, Taken::Nothing) => wait(bell, None)?,
            (false, Taken::All) => wait(bell, Some(&POLL_AGAIN))?,
            (false, Taken::Part) => wait(bell, Some(&Timespec::default()))?,
        };
        match commands.try_recv() {
            Ok(InputCommand::Pause(done)) => {
                let _ = done.send(());
                if !wait_for_go(commands) {
                    return Ok(());
                }
                // Keys typed meanwhile belonged to the other program.
                taken = Taken::Nothing;
                continue;
            }
            Ok(InputCommand::GoOn) | Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return Ok(()),
        }
        if !full && (ready || taken != Taken::Nothing) {
            match take(events)? {
                Some(now) => taken = now,
                None => return Ok(()),
            }
        }
    }
}

/// Waits for input (true), a command, or until `most` has passed. Returns an error if the terminal
/// is gone.
fn wait(bell: &OwnedFd, most: Option<&Timespec>) -> std::io::Result<bool> {
    let stdin = std::io::stdin();
    let mut fds = [
        PollFd::new(&stdin, PollFlags::IN),
        PollFd::new(bell, PollFlags::IN),
    ];
    match poll(&mut fds, most) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let [terminal, bell_rang] = fds.map(|fd| fd.revents());
    if !bell_rang.is_empty() {
        silence(bell);
    }
    match terminal.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        true => Err(Errno::IO.into()),
        false => Ok(terminal.contains(PollFlags::IN)),
    }
}

/// Waits for a command, or a moment in which the main loop catches up. Never true: the terminal is
/// not looked at.
fn wait_for_bell(bell: &OwnedFd) -> std::io::Result<bool> {
    match poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&CATCH_UP)) {
        Ok(0) | Err(Errno::INTR) => {}
        Ok(_) => silence(bell),
        Err(error) => return Err(error.into()),
    }
    Ok(false)
}

fn silence(bell: &OwnedFd) {
    let _ = rustix::io::read(bell, &mut [0; 8]);
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

/// Waits for the end of a pause, in which keys belong to another program. False if the screen has
/// closed.
fn wait_for_go(commands: &Receiver<InputCommand>) -> bool {
    loop {
        match commands.recv() {
            Ok(InputCommand::GoOn) => return true,
            Ok(InputCommand::Pause(done)) => drop(done.send(())),
            Err(_) => return false,
        }
    }
}
