//! Tells a machine without an NVIDIA GPU from one whose driver does not work. On both, the device
//! `auto` is the cpu device; only on the second the user should know.

use super::ffi::{CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS, Code};
use super::{devices, ffi};
use std::path::Path;

/// Returns why an NVIDIA driver that is installed here cannot be used, and what to do. `None` where
/// there is no driver, no GPU, or a driver that works.
pub fn driver_fault() -> Option<String> {
    let library = ffi::library().as_ref().map(|_| ()).map_err(Clone::clone);
    Evidence {
        initialised: library
            .is_ok()
            .then(devices::initialise_code)
            .unwrap_or(CUDA_SUCCESS),
        library,
        device_file: Path::new("/dev/nvidia0").exists(),
        hidden: std::env::var_os("CUDA_VISIBLE_DEVICES").is_some(),
    }
    .fault()
}

/// What a machine shows of its driver.
struct Evidence {
    /// Whether libcuda was loaded. The loader's message where it was not.
    library: Result<(), String>,
    /// What `cuInit` returned.
    initialised: Code,
    /// The kernel module has found a GPU.
    device_file: bool,
    /// CUDA_VISIBLE_DEVICES is set, so the user may have hidden the GPU.
    hidden: bool,
}

impl Evidence {
    fn fault(self) -> Option<String> {
        match (&self.library, self.initialised) {
            (Err(why), _) if is_not_found(why, "libcuda.so") => self.device_file.then(|| {
                "/dev/nvidia0 exists, but the driver's library libcuda.so.1 was not found. Install the NVIDIA driver's \
                 libraries; in a container, start it with the GPU passed in."
                    .to_owned()
            }),
            (Err(why), _) => Some(format!(
                "the driver's library cannot be loaded: {why}. Install the NVIDIA driver again, or remove the folder \
                 with this library from LD_LIBRARY_PATH."
            )),
            (Ok(()), CUDA_SUCCESS) => None,
            (Ok(()), CUDA_ERROR_NO_DEVICE) => (self.device_file && !self.hidden).then(|| {
                "/dev/nvidia0 exists, but the driver finds no device. Check `nvidia-smi`, the kernel's log (`dmesg`), and \
                 that this user may open /dev/nvidia*."
                    .to_owned()
            }),
            (Ok(()), code) => devices::check_initialised(code).err().map(|error| error.to_string()),
        }
    }
}

/// Whether the loader did not find the library itself, rather than a library that it needs.
fn is_not_found(message: &str, library: &str) -> bool {
    message.starts_with(library) && message.contains("No such file")
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::sys::CUresult;

    const WORKS: Evidence = Evidence {
        library: Ok(()),
        initialised: CUDA_SUCCESS,
        device_file: true,
        hidden: false,
    };

    fn not_loaded(why: &str, device_file: bool) -> Option<String> {
        Evidence {
            library: Err(why.into()),
            device_file,
            ..WORKS
        }
        .fault()
    }

    #[test]
    fn a_machine_without_a_gpu_has_no_fault() {
        let missing = "libcuda.so: cannot open shared object file: No such file or directory";
        assert_eq!(not_loaded(missing, false), None);
        let no_device = Evidence {
            initialised: CUDA_ERROR_NO_DEVICE,
            device_file: false,
            ..WORKS
        };
        assert_eq!(no_device.fault(), None);
        let hidden = Evidence {
            initialised: CUDA_ERROR_NO_DEVICE,
            hidden: true,
            ..WORKS
        };
        assert_eq!(hidden.fault(), None);
        assert_eq!(WORKS.fault(), None);
    }

    #[test]
    #[allow(unsafe_code)]
    fn the_message_of_the_loader_is_known() {
        let missing = "libcuda.so.1-of-no-machine";
        // SAFETY: no library has this name, so no code runs.
        let error = unsafe { libloading::Library::new(missing) }.err();
        let message = error
            .map(|error| ffi::loader_message(&error))
            .unwrap_or_default();
        assert!(is_not_found(&message, missing), "{message}");
    }

    #[test]
    fn a_driver_that_does_not_work_is_a_fault_with_a_remedy() {
        let missing = "libcuda.so.1: cannot open shared object file: No such file or directory";
        assert!(
            not_loaded(missing, true).is_some_and(|why| why.contains("libcuda.so.1 was not found"))
        );
        let needs = "libnvidia-x.so.1: cannot open shared object file: No such file or directory";
        assert!(
            not_loaded(needs, false)
                .is_some_and(|why| why.contains(needs) && why.contains("Install"))
        );
        let lost = Evidence {
            initialised: CUDA_ERROR_NO_DEVICE,
            ..WORKS
        };
        assert!(
            lost.fault()
                .is_some_and(|why| why.contains("finds no device") && why.contains("nvidia-smi"))
        );
        let mismatch = Evidence {
            initialised: Code(CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH as u32),
            device_file: false,
            ..WORKS
        };
        assert!(
            mismatch
                .fault()
                .is_some_and(|why| why.contains("different versions. Reboot"))
        );
    }
}
