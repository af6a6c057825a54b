//! The thread that reads keys. It waits for the terminal and for an order at once, so that it costs
//! nothing while nobody types, and can be paused, with an answer, before somebody else gets the terminal.

use super::event::Event;
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// How long a key's further bytes, or further keys, are waited for after the first. Not nothing: asked
/// for no time at all, crossterm does not look.
const REST: Duration = Duration::from_millis(1);

enum Order {
    Pause(Sender<()>),
    GoOn,
}

pub struct InputThread {
    orders: Option<Sender<Order>>,
    wake: Arc<OwnedFd>,
}

impl InputThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let bell = Arc::clone(&wake);
        thread::Builder::new().name("input".to_owned()).spawn(move || read(&events, &inbox, &bell))?;
        Ok(InputThread { orders: Some(orders), wake })
    }

    /// Returns when the thread has let go of the terminal.
    pub fn pause(&self) {
        let (done, answer) = mpsc::channel();
        self.order(Order::Pause(done));
        // An error means that the thread has ended, which is as good.
        let _ = answer.recv();
    }

    pub fn go_on(&self) {
        self.order(Order::GoOn);
    }

    fn order(&self, order: Order) {
        if self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok()) {
            self.ring();
        }
    }

    fn ring(&self) {
        // It counts up to 2⁶⁴: a write can only fail where a wake-up is waiting already.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl Drop for InputThread {
    fn drop(&mut self) {
        drop(self.orders.take());
        self.ring();
    }
}

/// Ends when the other side is gone, or the terminal is.
fn read(events: &Sender<Event>, orders: &Receiver<Order>, bell: &OwnedFd) {
    loop {
        let Some(terminal) = wait(bell) else { return lost(events) };
        match orders.try_recv() {
            Ok(Order::Pause(done)) => {
                let _ = done.send(());
                if !wait_for_go(orders) {
                    return;
                }
                // What came meanwhile was somebody else's to read.
                continue;
            }
            Ok(Order::GoOn) | Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return,
        }
        if terminal {
            match take(events) {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => return lost(events),
            }
        }
    }
}

/// Until there is something to read, which is true, or an order; `None` where the terminal is gone.
fn wait(bell: &OwnedFd) -> Option<bool> {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(bell, PollFlags::IN)];
    match poll(&mut fds, None) {
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

/// Passes on every key that is there; false where nobody listens any more.
fn take(events: &Sender<Event>) -> std::io::Result<bool> {
    while event::poll(REST)? {
        let event = match event::read()? {
            Raw::Key(key) if key.kind != KeyEventKind::Release => Event::Key(key),
            Raw::Paste(text) => Event::Paste(text),
            Raw::Mouse(mouse) => Event::Mouse(mouse),
            Raw::FocusGained => Event::Focus(true),
            Raw::FocusLost => Event::Focus(false),
            // A new size is told by its signal, also while nobody types.
            Raw::Resize(..) | Raw::Key(_) => continue,
        };
        if events.send(event).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// While paused keys belong to somebody else. False where the other side is gone.
fn wait_for_go(orders: &Receiver<Order>) -> bool {
    loop {
        match orders.recv() {
            Ok(Order::GoOn) => return true,
            Ok(Order::Pause(done)) => drop(done.send(())),
            Err(_) => return false,
        }
    }
}

/// No terminal, no keys: there is nobody left to show anything to.
fn lost(events: &Sender<Event>) {
    let _ = events.send(Event::Hangup);
}
