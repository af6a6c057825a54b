//! The thread that reads keys. It waits for the terminal and for a command at once, so it uses no processor time while
//! nobody types. It can be paused, and confirms the pause, before an editor or the shell gets the terminal.

use lab_tui::event::{Event, TerminalEvent, UserInput};
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// How long crossterm polls for a key. With a timeout of zero it does not poll at all. Below a millisecond it polls in a
/// busy loop, which takes the processor from the thread that draws the key: so no longer than needed.
const POLL: Duration = Duration::from_micros(50);

/// This long after a key the thread polls once more. If this thread lost the processor during the first poll, crossterm
/// may hold keys that the terminal will not report again.
const POLL_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

enum InputCommand {
    Pause(Sender<()>),
    GoOn,
}

pub struct InputThread {
    commands: Option<Sender<InputCommand>>,
    wake: Arc<OwnedFd>,
}

impl InputThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let bell = Arc::clone(&wake);
        thread::Builder::new().name("input".to_owned()).spawn(move || read(&events, &inbox, &bell))?;
        Ok(InputThread { commands: Some(commands), wake })
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
        if self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok()) {
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

/// Runs until the screen or the terminal is gone.
fn read(events: &Sender<Event>, commands: &Receiver<InputCommand>, bell: &OwnedFd) {
    let mut again = false;
    loop {
        let Some(terminal) = wait(bell, again.then_some(&POLL_AGAIN)) else { return lost(events) };
        match commands.try_recv() {
            Ok(InputCommand::Pause(done)) => {
                let _ = done.send(());
                if !wait_for_go(commands) {
                    return;
                }
                // Keys typed meanwhile belonged to the other program.
                again = false;
                continue;
            }
            Ok(InputCommand::GoOn) | Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return,
        }
        if terminal || again {
            match take(events) {
                Ok(Some(keys)) => again = keys > 0,
                Ok(None) => return,
                Err(_) => return lost(events),
            }
        }
    }
}

/// Waits for input (`Some(true)`), a command, or until `most` has passed. `None` if the terminal is gone.
fn wait(bell: &OwnedFd, most: Option<&Timespec>) -> Option<bool> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(bell, PollFlags::IN)];
    match poll(&mut fds, most) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(_) => return None,
    }
    let [terminal, bell_rang] = fds.map(|fd| fd.revents());
    if !bell_rang.is_empty() {
        let _ = rustix::io::read(bell, &mut [0; 8]);
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    (!terminal.intersects(gone)).then_some(terminal.contains(PollFlags::IN))
}

/// Sends every waiting key as an event and returns their number. `None` if the screen has closed.
fn take(events: &Sender<Event>) -> std::io::Result<Option<usize>> {
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
    }
    Ok(Some(keys))
}

/// Waits for the end of a pause, in which keys belong to another program. False if the screen has closed.
fn wait_for_go(commands: &Receiver<InputCommand>) -> bool {
    loop {
        match commands.recv() {
            Ok(InputCommand::GoOn) => return true,
            Ok(InputCommand::Pause(done)) => drop(done.send(())),
            Err(_) => return false,
        }
    }
}

/// Reports that the terminal is gone.
fn lost(events: &Sender<Event>) {
    let _ = events.send(Event::Terminal(TerminalEvent::Hangup));
}
