//! A device for tests that use a fake driver, and the compiled headers for tests that build a
//! kernel.

#[path = "../../device/tests/support/headers.rs"]
pub mod headers;

use lab_device::DeviceInfo;

/// A small device that is not emulated and does not exist.
pub fn device() -> DeviceInfo {
    DeviceInfo {
        name: "fake".into(),
        emulated: false,
        sms: 4,
        arch: String::new(),
        max_shared_bytes: 1000,
        l2_bytes: 0,
        memory_bytes: 0,
        uuid: String::new(),
        driver: String::new(),
    }
}
