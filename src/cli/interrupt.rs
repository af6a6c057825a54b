//! Ctrl-C during a command. The harness runs in a process group of its own, so the signal reaches
//! `lab` alone, and `lab` ends the run.

use anyhow::Result;
use lab_runner::process::Control;
use lab_system::lifetime;
use std::sync::Arc;

/// The control of this command's run: SIGINT, SIGTERM and SIGHUP end what it controls.
pub fn controlled() -> Result<Arc<Control>> {
    let control = Arc::new(Control::new()?);
    let of_signals = Arc::clone(&control);
    lifetime::end_on_signals(move |_| of_signals.end())?;
    Ok(control)
}
