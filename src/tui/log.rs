//! The lines of a run that the screen holds, and the view of them: followed, scrolled, frozen,
//! searched.

use crate::session::run::RunId;
use crate::session::sanitise::LogLine;
use std::collections::VecDeque;
use std::sync::Arc;

/// More lines than this are not held, nor more bytes of text; they are in run.log.
const LINES: usize = 20_000;
const BYTES: usize = 8 << 20;

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub run: Option<RunId>,
    lines: VecDeque<Arc<LogLine>>,
    /// Of all their texts.
    bytes: usize,
}

impl Log {
    pub fn of(run: RunId) -> Self {
        Log { run: Some(run), ..Log::default() }
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn line(&self, at: usize) -> Option<&LogLine> {
        self.lines.get(at).map(Arc::as_ref)
    }

    /// Takes lines in; returns how many were dropped at the front to make room.
    fn push(&mut self, lines: impl IntoIterator<Item = LogLine>) -> usize {
        for line in lines {
            // Progress is one line that moves: a hundred of them would push everything else away.
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
    /// A copy that stays while `live` goes on.
    frozen: Option<Log>,
    /// First line shown, where it is not followed.
    top: usize,
    pub follow: bool,
    /// First column shown.
    pub left: usize,
    /// Rows of the pane at the last frame.
    pub height: usize,
    search: String,
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
            search: String::new(),
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
        self.live = Log::of(run);
        if self.frozen.is_none() {
            self.top = 0;
            self.left = 0;
            self.follow = true;
        }
    }

    pub fn push(&mut self, skipped: u64, lines: Vec<LogLine>) {
        let gap = (skipped > 0)
            .then(|| LogLine {
                text: format!("… {skipped} lines more: they are in run.log"), result: false
            });
        let dropped = self.live.push(gap.into_iter().chain(lines));
        if self.frozen.is_none() {
            self.top = self.top.saturating_sub(dropped);
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Holds the present text still, or lets go of it.
    pub fn toggle_freeze(&mut self) {
        match self.frozen.take() {
            Some(held) if held.run != self.live.run => {
                self.follow = true;
                self.left = 0;
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

    /// First line on the screen.
    pub fn first(&self) -> usize {
        if self.follow { self.last_top() } else { self.top.min(self.last_top()) }
    }

    /// By so many lines; at the end the log is followed again, unless it is frozen.
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
    }

    pub fn to_top(&mut self) {
        self.show(0);
    }

    pub fn to_bottom(&mut self) {
        self.top = self.last_top();
        self.follow = self.frozen.is_none();
    }

    pub fn search(&self) -> &str {
        &self.search
    }

    /// Searches for `text` from the first line shown on; false where nothing is found.
    pub fn search_for(&mut self, text: &str) -> bool {
        text.clone_into(&mut self.search);
        text.is_empty() || self.go_to(self.first(), true)
    }

    /// To the next or the previous line with a match, round the end; false where there is none.
    pub fn step(&mut self, forward: bool) -> bool {
        let len = self.log().len();
        if self.search.is_empty() || len == 0 {
            return false;
        }
        let from = self.current_match().unwrap_or(self.first());
        let from = if forward { (from + 1) % len } else { (from + len - 1) % len };
        self.go_to(from, forward)
    }

    /// The line that the search stands on: the one a jump put on the screen's top, or near the
    /// end, where it cannot be put there, the remembered one.
    pub fn current_match(&self) -> Option<usize> {
        (!self.follow && !self.search.is_empty()).then_some(self.top).filter(|at| self.matches(*at))
    }

    fn go_to(&mut self, from: usize, forward: bool) -> bool {
        let len = self.log().len();
        let order = |step: usize| if forward { (from + step) % len } else { (from + len - step) % len };
        let found = (0..len).map(order).find(|at| self.matches(*at));
        if let Some(at) = found {
            // May be beyond the last top: `first()` caps it, and the match keeps its place.
            self.show(at);
        }
        found.is_some()
    }

    fn matches(&self, at: usize) -> bool {
        self.log().line(at).is_some_and(|line| !find_all(&line.text, &self.search).is_empty())
    }
}

/// Byte ranges of `needle` in `text`. A needle without capitals finds capitals too.
pub fn find_all(text: &str, needle: &str) -> Vec<std::ops::Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    if needle.chars().any(char::is_uppercase) {
        return text.match_indices(needle).map(|(at, found)| at..at + found.len()).collect();
    }
    // Only ASCII is folded: then every byte stays where it was.
    let folded = text.to_ascii_lowercase();
    folded.match_indices(&needle.to_ascii_lowercase()).map(|(at, found)| at..at + found.len()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: impl IntoIterator<Item = impl ToString>) -> Vec<LogLine> {
        texts.into_iter().map(|t| LogLine { text: t.to_string(), result: false }).collect()
    }

    fn view(count: usize) -> LogView {
        let mut view = LogView { height: 10, ..LogView::default() };
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
        assert_eq!(view.log().line(view.first()).map(|l| l.text.as_str()), Some("line 100"));
        let gap = view.log().line(LINES - 3).map(|l| l.text.as_str());
        assert_eq!(gap, Some("… 7 lines more: they are in run.log"));
    }

    #[test]
    fn of_long_lines_fewer_are_held() {
        let mut view = view(0);
        for n in 0..20 {
            view.push(0, lines(std::iter::repeat_n(format!("{n}").repeat(1_000), 1_000)));
        }
        let held = view.log().len();
        assert!(held * 2_000 <= BYTES && (held + 1) * 2_000 > BYTES, "{held} lines of 2,000 bytes");
        assert_eq!(view.log().line(held - 1).map(|l| l.text.len()), Some(2_000), "the newest are the ones");
    }

    #[test]
    fn progress_is_one_line_that_moves() {
        let mut view = view(1);
        let result = |text: &str| LogLine { text: text.to_owned(), result: true };
        view.push(0, vec![result("progress: 1/3"), result("progress: 2/3")]);
        view.push(0, vec![result("progress: 3/3"), result("stage: measure"), result("progress: 1/9")]);
        let seen: Vec<&str> = (0..9).filter_map(|at| Some(view.log().line(at)?.text.as_str())).collect();
        assert_eq!(seen, ["line 0", "progress: 3/3", "stage: measure", "progress: 1/9"]);
    }

    #[test]
    fn a_search_goes_round() {
        let mut view = view(100);
        view.to_top();
        assert!(view.search_for("LINE 1") || view.search_for("line 99"));
        assert_eq!(view.current_match(), Some(99));
        assert_eq!(view.first(), 90);
        assert!(view.step(true));
        assert_eq!(view.current_match(), Some(99), "there is no other, so round it goes");
        assert!(!view.search_for("nowhere"));
        assert!(view.search_for("line 4"));
        assert_eq!(view.current_match(), Some(4), "searched from line 90 on, found round the end");
        assert!(view.step(true));
        assert_eq!(view.current_match(), Some(40));
        assert!(view.step(false));
        assert_eq!(view.current_match(), Some(4));
    }

    #[test]
    fn small_letters_find_capitals_and_capitals_only_themselves() {
        assert_eq!(find_all("Error: ERROR", "error"), [0..5, 7..12]);
        assert_eq!(find_all("Error: ERROR", "ERR").first(), Some(&(7..10)));
        assert!(find_all("x", "").is_empty());
    }
}
