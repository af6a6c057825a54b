//! The loop of `lab auto` beside the screen, as it was read last.

use super::Now;
use jiff::Timestamp;
use lab_auto::LoopView;

#[derive(Debug, Default)]
pub struct LoopState {
    /// A loop works on the kernel now, as the watcher saw it.
    pub running: bool,
    /// The last reading, or why it failed. `None` before the first.
    pub read: Option<Result<LoopView, String>>,
    /// When the reading came.
    taken: Now,
}

impl LoopState {
    /// Takes a reading.
    pub fn take(&mut self, read: Result<LoopView, String>, now: Now) {
        if let Ok(view) = &read {
            self.running = view.running;
        }
        (self.read, self.taken) = (Some(read), now);
    }

    /// A loop works on the kernel now, or on a lane of the kernel.
    pub fn any_runs(&self) -> bool {
        self.running || self.view().is_some_and(LoopView::any_runs)
    }

    /// The loop pauses, or will after this turn.
    pub fn is_pausing(&self) -> bool {
        self.view().is_some_and(LoopView::is_pausing)
    }

    /// The last reading.
    pub fn view(&self) -> Option<&LoopView> {
        self.read.as_ref()?.as_ref().ok()
    }

    /// The time of day at `now`.
    pub fn time(&self, now: Now) -> Option<Timestamp> {
        let since = now.saturating_sub(self.taken);
        self.view()?.at.checked_add(since).ok()
    }
}
