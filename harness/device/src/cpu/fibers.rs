//! Tells AddressSanitizer, where it is in the process, on which stack the code runs: it poisons and unpoisons
//! the stack that it believes in. Its functions are looked up at run time, so that no other build needs them.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// `sanitizer/common_interface_defs.h` and `sanitizer/asan_interface.h`.
pub struct Fibers {
    start: unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize),
    finish: unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize),
    unpoison: unsafe extern "C" fn(*const c_void, usize),
}

/// `None` where no AddressSanitizer is here.
pub fn fibers() -> Option<&'static Fibers> {
    static FOUND: OnceLock<Option<Fibers>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let find = |name: &CStr| {
                // SAFETY: a lookup by name.
                let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
                (!at.is_null()).then_some(at)
            };
            let start = find(c"__sanitizer_start_switch_fiber")?;
            let finish = find(c"__sanitizer_finish_switch_fiber")?;
            let unpoison = find(c"__asan_unpoison_memory_region")?;
            // SAFETY: functions of these types by these names.
            unsafe {
                Some(Fibers {
                    start: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize),
                    >(start),
                    finish: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize),
                    >(finish),
                    unpoison: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void, usize)>(
                        unpoison,
                    ),
                })
            }
        })
        .as_ref()
}

/// A stack: its lowest address and its size.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub low: *const c_void,
    pub bytes: usize,
}

impl Bounds {
    pub const UNKNOWN: Bounds = Bounds { low: std::ptr::null(), bytes: 0 };
}

impl Fibers {
    /// The code is about to switch to this stack. There are no fake stacks (`detect_stack_use_after_return=0`), so
    /// there is nothing to keep of the one that is left.
    pub fn leave_for(&self, to: Bounds) {
        // SAFETY: it only notes the bounds down.
        unsafe { (self.start)(std::ptr::null_mut(), to.low, to.bytes) };
    }

    /// The code has switched; the stack that it came from.
    pub fn arrived(&self) -> Bounds {
        let mut from = Bounds::UNKNOWN;
        // SAFETY: both pointers are to live places.
        unsafe { (self.finish)(std::ptr::null_mut(), &mut from.low, &mut from.bytes) };
        from
    }

    /// A stack that was left in the middle is used anew.
    pub fn forget(&self, stack: Bounds) {
        // SAFETY: it only changes the sanitizer's own notes.
        unsafe { (self.unpoison)(stack.low, stack.bytes) };
    }
}
