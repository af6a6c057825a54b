//! The lines of a run that the screen holds, and which of them are visible: followed, scrolled,
//! frozen.

use lab_run::RunId;
use lab_text::sanitise::LogLine;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most lines, and most bytes of text, that the screen holds. run.log has all of them.
const LINES: usize = 20_000;
const BYTES: usize = 8 << 20;

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub run: Option<RunId>,
    lines: VecDeque<Arc<LogLine>>,
    /// Length of all texts.
    bytes: usize,
}

impl Log {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn line(&self, at: usize) -> Option<&LogLine> {
        self.lines.get(at).map(Arc::as_ref)
    }

    /// Appends lines; returns how many were dropped at the front.
    fn push(&mut self, lines: impl IntoIterator<Item = LogLine>) -> usize {
        for line in lines {
            // A progress line replaces the one before it: hundreds of them would push everything
            // else away.
            if is_progress(&line) && self.lines.back().is_some_and(|last| is_progress(last)) {
                self.bytes -= self.lines.pop_back().map_or(0, |line| line.text.len());
            }
            self.bytes += line.text.len();
            self.lines.push_back(Arc::new(line));
        }
        let mut dropped = 0;
        while self.lines.len() > LINES || self.bytes > BYTES {
            self.bytes -= self.lines.pop_front().map_or(0, |line| line.text.len());
            dropped += 1;
        }
        dropped
    }
}

fn is_progress(line: &LogLine) -> bool {
    line.result && line.text.starts_with("progress:")
}

/// What the pane shows of the log.
#[derive(Clone, Debug)]
pub struct LogView {
    live: Log,
    /// A copy that stays while `live` grows.
    frozen: Option<Log>,
    /// First visible line, unless the log is followed.
    top: usize,
    pub follow: bool,
    /// First visible column.
    pub left: usize,
    /// Rows of the pane at the last frame.
    height: usize,
    /// The line that a search or a number went to. Scrolling forgets it.
    marked: Option<usize>,
}

impl Default for LogView {
    fn default() -> Self {
        LogView {
            live: Log::default(),
            frozen: None,
            top: 0,
            follow: true,
            left: 0,
            height: 10,
            marked: None,
        }
    }
}

impl LogView {
    /// The log that is shown.
    pub fn log(&self) -> &Log {
        self.frozen.as_ref().unwrap_or(&self.live)
    }

    /// A new run begins.
    pub fn start(&mut self, run: RunId) {
        let live = Log {
            run: Some(run),
            ..Log::default()
        };
        match self.frozen {
            Some(_) => self.live = live,
            None => {
                *self = LogView {
                    live,
                    height: self.height,
                    ..LogView::default()
                }
            }
        }
    }

    /// The run was not judged, so it has no number.
    pub fn forget_number(&mut self) {
        self.live.run = None;
    }

    pub fn push(&mut self, skipped: u64, lines: Vec<LogLine>) {
        let gap = (skipped > 0).then(|| LogLine {
            text: format!("… {skipped} lines more: they are in run.log"),
            result: false,
        });
        let dropped = self.live.push(gap.into_iter().chain(lines));
        if self.frozen.is_none() {
            self.top = self.top.saturating_sub(dropped);
            self.marked = self.marked.and_then(|at| at.checked_sub(dropped));
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Freezes the present text, or shows the live one again.
    pub fn toggle_freeze(&mut self) {
        match self.frozen.take() {
            Some(held) if held.run != self.live.run => {
                self.follow = true;
                self.left = 0;
                self.marked = None;
            }
            Some(_) => {}
            None => {
                self.top = self.first();
                self.follow = false;
                self.frozen = Some(self.live.clone());
            }
        }
    }

    fn last_top(&self) -> usize {
        self.log().len().saturating_sub(self.height)
    }

    /// First visible line at the last frame's height.
    pub fn first(&self) -> usize {
        self.first_of(self.height)
    }

    /// Returns the first visible line in an area of `height` rows.
    pub fn first_of(&self, height: usize) -> usize {
        let last_top = self.log().len().saturating_sub(height);
        if self.follow {
            last_top
        } else {
            self.top.min(last_top)
        }
    }

    /// The lines that were visible at the last frame.
    pub fn visible(&self) -> std::ops::Range<usize> {
        self.first()..self.first() + self.height
    }

    /// Takes the height of the frame that was drawn.
    pub fn set_height(&mut self, height: usize) {
        self.height = height;
    }

    /// Scrolls by `by` lines. At the end the log is followed again, unless it is frozen.
    pub fn scroll(&mut self, by: isize) {
        let top = self.first().saturating_add_signed(by).min(self.last_top());
        self.show(top);
        if top == self.last_top() && by > 0 && self.frozen.is_none() {
            self.follow = true;
        }
    }

    fn show(&mut self, top: usize) {
        self.top = top;
        self.follow = false;
        self.marked = None;
    }

    pub fn to_top(&mut self) {
        self.show(0);
    }

    pub fn to_bottom(&mut self) {
        self.show(self.last_top());
        self.follow = self.frozen.is_none();
    }

    /// The marked line, else the first visible one.
    pub fn at(&self) -> usize {
        self.marked.unwrap_or_else(|| self.first())
    }

    /// The line that a search or a number went to. It is on top, or below the top near the end of
    /// the log.
    pub fn marked(&self) -> Option<usize> {
        self.marked
    }

    pub fn unmark(&mut self) {
        self.marked = None;
    }

    /// Goes to a line and marks it.
    pub fn go_to(&mut self, at: usize) {
        // The line may be beyond the last top: `first()` limits it, and the line keeps its mark.
        self.show(at);
        self.marked = Some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: impl IntoIterator<Item = impl ToString>) -> Vec<LogLine> {
        texts
            .into_iter()
            .map(|t| LogLine {
                text: t.to_string(),
                result: false,
            })
            .collect()
    }

    fn view(count: usize) -> LogView {
        let mut view = LogView {
            height: 10,
            ..LogView::default()
        };
        view.start(RunId(1));
        view.push(0, lines((0..count).map(|i| format!("line {i}"))));
        view
    }

    #[test]
    fn it_follows_until_scrolled_and_again_at_the_end() {
        let mut view = view(100);
        assert_eq!(view.first(), 90);
        view.scroll(-5);
        view.push(0, lines(["more"]));
        assert_eq!(view.first(), 85);
        view.scroll(6);
        assert!(view.follow);
        view.push(0, lines(["more"]));
        assert_eq!(view.first(), 92);
    }

    #[test]
    fn frozen_text_outlives_its_run() {
        let mut view = view(30);
        view.toggle_freeze();
        view.start(RunId(2));
        view.push(0, lines(["new"]));
        assert_eq!(view.log().len(), 30);
        assert_eq!(view.first(), 20);
        view.toggle_freeze();
        assert_eq!(view.log().line(0).map(|l| l.text.as_str()), Some("new"));
        assert!(view.follow);
    }

    #[test]
    fn old_lines_go_and_the_view_stays_where_it_was() {
        let mut view = view(LINES);
        view.to_top();
        view.scroll(100);
        view.push(7, lines(["a", "b"]));
        assert_eq!(view.log().len(), LINES);
        assert_eq!(
            view.log().line(view.first()).map(|l| l.text.as_str()),
            Some("line 100")
        );
        let gap = view.log().line(LINES - 3).map(|l| l.text.as_str());
        assert_eq!(gap, Some("… 7 lines more: they are in run.log"));
    }

    #[test]
    fn of_long_lines_fewer_are_held() {
        let mut view = view(0);
        for n in 0..20 {
            view.push(
                0,
                lines(std::iter::repeat_n(format!("{n}").repeat(1_000), 1_000)),
            );
        }
        let held = view.log().len();
        assert!(
            held * 2_000 <= BYTES && (held + 1) * 2_000 > BYTES,
            "{held} lines of 2,000 bytes"
        );
        assert_eq!(
            view.log().line(held - 1).map(|l| l.text.len()),
            Some(2_000),
            "the newest are the ones"
        );
    }

    #[test]
    fn progress_is_one_line_that_moves() {
        let mut view = view(1);
        let result = |text: &str| LogLine {
            text: text.to_owned(),
            result: true,
        };
        view.push(0, vec![result("progress: 1/3"), result("progress: 2/3")]);
        view.push(
            0,
            vec![
                result("progress: 3/3"),
                result("stage: measure"),
                result("progress: 1/9"),
            ],
        );
        let seen: Vec<&str> = (0..9)
            .filter_map(|at| Some(view.log().line(at)?.text.as_str()))
            .collect();
        assert_eq!(
            seen,
            ["line 0", "progress: 3/3", "stage: measure", "progress: 1/9"]
        );
    }
}
