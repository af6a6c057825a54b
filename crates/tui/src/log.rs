//! The lines of a run that the screen holds, and those that it shows: the newest, or frozen ones.

use crate::widgets::ScrolledText;
use lab_run::RunId;
use lab_text::sanitise::LogLine;

/// Most lines, and most bytes of text, that the screen holds. run.log has all of them.
const LINES: usize = 20_000;
const BYTES: usize = 8 << 20;

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub run: Option<RunId>,
    pub lines: Vec<LogLine>,
    /// Length of all texts.
    bytes: usize,
}

impl Log {
    /// Appends lines; returns how many were dropped at the front.
    fn push(&mut self, lines: impl IntoIterator<Item = LogLine>) -> usize {
        for line in lines {
            // A progress line replaces the one before it: hundreds of them would push everything
            // else away.
            let is_later = |last: &mut LogLine| is_progress(last) && is_progress(&line);
            let replaced = self.lines.pop_if(is_later);
            self.bytes -= replaced.map_or(0, |line| line.text.len());
            self.bytes += line.text.len();
            self.lines.push(line);
        }
        let mut dropped = 0;
        while self.lines.len() - dropped > LINES || self.bytes > BYTES {
            self.bytes -= self.lines[dropped].text.len();
            dropped += 1;
        }
        self.lines.drain(..dropped);
        dropped
    }
}

fn is_progress(line: &LogLine) -> bool {
    line.result && line.text.starts_with("progress:")
}

/// What the pane shows of the log. Its text is scrolled as any other.
#[derive(Clone, Debug, Default)]
pub struct LogView {
    live: Log,
    /// A copy that stays while `live` grows.
    frozen: Option<Log>,
}

impl LogView {
    /// The log that is shown.
    pub fn log(&self) -> &Log {
        self.frozen.as_ref().unwrap_or(&self.live)
    }

    /// A new run begins.
    pub fn start(&mut self, run: RunId, text: &mut ScrolledText) {
        self.live = Log {
            run: Some(run),
            ..Log::default()
        };
        if !self.is_frozen() {
            text.reset();
        }
    }

    /// The run was not judged, so it has no number.
    pub fn forget_number(&mut self) {
        self.live.run = None;
    }

    /// Appends lines; `text` keeps its place in them.
    pub fn push(&mut self, skipped: u64, lines: Vec<LogLine>, text: &mut ScrolledText) {
        let gap = (skipped > 0).then(|| LogLine {
            text: format!("… {skipped} lines more: they are in run.log"),
            result: false,
        });
        let dropped = self.live.push(gap.into_iter().chain(lines));
        if !self.is_frozen() {
            text.drop_rows(dropped);
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Freezes the present text, or shows the live one again.
    pub fn toggle_freeze(&mut self, text: &mut ScrolledText) {
        match self.frozen.take() {
            Some(held) if held.run != self.live.run => text.reset(),
            Some(_) => {}
            None => self.frozen = Some(self.live.clone()),
        }
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

    /// A log in a pane of 10 rows.
    #[derive(Default)]
    struct Shown {
        view: LogView,
        text: ScrolledText,
    }

    impl Shown {
        fn of(count: usize) -> Shown {
            let mut shown = Shown::default();
            shown.view.start(RunId(1), &mut shown.text);
            shown.push(0, lines((0..count).map(|i| format!("line {i}"))));
            shown
        }

        fn push(&mut self, skipped: u64, lines: Vec<LogLine>) {
            self.view.push(skipped, lines, &mut self.text);
            self.draw();
        }

        fn scroll(&mut self, by: isize) {
            self.text.scroll(by);
            self.draw();
        }

        fn toggle_freeze(&mut self) {
            self.view.toggle_freeze(&mut self.text);
            self.draw();
        }

        fn draw(&mut self) {
            let count = self.view.log().lines.len();
            if !self.text.is_held {
                self.text.show(count);
            }
            self.text = self.text.fit(80, 10, count);
        }

        fn line(&self, at: usize) -> Option<&str> {
            self.view.log().lines.get(at).map(|line| line.text.as_str())
        }
    }

    #[test]
    fn it_follows_until_scrolled_and_again_at_the_end() {
        let mut shown = Shown::of(100);
        assert_eq!(shown.text.first, 90);
        shown.scroll(-5);
        shown.push(0, lines(["more"]));
        assert_eq!(shown.text.first, 85);
        shown.scroll(6);
        assert!(!shown.text.is_held);
        shown.push(0, lines(["more"]));
        assert_eq!(shown.text.first, 92);
    }

    #[test]
    fn frozen_text_outlives_its_run() {
        let mut shown = Shown::of(30);
        shown.toggle_freeze();
        shown.view.start(RunId(2), &mut shown.text);
        shown.push(0, lines(["new"]));
        assert_eq!(shown.view.log().lines.len(), 30);
        assert_eq!(shown.text.first, 20);
        shown.toggle_freeze();
        assert_eq!(shown.line(0), Some("new"));
        assert!(!shown.text.is_held);
    }

    #[test]
    fn old_lines_go_and_the_view_stays_where_it_was() {
        let mut shown = Shown::of(LINES);
        shown.scroll(-1_000_000);
        shown.scroll(100);
        shown.push(7, lines(["a", "b"]));
        assert_eq!(shown.view.log().lines.len(), LINES);
        assert_eq!(shown.line(shown.text.first), Some("line 100"));
        let gap = shown.line(LINES - 3);
        assert_eq!(gap, Some("… 7 lines more: they are in run.log"));
    }

    #[test]
    fn of_long_lines_fewer_are_held() {
        let mut shown = Shown::of(0);
        for n in 0..20 {
            shown.push(
                0,
                lines(std::iter::repeat_n(format!("{n}").repeat(1_000), 1_000)),
            );
        }
        let held = shown.view.log().lines.len();
        assert!(
            held * 2_000 <= BYTES && (held + 1) * 2_000 > BYTES,
            "{held} lines of 2,000 bytes"
        );
        assert_eq!(
            shown.line(held - 1).map(str::len),
            Some(2_000),
            "the newest are the ones"
        );
    }

    #[test]
    fn progress_is_one_line_that_moves() {
        let mut shown = Shown::of(1);
        let result = |text: &str| LogLine {
            text: text.to_owned(),
            result: true,
        };
        shown.push(0, vec![result("progress: 1/3"), result("progress: 2/3")]);
        shown.push(
            0,
            vec![
                result("progress: 3/3"),
                result("stage: measure"),
                result("progress: 1/9"),
            ],
        );
        let seen: Vec<&str> = (0..9).filter_map(|at| shown.line(at)).collect();
        assert_eq!(
            seen,
            ["line 0", "progress: 3/3", "stage: measure", "progress: 1/9"]
        );
    }
}
