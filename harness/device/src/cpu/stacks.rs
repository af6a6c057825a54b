//! Coroutines to carry threads, on stacks from a few large mappings. Guard pages for tens of thousands of stacks would
//! exceed the kernel's limit on mappings, so each stack ends in a canary instead.
#![allow(unsafe_code)]

use super::abi::Thread;
use super::fibers::{self, Bounds, Fibers};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;

/// What a carrier runs: threads, one after another, handed in by `resume`.
pub type Carrier = Coroutine<*mut Thread, (), (), Slice>;
pub type Pause = Yielder<*mut Thread, ()>;

/// Bytes of one stack. Not a power of two: frames at the same depth must not share a cache set, and
/// the canary of one stack lies in the page where its lower neighbour begins, so it costs no page.
pub const STACK_BYTES: usize = 64 * 1024 + 9 * 64;
/// Under AddressSanitizer, whose reports are made on the stack of whoever is at fault.
const SANITIZED_STACK_BYTES: usize = 1 << 20;
const STACKS_PER_MAPPING: usize = 256;
const CANARY: [u64; 8] = [0x6c61_6220_7374_6b21; 8];

/// One stack. Owned by its [`Mapping`], which outlives it.
#[derive(Clone, Copy)]
pub struct Slice {
    low: usize,
    bytes: usize,
}

// SAFETY: the memory from `low` to `low + bytes` is mapped and used by nobody else. In place of the
// guard page that the trait asks for there is a canary, checked by `Slice::intact`.
unsafe impl Stack for Slice {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.low + self.bytes).expect("a mapping does not end at address 0")
    }
    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.low).expect("a mapping does not begin at address 0")
    }
}

impl Slice {
    fn canary(&self) -> *mut [u64; 8] {
        self.low as *mut [u64; 8]
    }

    fn bounds(&self) -> Bounds {
        Bounds { low: self.low as *const c_void, bytes: self.bytes }
    }

    /// Whether the stack never ran over its end.
    pub fn intact(&self) -> bool {
        // SAFETY: the canary lies inside this stack's mapping.
        unsafe { self.canary().read() == CANARY }
    }
}

struct Mapping {
    at: *mut c_void,
    bytes: usize,
    /// Of one stack.
    stack: usize,
}

impl Mapping {
    fn new(stack: usize) -> Result<Mapping, String> {
        let bytes = STACKS_PER_MAPPING * stack;
        // SAFETY: a fresh private mapping.
        let at = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|e| format!("no memory for the stacks of the emulated threads: {e}; use fewer threads"))?;
        Ok(Mapping { at, bytes, stack })
    }

    fn slices(&self) -> impl Iterator<Item = Slice> + use<> {
        let (low, bytes) = (self.at as usize, self.stack);
        (0..STACKS_PER_MAPPING).map(move |i| Slice { low: low + i * bytes, bytes })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size; the carriers on it are gone (see `Carriers`).
        let _ = unsafe { munmap(self.at, self.bytes) };
    }
}

/// One carrier, in one cache line.
#[repr(align(64))]
struct Slot {
    carrier: Carrier,
    /// Where it pauses: on its own stack; set when it first runs.
    pause: *const Pause,
    slice: Slice,
    /// About where its stack pointer was when it paused.
    top: *const u8,
}

/// The carriers of one worker, kept from launch to launch.
pub struct Carriers {
    // Before the mappings: dropped first.
    all: Vec<Slot>,
    pub idle: Vec<u32>,
    spare: Vec<Slice>,
    mappings: Vec<Mapping>,
    /// AddressSanitizer, where it is here, and the stack of the OS thread as it knows it.
    sanitizer: Option<&'static Fibers>,
    home: Bounds,
}

impl Carriers {
    pub fn new() -> Carriers {
        Carriers {
            all: Vec::new(),
            idle: Vec::new(),
            spare: Vec::new(),
            mappings: Vec::new(),
            sanitizer: fibers::fibers(),
            home: Bounds::UNKNOWN,
        }
    }

    /// Whether an address lies on one of the stacks.
    pub fn hold(&self, address: usize) -> bool {
        self.mappings.iter().any(|mapping| address.wrapping_sub(mapping.at as usize) < mapping.bytes)
    }

    /// A carrier that waits for a thread.
    pub fn take(&mut self, body: fn(&Pause, *mut Thread)) -> Result<u32, String> {
        if let Some(carrier) = self.idle.pop() {
            return Ok(carrier);
        }
        if self.spare.is_empty() {
            let bytes = if self.sanitizer.is_some() { SANITIZED_STACK_BYTES } else { STACK_BYTES };
            let mapping = Mapping::new(bytes)?;
            self.spare.extend(mapping.slices());
            self.mappings.push(mapping);
        }
        let slice = self.spare.pop().expect("a mapping holds stacks");
        if let Some(sanitizer) = self.sanitizer {
            sanitizer.forget(slice.bounds());
        }
        // SAFETY: inside the mapping.
        unsafe { slice.canary().write(CANARY) };
        self.all.push(Slot {
            carrier: Carrier::with_stack(slice, body),
            pause: std::ptr::null(),
            slice,
            top: std::ptr::null(),
        });
        Ok((self.all.len() - 1) as u32)
    }

    /// # Safety
    /// `this` is valid, `carrier` came from [`Carriers::take`] and is suspended, `thread` stays valid while it
    /// runs. By pointer, because the carrier itself reaches `idle` while it runs.
    #[inline]
    pub unsafe fn resume(this: *mut Carriers, carrier: u32, thread: *mut Thread) {
        // SAFETY: as promised by the caller; `all` does not move while a carrier runs.
        unsafe {
            let slot = (*this).all.as_mut_ptr().add(carrier as usize);
            let sanitizer = (*this).sanitizer;
            if let Some(sanitizer) = sanitizer {
                sanitizer.leave_for((*slot).slice.bounds());
            }
            (*slot).carrier.resume(thread);
            if let Some(sanitizer) = sanitizer {
                sanitizer.arrived();
            }
        }
    }

    /// Switches away from `carrier`, until it is resumed.
    ///
    /// # Safety
    /// `this` is valid, and the caller runs on `carrier`.
    #[inline]
    pub unsafe fn suspend(this: *mut Carriers, carrier: u32) {
        // SAFETY: as promised by the caller; the pause lives on this very stack.
        unsafe {
            let slot = (*this).all.as_mut_ptr().add(carrier as usize);
            let pause = (*slot).pause;
            (*slot).top = (&raw const pause).cast();
            Self::go_home(this);
            (*pause).suspend(());
            Self::came_from_home(this);
        }
    }

    /// A carrier is about to switch back to the worker.
    ///
    /// # Safety
    /// `this` is valid, and the caller runs on one of its carriers; so below.
    #[inline]
    pub unsafe fn go_home(this: *const Carriers) {
        // SAFETY: as promised by the caller.
        unsafe {
            if let Some(sanitizer) = (*this).sanitizer {
                sanitizer.leave_for((*this).home);
            }
        }
    }

    /// A carrier runs, or runs again.
    ///
    /// # Safety
    /// As [`Carriers::go_home`].
    #[inline]
    pub unsafe fn came_from_home(this: *mut Carriers) {
        // SAFETY: as promised by the caller.
        unsafe {
            if let Some(sanitizer) = (*this).sanitizer {
                (*this).home = sanitizer.arrived();
            }
        }
    }

    /// Has the cache fetch what resuming `carrier` will touch: its stack is the one thing that is far from the others.
    ///
    /// # Safety
    /// `this` is valid and `carrier` came from [`Carriers::take`].
    #[inline]
    pub unsafe fn fetch(this: *const Carriers, carrier: u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as promised by the caller; a prefetch of any address is harmless.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let top = (*(*this).all.as_ptr().add(carrier as usize)).top.cast::<i8>();
            for line in 0..4 {
                _mm_prefetch::<_MM_HINT_T0>(top.wrapping_add(64 * line).wrapping_sub(64));
            }
        }
    }

    /// # Safety
    /// `this` is valid and `carrier` came from [`Carriers::take`].
    pub unsafe fn set_pause(this: *mut Carriers, carrier: u32, pause: *const Pause) {
        // SAFETY: as promised by the caller.
        unsafe { (*(*this).all.as_mut_ptr().add(carrier as usize)).pause = pause };
    }

    pub fn intact(&self, carrier: u32) -> bool {
        self.all[carrier as usize].slice.intact()
    }

    /// Throws every carrier away, those in the middle of a thread too.
    pub fn reset(&mut self) {
        for Slot { mut carrier, slice, .. } in self.all.drain(..) {
            // SAFETY: what lies on the stack is device code, which has nothing to drop (exceptions are off), and the frames
            // of `sched`, which hold no owned value while suspended.
            unsafe { carrier.force_reset() };
            self.spare.push(slice);
        }
        self.idle.clear();
    }
}

impl Drop for Carriers {
    fn drop(&mut self) {
        self.reset();
    }
}
