//! When a judge may use the device. The lock itself is [`crate::device_lock`]; this file decides
//! how long a run waits for it and what it says meanwhile.

use crate::device_lock::{DeviceLock, DeviceUse, LockGuard};
use crate::outcome::Result;
use lab_device::DeviceInfo;
use lab_protocol::report::Writer;
use std::path::Path;
use std::time::Duration;

/// How long a run waits for the device. A measurement on a save takes less. After this time another
/// run measures at length, or another user's process holds the lock: a verdict with a caveat is
/// then better than none.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long a run of `lab bench` waits for the device: longer than another one measures. Nobody
/// waits for its verdict, and its times are of little use if something was measured beside it.
pub const PATIENCE_OF_BENCH: Duration = Duration::from_secs(30 * 60);

/// Access to one device. On the emulated device, which has no lock, every method returns at once
/// without a guard.
#[derive(Clone)]
pub struct DeviceAccess {
    lock: Option<DeviceLock>,
}

impl DeviceAccess {
    /// Access to this device; `cache_dir` holds the lock file if `/tmp` cannot.
    pub fn of(device: &DeviceInfo, cache_dir: &Path) -> Self {
        DeviceAccess {
            lock: DeviceLock::of(device, cache_dir),
        }
    }

    /// Waits until this use is allowed, but no longer than `patience`, and says in the log what it
    /// waits for. A measurement that goes on without the lock gets a caveat.
    pub fn wait_for(
        &self,
        patience: Duration,
        wanted: DeviceUse,
        out: &mut Writer,
    ) -> Result<Option<LockGuard>> {
        let Some(lock) = &self.lock else {
            return Ok(None);
        };
        let say = || {
            out.text(match wanted {
                DeviceUse::Measuring => "another run uses this device: waiting for it",
                DeviceUse::Launching => "another run measures on this device: waiting for it",
            })
        };
        let guard = lock.take(wanted, patience, say)?;
        if guard.is_none() && wanted == DeviceUse::Measuring {
            out.caveat(format_args!(
                "another run used the same device for more than {} s, so this was measured beside it",
                patience.as_secs()
            ))?;
        }
        Ok(guard)
    }

    /// Returns a guard if this use is allowed now, without waiting.
    pub fn try_get(&self, wanted: DeviceUse) -> Result<Option<LockGuard>> {
        self.lock
            .as_ref()
            .map_or(Ok(None), |lock| lock.try_take(wanted))
    }

    /// Waits for a launch that nobody waits for; see [`DeviceLock::take_while_idle`].
    pub fn wait_while_idle(&self, interrupted: impl FnMut() -> bool) -> Option<LockGuard> {
        self.lock.as_ref()?.take_while_idle(interrupted)
    }
}
