//! The coroutines that emulated threads run on.
#![allow(unsafe_code)]

use super::abi::Thread;
use super::asan::{Asan, StackBounds, asan};
use super::stacks::{Mapping, SANITIZED_STACK_BYTES, STACK_BYTES, ThreadStack};
use corosensei::{Coroutine, Yielder};

/// Runs emulated threads, one after another. Each call of `resume` may pass in the next thread.
type ThreadCoroutine = Coroutine<*mut Thread, (), (), ThreadStack>;
/// Suspends the coroutine that it was given to.
pub type ThreadYielder = Yielder<*mut Thread, ()>;

/// What a switch uses of one coroutine, in one cache line.
#[repr(align(64))]
struct PooledCoroutine {
    coroutine: ThreadCoroutine,
    /// Lies on the coroutine's own stack. Null until the coroutine first runs.
    yielder: *const ThreadYielder,
    /// An address close to the stack pointer at the last suspension.
    top: *const u8,
}

const _: () = assert!(size_of::<PooledCoroutine>() == 64);

/// The coroutines of one worker, by number. They are kept from launch to launch.
pub struct Coroutines {
    /// Before the mappings, so that the coroutines are dropped first.
    all: Vec<PooledCoroutine>,
    /// The stacks of the coroutines, by number.
    stacks: Vec<ThreadStack>,
    /// Coroutines that wait for a thread.
    pub idle: Vec<u32>,
    /// Stacks without a coroutine.
    spare: Vec<ThreadStack>,
    mappings: Vec<Mapping>,
    asan: Option<&'static Asan>,
    /// The stack of the worker's OS thread, as AddressSanitizer reports it.
    worker_stack: StackBounds,
}

impl Coroutines {
    pub fn new() -> Coroutines {
        Coroutines {
            all: Vec::new(),
            stacks: Vec::new(),
            idle: Vec::new(),
            spare: Vec::new(),
            mappings: Vec::new(),
            asan: asan(),
            worker_stack: StackBounds::UNKNOWN,
        }
    }

    /// Whether an address lies on one of the stacks.
    pub fn contains(&self, address: usize) -> bool {
        self.mappings
            .iter()
            .any(|mapping| mapping.contains(address))
    }

    /// Whether an address lies on the stack of a coroutine.
    pub fn stack_contains(&self, coroutine: u32, address: usize) -> bool {
        let stack = self.stacks.get(coroutine as usize);
        stack.is_some_and(|stack| stack.contains(address))
    }

    /// Returns a coroutine that waits for a thread; creates one that runs `body` if there is none.
    /// Fails where there is no memory for its stack; the error says what to do.
    pub fn take(&mut self, body: fn(&ThreadYielder, *mut Thread)) -> Result<u32, String> {
        if let Some(coroutine) = self.idle.pop() {
            return Ok(coroutine);
        }
        if self.spare.is_empty() {
            let bytes = if self.asan.is_some() {
                SANITIZED_STACK_BYTES
            } else {
                STACK_BYTES
            };
            let mapping = Mapping::new(bytes)?;
            self.spare.extend(mapping.stacks());
            self.mappings.push(mapping);
        }
        let stack = self.spare.pop().expect("a mapping holds stacks");
        if let Some(asan) = self.asan {
            asan.unpoison(stack.bounds());
        }
        stack.reset();
        self.all.push(PooledCoroutine {
            coroutine: ThreadCoroutine::with_stack(stack, body),
            yielder: std::ptr::null(),
            top: std::ptr::null(),
        });
        self.stacks.push(stack);
        Ok((self.all.len() - 1) as u32)
    }

    /// Switches to a coroutine, until it suspends. It takes up `thread` if it waits for one. Takes
    /// a pointer, because the coroutine uses other fields of `this` while it runs.
    ///
    /// # Safety
    /// `this` is valid, `coroutine` came from [`Coroutines::take`] and is suspended, and `thread`
    /// stays valid while it runs.
    #[inline]
    pub unsafe fn resume(this: *mut Coroutines, coroutine: u32, thread: *mut Thread) {
        // SAFETY: the caller promises a valid `this` and a number that is below the length of
        // `all`. The reference to the coroutine is the only one, because a running coroutine uses
        // only the other fields of its entry. `all` does not move meanwhile, because only the
        // worker calls `take`.
        unsafe {
            let pooled = (*this).all.as_mut_ptr().add(coroutine as usize);
            let asan = (*this).asan;
            if let Some(asan) = asan {
                let stack = (*this).stacks.as_ptr().add(coroutine as usize);
                asan.start_switch((*stack).bounds());
            }
            (*pooled).coroutine.resume(thread);
            if let Some(asan) = asan {
                asan.finish_switch();
            }
        }
    }

    /// Switches from a coroutine to the worker, until the coroutine is resumed.
    ///
    /// # Safety
    /// `this` is valid, and the caller runs on `coroutine`.
    #[inline]
    pub unsafe fn suspend(this: *mut Coroutines, coroutine: u32) {
        // SAFETY: the caller promises a valid `this` and runs on the coroutine, so its yielder was
        // set and lies further up on this stack.
        unsafe {
            let pooled = (*this).all.as_mut_ptr().add(coroutine as usize);
            let yielder = (*pooled).yielder;
            (*pooled).top = (&raw const yielder).cast();
            Self::leaves(this);
            (*yielder).suspend(());
            Self::entered(this);
        }
    }

    /// Tells AddressSanitizer that a coroutine is about to switch to the worker.
    ///
    /// # Safety
    /// `this` is valid, and the caller runs on one of its coroutines.
    #[inline]
    pub unsafe fn leaves(this: *const Coroutines) {
        // SAFETY: the caller promises a valid `this`. The worker does not use these fields while a
        // coroutine runs.
        unsafe {
            if let Some(asan) = (*this).asan {
                asan.start_switch((*this).worker_stack);
            }
        }
    }

    /// Tells AddressSanitizer that the worker has switched to a coroutine.
    ///
    /// # Safety
    /// As [`Coroutines::leaves`].
    #[inline]
    pub unsafe fn entered(this: *mut Coroutines) {
        // SAFETY: the caller promises a valid `this`. The worker does not use these fields while a
        // coroutine runs.
        unsafe {
            if let Some(asan) = (*this).asan {
                (*this).worker_stack = asan.finish_switch();
            }
        }
    }

    /// Prefetches the top of a coroutine's stack. Resuming the coroutine will use it, and it is far
    /// from all other data that a switch uses.
    ///
    /// # Safety
    /// `this` is valid and `coroutine` came from [`Coroutines::take`].
    #[inline]
    pub unsafe fn prefetch(this: *const Coroutines, coroutine: u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller promises a valid `this` and a number that is below the length of
        // `all`. A prefetch accesses no memory, whatever the address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let top = (*(*this).all.as_ptr().add(coroutine as usize))
                .top
                .cast::<i8>();
            for line in 0..4 {
                _mm_prefetch::<_MM_HINT_T0>(top.wrapping_add(64 * line).wrapping_sub(64));
            }
        }
    }

    /// Stores the yielder that the coroutine was given when it first ran.
    ///
    /// # Safety
    /// `this` is valid, and the caller runs on `coroutine`.
    pub unsafe fn set_yielder(
        this: *mut Coroutines,
        coroutine: u32,
        yielder: *const ThreadYielder,
    ) {
        // SAFETY: the caller promises a valid `this` and a number that is below the length of
        // `all`. The worker, which has resumed the coroutine, does not use this field.
        unsafe { (*(*this).all.as_mut_ptr().add(coroutine as usize)).yielder = yielder };
    }

    /// Whether no thread has run over the end of the coroutine's stack.
    pub fn stack_is_intact(&self, coroutine: u32) -> bool {
        self.stacks[coroutine as usize].is_intact()
    }

    /// Drops every coroutine, also those that are in the middle of a thread.
    pub fn reset(&mut self) {
        for mut pooled in self.all.drain(..) {
            // SAFETY: `force_reset` abandons the frames on the stack without dropping their values.
            // These are frames of device code, which is built without exceptions and which nothing
            // outside refers to, and of `scheduler`, whose functions own no values that need a drop
            // while they are suspended.
            unsafe { pooled.coroutine.force_reset() };
        }
        self.spare.append(&mut self.stacks);
        self.idle.clear();
    }
}

impl Drop for Coroutines {
    fn drop(&mut self) {
        self.reset();
    }
}
