//! The device's figures in the cache folder.

use super::{DeviceFigures, SOURCE};
use lab_device::DeviceInfo;
use lab_system::atomic_file;
use std::path::{Path, PathBuf};

/// The file for one device, driver and probe.
fn file(folder: &Path, device: &DeviceInfo) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for part in [
        &device.uuid,
        &device.name,
        &device.driver,
        &device.arch,
        SOURCE,
    ] {
        hasher
            .update(&(part.len() as u64).to_le_bytes())
            .update(part.as_bytes());
    }
    folder.join(format!("probe-{}.json", &hasher.finalize().to_hex()[..32]))
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
