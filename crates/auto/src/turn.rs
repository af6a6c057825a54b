//! A step of a turn that a person can end: the command, or the judging of its kernel.

use super::files::Files;
use anyhow::Result;
use lab_runner::process::Control;
use lab_system::threads;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often a step in progress looks for a request.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a step with a control of its own. It ends with the loop, and where a person asks for the
/// end of the turn. Returns its result, and whether a person ended it.
pub fn endable<T>(
    files: &Files,
    turn: u64,
    whole: &Control,
    step: impl FnOnce(&Control) -> T,
) -> Result<(T, bool)> {
    let control = whole.within()?;
    let (done, is_done) = channel::<()>();
    std::thread::scope(|scope| {
        let control_of_step = &control;
        let watching = move || {
            // The sender goes with the step.
            while is_done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if files.ends_turn(turn) {
                    control_of_step.end();
                    return true;
                }
            }
            // The step may have seen the request itself.
            control_of_step.is_ended() && files.ends_turn(turn)
        };
        let watch = threads::start_in(scope, watching)?;
        let came = step(&control);
        drop(done);
        Ok((came, watch.join().unwrap_or(false)))
    })
}
