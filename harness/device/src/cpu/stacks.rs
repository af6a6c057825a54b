//! The stacks of the emulated threads, cut from a few large mappings. Guard pages for tens of
//! thousands of stacks would exceed Linux's limit on mappings, so each stack ends with a canary
//! instead.
#![allow(unsafe_code)]

use super::asan::StackBounds;
use corosensei::stack::{Stack, StackPointer};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;

/// Bytes of one stack. This is not a power of two: frames at the same depth must not share a cache
/// set. And the canary of one stack lies in the page in which its lower neighbour begins, so it
/// takes no page of its own.
pub const STACK_BYTES: usize = 64 * 1024 + 9 * 64;
/// Bytes of one stack under AddressSanitizer, which writes its reports on the stack of the faulty
/// thread.
pub const SANITIZED_STACK_BYTES: usize = 1 << 20;
const STACKS_PER_MAPPING: usize = 256;
const CANARY: [u64; 8] = [0x6c61_6220_7374_6b21; 8];

/// One stack. Its [`Mapping`] owns the memory and outlives it.
#[derive(Clone, Copy)]
pub struct ThreadStack {
    low: usize,
    bytes: usize,
}

// SAFETY: the memory from `low` to `low + bytes` is mapped readable and writable, aligned to 64
// bytes, and a stack is given to one coroutine at a time. The trait also asks for a guard page. In
// its place there is a canary, which `ThreadStack::is_intact` checks when a thread ends: a thread
// that overflows its stack fails the launch, and until then can only damage the stack of another
// emulated thread of the same kernel, whose code may do anything to this process anyway.
unsafe impl Stack for ThreadStack {
    fn base(&self) -> StackPointer {
        NonZeroUsize::new(self.low + self.bytes).expect("a mapping does not end at address 0")
    }
    fn limit(&self) -> StackPointer {
        NonZeroUsize::new(self.low).expect("a mapping does not begin at address 0")
    }
}

impl ThreadStack {
    fn canary(&self) -> *mut [u64; 8] {
        self.low as *mut [u64; 8]
    }

    /// Whether an address lies on the stack.
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.low) < self.bytes
    }

    pub fn bounds(&self) -> StackBounds {
        StackBounds {
            low: self.low as *const c_void,
            bytes: self.bytes,
        }
    }

    /// Whether no thread has run over the stack's end since the last `reset`.
    pub fn is_intact(&self) -> bool {
        // SAFETY: the canary is the lowest part of the stack, which is mapped, initialised and
        // aligned to 64 bytes.
        unsafe { self.canary().read() == CANARY }
    }

    /// Writes the canary again, after a thread may have run over the stack's end. No coroutine uses
    /// the stack.
    pub fn reset(&self) {
        // SAFETY: the canary is the lowest part of the stack, which is mapped and aligned to 64
        // bytes.
        unsafe { self.canary().write(CANARY) };
    }
}

/// Memory for several stacks.
pub struct Mapping {
    address: *mut c_void,
    /// Of one stack.
    stack_bytes: usize,
}

impl Mapping {
    /// Maps memory for stacks of this many bytes, a multiple of 64. The error says what to do.
    pub fn new(stack_bytes: usize) -> Result<Mapping, String> {
        // SAFETY: a new private mapping at an address that the kernel chooses overlaps no other
        // memory.
        let mapped = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                STACKS_PER_MAPPING * stack_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        let address = mapped.map_err(|error| {
            format!(
                "could not get memory for the stacks of the emulated threads: {error}. Use fewer threads."
            )
        })?;
        Ok(Mapping {
            address,
            stack_bytes,
        })
    }

    /// The stacks. Called once: each stack may be used by one coroutine only.
    pub fn stacks(&self) -> impl Iterator<Item = ThreadStack> + use<> {
        let (low, bytes) = (self.address as usize, self.stack_bytes);
        (0..STACKS_PER_MAPPING).map(move |i| ThreadStack {
            low: low + i * bytes,
            bytes,
        })
    }

    /// Whether an address lies in the mapping.
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.address as usize) < STACKS_PER_MAPPING * self.stack_bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this many bytes at this address. The coroutines on these stacks are
        // gone: `Coroutines` drops them before its mappings.
        let unmapped = unsafe { munmap(self.address, STACKS_PER_MAPPING * self.stack_bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping is unmapped whole, and once");
    }
}
