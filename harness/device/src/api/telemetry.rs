//! Reading a device's state while a kernel runs on it.

use lab_protocol::telemetry::Reading;

/// Reads a device's state. Made and used on one thread.
pub trait Telemetry {
    /// `with_processes` also asks for the processes and the memory in use, which takes longer.
    fn read(&mut self, with_processes: bool) -> Reading;
    /// Temperature in degrees Celsius from which on the device slows itself down.
    fn slowdown_c(&self) -> Option<u32>;
}
