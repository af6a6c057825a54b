//! The loops of a function: each branch back to an earlier instruction ends one.

use super::disassembly::Instruction;
use lab_protocol::profile::{SassLine, SassLoop};

/// Most loops of a profile, and most instructions of one.
const MOST_LOOPS: usize = 32;
const MOST_INSTRUCTIONS: usize = 4096;

/// Returns the loops, the innermost first. A loop has all instructions from the branch's target to
/// the branch.
pub fn of(instructions: &[Instruction]) -> Vec<SassLoop> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for instruction in instructions {
        // A branch to itself is what follows the end of a function.
        let Some(target) = instruction
            .target
            .filter(|target| *target < instruction.address)
        else {
            continue;
        };
        match ranges.iter_mut().find(|(begin, _)| *begin == target) {
            // Several branches to one target are one loop, as `continue` and the loop's end.
            Some((_, end)) => *end = (*end).max(instruction.address),
            None => ranges.push((target, instruction.address)),
        }
    }
    let depth = |(begin, end): (u64, u64)| {
        ranges
            .iter()
            .filter(|(b, e)| *b <= begin && *e >= end)
            .count()
    };
    let mut ordered: Vec<(u64, u64)> = ranges.clone();
    ordered.sort_by_key(|range| (std::cmp::Reverse(depth(*range)), range.1 - range.0, range.0));
    let lines = |(begin, end): (u64, u64)| {
        let inside = instructions
            .iter()
            .filter(move |i| (begin..=end).contains(&i.address));
        let sass = |i: &Instruction| SassLine {
            address: i.address,
            text: i.text.clone(),
            samples: 0,
            stall: None,
        };
        let first = inside.clone().find_map(|instruction| instruction.line);
        SassLoop {
            line: first,
            instructions: inside.take(MOST_INSTRUCTIONS).map(sass).collect(),
        }
    };
    ordered.into_iter().take(MOST_LOOPS).map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::super::disassembly::{
        read,
        tests::{NVDISASM, RECORDED},
    };
    use super::*;

    #[test]
    fn the_loops_of_a_recorded_kernel_are_found_with_their_lines() {
        let loops = of(&read(RECORDED, "rmsnorm_f32"));
        let ranges: Vec<(u64, u64)> = loops
            .iter()
            .filter_map(|l| {
                Some((
                    l.instructions.first()?.address,
                    l.instructions.last()?.address,
                ))
            })
            .collect();
        assert_eq!(ranges.len(), 10);
        assert_eq!(
            ranges[..3],
            [(0x1a0, 0x1f0), (0x870, 0x8c0), (0x13c0, 0x1410)]
        );
        assert!(ranges.contains(&(0x4c0, 0x640)) && loops.iter().all(|l| l.line.is_some()));
    }

    #[test]
    fn the_inner_loop_comes_first_and_a_trap_is_no_loop() {
        let loops = of(&read(NVDISASM, "toy"));
        let addresses: Vec<Vec<u64>> = loops
            .iter()
            .map(|l| l.instructions.iter().map(|i| i.address).collect())
            .collect();
        assert_eq!(addresses, [vec![0x20, 0x30], vec![0x10, 0x20, 0x30, 0x40]]);
        assert_eq!(loops[1].line, Some(97));
    }
}
