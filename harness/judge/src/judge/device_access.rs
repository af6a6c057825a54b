//! When a judge may use the device: see [`lock`](crate::process::lock).

use crate::device_lock::{DeviceLock, DeviceUse, LockGuard};
use crate::outcome::Stop;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use std::path::Path;
use std::time::Duration;

/// Nobody measures for longer on a save. Then either somebody measures at length, or another user's process
/// holds the lock for reasons of its own: a verdict with a caveat helps more than none.
const PATIENCE: Duration = Duration::from_secs(60);

/// The turns on one device.
pub struct DeviceAccess {
    lock: Option<DeviceLock>,
}

impl DeviceAccess {
    pub fn on(device: &DeviceInfo, cache_dir: &Path) -> Self {
        DeviceAccess { lock: DeviceLock::of(device, cache_dir) }
    }

    /// Waits for this run's turn. Whoever goes on without one to measure is caveated.
    pub fn take(&self, wanted: DeviceUse, out: &mut Writer) -> Result<Option<LockGuard>, Stop> {
        let Some(lock) = &self.lock else { return Ok(None) };
        let tell = || {
            out.text(match wanted {
                DeviceUse::Measuring => "another run uses this device: waiting for it",
                DeviceUse::Launching => "another run measures on this device: waiting for it",
            })
        };
        let held = lock.take(wanted, PATIENCE, tell)?;
        if held.is_none() && wanted == DeviceUse::Measuring {
            out.caveat(format_args!(
                "another run used the same device for more than {} s: this was measured beside it",
                PATIENCE.as_secs()
            ))?;
        }
        Ok(held)
    }

    /// `None` where it is not free, or where the device needs no turns.
    pub fn take_if_free(&self, wanted: DeviceUse) -> Result<Option<LockGuard>, Stop> {
        self.lock.as_ref().map_or(Ok(None), |lock| lock.try_take(wanted))
    }

    /// For launches that nobody waits for: see [`DeviceLock::take_at_leisure`].
    pub fn take_at_leisure(&self, due: impl FnMut() -> bool) -> Option<LockGuard> {
        self.lock.as_ref()?.take_at_leisure(due)
    }
}
