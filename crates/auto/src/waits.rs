//! What a loop waits for: requests, a person's edit, and time after a failure.

use super::candidate::is_incumbent;
use super::options::{Ended, Stop};
use super::requests::Request;
use super::running::Running;
use super::state::Phase;
use std::time::{Duration, Instant};

/// How often a waiting loop looks for a person's save and for requests.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Running<'_, '_> {
    /// What comes between two turns: requests, the budget, a person's edit.
    pub(super) fn between(&mut self) -> Result<(), Stop> {
        self.asked_or_spent()?;
        if self.auto.control.is_ended() {
            return Err(Ended::Stopped.into());
        }
        self.wait_for_incumbent()
    }

    /// Does what a person asked for, and looks at the budget.
    fn asked_or_spent(&mut self) -> Result<(), Stop> {
        self.requests()?;
        self.state.counts.seconds = self.earlier + self.began.elapsed().as_secs_f64();
        match self.state.spent() {
            Some(why) => Err(Ended::Done(why).into()),
            None => Ok(()),
        }
    }

    /// Does what a person asked for. A pause lasts until the next request.
    fn requests(&mut self) -> Result<(), Stop> {
        let mut is_paused = false;
        loop {
            match self
                .files
                .take_request()
                .as_deref()
                .and_then(Request::parse)
            {
                Some(Request::Stop) => {
                    return Err(Ended::Done("a person stopped it".to_owned()).into());
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
                return Ok(());
            }
            self.wait(LOOK_EVERY)?;
        }
    }

    /// Waits. The error says that a signal ended the loop meanwhile.
    fn wait(&self, time: Duration) -> Result<(), Stop> {
        match self.auto.control.wait(time) {
            true => Err(Ended::Stopped.into()),
            false => Ok(()),
        }
    }

    /// Waits while the kernel's file is not the incumbent: a person edits it, or left a run.
    pub(super) fn wait_for_incumbent(&mut self) -> Result<(), Stop> {
        loop {
            match is_incumbent(self.auto.project) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // A command may damage the user's repository. A loop that ended without its limit
                // of failures would look like a crash.
                Err(error) => {
                    self.trouble(&lab_git::told(&error))?;
                    continue;
                }
            }
            if self.state.phase != Phase::WaitingForPerson {
                self.enter(Phase::WaitingForPerson)?;
            }
            self.asked_or_spent()?;
            self.wait(LOOK_EVERY)?;
        }
    }

    /// Waits after a failure, longer after each further one. Ends the loop after too many.
    pub(super) fn back_off(&mut self, why: &str) -> Result<(), Stop> {
        let failures = self.state.counts.failures_in_a_row;
        if failures >= self.auto.options.give_up {
            let why = format!("{failures} failures in a row, the last: {why}");
            return Err(Ended::GaveUp(why).into());
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
            self.asked_or_spent()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.wait(left.min(LOOK_EVERY))?;
        }
    }
}
