//! The race detector of the cpu device. It reports two accesses to the same bytes, at least one of
//! them a write, that nothing orders.
//!
//! The compiler's thread instrumentation (`-fsanitize=thread`) calls `scheduler/race_hooks.rs` at
//! each access. `libtsan` is not linked, because it does not know CUDA's threads and barriers. Each
//! thread has a vector clock (`clock.rs`), and each word of memory has a record of its last
//! accesses (`shadow.rs`), as in FastTrack (Flanagan and Freund, PLDI 2009). One access happens
//! before another where the same thread made both, or where a chain of these leads from one to the
//! other:
//! - `__syncthreads` and its variants, over the threads of a block; the grid's barrier, over all
//!   threads.
//! - `__syncwarp` and `sync()` of a group of lanes, over these lanes. A shuffle or a vote orders no
//!   memory accesses: CUDA's documentation does not promise that it does.
//! - A releasing atomic, and a later acquiring atomic of the same word. CUDA's own atomic functions
//!   acquire and do not release. That is more than CUDA promises: the detector does not find a fence
//!   that is missing behind them.
//! - An atomic, volatile or cache-bypassing store after a fence, and a load of that word before one
//!   or before a barrier: these are C++'s fences. So a tagged word carries its own value; it orders
//!   other memory only with a fence.
//!
//! `__threadfence_block`, an atomic of the block's scope and a barrier of a block release to the
//! threads of this block alone (`published.rs`), except that loads before them are over for all
//! (`past.rs`).
//!
//! Two writes of the same value are no race: the memory is the same in either order.
//!
//! Atomic, volatile and cache-bypassing accesses do not race with each other, except that an atomic
//! of the block's scope is none for another block, and that such a store may undo what another
//! thread has stored: where its thread has loaded the word and no fence lies between, or has not
//! looked at the word since.
//!
//! The result does not depend on the order in which the threads happened to run. The detector
//! misses accesses inside a `memcpy` of many bytes. Of many unordered accesses to one word, it
//! keeps those of a few threads and misses the others. The stacks of the threads are private: an
//! access to that of another thread is reported. A read of memory around a buffer is reported apart
//! (`outside.rs`), and a store there is found by the run itself. An instrumented launch runs on one core.

mod clock;
mod detector;
mod executed;
mod outside;
mod past;
mod published;
mod report;
mod shadow;
mod thread;

pub use detector::{AccessKind, AtomicOperation, Order, RaceDetector};
pub use outside::{AROUND, WatchedBuffers};
pub use report::is_on;
pub use report::{
    BarrierScope, Executed, LOG_VARIABLE, MOST_VARIABLE, MemorySpace, OutsideRead, Race, RaceKind,
    RaceLogLine, RacingAccess,
};
pub use shadow::SHADOW_PER_BYTE;
pub use thread::ThreadId;

/// A map by address or index. The standard library's hash is for keys that an attacker chooses, and
/// took a third of the detector's time.
type IndexMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::FixedState>;
