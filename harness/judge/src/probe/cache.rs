//! The device's figures in the cache folder.

use super::{DeviceFigures, SOURCE};
use lab_device::DeviceInfo;
use lab_system::atomic_file;
use std::path::{Path, PathBuf};

/// The file for one device, driver and probe.
fn file(folder: &Path, device: &DeviceInfo) -> PathBuf {
    let model = (&device.uuid, &device.name, &device.arch);
    let subject = format!("{:?}", (model, &device.driver, SOURCE));
    let hash = blake3::hash(subject.as_bytes()).to_hex();
    folder.join(format!("probe-{}.json", &hash[..32]))
}

/// Reads the figures of this device. `None` on the emulated device, if the device was not probed
/// yet with this driver, and if the file is damaged or holds impossible figures.
pub fn load(folder: &Path, device: &DeviceInfo) -> Option<DeviceFigures> {
    if device.emulated {
        return None;
    }
    let text = std::fs::read(file(folder, device)).ok()?;
    serde_json::from_slice(&text)
        .ok()
        .filter(DeviceFigures::are_sane)
}

/// Stores the figures of this device; does nothing on the emulated device.
pub fn store(folder: &Path, device: &DeviceInfo, figures: &DeviceFigures) -> std::io::Result<()> {
    if device.emulated {
        return Ok(());
    }
    atomic_file::replace_in_cache(&file(folder, device), &serde_json::to_vec_pretty(figures)?)
}
