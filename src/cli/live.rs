//! A line on a terminal that says how far something is, and is replaced as that goes on.

use super::output::{is_json, say};
use lab_project::Project;
use lab_protocol::console;
use lab_protocol::report::{Asked, Report, Stage, StageTimes, parse, time_left};
use lab_runner::follow::Batch;
use lab_store::RunIndex;
use lab_text::age::in_words;
use std::time::{Duration, Instant};

/// Shortest time between two lines on a terminal.
const SHOW_EVERY: Duration = Duration::from_millis(100);

/// Columns of a terminal that does not tell its width.
const USUAL_COLUMNS: usize = 80;

/// The line. It is shown on stderr, and only if that is a terminal which can replace a line.
pub struct LiveLine {
    shown: Option<Instant>,
    pub is_live: bool,
}

impl LiveLine {
    pub fn new() -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        LiveLine {
            shown: None,
            is_live: console::stderr_is_terminal() && !is_dumb,
        }
    }

    /// Shows this text, which has only characters of one column, unless a line was shown just now.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        if !self.is_live || self.shown.is_some_and(|at| at.elapsed() < SHOW_EVERY) {
            return;
        }
        self.shown = Some(Instant::now());
        // The last column stays free: some terminals begin a new line after it.
        let columns = super::output::columns(USUAL_COLUMNS);
        let text: String = text().chars().take(columns.saturating_sub(1)).collect();
        console::replace_line(&text);
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if self.shown.take().is_some() {
            console::replace_line("");
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Which lines of a harness a command prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// What is no result line: messages of the compiler, text of the kernel. The command tells the
    /// results itself.
    Text,
    /// The result lines too, except those of this key, which the command repeats later.
    AllBut(&'static str),
    All,
}

/// Prints for people what the harness of a run or of a check prints; nothing with `--json`. On a
/// terminal a line says how far it is in place of the lines `progress:`.
pub struct HarnessLines {
    line: LiveLine,
    began: Instant,
    printed: Printed,
    /// What the harness was asked for, and how long its stages took in earlier runs.
    before: Option<(Asked, StageTimes)>,
    /// The stage of the last line, and whether it had said how far it is.
    reached: Option<(Option<Stage>, bool)>,
}

impl HarnessLines {
    pub fn new(printed: Printed) -> Self {
        let mut line = LiveLine::new();
        line.is_live &= console::stdout_is_terminal();
        HarnessLines {
            line,
            began: Instant::now(),
            printed,
            before: None,
            reached: None,
        }
    }

    /// Says of each stage how long it still takes, from the earlier runs of this kernel.
    #[must_use]
    pub fn after(mut self, asked: Asked, project: &Project, index: &RunIndex) -> Self {
        let times = || lab_history::stage_times(index, &project.kernel_name);
        self.before = self.line.is_live.then(|| (asked, times()));
        self
    }

    pub fn print(&mut self, batch: &Batch) {
        if is_json() {
            return;
        }
        let is_live = self.line.is_live;
        let is_told_now = |text: &&str| {
            let key = parse(text).map(|entry| entry.key);
            let is_in_line = is_live && key == Some("progress");
            match self.printed {
                _ if is_in_line => false,
                Printed::Text => matches!(key, None | Some(OWN)) && !is_failure(text),
                Printed::AllBut(later) => key != Some(later),
                Printed::All => true,
            }
        };
        let mut lines = batch.for_people().filter(is_told_now).peekable();
        if batch.skipped > 0 || lines.peek().is_some() {
            self.line.clear();
        }
        if batch.skipped > 0 {
            say(&format!("… {} lines are in run.log alone", batch.skipped));
        }
        lines.for_each(say);
        if let Some(report) = &batch.report
            && let Some(text) = self.how_far(report)
        {
            // A new stage, or its first progress, is shown at once: nothing may follow for long.
            let reached = (report.stage(), report.progress().is_some());
            if self.reached.replace(reached) != Some(reached) {
                self.line.shown = None;
            }
            self.line.show(|| text);
        }
    }

    fn how_far(&self, report: &Report) -> Option<String> {
        let before = self.before.as_ref();
        let before = before.and_then(|(asked, times)| times.of(*asked, report));
        how_far(report, before, self.began.elapsed(), self.printed)
    }
}

/// The key of lines that the lab itself writes into run.log for people.
const OWN: &str = "lab";

/// Whether a line tells a further failure of the kernel: the verdict shows the first.
fn is_failure(text: &str) -> bool {
    let number = text
        .strip_prefix("failure ")
        .and_then(|rest| rest.split_once(':'));
    number.is_some_and(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()))
}

/// `verify 6/20`, and behind it how long the stage still takes, if that can be said. A stage that does
/// not say how far it is has a line where no result line names the stage.
fn how_far(
    report: &Report,
    before: Option<f64>,
    elapsed: Duration,
    printed: Printed,
) -> Option<String> {
    if printed != Printed::Text && before.is_none() {
        report.progress()?;
    }
    let mut text = stage_and_progress(report)?;
    if let Some(left) = time_left(report, before, elapsed) {
        text += &format!("  about {} left", in_words(left));
    }
    Some(text)
}

/// `verify 6/20`; `None` before the first stage and after the last.
pub fn stage_and_progress(report: &Report) -> Option<String> {
    let stage = report.stage().filter(|stage| *stage != Stage::Done)?;
    let mut text = stage.word().to_owned();
    if let Some((done, all)) = report.progress() {
        text += &format!(" {done}/{all}");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_the_stage_is_and_how_long_it_still_takes() {
        let said = |report: &str, elapsed| {
            let elapsed = Duration::from_secs_f64(elapsed);
            how_far(&Report::read(report), None, elapsed, Printed::All).unwrap_or_default()
        };
        assert_eq!(said("", 1.0), "");
        let begun = "stage: build at=0\nstage: verify at=2.0\n";
        assert_eq!(said(begun, 3.0), "");
        let alone = how_far(&Report::read(begun), None, Duration::ZERO, Printed::Text);
        assert_eq!(alone.as_deref(), Some("verify"));
        let half = format!("{begun}progress: 10/20\n");
        assert_eq!(said(&half, 12.0), "verify 10/20  about 10 s left");
        assert_eq!(said(&half, 2.2), "verify 10/20", "soon over");
        assert_eq!(said(&format!("{half}stage: done at=9\n"), 9.0), "");
        let building = Report::read("stage: build at=0\n");
        let known = how_far(&building, Some(20.0), Duration::from_secs(4), Printed::Text);
        assert_eq!(known.as_deref(), Some("build  about 16 s left"));
    }
}
