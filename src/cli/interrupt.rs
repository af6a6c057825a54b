//! Ctrl-C during a command. The harness runs in a process group of its own, so the signal reaches `lab` alone, and `lab`
//! ends the run.

use anyhow::Result;
use lab_core::runner::process::Control;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::thread;

/// Ends what `control` controls on SIGINT, SIGTERM or SIGHUP.
pub fn end_on_signals(control: Arc<Control>) -> Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            control.end();
        }
    })?;
    Ok(())
}
