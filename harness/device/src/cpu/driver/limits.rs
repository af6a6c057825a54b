//! The limits of a launch: those of the GPUs that the lab is for (compute capability 9.0).

use super::module::Kernel;
use crate::api::{DeviceError, Result, Shape, triple};
use crate::cpu::shared::LIMIT;
use crate::sandbox::machine_memory;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;

/// Multiprocessors of the device, unless LAB_CPU_SMS sets their number. With fewer, a kernel that
/// starts one block per multiprocessor would hardly use its grid; with more, such a kernel would
/// take longer to emulate.
const SMS: u32 = 16;

/// Threads that one multiprocessor holds at once.
const THREADS_PER_SM: u32 = 2048;
/// Blocks that one multiprocessor holds at once.
const BLOCKS_PER_SM: u32 = 32;
/// Bytes of shared memory of one multiprocessor.
const SHARED_PER_SM: u32 = 228 * 1024;
/// Bytes of shared memory that a launch reserves for each block.
const SHARED_RESERVED: u32 = 1024;

/// Returns the number of multiprocessors. `variable` is the value of LAB_CPU_SMS.
pub fn sms(variable: Option<OsString>) -> Result<u32> {
    let Some(text) = variable else { return Ok(SMS) };
    number(&text, 1..=1024, "LAB_CPU_SMS", "a number from 1 to 1024").map(|sms| sms as u32)
}

/// Returns the bytes of memory of the device: what this process may use of the machine's, or less.
/// `variable` is the value of LAB_CPU_MEMORY_MIB.
pub fn memory(variable: Option<OsString>) -> Result<u64> {
    let all = lab_system::memory::usable().map_or_else(machine_memory, |memory| memory.all);
    let Some(text) = variable else { return Ok(all) };
    let mib = number(
        &text,
        1..=u64::MAX,
        "LAB_CPU_MEMORY_MIB",
        "a number of MiB from 1",
    )?;
    Ok(mib.saturating_mul(1 << 20).min(all))
}

/// Reads the value of an environment variable. `wanted` says what it must be.
fn number(value: &OsStr, allowed: RangeInclusive<u64>, name: &str, wanted: &str) -> Result<u64> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number
        .filter(|number| allowed.contains(number))
        .ok_or_else(|| {
            DeviceError::Unavailable(format!(
                "{name} is '{}', and it must be {wanted}. Correct it or unset it.",
                value.display()
            ))
        })
}

/// Returns how many blocks of this shape one multiprocessor holds at once. Does not count static
/// shared memory, which is known only when a block has used it.
pub fn resident_blocks(threads: u64, shared_bytes: u32) -> u32 {
    if threads == 0 || threads > 1024 || shared_bytes > LIMIT {
        return 0;
    }
    let by_threads = THREADS_PER_SM / (threads as u32).next_multiple_of(32);
    let by_shared = SHARED_PER_SM / (shared_bytes + SHARED_RESERVED);
    by_threads.min(by_shared).min(BLOCKS_PER_SM)
}

/// Fails where the launch is not possible. `resident` is how many blocks of this shape the device
/// holds at once.
pub fn check(kernel: &Kernel, shape: &Shape, resident: u64) -> Result {
    let refuse = |text: String| {
        Err(DeviceError::Kernel(format!(
            "kernel '{}' cannot be launched: {text}",
            kernel.name
        )))
    };
    if !(1..=1024).contains(&shape.threads()) || shape.block[2] > 64 {
        return refuse(format!(
            "a block has 1 to 1024 threads (z at most 64), not {}. Change launch.block.",
            triple(shape.block)
        ));
    }
    let most = kernel.most_threads;
    if most > 0 && shape.threads() > u64::from(most) {
        return refuse(format!(
            "its __launch_bounds__ allows blocks of {most} threads, and launch.block asks for {}. Change one of them.",
            shape.threads()
        ));
    }
    let most = [i32::MAX as u32, 65535, 65535];
    if shape.grid.contains(&0) || shape.grid.iter().zip(most).any(|(n, most)| *n > most) {
        return refuse(format!(
            "a grid has 1 to {} blocks, not {}. Change launch.grid.",
            triple(most),
            triple(shape.grid)
        ));
    }
    if shape.shared_bytes > LIMIT {
        return refuse(format!(
            "a block has {LIMIT} bytes of shared memory at most, not {}. Lower launch.shared_bytes.",
            shape.shared_bytes
        ));
    }
    if shape.has_clusters() {
        return refuse(format!(
            "launch.cluster is {:?}, and the cpu device runs no thread block clusters. Set it under #ifndef LAB_CPU, \
             and let the kernel do without clusters there.",
            shape.cluster
        ));
    }
    let blocks = shape.blocks();
    if shape.cooperative && blocks > resident {
        return refuse(format!(
            "{blocks} blocks cannot be resident at once; a cooperative launch of this shape has {resident} at most. Ask for fewer in launch.grid."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn the_device_has_the_memory_of_the_machine_or_less() {
        let all = memory(None).unwrap();
        assert!(all > 64 << 20, "{all}");
        assert_eq!(
            (
                memory(Some("64".into())),
                memory(Some(u64::MAX.to_string().into()))
            ),
            (Ok(64 << 20), Ok(all))
        );
        for bad in ["", "0", "-1", "much"] {
            let error = memory(Some(bad.into()))
                .map_err(|e| e.to_string())
                .unwrap_err();
            assert!(
                error.starts_with(&format!("LAB_CPU_MEMORY_MIB is '{bad}'")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_number_of_multiprocessors_that_is_no_number_is_an_error() {
        assert_eq!((sms(None), sms(Some("132".into()))), (Ok(SMS), Ok(132)));
        for bad in [
            "".into(),
            "0".into(),
            "1025".into(),
            "many".into(),
            OsString::from_vec(vec![b'8', 0xff]),
        ] {
            let error = sms(Some(bad)).map_err(|e| e.to_string()).unwrap_err();
            assert!(
                error.starts_with("LAB_CPU_SMS is '") && error.contains("from 1 to 1024"),
                "{error}"
            );
        }
    }
}
