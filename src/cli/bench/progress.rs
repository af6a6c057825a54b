//! How far a bench is: a line that is replaced on a terminal, and a line for each ended run.

use super::complain;
use super::text::run_line;
use crate::cli::live::{LiveLine, stage_and_progress};
use lab_bench::remaining::{Position, part_done};
use lab_bench::{BenchRun, Session};
use lab_protocol::report::Report;
use lab_text::age::in_words;
use std::time::Instant;

/// Columns of the bar.
const BAR: usize = 20;

pub struct Progress {
    position: Position,
    began: Instant,
    line: LiveLine,
}

impl Progress {
    pub fn new(session: &Session) -> Self {
        let took = session.bench.runs.iter().map(|run| run.seconds).collect();
        Progress {
            position: Position {
                done: session.bench.runs.len() as u32,
                wanted: session.wanted,
                took,
                ..Position::default()
            },
            began: Instant::now(),
            line: LiveLine::new(),
        }
    }

    /// A run has begun: nothing is known of it yet.
    pub fn began(&mut self, run: u32) {
        self.began = Instant::now();
        self.show(run, &Report::default());
    }

    /// Shows how far the run in progress is.
    pub fn show(&mut self, run: u32, report: &Report) {
        (self.position.elapsed, self.position.part) =
            (self.began.elapsed().as_secs_f64(), part_done(report));
        self.line.show(|| line(&self.position, run, report));
    }

    /// The runs have ended, and the peers are timed.
    pub fn peers(&mut self) {
        self.clear();
        complain("the kernel is timed beside the problem's peers");
    }

    /// A run has ended: its line stays.
    pub fn ended(&mut self, run: &BenchRun) {
        self.position.done += 1;
        self.position.took.push(run.seconds);
        (self.position.elapsed, self.position.part) = (0.0, 0.0);
        self.clear();
        complain(&run_line(run, self.position.wanted));
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}

/// `run 2 of 6 [#####---------------]  27 %  measure 120/500  about 2 min 10 s left`. It has only
/// characters of one column.
fn line(position: &Position, run: u32, report: &Report) -> String {
    let fraction = position.fraction();
    let full = ((fraction * BAR as f64) as usize).min(BAR);
    let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR - full));
    let percent = (fraction * 100.0).floor();
    let mut text = format!("run {run} of {} [{bar}] {percent:>3} %", position.wanted);
    if let Some(stage) = stage_and_progress(report) {
        text += &format!("  {stage}");
    }
    if let Some(left) = position.left() {
        text += &format!("  about {} left", in_words(left));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_run_how_far_it_is_and_how_long_it_still_takes() {
        let position = Position {
            done: 1,
            wanted: 6,
            took: vec![60.0],
            elapsed: 30.0,
            part: 0.5,
        };
        let report = Report::read("stage: measure\nprogress: 120/500\n");
        assert_eq!(
            line(&position, 2, &report),
            "run 2 of 6 [#####---------------]  25 %  measure 120/500  about 4 min 30 s left"
        );
        let first = Position {
            wanted: 6,
            ..Position::default()
        };
        assert_eq!(
            line(&first, 1, &Report::default()),
            "run 1 of 6 [--------------------]   0 %"
        );
    }
}
