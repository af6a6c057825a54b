//! Writing result lines.

use super::{Histogram, Stage};
use crate::text::escape_invisible;
use itertools::Itertools;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The start of a run. Its clones share it.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Instant>>);

impl Clock {
    /// A run that starts now.
    pub fn start() -> Self {
        Clock(Arc::new(Mutex::new(Instant::now())))
    }

    /// Lets the run start now. A judge on standby calls this when its request arrives.
    pub fn restart(&self) {
        *self.began() = Instant::now();
    }

    fn seconds(&self) -> f64 {
        self.began().elapsed().as_secs_f64()
    }

    /// An `Instant` is never half written, so a panic of another thread does no harm.
    fn began(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes result lines. Each line is flushed at once, so that the screen shows it while the run
/// goes on. Every method returns the error of the sink.
///
/// All text of the judge goes through here. Problems, compilers, tools and kernels choose parts of
/// it, so a line never holds a character that is not visible, except tabs: [`escape_invisible`]
/// writes each of them as its number.
///
/// ```
/// use lab_protocol::report::{Report, Writer};
///
/// let (reader, sink) = std::io::pipe()?;
/// let mut out = Writer::new(sink);
/// out.gate_at("y_error", 0.5, 1.0, Some("y[3, 0]"))?;
/// out.text("correctness: pass")?; // Log text never reads as a result line.
/// drop(out);
/// let log = std::io::read_to_string(reader)?;
/// assert_eq!(log, "y_error: 5e-1 limit=1e0 at=y[3,~0]\n correctness: pass\n");
/// assert_eq!(Report::read(&log).correctness(), None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Writer {
    sink: Box<dyn Write + Send>,
    clock: Option<Clock>,
}

impl Writer {
    /// A writer whose `stage:` lines carry no time.
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Writer {
            sink: Box::new(sink),
            clock: None,
        }
    }

    /// The same writer with the seconds since the start of the run in its `stage:` lines.
    #[must_use]
    pub fn timed(self, clock: Clock) -> Self {
        Writer {
            clock: Some(clock),
            ..self
        }
    }

    /// Writes `key: value`. Line breaks in the value become blanks.
    pub fn line(&mut self, key: &str, value: impl Display) -> io::Result<()> {
        let value = value.to_string().replace(['\n', '\r'], " ");
        self.put(&format!("{key}: {value}"))?;
        self.sink.flush()
    }

    /// Writes one line, without control characters and the like. Everything that is written goes
    /// through here.
    fn put(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.sink, "{}", escape_invisible(line))
    }

    /// Writes `stage: verify at=0.512`, in seconds since the start of the run.
    pub fn stage(&mut self, stage: Stage) -> io::Result<()> {
        let word = stage.word();
        match self.clock.as_ref().map(Clock::seconds) {
            Some(at) => self.line("stage", format_args!("{word} at={at:.3}")),
            None => self.line("stage", word),
        }
    }

    /// Writes `progress: done/all`.
    pub fn progress(&mut self, done: u64, all: u64) -> io::Result<()> {
        self.line("progress", format_args!("{done}/{all}"))
    }

    /// Writes a gate: `key: value limit=…`.
    pub fn gate(&mut self, key: &str, value: f64, limit: f64) -> io::Result<()> {
        self.gate_at(key, value, limit, None)
    }

    /// Writes a gate with the place of its value: `at=step~731`.
    pub fn gate_at(
        &mut self,
        key: &str,
        value: f64,
        limit: f64,
        place: Option<&str>,
    ) -> io::Result<()> {
        self.line(key, format_args!("{value:e} limit={limit:e}{}", at(place)))
    }

    /// Writes a gate on a count, without an exponent.
    pub fn count_gate(&mut self, key: &str, value: u64, limit: u64) -> io::Result<()> {
        self.line(key, format_args!("{value} limit={limit}"))
    }

    /// Writes `NAME_series: v0,v1,… cells=N`. More than [`super::SERIES_POINTS`] points are thinned
    /// to the largest of each stretch, so that no peak is lost. NaN counts as larger than any
    /// number.
    pub fn series(&mut self, name: &str, points: &[f64]) -> io::Result<()> {
        let stretch = points.len().div_ceil(super::SERIES_POINTS).max(1);
        let words = points
            .chunks(stretch)
            .map(|c| format!("{:.3e}", peak(c)))
            .join(",");
        self.line(
            &format!("{name}_series"),
            format_args!("{words} cells={}", points.len()),
        )
    }

    /// Writes `NAME_histogram: 3,50,0,210 from=-22 exact=12 not_finite=0`.
    pub fn histogram(&mut self, name: &str, counts: &Histogram) -> io::Result<()> {
        self.line(&format!("{name}_histogram"), counts)
    }

    /// Writes a caveat.
    pub fn caveat(&mut self, text: impl Display) -> io::Result<()> {
        self.line("caveat", text)
    }

    /// Writes log text, line by line. A line that would read as a result line gets a blank before
    /// it.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            let line = escape_invisible(line);
            let guard = if super::parse(&line).is_some() {
                " "
            } else {
                ""
            };
            self.put(&format!("{guard}{line}"))?;
        }
        self.sink.flush()
    }

    /// Writes what was written to another log.
    pub fn append(&mut self, log: &str) -> io::Result<()> {
        for line in log.lines() {
            match super::parse(line) {
                Some(found) => self.line(found.key, found.value)?,
                None => self.text(line)?,
            }
        }
        Ok(())
    }

    /// Writes a line of the kernel's own output behind `| `, so that it never reads as a result
    /// line. A byte that is not UTF-8 becomes `\u{fffd}`.
    pub fn kernel_output(&mut self, line: &[u8]) -> io::Result<()> {
        self.put(&format!("| {}", String::from_utf8_lossy(line)))?;
        self.sink.flush()
    }
}

/// The larger number; NaN if either is NaN, so that no NaN is overlooked.
pub fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// The largest of these numbers; NaN if one is NaN.
pub fn peak(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::NEG_INFINITY, larger)
}

/// Returns the attribute for a place, as in ` at=step~731`, or nothing without one. Blanks in the
/// place become `~`.
pub fn at(place: Option<&str>) -> String {
    place.map_or_else(String::new, |place| {
        format!(" at={}", place.replace(' ', "~"))
    })
}
