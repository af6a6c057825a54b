//! Threads that Linux may refuse: a user may have so many (`ulimit -u`), and so may a container.
//! `std::thread::spawn` panics then; nothing here does.

use crate::open_files::{is_of_descriptors, with_remedy};
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle, available_parallelism};

/// How many threads the processor runs at once for this process. Asked once: Linux's answer takes
/// the reading of several files.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| available_parallelism().map_or(1, usize::from))
}

/// Locks a mutex, also after a thread panicked while holding it: what the mutexes of the lab guard is
/// valid at each step of an update, so a panic elsewhere leaves nothing half changed.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a thread. The error says what to do.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let started = Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| refused("thread", error))
}

/// Starts a thread that ends within the scope. The error says what to do.
pub fn start_in<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let started = Builder::new().spawn_scoped(scope, work);
    started.map_err(|error| refused("thread", error))
}

/// What to do about an error of starting a thread or a process, `what`.
pub fn refused(what: &str, error: io::Error) -> io::Error {
    if is_of_descriptors(&error) {
        let text = with_remedy(&error.to_string()).into_owned();
        return io::Error::new(error.kind(), text);
    }
    if error.kind() != io::ErrorKind::WouldBlock {
        return error;
    }
    let text = format!(
        "Linux starts no further {what} for this user: end other programs, or raise the limit (`ulimit -u`, or the \
         container's), then try again ({error})"
    );
    io::Error::new(error.kind(), text)
}

/// Work on another thread of a scope, or work that was done where it was started, because Linux
/// refused the thread.
pub enum Beside<'scope, T> {
    Running(ScopedJoinHandle<'scope, T>),
    Done(T),
}

impl<T> Beside<'_, T> {
    pub fn has_ended(&self) -> bool {
        match self {
            Beside::Running(thread) => thread.is_finished(),
            Beside::Done(_) => true,
        }
    }

    /// Waits for the result. A panic of the work goes on here.
    pub fn join(self) -> T {
        match self {
            Beside::Running(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Beside::Done(result) => result,
        }
    }
}

/// Does work on a thread of its own. Where Linux refuses the thread, does it now: so the work may
/// wait for nothing that the caller does next.
///
/// ```
/// use lab_system::threads::beside;
///
/// let numbers = [1, 2, 3];
/// let sum = std::thread::scope(|scope| {
///     let sum = beside(scope, || numbers.iter().sum::<u64>());
///     sum.join() + 1
/// });
/// assert_eq!(sum, 7);
/// ```
pub fn beside<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Beside<'scope, T> {
    on(Builder::new(), scope, work)
}

fn on<'scope, T: Send + 'scope, F: FnOnce() -> T + Send + 'scope>(
    builder: Builder,
    scope: &'scope Scope<'scope, '_>,
    work: F,
) -> Beside<'scope, T> {
    // A refused thread drops what it was given.
    let work = Arc::new(Mutex::new(Some(work)));
    let of_thread = Arc::clone(&work);
    let take = |work: &Mutex<Option<F>>| lock(work).take().expect("the work is done once");
    match builder.spawn_scoped(scope, move || take(&of_thread)()) {
        Ok(thread) => Beside::Running(thread),
        Err(_) => Beside::Done(take(&work)()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::thread::{current, scope};

    #[test]
    fn work_is_done_here_where_no_thread_can_be_started() {
        let here = current().id();
        scope(|scope| {
            // No machine has so much memory for a stack.
            let refused = on(Builder::new().stack_size(1 << 60), scope, || current().id());
            assert!(matches!(refused, Beside::Done(id) if id == here));
            let started = beside(scope, || current().id());
            assert_ne!(started.join(), here);
        });
    }

    #[test]
    fn a_refused_thread_says_what_to_do_and_other_errors_stay() {
        let again = io::Error::from_raw_os_error(rustix::io::Errno::AGAIN.raw_os_error());
        let told = refused("process", again).to_string();
        assert!(
            told.starts_with("Linux starts no further process for this user: end other programs")
                && told.contains("`ulimit -u`"),
            "{told}"
        );
        let missing = refused("process", io::ErrorKind::NotFound.into());
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let named = start("a name", || current().name().map(str::to_owned)).unwrap();
        assert_eq!(named.join().unwrap().as_deref(), Some("a name"));
    }
}
