//! One line on stderr about the kernel, block and thread before a wild access ends the process.
#![allow(unsafe_code)]

use super::scheduler::{RUNNING, block_of};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::sync::Once;

const SIGNALS: [(i32, &str); 4] = [
    (libc::SIGSEGV, "illegal memory access"),
    (libc::SIGBUS, "illegal memory access"),
    (libc::SIGFPE, "integer division by zero"),
    (libc::SIGILL, "__builtin_trap() or unreachable code"),
];

/// What was installed before, put back when a signal comes.
static mut BEFORE: [MaybeUninit<libc::sigaction>; SIGNALS.len()] =
    [const { MaybeUninit::uninit() }; SIGNALS.len()];

/// Installs the handler for the life of the process.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (i, (signal, _)) in SIGNALS.iter().enumerate() {
            // SAFETY: the struct is plain data; `BEFORE` is written here only, once, before the handler can run.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                // The stack of a coroutine may be the very thing that is broken; Rust's threads have another one.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let before = (&raw mut BEFORE[i]).cast::<libc::sigaction>();
                libc::sigaction(*signal, &action, before);
            }
        }
    });
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let Some(i) = SIGNALS.iter().position(|(known, _)| *known == signal) else { return };
    // SAFETY: everything below is safe in a signal handler: reads of memory that the interrupted thread owns, text
    // built on the stack, `write`, `sigaction`. The thread-local is constant-initialised and has no destructor.
    unsafe {
        let slot = RUNNING.get();
        if !slot.is_null() && !(*slot).is_null() {
            let thread = &**slot;
            let block = &*block_of(*slot);
            let launch = &*(*block.worker).launch;
            let mut line = Line { text: [0; 512], length: 0 };
            let ([bx, by, bz], [x, y, z]) = (block.head.index, thread.index);
            let _ = write!(line, "kernel '{}': {}", launch.kernel, SIGNALS[i].1);
            if signal == libc::SIGSEGV || signal == libc::SIGBUS {
                let _ = write!(line, " at address {:#x}", (*info).si_addr() as usize);
            }
            let _ = writeln!(line, ", block ({bx},{by},{bz}), thread ({x},{y},{z})");
            libc::write(2, line.text.as_ptr().cast(), line.length);
        }
        // The instruction runs again, and whoever was there before (or the default) takes it.
        libc::sigaction(signal, (&raw const BEFORE[i]).cast(), std::ptr::null_mut());
    }
}

/// Text without an allocator; what does not fit is cut off.
struct Line {
    text: [u8; 512],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.text.len() - self.length;
        let part = &text.as_bytes()[..text.len().min(room)];
        self.text[self.length..][..part.len()].copy_from_slice(part);
        self.length += part.len();
        Ok(())
    }
}
