//! How many threads a block has, where only a name says it.

/// The name of the threads of a block whose expression cannot be read.
pub const THREADS: &str = "block_threads";

pub fn sounds_like_threads(name: &str) -> bool {
    let lower = name.to_lowercase();
    ["block_size", "blocksize", "thread", "warp", "tile", "bdim"]
        .iter()
        .any(|part| lower.contains(part))
}

/// Threads where nothing says how many: what the kernel's template has under nearly the same name,
/// else 256 in a block.
pub fn threads(name: &str, directions: usize, known: &[(String, i128)]) -> i128 {
    let plain = |name: &str| name.to_lowercase().replace('_', "");
    let same = known.iter().find(|(known, _)| plain(known) == plain(name));
    let counts = ["block", "blocksize", "blockdim", "threads", "nthreads"];
    let is_any = name == THREADS;
    let of_block = || {
        known
            .iter()
            .find(|(known, _)| counts.contains(&plain(known).as_str()))
    };
    let same = same.or_else(|| of_block().filter(|_| is_any));
    same.map_or(if directions > 1 { 16 } else { 256 }, |(_, value)| *value)
}
