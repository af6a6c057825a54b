//! A device's figures on disk.

use super::{DeviceFigures, SOURCE};
use lab_device::DeviceInfo;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Of one device, with one driver, by one probe.
fn file(folder: &Path, device: &DeviceInfo) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for part in [&device.uuid, &device.name, &device.driver, &device.arch, SOURCE] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    folder.join(format!("probe-{}.json", &hasher.finalize().to_hex()[..32]))
}

/// `None` where this device was not probed yet, or what is there cannot be believed.
pub fn load(folder: &Path, device: &DeviceInfo) -> Option<DeviceFigures> {
    if device.emulated {
        return None;
    }
    let text = std::fs::read(file(folder, device)).ok()?;
    serde_json::from_slice(&text).ok().filter(DeviceFigures::are_sane)
}

/// Written beside and renamed, so that no reader sees half a file. Those of an emulated device are not kept.
pub fn store(folder: &Path, device: &DeviceInfo, figures: &DeviceFigures) -> std::io::Result<()> {
    if device.emulated {
        return Ok(());
    }
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    written.write_all(&serde_json::to_vec_pretty(figures)?)?;
    written.persist(file(folder, device))?;
    Ok(())
}
