//! Tells AddressSanitizer which stack the code runs on, if it is in the process: it poisons and
//! unpoisons the stack that it believes to be current. Its functions are looked up at run time, so
//! that a build without it does not need them.
#![allow(unsafe_code)]

use libloading::os::unix::Library;
use std::ffi::c_void;
use std::sync::OnceLock;

/// Functions of `sanitizer/common_interface_defs.h` and `sanitizer/asan_interface.h`.
pub struct Asan {
    start_switch: unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize),
    finish_switch: unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize),
    unpoison: unsafe extern "C" fn(*const c_void, usize),
}

/// Returns AddressSanitizer's functions. `None` where it is not in the process.
pub fn asan() -> Option<&'static Asan> {
    static ASAN: OnceLock<Option<Asan>> = OnceLock::new();
    ASAN.get_or_init(|| {
        let process = Library::this();
        // SAFETY: the sanitizer's headers declare the functions of these names with these types. The
        // sanitizer is never unloaded.
        unsafe {
            Some(Asan {
                start_switch: *process.get("__sanitizer_start_switch_fiber").ok()?,
                finish_switch: *process.get("__sanitizer_finish_switch_fiber").ok()?,
                unpoison: *process.get("__asan_unpoison_memory_region").ok()?,
            })
        }
    })
    .as_ref()
}

/// A stack.
#[derive(Clone, Copy)]
pub struct StackBounds {
    /// Its lowest address.
    pub low: *const c_void,
    pub bytes: usize,
}

impl StackBounds {
    pub const UNKNOWN: StackBounds = StackBounds {
        low: std::ptr::null(),
        bytes: 0,
    };
}

impl Asan {
    /// Announces a switch to this stack.
    pub fn start_switch(&self, to: StackBounds) {
        // SAFETY: the sanitizer only stores the bounds. The null pointer says that it need not keep
        // a fake stack of the stack that is left: there are none, with
        // `detect_stack_use_after_return=0`.
        unsafe { (self.start_switch)(std::ptr::null_mut(), to.low, to.bytes) };
    }

    /// Announces that the switch is done. Returns the stack that the code came from.
    pub fn finish_switch(&self) -> StackBounds {
        let mut from = StackBounds::UNKNOWN;
        // SAFETY: the two pointers are to live fields to write to. There is no fake stack to return
        // to: see `start_switch`.
        unsafe { (self.finish_switch)(std::ptr::null_mut(), &mut from.low, &mut from.bytes) };
        from
    }

    /// Makes a stack accessible again that was left in the middle of a function.
    pub fn unpoison(&self, stack: StackBounds) {
        // SAFETY: this changes only the sanitizer's own records of the addresses.
        unsafe { (self.unpoison)(stack.low, stack.bytes) };
    }
}
