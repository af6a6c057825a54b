//! The driver's errors in words: what each means, and what to do.

use super::calls::*;
use crate::api::DeviceError;

/// What an error says of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The kernel, or its launch, is at fault; the context cannot be used any more.
    Kernel,
    /// The device cannot be used here.
    Unavailable,
    Other,
}

/// The meaning, and the remedy.
fn meaning(code: u32) -> (Class, &'static str, &'static str) {
    use Class::*;
    match code {
        CUDA_ERROR_ILLEGAL_ADDRESS => (
            Kernel,
            "the kernel read or wrote an address that belongs to no buffer",
            "Check its indices against the sizes; `compute-sanitizer` names the line.",
        ),
        CUDA_ERROR_MISALIGNED_ADDRESS => (
            Kernel,
            "the kernel read or wrote an address that is not a multiple of the access's size",
            "A float4 needs 16-byte alignment: check casts to wider types and odd offsets.",
        ),
        CUDA_ERROR_INVALID_ADDRESS_SPACE => (
            Kernel,
            "the kernel used an address in the wrong memory (shared, local or global)",
            "Check casts and inline PTX that name a memory.",
        ),
        CUDA_ERROR_LAUNCH_TIMEOUT => (
            Kernel,
            "the kernel ran longer than this device allows, because a display is attached to it",
            "Make the launch shorter, or use a device with no display.",
        ),
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => (
            Kernel,
            "a block of this shape needs more registers or shared memory than a multiprocessor has",
            "Ask for fewer threads or less shared memory, or bound the registers by __launch_bounds__.",
        ),
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => (
            Kernel,
            "a cooperative launch must have all its blocks on the device at once, and these do not fit",
            "Ask for a smaller grid, fewer threads, or less shared memory.",
        ),
        CUDA_ERROR_ASSERT => {
            (Kernel, "an assert in the kernel failed", "The kernel's output names the line.")
        }
        CUDA_ERROR_HARDWARE_STACK_ERROR => (
            Kernel,
            "the kernel ran out of stack, or damaged it",
            "Look for deep recursion, large local arrays, and writes beyond them.",
        ),
        CUDA_ERROR_ILLEGAL_INSTRUCTION | CUDA_ERROR_INVALID_PC => (
            Kernel,
            "the kernel executed what is no instruction of this device",
            "Look for a trap, a damaged function pointer, or inline PTX for another architecture.",
        ),
        CUDA_ERROR_LAUNCH_FAILED => (
            Kernel,
            "the kernel failed while it ran, and the device does not say how",
            "Often an access out of bounds in shared memory: `compute-sanitizer` names the line.",
        ),
        CUDA_ERROR_CONTAINED => (
            Kernel,
            "a hardware error ended the kernel",
            "If it happens with every kernel, the device needs attention.",
        ),
        CUDA_ERROR_OUT_OF_MEMORY => (
            Other,
            "the device's memory is full",
            "`nvidia-smi` shows who holds it; end another process or make the problem smaller.",
        ),
        CUDA_ERROR_NO_DEVICE => (
            Unavailable,
            "there is no CUDA device",
            "Check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or set device = \"cpu\" in lab.toml.",
        ),
        CUDA_ERROR_INVALID_DEVICE => (
            Unavailable,
            "there is no CUDA device with this number",
            "`nvidia-smi -L` lists them, counted from 0.",
        ),
        CUDA_ERROR_DEVICE_UNAVAILABLE => (
            Unavailable,
            "the device is held by another process, or its mode forbids to use it",
            "Check `nvidia-smi` for its compute mode and its processes.",
        ),
        CUDA_ERROR_STUB_LIBRARY => (
            Unavailable,
            "the libcuda that was loaded is the toolkit's stub and no driver",
            "Take the toolkit's `stubs` folder out of LD_LIBRARY_PATH, or install the NVIDIA driver.",
        ),
        CUDA_ERROR_NOT_INITIALIZED | CUDA_ERROR_DEINITIALIZED => (
            Unavailable,
            "the driver was not initialised, or is already shut down",
            "Start lab again; if it stays, reload the NVIDIA driver or reboot.",
        ),
        CUDA_ERROR_SYSTEM_NOT_READY => (
            Unavailable,
            "the system is not ready for CUDA",
            "On machines with NVSwitch, check that nvidia-fabricmanager runs.",
        ),
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => (
            Unavailable,
            "the driver in the kernel and its libraries are of different versions",
            "Reboot, or in a container use the host's driver version.",
        ),
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => (
            Unavailable,
            "the forward compatibility libraries do not support this device",
            "Take the cuda-compat folder out of the loader's path.",
        ),
        CUDA_ERROR_INVALID_IMAGE | CUDA_ERROR_NO_BINARY_FOR_GPU => (
            Other,
            "the built kernel does not fit this device or this driver",
            "Build for the architecture of this device; an old driver may not know a newer toolkit's cubins.",
        ),
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION => (
            Unavailable,
            "the driver is older than the toolkit that built the kernel",
            "Update the NVIDIA driver, or point CUDA_HOME at an older toolkit.",
        ),
        CUDA_ERROR_ECC_UNCORRECTABLE | CUDA_ERROR_NVLINK_UNCORRECTABLE => (
            Unavailable,
            "the device found a memory or link error that it cannot correct",
            "The kernel is not at fault: `nvidia-smi -q -d ECC` tells more; the device needs a reset.",
        ),
        CUDA_ERROR_OPERATING_SYSTEM => (
            Unavailable,
            "the operating system refused what the driver asked for",
            "Check that this user may open /dev/nvidia*.",
        ),
        CUDA_ERROR_NOT_SUPPORTED | CUDA_ERROR_NOT_PERMITTED => {
            (Other, "this device or driver does not offer it", "A newer driver or another device may.")
        }
        CUDA_ERROR_INVALID_VALUE => (
            Other,
            "the driver refused a value",
            "If a launch was refused, check its grid, block and shared memory.",
        ),
        _ => (Other, "the driver reports an error", "Start the run again; `lab doctor` checks the driver."),
    }
}

/// `doing` is what was tried, as in `launch rmsnorm_f32`; `driver_text` the driver's own name and
/// string for the code.
pub fn explain(code: u32, doing: &str, driver_text: &str) -> DeviceError {
    let (class, meaning, remedy) = meaning(code);
    let text = format!("could not {doing}: {meaning}. {remedy} [{driver_text}]");
    match class {
        Class::Kernel => DeviceError::Kernel(text),
        Class::Unavailable => DeviceError::Unavailable(text),
        Class::Other => DeviceError::Driver(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_happened_what_it_means_and_what_to_do() {
        let error = explain(CUDA_ERROR_MISALIGNED_ADDRESS, "run k", "CUDA_ERROR_MISALIGNED_ADDRESS (716)");
        let DeviceError::Kernel(text) = error else { panic!("the kernel is at fault: {error:?}") };
        assert!(
            text.starts_with("could not run k: the kernel read or wrote an address that is not"),
            "{text}"
        );
        assert!(text.contains("float4") && text.ends_with("[CUDA_ERROR_MISALIGNED_ADDRESS (716)]"), "{text}");
    }

    #[test]
    fn full_memory_and_a_broken_device_are_not_the_kernels_fault() {
        assert!(matches!(explain(CUDA_ERROR_OUT_OF_MEMORY, "", ""), DeviceError::Driver(_)));
        assert!(matches!(explain(CUDA_ERROR_ECC_UNCORRECTABLE, "", ""), DeviceError::Unavailable(_)));
        assert!(matches!(explain(12_345, "of no CUDA yet", ""), DeviceError::Driver(_)));
    }
}
