//! How many blocks of a kernel fit into one multiprocessor, and what limits them.

use lab_protocol::profile::Occupancy;

/// What one multiprocessor has.
struct Multiprocessor {
    warps: u32,
    blocks: u32,
    shared_bytes: u32,
    /// Shared memory that each block costs beside its own.
    reserved_bytes: u32,
}

/// Registers of every multiprocessor since compute capability 3.5 that the lab builds for.
const REGISTERS: u32 = 65536;
/// A warp gets registers in portions of so many.
const REGISTER_PORTION: u32 = 256;
/// A block gets shared memory in portions of so many bytes.
const SHARED_PORTION: u32 = 128;

/// The multiprocessor of an architecture, as in `sm_90a`. From the table of compute capabilities in
/// NVIDIA's programming guide.
fn of_arch(arch: &str) -> Option<Multiprocessor> {
    let digits: String = arch
        .strip_prefix("sm_")?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let kib = |kib: u32| kib << 10;
    let (warps, blocks, shared_bytes, reserved_bytes) = match digits.parse::<u32>().ok()? {
        70 | 72 => (64, 32, kib(96), 0),
        75 => (32, 16, kib(64), 0),
        80 => (64, 32, kib(164), 1024),
        86 => (48, 16, kib(100), 1024),
        87 => (48, 16, kib(164), 1024),
        89 => (48, 24, kib(100), 1024),
        90 | 100 | 103 => (64, 32, kib(228), 1024),
        120 | 121 => (48, 24, kib(100), 1024),
        _ => return None,
    };
    Some(Multiprocessor {
        warps,
        blocks,
        shared_bytes,
        reserved_bytes,
    })
}

/// What a block of a launch needs.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub threads: u32,
    pub registers: u32,
    /// Static and dynamic together.
    pub shared_bytes: u32,
}

/// Returns how much of a multiprocessor the blocks fill. `None` for an unknown architecture and a
/// block that fits nowhere.
pub fn of(arch: &str, block: Block) -> Option<Occupancy> {
    let whole = of_arch(arch)?;
    let warps = block.threads.div_ceil(32);
    if warps == 0 || warps > whole.warps {
        return None;
    }
    let by_registers = match (block.registers * 32).next_multiple_of(REGISTER_PORTION) {
        0 => u32::MAX,
        // Each of the four schedulers has its own registers.
        of_warp => REGISTERS / 4 / of_warp * 4 / warps,
    };
    let shared = block.shared_bytes + whole.reserved_bytes;
    let by_shared = match shared.next_multiple_of(SHARED_PORTION) {
        0 => u32::MAX,
        of_block => whole.shared_bytes / of_block,
    };
    // Where two limits are equal, the one that the author can move comes first.
    let limits = [
        ("registers", by_registers),
        ("shared memory", by_shared),
        ("warps", whole.warps / warps),
        ("blocks", whole.blocks),
    ];
    let (limiter, blocks) = limits.into_iter().min_by_key(|(_, blocks)| *blocks)?;
    let percent = 100.0 * f64::from(blocks * warps) / f64::from(whole.warps);
    (blocks > 0).then(|| Occupancy {
        percent,
        limiter: limiter.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        arch: &str,
        threads: u32,
        registers: u32,
        shared_bytes: u32,
        expected: Option<(f64, &str)>,
    ) {
        let found = of(
            arch,
            Block {
                threads,
                registers,
                shared_bytes,
            },
        );
        let found = found.as_ref().map(|o| (o.percent, o.limiter.as_str()));
        assert_eq!(
            found, expected,
            "{arch} {threads} {registers} {shared_bytes}"
        );
    }

    #[test]
    fn the_scarcest_resource_limits_the_blocks() {
        // wavegru on an H200: ncu says 12.5 %, one block by registers.
        check("sm_90a", 256, 242, 39968, Some((12.5, "registers")));
        check("sm_90", 256, 32, 0, Some((100.0, "registers")));
        check("sm_90", 1024, 24, 120_000, Some((50.0, "shared memory")));
        check("sm_90", 32, 16, 0, Some((50.0, "blocks")));
        check("sm_75", 1024, 32, 0, Some((100.0, "warps")));
        check("sm_90", 1024, 255, 0, None);
        check("sm_90", 2048, 16, 300_000, None);
        check("sm_999", 32, 16, 0, None);
    }
}
