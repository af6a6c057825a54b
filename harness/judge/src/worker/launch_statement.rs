//! The launch statement of a kernel, `LAB_LAUNCH(entry) { … }`: what it returns, and which shapes are refused.

use lab_device::Shape;

/// Bytes of `LabShape` in lab.h: grid (3 words), block (3 words), shared_bytes, cooperative.
pub const SHAPE_BYTES: usize = 8 * 4;

/// CUDA's limit for the threads of a block.
const MAX_THREADS: u64 = 1024;
/// CUDA's limit for the threads of a block in z.
const MAX_BLOCK_Z: u32 = 64;
/// CUDA's limit for the blocks of a grid in y and in z.
const MAX_GRID_YZ: u32 = 65_535;

/// Reads a `LabShape`.
pub fn read(bytes: &[u8; SHAPE_BYTES]) -> Shape {
    let (words, _) = bytes.as_chunks::<4>();
    let word = |i: usize| words.get(i).map_or(0, |w| u32::from_le_bytes(*w));
    Shape {
        grid: [word(0), word(1), word(2)],
        block: [word(3), word(4), word(5)],
        shared_bytes: word(6),
        cooperative: word(7) != 0,
    }
}

/// The threads of a block; saturates instead of overflowing.
pub fn threads(shape: &Shape) -> u64 {
    shape.block.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
}

/// The blocks of a grid; saturates instead of overflowing.
pub fn blocks(shape: &Shape) -> u64 {
    shape.grid.iter().map(|n| u64::from(*n)).fold(1, u64::saturating_mul)
}

/// Why no device launches this shape, as the end of a sentence that begins with `asks for`; `None` if it is allowed.
/// `max_shared_bytes` is the device's limit for the dynamic shared memory of a block.
pub fn refusal(shape: &Shape, max_shared_bytes: u32) -> Option<String> {
    let by = |e: [u32; 3]| format!("{}x{}x{}", e[0], e[1], e[2]);
    let threads = threads(shape);
    if shape.grid.contains(&0) || shape.block.contains(&0) {
        let (grid, block) = (by(shape.grid), by(shape.block));
        return Some(format!("a grid of {grid} blocks of {block} threads: no extent may be 0"));
    }
    if threads > MAX_THREADS || shape.block[2] > MAX_BLOCK_Z {
        return Some(format!(
            "blocks of {} = {threads} threads: at most {MAX_THREADS}, and {MAX_BLOCK_Z} in z",
            by(shape.block)
        ));
    }
    if shape.grid[0] > i32::MAX as u32 || shape.grid[1] > MAX_GRID_YZ || shape.grid[2] > MAX_GRID_YZ {
        return Some(format!(
            "a grid of {} blocks: at most {} in x, {MAX_GRID_YZ} in y and z",
            by(shape.grid),
            i32::MAX
        ));
    }
    (shape.shared_bytes > max_shared_bytes).then(|| {
        format!(
            "{} bytes of dynamic shared memory; this device gives a block at most {max_shared_bytes}",
            shape.shared_bytes
        )
    })
}
