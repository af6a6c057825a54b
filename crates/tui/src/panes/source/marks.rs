//! Steps from one mark to the next: compiler messages, hot lines, changes.

use super::state::{SourceMode, SourceState};

impl SourceState {
    /// Goes to the next message or hot line; in a diff or without either, to the next change. False
    /// where there is none.
    pub fn step_mark(&mut self, forward: bool) -> bool {
        let mut lines: Vec<usize> = self.messages.lines().chain(self.hot.stops()).collect();
        lines.sort_unstable();
        lines.dedup();
        match self.mode {
            SourceMode::File if !lines.is_empty() => self.step(&lines, forward),
            _ => self.step_change(forward),
        }
    }

    /// Line number and listing of the profiled line at the cursor.
    pub fn listing(&self) -> Option<(u32, Vec<String>)> {
        let line = self.line().filter(|_| self.mode == SourceMode::File)?;
        Some((line, self.hot.listing(line as usize - 1)?))
    }
}
