//! Encoding tensor maps.
#![allow(unsafe_code)]

use super::CudaDriver;
use crate::api::{Arg, DeviceError, MAP_BYTES, Result, TensorMap};
use crate::cuda::ffi;
use cudarc::driver::sys::CUtensorMap;

/// A CUtensorMap, at an address that every version of cuda.h is content with.
#[repr(C, align(128))]
struct Aligned([u64; MAP_BYTES / 8]);

impl CudaDriver {
    /// See [`crate::Driver::tensor_map`].
    pub fn encode(&self, map: &TensorMap) -> Result<Arg> {
        if !self.limits.clusters {
            return Err(DeviceError::Kernel(
                "this device has no tensor maps (they need compute capability 9.0)".into(),
            ));
        }
        if let Some(what) = map.refusal(self.limits.shared_bytes) {
            return Err(DeviceError::Kernel(what));
        }
        self.allocations.check(map.address, map.bytes as usize)?;
        let rank = map.extent.len();
        let lengths = [
            map.stride.len(),
            map.box_extent.len(),
            map.element_strides.len(),
        ];
        if lengths != [rank; 3] {
            return Err(DeviceError::Driver(format!(
                "a tensor map of rank {rank} has lists of {lengths:?} values"
            )));
        }
        // The driver takes the strides of all dimensions but the innermost.
        let strides = &map.stride[1..];
        let mut encoded = Aligned([0; MAP_BYTES / 8]);
        // SAFETY: `encoded` has the size and the alignment of a CUtensorMap. `refusal` has checked
        // that there are one to five extents, and each list has as many
        // values. The driver reads them before the call returns, and `element` and the modes are
        // values of its enums.
        let code = unsafe {
            ffi::cuTensorMapEncodeTiled(
                (&raw mut encoded).cast::<CUtensorMap>(),
                map.element as u32,
                rank as u32,
                map.address as *mut _,
                map.extent.as_ptr(),
                strides.as_ptr(),
                map.box_extent.as_ptr(),
                map.element_strides.as_ptr(),
                map.interleave,
                map.swizzle,
                map.l2_promotion,
                u32::from(map.fill_nan),
            )
        };
        if code == ffi::CUDA_ERROR_INVALID_VALUE {
            return Err(DeviceError::Kernel(format!(
                "the driver refuses it as invalid: extent {:?}, stride {:?} bytes, box {:?}, element_strides {:?}, \
                 swizzle {}, interleave {}, l2_promotion {}, element {:?}",
                map.extent,
                map.stride,
                map.box_extent,
                map.element_strides,
                map.swizzle,
                map.interleave,
                map.l2_promotion,
                map.element
            )));
        }
        code.check("encode a tensor map")?;
        Ok(encoded
            .0
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect())
    }
}
