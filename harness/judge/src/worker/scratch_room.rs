//! Whether the memory of the machine holds the scratch buffer of a launch list on the cpu device.
//! The system gives a process more memory than it has, and ends the process once it writes there:
//! the run would blame the kernel, and not say why.

use super::launch_checks::at_line;
use super::memory::guarded_bytes;
use crate::outcome::{Result, Stop};
use lab_system::memory::{MemoryBytes, in_words};

/// What a launch list asks for.
pub struct AskedScratch<'a> {
    pub entry: &'a str,
    /// The line of its launch statement.
    pub line: u32,
    pub bytes: u64,
}

impl AskedScratch<'_> {
    /// What the buffer takes: its bytes between guard zones, and what a worker knows of its
    /// content.
    pub fn held(&self) -> u64 {
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        let guarded = guarded_bytes(bytes).unwrap_or(usize::MAX) as u64;
        if bytes == 0 {
            0
        } else {
            guarded.saturating_add(self.bytes)
        }
    }

    /// Refuses the buffer if it takes more than `machine` has free beside the `present` bytes of
    /// earlier scratch buffers, which make room for it. What the machine never has is the kernel's
    /// mistake.
    pub fn check(&self, present: u64, machine: MemoryBytes) -> Result {
        let AskedScratch { entry, line, bytes } = self;
        let held = self.held();
        let asks = |has: String, remedy: &str| {
            let takes = in_words(held);
            format!(
                "the launch list of {entry} asks for {bytes} bytes of scratch, which take {takes} on the cpu device, and this \
                 machine has {has}: {remedy}"
            )
        };
        if held > machine.all {
            let text = asks(in_words(machine.all), "lower launches.scratch_bytes");
            return Err(Stop::Crash(at_line(*line, &text)));
        }
        if held > machine.free.saturating_add(present) {
            let has = in_words(machine.free) + " free now";
            return Err(Stop::Lab(asks(
                has,
                "end other programs, or lower launches.scratch_bytes",
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GIB: u64 = 1 << 30;

    fn check(bytes: u64, present: u64) -> Result {
        AskedScratch {
            entry: "sums",
            line: 7,
            bytes,
        }
        .check(
            present,
            MemoryBytes {
                all: 16 * GIB,
                free: 6 * GIB,
            },
        )
    }

    #[test]
    fn a_list_without_scratch_and_one_that_fits_are_taken() {
        assert!(check(0, 0).is_ok());
        assert!(check(2 * GIB, 0).is_ok());
        assert!(check(3 * GIB, GIB).is_ok(), "the earlier buffer makes room");
    }

    #[test]
    fn more_than_is_free_is_no_fault_of_the_kernel() {
        let refused = check(3 * GIB, 0).unwrap_err();
        let words = "the launch list of sums asks for 3221225472 bytes of scratch, which take 6.0 GiB on the cpu device, and this \
                     machine has 6.0 GiB free now: end other programs, or lower launches.scratch_bytes";
        assert!(
            matches!(&refused, Stop::Lab(text) if text == words),
            "{refused}"
        );
    }

    #[test]
    fn more_than_there_is_stands_at_the_line_of_the_statement() {
        for bytes in [9 * GIB, u64::MAX] {
            let refused = check(bytes, 0).unwrap_err();
            assert!(
                matches!(&refused, Stop::Crash(text)
                    if text.starts_with("line 7: the launch list of sums asks for")
                        && text.ends_with("this machine has 16.0 GiB: lower launches.scratch_bytes")),
                "{refused}"
            );
        }
    }
}
