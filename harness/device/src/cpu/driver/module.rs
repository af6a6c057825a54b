//! A loaded module: a shared object that this device's builder made.

use crate::api::{DeviceError, with_causes};
use crate::cpu::abi::{EntryRecord, KernelCall, Runtime, Thread};
use crate::cpu::scheduler::{RUNTIME, race_hooks};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_void};
use std::path::Path;

pub struct Module {
    /// The last of the source is first.
    pub kernels: Vec<Kernel>,
    /// Returns the module's `lab_cpu_self` of the OS thread that calls it.
    pub self_slot: unsafe extern "C" fn() -> *mut *mut Thread,
    flush: unsafe extern "C" fn(),
    /// Static `__shared__` declarations.
    pub shared_slots: u32,
    /// The address of the image, if the module is instrumented for the race detector.
    pub instrumented: Option<usize>,
    /// Last: everything above points into it.
    _library: Library,
}

/// A kernel of a module.
pub struct Kernel {
    pub name: String,
    /// Valid as long as the module.
    pub call: KernelCall,
    /// The size of each parameter in bytes.
    pub parameters: Vec<usize>,
    /// The threads of a block that `__launch_bounds__` allows; 0 without it.
    pub most_threads: u32,
}

impl Module {
    pub fn load(image: &Path) -> Result<Module, DeviceError> {
        let cannot_load = |error: libloading::Error| {
            DeviceError::Driver(format!(
                "cannot load the built kernel {}: {}. Remove the file and build again.",
                image.display(),
                with_causes(&error)
            ))
        };
        // SAFETY: the image comes from this device's builder. Its initialisers register the
        // kernels, and may run the initialisers of the kernel's own globals: the worker process is
        // for running such code.
        let library = unsafe { Library::new(image) }.map_err(cannot_load)?;
        // SAFETY: `lab_cpu/runtime.h` declares these functions with these types. The tables are
        // static and laid out as the header declares them, so the module may keep their addresses.
        // A record's name is a string literal, `sizes` has one size for each parameter, and `next`
        // is null or another record of the module.
        unsafe {
            let install: Symbol<unsafe extern "C" fn(*const Runtime)> =
                library.get("lab_cpu_install").map_err(cannot_load)?;
            let first_entry: Symbol<unsafe extern "C" fn() -> *const EntryRecord> =
                library.get("lab_cpu_first_entry").map_err(cannot_load)?;
            let slot_count: Symbol<unsafe extern "C" fn() -> u32> =
                library.get("lab_cpu_slot_count").map_err(cannot_load)?;
            let self_slot = *library.get("lab_cpu_self_slot").map_err(cannot_load)?;
            let flush = *library.get("lab_cpu_flush").map_err(cannot_load)?;
            install(&RUNTIME);
            // Only an instrumented module has this function.
            let install_races: Option<Symbol<unsafe extern "C" fn(*const race_hooks::Table)>> =
                library.get("lab_cpu_install_races").ok();
            let instrumented = install_races.map(|install_races| {
                install_races(&race_hooks::TABLE);
                image_base(flush as *const c_void)
            });
            let mut kernels = Vec::new();
            let mut next = first_entry();
            while let Some(record) = next.as_ref() {
                let sizes = (0..record.arguments as usize).map(|at| *record.sizes.add(at) as usize);
                kernels.push(Kernel {
                    name: CStr::from_ptr(record.name).to_string_lossy().into_owned(),
                    call: record.call,
                    parameters: sizes.collect(),
                    most_threads: record.most_threads,
                });
                next = record.next;
            }
            let shared_slots = slot_count();
            Ok(Module {
                kernels,
                self_slot,
                flush,
                shared_slots,
                instrumented,
                _library: library,
            })
        }
    }

    /// Flushes what kernels have printed from the C library's buffer, which Rust's `stdout` does
    /// not share.
    pub fn flush(&self) {
        // SAFETY: the function lies in the library, which is loaded. It calls `fflush` and nothing
        // else.
        unsafe { (self.flush)() };
    }
}

/// The address at which the image around this address begins. 0 where the loader does not know the
/// address.
fn image_base(inside: *const c_void) -> usize {
    // SAFETY: `Dl_info` holds only pointers, for which zeros are valid. `dladdr` writes to it, or
    // leaves it as it is.
    let info = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(inside, &mut info);
        info
    };
    info.dli_fbase as usize
}
