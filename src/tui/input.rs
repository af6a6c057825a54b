//! The thread that reads keys. It polls with a timeout and never sits in a read, so that it can be
//! paused, with an answer, before somebody else gets the terminal.

use super::event::Event;
use ratatui::crossterm::event::{self, Event as Raw, KeyEventKind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// How long a pause may have to wait; ten idle wake-ups a second cost nothing to speak of.
const POLL: Duration = Duration::from_millis(100);

enum Order {
    Pause(Sender<()>),
    GoOn,
}

pub struct InputThread {
    orders: Sender<Order>,
}

impl InputThread {
    pub fn start(events: Sender<Event>) -> std::io::Result<Self> {
        let (orders, inbox) = mpsc::channel();
        thread::Builder::new().name("input".to_owned()).spawn(move || read(&events, &inbox))?;
        Ok(InputThread { orders })
    }

    /// Returns when the thread has let go of the terminal.
    pub fn pause(&self) {
        let (done, answer) = mpsc::channel();
        if self.orders.send(Order::Pause(done)).is_ok() {
            // An error means that the thread has ended, which is as good.
            let _ = answer.recv();
        }
    }

    pub fn go_on(&self) {
        let _ = self.orders.send(Order::GoOn);
    }
}

/// Ends when the other side is gone, or the terminal is.
fn read(events: &Sender<Event>, orders: &Receiver<Order>) {
    loop {
        match orders.try_recv() {
            Ok(Order::Pause(done)) => {
                let _ = done.send(());
                if !wait_for_go(orders) {
                    return;
                }
            }
            Ok(Order::GoOn) | Err(mpsc::TryRecvError::Empty) => {}
            Err(mpsc::TryRecvError::Disconnected) => return,
        }
        match event::poll(POLL) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return lost(events),
        }
        let Ok(raw) = event::read() else { return lost(events) };
        let event = match raw {
            Raw::Key(key) if key.kind != KeyEventKind::Release => Event::Key(key),
            Raw::Paste(text) => Event::Paste(text),
            Raw::Resize(..) => Event::Resize,
            Raw::Mouse(mouse) => Event::Mouse(mouse),
            Raw::FocusGained => Event::Focus(true),
            Raw::FocusLost => Event::Focus(false),
            Raw::Key(_) => continue,
        };
        if events.send(event).is_err() {
            return;
        }
    }
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
