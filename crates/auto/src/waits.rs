//! What a loop waits for: requests, a person's edit, and time after a failure.

use super::candidate::is_incumbent;
use super::options::Ended;
use super::requests::Request;
use super::running::Running;
use super::state::Phase;
use anyhow::Result;
use std::time::{Duration, Instant};

/// How often a waiting loop looks for a person's save and for requests.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Running<'_, '_> {
    /// What comes between two turns: requests, the budget, a person's edit.
    pub(super) fn between(&mut self) -> Result<Option<Ended>> {
        if let Some(ended) = self.asked_or_spent()? {
            return Ok(Some(ended));
        }
        if self.auto.control.is_ended() {
            return Ok(Some(Ended::Stopped));
        }
        self.wait_for_incumbent()
    }

    /// Does what a person asked for, and looks at the budget.
    fn asked_or_spent(&mut self) -> Result<Option<Ended>> {
        let ended = self.requests()?;
        Ok(ended.or_else(|| self.spent().map(Ended::Done)))
    }

    /// Which budget is spent.
    fn spent(&mut self) -> Option<String> {
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        self.state.spent()
    }

    /// Does what a person asked for. A pause lasts until the next request.
    fn requests(&mut self) -> Result<Option<Ended>> {
        let mut is_paused = false;
        loop {
            match self
                .files
                .take_request()
                .as_deref()
                .and_then(Request::parse)
            {
                Some(Request::Stop) => {
                    return Ok(Some(Ended::Done("a person stopped it".to_owned())));
                }
                Some(Request::Pause) => {
                    is_paused = true;
                    self.enter(Phase::Paused)?;
                }
                Some(Request::Resume) => is_paused = false,
                // The step in progress reads that request elsewhere.
                Some(Request::EndTurn) | None => {}
            }
            if !is_paused {
                return Ok(None);
            }
            if self.auto.control.wait(LOOK_EVERY) {
                return Ok(Some(Ended::Stopped));
            }
        }
    }

    /// Waits while the kernel's file is not the incumbent: a person edits it, or left a run.
    pub(super) fn wait_for_incumbent(&mut self) -> Result<Option<Ended>> {
        loop {
            match is_incumbent(self.auto.project) {
                Ok(true) => return Ok(None),
                Ok(false) => {}
                // A command may damage the user's repository. A loop that ended without its limit
                // of failures would look like a crash.
                Err(error) => match self.trouble(&format!("{error:#}"))? {
                    Some(ended) => return Ok(Some(ended)),
                    None => continue,
                },
            }
            if self.state.phase != Phase::WaitingForPerson {
                self.enter(Phase::WaitingForPerson)?;
            }
            if let Some(ended) = self.asked_or_spent()? {
                return Ok(Some(ended));
            }
            if self.auto.control.wait(LOOK_EVERY) {
                return Ok(Some(Ended::Stopped));
            }
        }
    }

    /// Waits after a failure, longer after each further one. Ends the loop after too many.
    pub(super) fn back_off(&mut self, why: &str) -> Result<Option<Ended>> {
        let failures = self.state.counts.failures_in_a_row;
        if failures >= self.auto.options.give_up {
            return Ok(Some(Ended::GaveUp(format!(
                "{failures} failures in a row, the last: {why}"
            ))));
        }
        self.enter(Phase::BackingOff)?;
        let wait = self
            .auto
            .options
            .back_off
            .saturating_mul(1 << failures.saturating_sub(1).min(16));
        let until = Instant::now() + wait.min(LONGEST_WAIT);
        // Some failures last until a person ends the loop.
        loop {
            if let Some(ended) = self.asked_or_spent()? {
                return Ok(Some(ended));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if self.auto.control.wait(left.min(LOOK_EVERY)) {
                return Ok(Some(Ended::Stopped));
            }
        }
    }
}
