//! What the watcher tells.

use lab_run::inputs::Inputs;
use std::sync::Arc;

/// Something changed on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent {
    /// The inputs changed and then stayed the same for a moment.
    Changed {
        /// Repository-relative paths of the files that changed. Empty where files that were gone
        /// are back unchanged.
        files: Vec<String>,
        /// Everything that a verdict depends on, as the watcher read it. A run of this save judges
        /// these bytes.
        inputs: Arc<Inputs>,
        /// Whether lab.toml changed: the project must be opened again.
        config: bool,
        /// Whether a loop works on the kernel, or did a moment ago: then the change may be its own.
        beside_loop: bool,
    },
    /// HEAD, a lock file, the ledger or the run folders changed on disk. There is nothing to judge.
    RepositoryChanged,
    /// A profile was made or replaced, by whichever process.
    Profiled,
    /// A sweep began or ended, or has a new point.
    Swept,
    /// A loop of `lab auto` began, ended, or has something new to show.
    LoopChanged { running: bool },
    /// The kernel or another input cannot be read, and why. Sent once, until the next change.
    Unreadable(String),
    /// A message for the user, as that saves are noticed late because the system reports no events.
    Problem(String),
}

/// Receives the events, on the watcher's thread.
pub type WatchSink = Arc<dyn Fn(WatchEvent) + Send + Sync>;
