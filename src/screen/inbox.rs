//! The events that wait for the main loop. Signals and the size of the terminal come first: a pasted
//! megabyte of keys does not delay the signal that ends the screen.

use lab_tui::event::{Event, TerminalEvent, UserInput};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// Most keys that wait for the main loop. Further ones stay with the terminal.
const MOST_KEYS: usize = 4096;

/// The main loop has ended: nobody takes events any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

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
    receiver: Receiver<Event>,
    /// Signals, and the size of the terminal.
    urgent: VecDeque<Event>,
    others: VecDeque<Event>,
    /// The event returned last was a new size: where the size changes all the time, the others have
    /// their turn between.
    was_resize: bool,
    keys: KeySender,
}

impl Inbox {
    /// `sender` and `receiver` are the two ends of one channel.
    pub fn new(sender: Sender<Event>, receiver: Receiver<Event>) -> Self {
        Inbox {
            receiver,
            urgent: VecDeque::new(),
            others: VecDeque::new(),
            was_resize: false,
            keys: KeySender {
                waiting: Arc::default(),
                events: sender,
            },
        }
    }

    pub fn keys(&self) -> KeySender {
        self.keys.clone()
    }

    /// Waits for an event for at most this long. [`Event::Tick`] says that the time has run out.
    pub fn wait(&mut self, patience: Duration) -> Event {
        if let Some(event) = self.try_next() {
            return event;
        }
        // This value holds a sender, so the channel is open: an error says that the time has run
        // out.
        if let Ok(event) = self.receiver.recv_timeout(patience) {
            self.queue(event);
        }
        self.try_next().unwrap_or(Event::Tick)
    }

    /// The next event, if one waits.
    pub fn try_next(&mut self) -> Option<Event> {
        while let Ok(event) = self.receiver.try_recv() {
            self.queue(event);
        }
        let yields = std::mem::take(&mut self.was_resize)
            && self.urgent.front().is_some_and(is_resize)
            && !self.others.is_empty();
        let urgent = if yields {
            None
        } else {
            self.urgent.pop_front()
        };
        let event = urgent.or_else(|| self.others.pop_front())?;
        self.was_resize = is_resize(&event);
        if matches!(event, Event::Input(_)) {
            self.keys.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        Some(event)
    }

    /// The keys and pastes that still wait.
    pub fn unread(&mut self) -> Vec<Event> {
        let is_typed =
            |event: &Event| matches!(event, Event::Input(UserInput::Key(_) | UserInput::Paste(_)));
        std::iter::from_fn(|| self.try_next())
            .filter(is_typed)
            .collect()
    }

    /// Puts the event back that [`Inbox::try_next`] has returned last. It is not a key.
    pub fn put_back(&mut self, event: Event) {
        self.others.push_front(event);
    }

    fn queue(&mut self, event: Event) {
        match event {
            Event::Terminal(TerminalEvent::Focus(_) | TerminalEvent::EditorClosed(_)) => {
                self.others.push_back(event);
            }
            // One new size is as good as several.
            Event::Terminal(TerminalEvent::Resize) if self.urgent.iter().any(is_resize) => {}
            Event::Terminal(_) => self.urgent.push_back(event),
            _ => self.others.push_back(event),
        }
    }
}

fn is_resize(event: &Event) -> bool {
    matches!(event, Event::Terminal(TerminalEvent::Resize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn inbox() -> Inbox {
        let (sender, receiver) = mpsc::channel();
        Inbox::new(sender, receiver)
    }

    fn send(inbox: &Inbox, event: TerminalEvent) {
        let sent = inbox.keys().send(Event::Terminal(event));
        sent.expect("the inbox is here");
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
        send(&inbox, TerminalEvent::Terminate(15));
        assert!(matches!(
            inbox.wait(Duration::ZERO),
            Event::Terminal(TerminalEvent::Terminate(15))
        ));
        assert!(matches!(inbox.wait(Duration::ZERO), Event::Input(_)));
        // Also while an event that was put back waits.
        inbox.put_back(Event::Tick);
        send(&inbox, TerminalEvent::Hangup);
        assert!(matches!(
            inbox.try_next(),
            Some(Event::Terminal(TerminalEvent::Hangup))
        ));
        assert!(matches!(inbox.try_next(), Some(Event::Tick)));
        // The focus changes in between two keys.
        send(&inbox, TerminalEvent::Focus(true));
        assert!(matches!(inbox.try_next(), Some(Event::Input(UserInput::Paste(b))) if b == "b"));
    }

    #[test]
    fn a_terminal_that_changes_its_size_all_the_time_stops_nothing() {
        let mut inbox = inbox();
        typed(&inbox, "a");
        send(&inbox, TerminalEvent::Resize);
        send(&inbox, TerminalEvent::Resize);
        assert!(inbox.try_next().is_some_and(|event| is_resize(&event)));
        send(&inbox, TerminalEvent::Resize);
        assert!(matches!(inbox.try_next(), Some(Event::Input(_))));
        assert!(inbox.try_next().is_some_and(|event| is_resize(&event)));
        assert!(inbox.try_next().is_none());
    }

    #[test]
    fn a_signal_wakes_a_loop_that_waits() {
        let mut inbox = inbox();
        let keys = inbox.keys();
        let signals =
            std::thread::spawn(move || keys.send(Event::Terminal(TerminalEvent::Suspend)));
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
    }
}
