//! Writes a line with the kernel, block and thread to stderr before a wild access, or a system call
//! that the sandbox forbids, ends the process; and at the first division that a GPU goes on behind.
#![allow(unsafe_code)]

use super::division;
use super::scheduler::{SELF_SLOT, block_of};
use std::io::{Cursor, Write};
use std::mem::MaybeUninit;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

const SIGNALS: [(i32, &str); 5] = [
    (libc::SIGSEGV, "illegal memory access"),
    (libc::SIGBUS, "illegal memory access"),
    (libc::SIGFPE, "integer division by zero"),
    (libc::SIGILL, "__builtin_trap() or unreachable code"),
    (
        libc::SIGSYS,
        "asks the operating system for what the sandbox forbids",
    ),
];

/// Where Linux puts the number of the system call into the `siginfo_t` of a SIGSYS: behind three
/// integers, padding and the address of the instruction.
const SYSTEM_CALL_AT: usize = 24;

/// Whether a division that a GPU goes on behind was told.
static TOLD: AtomicBool = AtomicBool::new(false);

/// The handlers that were installed before, by index in `SIGNALS`. `handle` puts them back.
static mut PREVIOUS: [MaybeUninit<libc::sigaction>; SIGNALS.len()] =
    [const { MaybeUninit::uninit() }; SIGNALS.len()];

/// Installs the handler for the lifetime of the process.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (i, (signal, _)) in SIGNALS.iter().enumerate() {
            // SAFETY: zeros are a valid `sigaction` without flags and with an empty mask. Only this
            // call writes to `PREVIOUS[i]`, when the first device is opened and no kernel has run
            // that could cause a signal. `handle` has the type that `SA_SIGINFO` asks for.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = handle as *const () as usize;
                // The handler does not run on the stack of a coroutine, which may have overflowed:
                // Rust's threads have another stack for signals.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let previous = (&raw mut PREVIOUS[i]).cast::<libc::sigaction>();
                libc::sigaction(*signal, &action, previous);
            }
        }
    });
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(i) = SIGNALS.iter().position(|(known, _)| *known == signal) else {
        return;
    };
    // What does not fit is cut off.
    let mut text = [0; 512];
    let mut line = Cursor::new(&mut text[..]);
    // SAFETY: everything here may be done in a signal handler: it reads memory that this OS thread
    // owns, builds a text on the stack, and calls `write` and `sigaction`. The thread-local has a
    // constant initialiser and no destructor, so reading it allocates nothing. Where the slot is
    // set, a launch runs on this OS thread, and the current thread, its block, its worker and its
    // launch are alive. Fields are read without references to the structs, because the interrupted
    // code may hold a mutable one. `install` initialised `PREVIOUS[i]` when it installed this
    // handler, and Linux passes a valid `info`.
    unsafe {
        let slot = SELF_SLOT.get();
        if !slot.is_null() && !(*slot).is_null() {
            let thread = *slot;
            let goes_on = signal == libc::SIGFPE && division::go_on(context);
            if goes_on && TOLD.swap(true, Ordering::Relaxed) {
                return;
            }
            let block = block_of(thread);
            let launch = (*(*block).worker).launch;
            let ([bx, by, bz], [x, y, z]) = ((*block).head.index, (*thread).index);
            let _ = write!(line, "kernel '{}': {}", (*launch).kernel, SIGNALS[i].1);
            if signal == libc::SIGSEGV || signal == libc::SIGBUS {
                let _ = write!(line, " at address {:#x}", (*info).si_addr() as usize);
            }
            if signal == libc::SIGSYS {
                add_system_call(&mut line, info);
            }
            let _ = write!(line, ", block ({bx},{by},{bz}), thread ({x},{y},{z})");
            if goes_on {
                let _ = writeln!(line, ": a GPU goes on with any number");
                let length = line.position() as usize;
                libc::write(2, text.as_ptr().cast(), length);
                return;
            }
            let _ = writeln!(line);
        } else if signal == libc::SIGSYS {
            let _ = write!(line, "the kernel's code {}", SIGNALS[i].1);
            add_system_call(&mut line, info);
            let _ = writeln!(line);
        }
        let length = line.position() as usize;
        libc::write(2, text.as_ptr().cast(), length);
        // After this handler the instruction runs again, and the previous handler, or the default
        // action, takes the signal.
        libc::sigaction(
            signal,
            (&raw const PREVIOUS[i]).cast(),
            std::ptr::null_mut(),
        );
        // A forbidden system call does not run again, so the signal is sent again, to this OS
        // thread, which handles it when the handler returns.
        if signal == libc::SIGSYS {
            libc::raise(signal);
        }
    }
}

/// Adds the name of the system call that caused a SIGSYS, or its number.
///
/// # Safety
/// `info` is what Linux passed to the handler of this signal.
unsafe fn add_system_call(line: &mut impl Write, info: *const libc::siginfo_t) {
    // SAFETY: the structure has 128 bytes, and the number lies at this offset, which is aligned for
    // it.
    let number = unsafe { info.cast::<u8>().add(SYSTEM_CALL_AT).cast::<i32>().read() };
    let _ = match crate::sandbox::name_of(number) {
        Some(name) => write!(line, ": the system call {name}"),
        None => write!(line, ": system call {number}"),
    };
}
