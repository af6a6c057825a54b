//! Telemetry while a kernel is measured: a thread reads the device's state, and [`summary`] decides
//! which caveats follow.

pub mod summary;

use crate::outcome::Result;
use lab_device::DeviceInfo;
use lab_device::telemetry::{self, Telemetry};
use lab_protocol::report::Writer;
use lab_protocol::telemetry::Reading;
use lab_system::threads::{self, lock};
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use summary::{Sample, TelemetrySummary};

/// Interval of readings. A reading takes well below a millisecond, so it does not disturb a
/// measurement.
const INTERVAL: Duration = Duration::from_millis(20);

/// The processes on the device are read with the first reading and with every tenth.
const PROCESSES_EVERY: usize = 10;

/// A thread that reads a device's state on request. Its clones share the thread, and the drop of the
/// last one ends it.
#[derive(Clone)]
pub struct TelemetryMonitor {
    requests: Sender<MonitorCommand>,
    /// Why the device's state cannot be read. The thread sets it before it ends.
    missing: Arc<OnceLock<String>>,
    /// Processes that are the run's own though this process did not start them.
    own: OwnProcesses,
}

type OwnProcesses = Arc<Mutex<BTreeSet<u32>>>;

enum MonitorCommand {
    Start,
    Finish(Sender<Option<TelemetrySummary>>),
}

impl TelemetryMonitor {
    /// Opens the device's telemetry on a thread of its own, so that nobody waits for it.
    pub fn open(info: &DeviceInfo) -> io::Result<TelemetryMonitor> {
        let info = info.clone();
        Self::with(move || telemetry::open(&info))
    }

    /// [`TelemetryMonitor::open`] with telemetry that the caller opens. `Ok(None)` is a device
    /// without telemetry.
    pub fn with(
        open: impl FnOnce() -> Result<Option<Box<dyn Telemetry>>, String> + Send + 'static,
    ) -> io::Result<TelemetryMonitor> {
        let (sender, requests) = channel();
        let missing = Arc::new(OnceLock::new());
        let (reason, own) = (missing.clone(), OwnProcesses::default());
        let known = own.clone();
        threads::start("telemetry", move || match open() {
            Ok(Some(source)) => run_monitor(source, &requests, &known),
            Ok(None) => {}
            Err(why) => {
                let _ = reason.set(why);
                // The requests are dropped after this, so `finish` finds the reason.
            }
        })?;
        Ok(TelemetryMonitor {
            requests: sender,
            missing,
            own,
        })
    }

    /// Notes a worker of the run, which another process may have forked.
    pub fn note_own(&self, process: u32) {
        lock(&self.own).insert(process);
    }

    /// Starts reading, and forgets earlier readings.
    pub fn start(&self) {
        // If the thread has ended, `finish` returns the reason.
        let _ = self.requests.send(MonitorCommand::Start);
    }

    /// Stops reading and returns the summary. `None` if the device has no telemetry or reading was
    /// not started. The error says why telemetry that should be there is missing.
    pub fn finish(&self) -> Result<Option<TelemetrySummary>, String> {
        let (answer, summary) = channel();
        let _ = self.requests.send(MonitorCommand::Finish(answer));
        match summary.recv() {
            Ok(summary) => Ok(summary),
            Err(_) => self.missing.get().map_or(Ok(None), |why| Err(why.clone())),
        }
    }

    /// Stops reading, and writes the result lines and caveats. Returns whether something disturbed
    /// the measurement, which is what the caveats say. A measurement about which nothing is known
    /// counts as disturbed.
    pub fn write(&self, out: &mut Writer) -> Result<bool> {
        let caveats = match self.finish() {
            Ok(None) => Vec::new(),
            Ok(Some(summary)) => {
                for (key, value) in summary.lines() {
                    out.line(key, value)?;
                }
                summary.caveats()
            }
            Err(why) => {
                vec![format!(
                    "the device's clocks, its temperature and other processes on it are unknown: {why}"
                )]
            }
        };
        for caveat in &caveats {
            out.caveat(caveat)?;
        }
        Ok(!caveats.is_empty())
    }
}

fn run_monitor(
    mut source: Box<dyn Telemetry>,
    requests: &Receiver<MonitorCommand>,
    own: &OwnProcesses,
) {
    let slowdown_c = source.slowdown_c();
    while let Ok(request) = requests.recv() {
        match request {
            MonitorCommand::Start => {
                let (mut samples, asked) = read_until_asked(&mut *source, requests);
                let Some(answer) = asked else { return };
                let known = lock(own);
                let readings = samples.iter_mut().map(|sample| &mut sample.reading);
                let processes = readings.flat_map(|reading| reading.processes.iter_mut().flatten());
                processes.for_each(|process| process.own |= known.contains(&process.pid));
                drop(known);
                let _ = answer.send(TelemetrySummary::of(samples, slowdown_c));
            }
            // Reading was not started.
            MonitorCommand::Finish(answer) => drop(answer.send(None)),
        }
    }
}

/// Reads until a summary is asked for. Without a sender, because the monitor was dropped, nobody
/// will ask.
fn read_until_asked(
    source: &mut dyn Telemetry,
    requests: &Receiver<MonitorCommand>,
) -> (Vec<Sample>, Option<Sender<Option<TelemetrySummary>>>) {
    let mut started = Instant::now();
    source.start();
    let mut samples: Vec<Sample> = Vec::new();
    loop {
        let reading: Reading = source.read(samples.len().is_multiple_of(PROCESSES_EVERY));
        samples.push(Sample {
            at: started.elapsed(),
            reading,
        });
        match requests.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(MonitorCommand::Start) => {
                started = Instant::now();
                source.start();
                samples.clear();
            }
            Ok(MonitorCommand::Finish(answer)) => {
                // The device reports usage late: processes that came meanwhile are in the last
                // reading.
                samples.push(Sample {
                    at: started.elapsed(),
                    reading: source.read(true),
                });
                return (samples, Some(answer));
            }
            Err(RecvTimeoutError::Disconnected) => return (samples, None),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use lab_protocol::telemetry::Process;

    /// Reports each reading on a channel, and is one degree warmer at each.
    struct Warming(Sender<u32>, u32);

    impl Telemetry for Warming {
        fn read(&mut self, _: bool) -> Reading {
            self.1 += 1;
            let _ = self.0.send(self.1);
            Reading {
                temperature_c: Some(self.1),
                ..Reading::default()
            }
        }
        fn slowdown_c(&self) -> Option<u32> {
            Some(90)
        }
    }

    /// A device that two processes use, one of which this process has started.
    struct Shared;

    impl Telemetry for Shared {
        fn read(&mut self, _: bool) -> Reading {
            let process = |pid, own| Process {
                pid,
                name: "python3".into(),
                own,
                is_lab: false,
                busy: Some(30),
                memory: None,
            };
            Reading {
                processes: Some(vec![process(7, true), process(8, false)]),
                ..Reading::default()
            }
        }
        fn slowdown_c(&self) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_worker_that_a_python_on_standby_has_forked_disturbs_nothing() {
        let monitor = || TelemetryMonitor::with(|| Ok(Some(Box::new(Shared)))).unwrap();
        let caveats = |monitor: TelemetryMonitor| {
            monitor.start();
            lines(&monitor).matches("used up to 30 %").count()
        };
        assert_eq!(caveats(monitor()), 1);
        let told = monitor();
        told.note_own(8);
        assert_eq!(caveats(told), 0);
    }

    fn lines(monitor: &TelemetryMonitor) -> String {
        let (reader, writer) = io::pipe().unwrap();
        let mut out = Writer::new(writer);
        monitor.write(&mut out).unwrap();
        drop(out);
        io::read_to_string(reader).unwrap()
    }

    #[test]
    fn the_state_is_read_from_start_to_finish_and_not_before() {
        let (tell, readings) = channel();
        let monitor =
            TelemetryMonitor::with(move || Ok(Some(Box::new(Warming(tell, 40))))).unwrap();
        assert_eq!(monitor.finish(), Ok(None));
        monitor.start();
        assert_eq!(
            readings.recv_timeout(Duration::from_secs(20)),
            Ok(41),
            "nothing was read before"
        );
        readings.recv_timeout(Duration::from_secs(20)).unwrap();
        let text = lines(&monitor);
        assert!(text.starts_with("temperature_c: 4"), "{text}");
        assert!(text.contains(" low=41 high=4"), "{text}");
    }

    #[test]
    fn missing_telemetry_is_explained_and_a_device_without_telemetry_is_not() {
        let none = TelemetryMonitor::with(|| Ok(None)).unwrap();
        none.start();
        assert_eq!(lines(&none), "");
        let missing =
            TelemetryMonitor::with(|| Err("libnvidia-ml.so.1 was not found".into())).unwrap();
        missing.start();
        assert_eq!(
            lines(&missing),
            "caveat: the device's clocks, its temperature and other processes on it are unknown: \
             libnvidia-ml.so.1 was not found\n"
        );
        assert!(
            missing.finish().is_err(),
            "a second measurement gets the caveat too"
        );
    }
}
