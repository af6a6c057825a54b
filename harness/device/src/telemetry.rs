//! Opens a device's telemetry: clocks, temperature, power, throttle reasons, and the processes on
//! the device.

pub use crate::api::Telemetry;

use crate::api::DeviceInfo;
use crate::cuda;

/// Opens the telemetry of an open device, which takes tens of milliseconds. `None` for the emulated
/// device, which has none. The error says why a GPU's telemetry cannot be read.
pub fn open(info: &DeviceInfo) -> Result<Option<Box<dyn Telemetry>>, String> {
    if info.emulated {
        return Ok(None);
    }
    of_gpu(&info.uuid).map(Some)
}

/// Opens the telemetry of the GPU with this identifier (`GPU-…`). It needs no open device.
pub fn of_gpu(uuid: &str) -> Result<Box<dyn Telemetry>, String> {
    Ok(Box::new(cuda::telemetry(uuid)?))
}
