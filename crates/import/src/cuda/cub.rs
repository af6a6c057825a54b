//! The headers of CUB's classes. NVRTC refuses `cub/cub.cuh`, which includes all of CUB.

use lab_source::cpp::words;
use std::collections::BTreeSet;

/// The header that includes all others.
pub const WHOLE: &str = "cub/cub.cuh";

/// What the primitives of a block and of a warp are called behind `Block` and `Warp`.
const BLOCK: [&str; 13] = [
    "AdjacentDifference",
    "Discontinuity",
    "Exchange",
    "Histogram",
    "Load",
    "MergeSort",
    "RadixRank",
    "RadixSort",
    "Reduce",
    "RunLengthDecode",
    "Scan",
    "Shuffle",
    "Store",
];
const WARP: [&str; 6] = ["Exchange", "Load", "MergeSort", "Reduce", "Scan", "Store"];

/// Other names in the namespace, by their header.
const OTHERS: [(&str, &[&str]); 5] = [
    (
        "cub/thread/thread_operators.cuh",
        &[
            "Sum",
            "Max",
            "Min",
            "ArgMax",
            "ArgMin",
            "Equality",
            "Inequality",
        ],
    ),
    ("cub/thread/thread_reduce.cuh", &["ThreadReduce"]),
    ("cub/thread/thread_load.cuh", &["ThreadLoad"]),
    (
        "cub/util_ptx.cuh",
        &[
            "LaneId",
            "WarpId",
            "ShuffleDown",
            "ShuffleUp",
            "ShuffleIndex",
        ],
    ),
    ("cub/util_type.cuh", &["KeyValuePair", "Uninitialized"]),
];

/// The headers of the classes of CUB that a code uses.
pub fn headers(code: &str) -> Vec<String> {
    let used: BTreeSet<&str> = words(code).into_iter().collect();
    let of_group = |group: &str, names: &[&str]| {
        let lower = group.to_lowercase();
        let is_used = |name: &&&str| {
            let class = format!("{group}{name}");
            used.contains(class.as_str()) || used.contains(format!("{class}Algorithm").as_str())
        };
        let found = names.iter().filter(is_used);
        let header = |name: &&str| format!("cub/{lower}/{lower}{}.cuh", snake(name));
        found.map(header).collect::<Vec<String>>()
    };
    let others = OTHERS.iter().filter(|(_, names)| {
        let mut names = names.iter();
        names.any(|name| used.contains(name) && code.contains(&format!("cub::{name}")))
    });
    let others = others.map(|(header, _)| (*header).to_owned());
    let mut all = of_group("Block", &BLOCK);
    all.extend(of_group("Warp", &WARP));
    all.extend(others);
    all
}

/// `RadixSort` as `_radix_sort`.
fn snake(name: &str) -> String {
    let letter = |letter: char| match letter.is_uppercase() {
        true => format!("_{}", letter.to_lowercase()),
        false => letter.to_string(),
    };
    name.chars().map(letter).collect()
}
