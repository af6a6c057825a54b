//! Prints result lines.

use super::{Histogram, Stage};
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// When a run began, for all who write of it.
#[derive(Clone)]
pub struct Clock(Arc<Mutex<Instant>>);

impl Clock {
    pub fn start() -> Self {
        Clock(Arc::new(Mutex::new(Instant::now())))
    }

    /// The run begins now: what was done before was done ahead.
    pub fn restart(&self) {
        *self.began() = Instant::now();
    }

    fn seconds(&self) -> f64 {
        self.began().elapsed().as_secs_f64()
    }

    fn began(&self) -> std::sync::MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes result lines, each flushed as it is made, so that the screen fills as facts arrive.
pub struct Writer {
    sink: Box<dyn Write + Send>,
    clock: Option<Clock>,
}

impl Writer {
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Writer { sink: Box::new(sink), clock: None }
    }

    /// Stages say when they began.
    pub fn timed(self, clock: Clock) -> Self {
        Writer { clock: Some(clock), ..self }
    }

    pub fn stdout() -> Self {
        Writer::new(io::stdout())
    }

    /// `key: value`. A value's line breaks become blanks: a result line is one line.
    pub fn line(&mut self, key: &str, value: impl Display) -> io::Result<()> {
        let value = value.to_string().replace(['\n', '\r'], " ");
        writeln!(self.sink, "{key}: {value}")?;
        self.sink.flush()
    }

    /// `stage: verify at=0.512`, in seconds from when the run began.
    pub fn stage(&mut self, stage: Stage) -> io::Result<()> {
        let word = stage.word();
        match self.clock.as_ref().map(Clock::seconds) {
            Some(at) => self.line("stage", format_args!("{word} at={at:.3}")),
            None => self.line("stage", word),
        }
    }

    pub fn progress(&mut self, done: u64, all: u64) -> io::Result<()> {
        self.line("progress", format_args!("{done}/{all}"))
    }

    /// `key: value limit=…`.
    pub fn gate(&mut self, key: &str, value: f64, limit: f64) -> io::Result<()> {
        self.line(key, format_args!("{value:e} limit={limit:e}"))
    }

    /// The same with the place of the value: `at=step~731`.
    pub fn gate_at(&mut self, key: &str, value: f64, limit: f64, place: Option<&str>) -> io::Result<()> {
        self.line(key, format_args!("{value:e} limit={limit:e}{}", at(place)))
    }

    /// A gate that counts: written without an exponent.
    pub fn count_gate(&mut self, key: &str, value: u64, limit: u64) -> io::Result<()> {
        self.line(key, format_args!("{value} limit={limit}"))
    }

    /// `NAME_series: v0,v1,…`, thinned to at most [`super::SERIES_POINTS`] points by taking the
    /// largest of each stretch, so that no peak is lost; of so many cells.
    pub fn series(&mut self, name: &str, points: &[f64]) -> io::Result<()> {
        let stretch = points.len().div_ceil(super::SERIES_POINTS).max(1);
        let peak = |part: &[f64]| {
            part.iter()
                .copied()
                .fold(f64::NEG_INFINITY, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
        };
        let words: Vec<String> = points.chunks(stretch).map(|c| format!("{:.3e}", peak(c))).collect();
        self.line(&format!("{name}_series"), format_args!("{} cells={}", words.join(","), points.len()))
    }

    /// `NAME_histogram: 3,50,0,210 from=-22 exact=12 not_finite=0`.
    pub fn histogram(&mut self, name: &str, counts: &Histogram) -> io::Result<()> {
        self.line(&format!("{name}_histogram"), counts)
    }

    pub fn caveat(&mut self, text: impl Display) -> io::Result<()> {
        self.line("caveat", text)
    }

    /// Log text: each line that would read as a result line is set off by a blank. A carriage return would
    /// begin a line on a screen, so it becomes a blank too.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        for line in text.replace('\r', " ").lines() {
            let guard = if super::parse(line).is_some() { " " } else { "" };
            writeln!(self.sink, "{guard}{line}")?;
        }
        self.sink.flush()
    }

    /// The kernel's own output: `| ` before each line, so that it never begins a result line.
    pub fn kernel_output(&mut self, line: &[u8]) -> io::Result<()> {
        self.sink.write_all(b"| ")?;
        self.sink.write_all(line)?;
        self.sink.write_all(b"\n")?;
        self.sink.flush()
    }
}

/// The attribute of a place, behind a blank; blanks in it become `~`.
pub fn at(place: Option<&str>) -> String {
    place.map_or_else(String::new, |place| format!(" at={}", place.replace(' ', "~")))
}
