//! The telemetry monitor: the thread that reads a GPU's state once a second while the view Device
//! is shown. Otherwise it sleeps.

use crate::screen::worker::{Requests, Worker};
use lab_device::telemetry::{self, Telemetry};
use lab_tui::event::Event;
use lab_tui::reply::DeviceReading;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::Duration;

/// The time between two readings.
const PERIOD: Duration = Duration::from_secs(1);

/// A request is the UUID of the GPU to read, or `None` to stop reading.
pub fn start(events: Sender<Event>) -> io::Result<Worker<Option<String>>> {
    let tell = move |heard| events.send(Event::Telemetry(Box::new(heard))).is_ok();
    let replaces = |_: &Option<String>, _: &Option<String>| false;
    Worker::start("telemetry", replaces, move |requests| {
        follow(requests, &telemetry::of_gpu, tell);
    })
}

type Open<'a> = &'a dyn Fn(&str) -> Result<Box<dyn Telemetry>, String>;

/// Answers requests until `tell` returns false, because the screen has closed.
fn follow(
    requests: &mut Requests<Option<String>>,
    open: Open,
    tell: impl Fn(DeviceReading) -> bool,
) {
    // Kept while no readings are wanted: opening it takes tens of milliseconds.
    let mut known: Option<(String, Box<dyn Telemetry>)> = None;
    let mut looking: Option<String> = None;
    loop {
        let request = match &looking {
            Some(_) => requests.wait_within(PERIOD),
            None => requests.wait().ok_or(RecvTimeoutError::Disconnected),
        };
        match request {
            Ok(wanted) if wanted == looking => continue,
            Ok(wanted) => looking = wanted,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(uuid) = looking.clone() else {
            continue;
        };
        let mut telemetry = match known.take().filter(|(of, _)| *of == uuid) {
            Some((_, telemetry)) => Ok(telemetry),
            None => open(&uuid),
        };
        let slowdown_c = telemetry
            .as_ref()
            .ok()
            .and_then(|telemetry| telemetry.slowdown_c());
        let reading = telemetry
            .as_mut()
            .map(|telemetry| telemetry.read(true))
            .map_err(|why| why.clone());
        let others = telemetry
            .as_mut()
            .map_or_else(|_| Vec::new(), |it| it.others());
        match telemetry {
            Ok(telemetry) => known = Some((uuid.clone(), telemetry)),
            // It will not come back by itself; another look asks again.
            Err(_) => looking = None,
        }
        if !tell(DeviceReading {
            uuid,
            reading,
            slowdown_c,
            others,
        }) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::telemetry::Reading;
    use std::cell::RefCell;
    use std::sync::mpsc;

    struct Fixed;

    impl Telemetry for Fixed {
        fn read(&mut self, _: bool) -> Reading {
            Reading {
                temperature_c: Some(41),
                ..Reading::default()
            }
        }

        fn slowdown_c(&self) -> Option<u32> {
            Some(92)
        }
    }

    /// What is heard of these GPUs, one look after the other, until nobody listens.
    fn heard(looks: &[&str], open: Open) -> Vec<DeviceReading> {
        let (requests, inbox) = mpsc::channel();
        for uuid in looks {
            requests
                .send(Some((*uuid).to_owned()))
                .expect("the inbox is here");
        }
        let all = RefCell::new(Vec::new());
        let mut requests = Requests::new(inbox, |_, _| false);
        follow(&mut requests, open, |heard| {
            all.borrow_mut().push(heard);
            all.borrow().len() < looks.len()
        });
        all.into_inner()
    }

    #[test]
    fn each_gpu_that_is_looked_at_tells_its_state() {
        let told = heard(&["GPU-1", "GPU-2"], &|_| Ok(Box::new(Fixed)));
        assert_eq!(
            told.iter().map(|h| h.uuid.as_str()).collect::<Vec<_>>(),
            ["GPU-1", "GPU-2"]
        );
        assert!(
            told.iter()
                .all(|h| h.slowdown_c == Some(92) && h.reading.is_ok())
        );
    }

    #[test]
    fn a_gpu_without_a_state_says_why() {
        let told = heard(&["GPU-1"], &|_| {
            Err("libnvidia-ml.so.1 was not found".to_owned())
        });
        assert_eq!(
            told[0].reading,
            Err("libnvidia-ml.so.1 was not found".to_owned())
        );
    }
}
