//! The events that wait for the main loop. Events of the terminal and of signals come first: a
//! pasted megabyte of keys does not delay the signal that ends the screen.

use lab_tui::event::{Event, TerminalEvent};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Most keys that wait for the main loop. Further ones stay with the terminal.
const MOST_KEYS: usize = 4096;

/// The main loop has ended: nobody takes events any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// Sends events that are handled before all others.
#[derive(Clone)]
pub struct UrgentSender {
    urgent: Arc<Mutex<VecDeque<TerminalEvent>>>,
    events: Sender<Event>,
}

impl UrgentSender {
    /// Fails if the screen has closed.
    pub fn send(&self, event: TerminalEvent) -> Result<(), Closed> {
        // The mutex guards a queue, which is whole even after a panic.
        self.urgent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(event);
        // Wakes a main loop that waits.
        self.events.send(Event::Tick).map_err(|_| Closed)
    }
}

/// Sends keys, and knows how many of them wait.
#[derive(Clone)]
pub struct KeySender {
    waiting: Arc<AtomicUsize>,
    events: Sender<Event>,
}

impl KeySender {
    /// Fails if the screen has closed.
    pub fn send(&self, event: Event) -> Result<(), Closed> {
        if matches!(event, Event::Input(_)) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        self.events.send(event).map_err(|_| Closed)
    }

    /// So many keys wait that no more are to be read from the terminal now.
    pub fn is_full(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) >= MOST_KEYS
    }
}

/// The main loop's end.
pub struct Inbox {
    urgent: Arc<Mutex<VecDeque<TerminalEvent>>>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    waiting: Arc<AtomicUsize>,
    /// An event that was taken out and put back.
    next: Option<Event>,
}

impl Inbox {
    /// `sender` and `events` are the two ends of one channel.
    pub fn new(sender: Sender<Event>, events: Receiver<Event>) -> Self {
        Inbox {
            urgent: Arc::default(),
            events,
            sender,
            waiting: Arc::default(),
            next: None,
        }
    }

    pub fn urgent(&self) -> UrgentSender {
        UrgentSender {
            urgent: Arc::clone(&self.urgent),
            events: self.sender.clone(),
        }
    }

    pub fn keys(&self) -> KeySender {
        KeySender {
            waiting: Arc::clone(&self.waiting),
            events: self.sender.clone(),
        }
    }

    /// Waits for an event for at most this long. [`Event::Tick`] says that the time has run out.
    pub fn wait(&mut self, patience: Duration) -> Event {
        if let Some(event) = self.try_next() {
            return event;
        }
        // This value holds a sender, so the channel is open: an error says that the time has run
        // out.
        let Ok(event) = self.events.recv_timeout(patience) else {
            return Event::Tick;
        };
        self.next = Some(self.received(event));
        // The event may have come with an urgent one.
        self.try_next().unwrap_or(Event::Tick)
    }

    /// The next event, if one waits.
    pub fn try_next(&mut self) -> Option<Event> {
        let urgent = self
            .urgent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        if let Some(event) = urgent {
            return Some(Event::Terminal(event));
        }
        if let Some(event) = self.next.take() {
            return Some(event);
        }
        let event = self.events.try_recv().ok()?;
        Some(self.received(event))
    }

    /// Puts the event back that [`Inbox::try_next`] has returned last.
    pub fn put_back(&mut self, event: Event) {
        self.next = Some(event);
    }

    fn received(&self, event: Event) -> Event {
        if matches!(event, Event::Input(_)) {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_tui::event::UserInput;
    use std::sync::mpsc;

    fn inbox() -> Inbox {
        let (sender, receiver) = mpsc::channel();
        Inbox::new(sender, receiver)
    }

    fn typed(inbox: &Inbox, text: &str) {
        for letter in text.chars() {
            inbox
                .keys()
                .send(Event::Input(UserInput::Paste(letter.to_string())))
                .expect("the inbox is here");
        }
    }

    #[test]
    fn a_signal_comes_before_the_keys_that_were_there_first() {
        let mut inbox = inbox();
        typed(&inbox, "abc");
        inbox
            .urgent()
            .send(TerminalEvent::Terminate(15))
            .expect("the inbox is here");
        assert!(matches!(
            inbox.wait(Duration::ZERO),
            Event::Terminal(TerminalEvent::Terminate(15))
        ));
        assert!(matches!(inbox.wait(Duration::ZERO), Event::Input(_)));
        // Also while an event that was put back waits.
        let back = inbox.try_next().expect("a key");
        inbox.put_back(back);
        inbox
            .urgent()
            .send(TerminalEvent::Hangup)
            .expect("the inbox is here");
        assert!(matches!(
            inbox.try_next(),
            Some(Event::Terminal(TerminalEvent::Hangup))
        ));
        assert!(matches!(inbox.try_next(), Some(Event::Input(UserInput::Paste(b))) if b == "b"));
    }

    #[test]
    fn a_signal_wakes_a_loop_that_waits() {
        let mut inbox = inbox();
        let urgent = inbox.urgent();
        let signals = std::thread::spawn(move || urgent.send(TerminalEvent::Suspend));
        let event = inbox.wait(Duration::from_secs(60));
        assert!(
            matches!(event, Event::Terminal(TerminalEvent::Suspend)),
            "{event:?}"
        );
        assert!(signals.join().is_ok_and(|sent| sent.is_ok()));
    }

    #[test]
    fn a_flood_of_keys_stays_with_the_terminal() {
        let mut inbox = inbox();
        let keys = inbox.keys();
        typed(&inbox, &"x".repeat(MOST_KEYS - 1));
        assert!(!keys.is_full());
        typed(&inbox, "x");
        assert!(keys.is_full());
        let key = inbox.wait(Duration::ZERO);
        assert!(matches!(key, Event::Input(_)) && !keys.is_full());
        inbox.put_back(key);
        assert!(
            inbox.try_next().is_some() && !keys.is_full(),
            "a key that was put back is not counted twice"
        );
    }
}
