//! The live allocations of a device.

use crate::api::{DeviceError, Result};
use std::collections::BTreeMap;

/// The allocations by their address, with their bytes.
pub struct Allocations {
    /// Such as `CUDA`, for messages.
    pub device: &'static str,
    pub live: BTreeMap<u64, usize>,
}

impl Allocations {
    pub fn new(device: &'static str) -> Allocations {
        Allocations {
            device,
            live: BTreeMap::new(),
        }
    }

    /// Removes the allocation that begins at an address. Returns its bytes.
    pub fn remove(&mut self, address: u64) -> Result<usize> {
        self.live.remove(&address).ok_or_else(|| {
            DeviceError::Driver(format!(
                "{address:#x} is not the start of an allocation on the {} device",
                self.device
            ))
        })
    }

    /// Fails where these bytes are not all inside one allocation.
    pub fn check(&self, address: u64, bytes: usize) -> Result {
        let around = self.live.range(..=address).next_back();
        let is_inside = around.is_some_and(|(start, allocated)| {
            let end = (address - start).checked_add(bytes as u64);
            end.is_some_and(|end| end <= *allocated as u64)
        });
        is_inside.then_some(()).ok_or_else(|| {
            DeviceError::Driver(format!(
                "{bytes} bytes at {address:#x} are not allocated on the {} device",
                self.device
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_must_be_inside_one_allocation() {
        let memory = Allocations {
            device: "CUDA",
            live: [(0x1000, 64), (0x20_1000, 8)].into(),
        };
        for (address, bytes) in [(0x1000, 64), (0x1020, 32), (0x1040, 0), (0x20_1000, 8)] {
            assert_eq!(memory.check(address, bytes), Ok(()), "{address:#x} {bytes}");
        }
        for (address, bytes) in [
            (0xfff, 1),
            (0x1000, 65),
            (0x1041, 0),
            (0x1020, usize::MAX),
            (0x20_1004, 8),
        ] {
            let error = memory.check(address, bytes).map_err(|e| e.to_string());
            let expected =
                format!("{bytes} bytes at {address:#x} are not allocated on the CUDA device");
            assert_eq!(error, Err(expected));
        }
    }
}
