//! What a launch is where the host code does not say it.

use super::statement::Statement;

/// A statement where the host code has no launch that can be read: a thread for each cell along the
/// first dimension, or 16 × 16 threads if the kernel counts its blocks in two directions.
pub fn statement(dims: &[String], is_flat: bool) -> Statement {
    let over = |dim: &str, threads: usize| {
        format!("(dims.{dim} + {} ) / {threads}", threads - 1).replace(" )", ")")
    };
    let (first, last) = (dims.first(), dims.last());
    let (grid, block) = match first.zip(last) {
        Some((first, last)) if !is_flat && dims.len() > 1 => (
            vec![over(last, 16), over(first, 16)],
            vec!["16".to_owned(), "16".to_owned()],
        ),
        Some((first, _)) => (vec![over(first, 256)], vec!["256".to_owned()]),
        None => (vec!["1".to_owned()], vec!["256".to_owned()]),
    };
    Statement {
        grid,
        block,
        ..Statement::default()
    }
}

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
    same.map_or(if directions > 1 { 16 } else { 256 }, |(_, value)| *value)
}
