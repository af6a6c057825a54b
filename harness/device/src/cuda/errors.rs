//! The driver's error codes: what each means, and what to do.
#![allow(unsafe_code)]

use super::ffi::{self, Code};
use crate::api::{DeviceError, Result};
use cudarc::driver::sys::CUresult::{self, *};
use std::ffi::{CStr, c_char};

/// What the message says of a launch that has ended because of a load or a store.
pub const ILLEGAL_ADDRESS: &str =
    "the kernel read or wrote an address that belongs to no buffer, or wrote to an input";

/// Codes, the error that they are, their meaning and the remedy. After an error of the kernel, the
/// context cannot be used any more.
type Row = (
    &'static [CUresult],
    fn(String) -> DeviceError,
    &'static str,
    &'static str,
);

/// The codes that have a meaning of their own.
const MEANINGS: &[Row] = {
    use DeviceError::*;
    &[
        (
            &[CUDA_ERROR_ILLEGAL_ADDRESS],
            Kernel,
            ILLEGAL_ADDRESS,
            "Check its indices against the sizes; `lab check` names the line.",
        ),
        (
            &[CUDA_ERROR_MISALIGNED_ADDRESS],
            Kernel,
            "the kernel read or wrote an address that is not a multiple of the access's size",
            "A float4 needs 16-byte alignment: check casts to wider types and odd offsets.",
        ),
        (
            &[CUDA_ERROR_INVALID_ADDRESS_SPACE],
            Kernel,
            "the kernel used an address in the wrong memory (shared, local or global)",
            "Check casts and inline PTX that name a memory.",
        ),
        (
            &[CUDA_ERROR_LAUNCH_TIMEOUT],
            Kernel,
            "the kernel ran longer than this device allows, because a display is attached to it",
            "Make the launch shorter, or use a device with no display.",
        ),
        (
            &[CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES],
            Kernel,
            "a block of this shape needs more registers or shared memory than a multiprocessor has",
            "Ask for fewer threads or less shared memory, or bound the registers by __launch_bounds__.",
        ),
        (
            &[CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE],
            Kernel,
            "a cooperative launch must have all its blocks on the device at once, and these do not fit",
            "Ask for a smaller grid, fewer threads, or less shared memory.",
        ),
        (
            &[CUDA_ERROR_ASSERT],
            Kernel,
            "an assert in the kernel failed",
            "The kernel's output names the line.",
        ),
        (
            &[CUDA_ERROR_HARDWARE_STACK_ERROR],
            Kernel,
            "the kernel ran out of stack, or damaged it",
            "Look for deep recursion, large local arrays, and writes beyond them.",
        ),
        (
            &[CUDA_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_INVALID_PC],
            Kernel,
            "the kernel executed an instruction that this device does not have",
            "Look for a trap, a damaged function pointer, or inline PTX for another architecture.",
        ),
        (
            &[CUDA_ERROR_LAUNCH_FAILED],
            Kernel,
            "the kernel failed while it ran, and the device does not say how",
            "This is often an access out of bounds in shared memory: `lab check` names the line.",
        ),
        (
            &[CUDA_ERROR_CONTAINED],
            Kernel,
            "a hardware error ended the kernel",
            "If it happens with every kernel, the device may be broken: check `nvidia-smi -q`.",
        ),
        (
            &[CUDA_ERROR_OUT_OF_MEMORY],
            Driver,
            "the device's memory is full",
            "`nvidia-smi` shows which processes use it. End one of them or make the problem smaller.",
        ),
        (
            &[CUDA_ERROR_NO_DEVICE],
            Unavailable,
            "there is no CUDA device",
            "Check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or set device = \"cpu\" in lab.toml.",
        ),
        (
            &[CUDA_ERROR_INVALID_DEVICE],
            Unavailable,
            "there is no CUDA device with this number",
            "`nvidia-smi -L` lists the devices, counted from 0.",
        ),
        (
            &[CUDA_ERROR_DEVICE_UNAVAILABLE],
            Unavailable,
            "another process uses the device exclusively, or the device's compute mode forbids its use",
            "Check its compute mode and its processes with `nvidia-smi`.",
        ),
        (
            &[CUDA_ERROR_STUB_LIBRARY],
            Unavailable,
            "the loaded libcuda is the toolkit's stub and not the driver",
            "Remove the toolkit's `stubs` folder from LD_LIBRARY_PATH, or install the NVIDIA driver.",
        ),
        (
            &[CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED],
            Unavailable,
            "the driver was not initialised, or it has been shut down",
            "Start lab again. If the error stays, reload the NVIDIA driver or reboot.",
        ),
        (
            &[CUDA_ERROR_SYSTEM_NOT_READY],
            Unavailable,
            "the system is not ready for CUDA",
            "On a machine with NVSwitch, check that nvidia-fabricmanager runs.",
        ),
        (
            &[CUDA_ERROR_SYSTEM_DRIVER_MISMATCH],
            Unavailable,
            "the driver's kernel module and its libraries have different versions",
            "Reboot, or in a container use the host's driver version.",
        ),
        (
            &[CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE],
            Unavailable,
            "the forward compatibility libraries do not support this device",
            "Remove the cuda-compat folder from the loader's path.",
        ),
        (
            &[CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU],
            Driver,
            "the built kernel does not fit this device or this driver",
            "Build for the architecture of this device, and update a driver that is older than the toolkit.",
        ),
        (
            &[CUDA_ERROR_UNSUPPORTED_PTX_VERSION],
            Unavailable,
            "the driver is older than the toolkit that built the kernel",
            "Update the NVIDIA driver, or set CUDA_HOME to an older toolkit.",
        ),
        (
            &[
                CUDA_ERROR_ECC_UNCORRECTABLE,
                CUDA_ERROR_NVLINK_UNCORRECTABLE,
            ],
            Unavailable,
            "the device found a memory or link error that it cannot correct",
            "The kernel is not at fault. `nvidia-smi -q -d ECC` shows more. The device needs a reset.",
        ),
        (
            &[CUDA_ERROR_OPERATING_SYSTEM],
            Unavailable,
            "the operating system refused a request of the driver",
            "Check that this user may open /dev/nvidia*.",
        ),
        (
            &[CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_PERMITTED],
            Driver,
            "this device or driver does not support it",
            "Update the driver or use another device.",
        ),
        (
            &[CUDA_ERROR_INVALID_VALUE],
            Driver,
            "the driver refused a value",
            "If this was a launch, check its grid, block and shared memory.",
        ),
    ]
};

impl Code {
    /// Turns an error code into an error that says what failed and what to do. `action` completes
    /// "could not …", as in `run rmsnorm_f32`.
    pub fn check(self, action: &str) -> Result {
        if self == ffi::CUDA_SUCCESS {
            return Ok(());
        }
        let text = |get: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = std::ptr::null();
            // SAFETY: `text` is a live pointer to write to. The driver sets it to a static string
            // with a NUL at its end, or it fails and leaves or sets it null.
            unsafe {
                let known = get(self, &mut text) == ffi::CUDA_SUCCESS && !text.is_null();
                known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let name = text(*ffi::cuGetErrorName).unwrap_or_else(|| format!("error {}", self.0));
        let description = text(*ffi::cuGetErrorString).unwrap_or_default();
        let driver_text = format!("{name}: {description}");
        Err(explain(self.0, action, driver_text.trim_end_matches(": ")))
    }
}

/// The error of a code. `driver_text` is the driver's own name and description of the code.
fn explain(code: u32, action: &str, driver_text: &str) -> DeviceError {
    let is_meant = |codes: &[CUresult]| codes.iter().any(|known| *known as u32 == code);
    let known = MEANINGS.iter().find(|(codes, ..)| is_meant(codes));
    let (_, error, meaning, remedy) = known.unwrap_or(&(
        &[],
        DeviceError::Driver,
        "the driver reports an error",
        "Start the run again. `lab doctor` checks the driver.",
    ));
    error(format!(
        "could not {action}: {meaning}. {remedy} [{driver_text}]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_failed_why_and_what_to_do() {
        let error = explain(
            CUDA_ERROR_MISALIGNED_ADDRESS as u32,
            "run k",
            "CUDA_ERROR_MISALIGNED_ADDRESS (716)",
        );
        let DeviceError::Kernel(text) = error else {
            panic!("the kernel is at fault: {error:?}")
        };
        assert!(
            text.starts_with("could not run k: the kernel read or wrote an address that is not"),
            "{text}"
        );
        assert!(
            text.contains("float4") && text.ends_with("[CUDA_ERROR_MISALIGNED_ADDRESS (716)]"),
            "{text}"
        );
    }

    #[test]
    fn full_memory_and_a_broken_device_are_not_the_kernels_fault() {
        assert!(matches!(
            explain(CUDA_ERROR_OUT_OF_MEMORY as u32, "", ""),
            DeviceError::Driver(_)
        ));
        assert!(matches!(
            explain(CUDA_ERROR_ECC_UNCORRECTABLE as u32, "", ""),
            DeviceError::Unavailable(_)
        ));
        assert!(matches!(
            explain(12_345, "of no CUDA yet", ""),
            DeviceError::Driver(_)
        ));
    }
}
