//! Opens a device's telemetry: clocks, temperature, power, throttle reasons, and the processes on
//! the device.

pub use crate::api::Telemetry;
pub use crate::cuda::telemetry as of_gpu;

use crate::api::DeviceInfo;

/// Opens the telemetry of an open device, which takes tens of milliseconds. `None` for the emulated
/// device, which has none. The error says why a GPU's telemetry cannot be read.
pub fn open(info: &DeviceInfo) -> Result<Option<Box<dyn Telemetry>>, String> {
    if info.emulated {
        return Ok(None);
    }
    of_gpu(&info.uuid).map(Some)
}
