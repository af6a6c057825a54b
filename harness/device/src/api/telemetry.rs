//! Reading a device's state while a kernel runs on it.

use lab_protocol::telemetry::Reading;

/// Reads a device's state. Opened and used on one thread.
pub trait Telemetry {
    /// Forgets what processes did before. Readings tell their use of the device since then.
    fn start(&mut self) {}

    /// Reads the state. With `with_processes`, also reads the processes on the device and its used
    /// memory, which takes longer. What cannot be read is `None` in the reading.
    fn read(&mut self, with_processes: bool) -> Reading;
    /// The other GPUs of the machine, as in `1 NVIDIA H200`, with their states.
    fn others(&mut self) -> Vec<(String, Reading)> {
        Vec::new()
    }
    /// The temperature in °C at which the device begins to slow down, where it is known.
    fn slowdown_c(&self) -> Option<u32>;
}
