//! The thread that reads keys. It waits for the terminal and for an order at once, so that it costs
//! nothing while nobody types, and can be paused, with an answer, before somebody else gets the terminal.

use lab_tui::event::Event;
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// How long crossterm looks for a key. Not nothing: asked for no time at all, it does not look. Nor more than it
/// takes: below a millisecond it does not wait but asks again and again, and somebody else wants that processor to
/// draw the key.
const LOOK: Duration = Duration::from_micros(50);

/// So long after a key it is looked for another once more: where the first look was cut short because this thread had
/// no processor, crossterm may hold keys that the terminal tells of no more.
const AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

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
    let mut again = false;
    loop {
        let Some(terminal) = wait(bell, again.then_some(&AGAIN)) else { return lost(events) };
        match orders.try_recv() {
            Ok(Order::Pause(done)) => {
                let _ = done.send(());
                if !wait_for_go(orders) {
                    return;
                }
                // What came meanwhile was somebody else's to read.
                again = false;
                continue;
            }
            Ok(Order::GoOn) | Err(mpsc::TryRecvError::Empty) => {}
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

/// Until there is something to read, which is true, or an order, or for so long; `None` where the terminal is gone.
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

/// Passes on every key that is there, and counts them; `None` where nobody listens any more.
fn take(events: &Sender<Event>) -> std::io::Result<Option<usize>> {
    let mut keys = 0;
    while event::poll(LOOK)? {
        keys += 1;
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
            return Ok(None);
        }
    }
    Ok(Some(keys))
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
