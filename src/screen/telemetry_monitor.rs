//! The thread that reads a GPU's state while somebody looks at it, once a second. Nobody looks: it sleeps.

use lab_device::telemetry as gauge;
use lab_device::telemetry::Telemetry as Gauge;
use lab_tui::event::Event;
use lab_tui::request::Heard;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two readings.
const PERIOD: Duration = Duration::from_secs(1);

pub struct Monitor {
    /// The GPU to look at, or none.
    orders: Option<Sender<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    pub fn start(events: Sender<Event>) -> io::Result<Self> {
        let (orders, heard) = mpsc::channel();
        let tell = move |heard| events.send(Event::Device(Box::new(heard))).is_ok();
        let thread = thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || follow(&heard, &gauge::of_gpu, tell))?;
        Ok(Monitor { orders: Some(orders), thread: Some(thread) })
    }

    /// Looks at this GPU from now on; at none where there is none.
    pub fn look(&self, uuid: Option<String>) {
        if let Some(orders) = &self.orders {
            // Where the monitor broke, the screen was told by the panic hook.
            let _ = orders.send(uuid);
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

type Open<'a> = &'a dyn Fn(&str) -> Result<Box<dyn Gauge>, String>;

/// `tell` is false once nobody listens any more.
fn follow(orders: &Receiver<Option<String>>, open: Open, tell: impl Fn(Heard) -> bool) {
    // Kept while nobody looks: to open a gauge takes tens of milliseconds.
    let mut known: Option<(String, Box<dyn Gauge>)> = None;
    let mut looking: Option<String> = None;
    loop {
        let order = match &looking {
            Some(_) => orders.recv_timeout(PERIOD),
            None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(wanted) if wanted == looking => continue,
            Ok(wanted) => looking = wanted,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(uuid) = looking.clone() else { continue };
        let mut gauge = match known.take().filter(|(of, _)| *of == uuid) {
            Some((_, gauge)) => Ok(gauge),
            None => open(&uuid),
        };
        let slowdown_c = gauge.as_ref().ok().and_then(|gauge| gauge.slowdown_c());
        let reading = gauge.as_mut().map(|gauge| gauge.read(true)).map_err(|why| why.clone());
        match gauge {
            Ok(gauge) => known = Some((uuid.clone(), gauge)),
            // It will not come back by itself; another look asks again.
            Err(_) => looking = None,
        }
        if !tell(Heard { uuid, reading, slowdown_c }) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::telemetry::Reading;
    use std::cell::RefCell;

    struct Fixed;

    impl Gauge for Fixed {
        fn read(&mut self, _: bool) -> Reading {
            Reading { temperature_c: Some(41), ..Reading::default() }
        }

        fn slowdown_c(&self) -> Option<u32> {
            Some(92)
        }
    }

    /// What is heard of these GPUs, one look after the other, until nobody listens.
    fn heard(looks: &[&str], open: Open) -> Vec<Heard> {
        let (orders, inbox) = mpsc::channel();
        for uuid in looks {
            orders.send(Some((*uuid).to_owned())).expect("the inbox is here");
        }
        let all = RefCell::new(Vec::new());
        follow(&inbox, open, |heard| {
            all.borrow_mut().push(heard);
            all.borrow().len() < looks.len()
        });
        all.into_inner()
    }

    #[test]
    fn each_gpu_that_is_looked_at_tells_its_state() {
        let told = heard(&["GPU-1", "GPU-2"], &|_| Ok(Box::new(Fixed)));
        assert_eq!(told.iter().map(|h| h.uuid.as_str()).collect::<Vec<_>>(), ["GPU-1", "GPU-2"]);
        assert!(told.iter().all(|h| h.slowdown_c == Some(92) && h.reading.is_ok()));
    }

    #[test]
    fn a_gpu_without_a_state_says_why() {
        let told = heard(&["GPU-1"], &|_| Err("libnvidia-ml.so.1 was not found".to_owned()));
        assert_eq!(told[0].reading, Err("libnvidia-ml.so.1 was not found".to_owned()));
    }
}
