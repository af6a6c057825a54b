//! The findings of the cpu device's race detector.

use super::{SourceLine, ToolFinding, read_if_there, symbolize};
use crate::outcome::Stop;
use lab_device::cpu::{BarrierScope, MemorySpace, Race, RacingAccess};
use std::collections::HashSet;
use std::path::Path;

/// Reads a line of JSON for each race. Without a file there is no race.
pub fn read(log: &Path, image: &Path) -> Result<Vec<ToolFinding>, Stop> {
    let bytes = read_if_there(log)?;
    let text = String::from_utf8_lossy(&bytes);
    let races: Result<Vec<Race>, _> = text.lines().map(serde_json::from_str).collect();
    let mut races = races.map_err(|e| {
        Stop::Lab(format!(
            "the race detector's findings in {} cannot be read: {e}",
            log.display()
        ))
    })?;
    // If two lines race in several ways, the way that needs the widest barrier is shown.
    races.sort_by_key(|race| std::cmp::Reverse(BarrierScope::of(&race.accesses)));
    let mut addresses: Vec<u64> = races.iter().flat_map(|r| &r.accesses).map(call).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let places = symbolize::resolve(image, &addresses)?;
    let mut shown = HashSet::new();
    let findings = races.iter().map(|race| {
        let [first, second] = &race.accesses;
        let sides = [
            (first, places.get(&call(first))),
            (second, places.get(&call(second))),
        ];
        // The race is shown at the later line, because the barrier is missing before it.
        if sides[0].1 > sides[1].1 {
            [sides[1], sides[0]]
        } else {
            sides
        }
    });
    // A race of two lines is shown once, however many instructions and launches it happens in.
    let new = findings
        .zip(&races)
        .filter(|([(_, earlier), (_, later)], _)| {
            shown.insert((*earlier, *later)) || later.is_none()
        });
    Ok(new
        .map(|([earlier, later], race)| ToolFinding {
            place: later.1.cloned(),
            what: describe(race, earlier, later),
        })
        .collect())
}

/// The call instruction, from its return address.
fn call(access: &RacingAccess) -> u64 {
    access.pc.saturating_sub(1)
}

type Side<'a> = (&'a RacingAccess, Option<&'a SourceLine>);

/// Describes a race, as in
/// `thread (5,0,0) of block (0,0,0) reads shared memory that thread (3,0,0) writes at line 12: no __syncthreads() lies between`.
fn describe(race: &Race, (other, there): Side, (one, here): Side) -> String {
    let memory = match race.memory {
        MemorySpace::Shared => "shared memory",
        MemorySpace::Global => "global memory",
    };
    let does = |access: &RacingAccess| if access.writes { "writes" } else { "reads" };
    let same_block = one.block == other.block;
    let whom = match same_block {
        true => format!("thread {}", triple(other.thread)),
        false => format!(
            "thread {} of block {}",
            triple(other.thread),
            triple(other.block)
        ),
    };
    let place = match (there, here) {
        (Some(there), Some(here)) if there == here => " at the same line".to_owned(),
        (Some(there), Some(here)) if there.file == here.file => format!(" at line {}", there.line),
        (Some(there), _) => format!(" at {}:{}", there.file, there.line),
        (None, _) => String::new(),
    };
    let lacks = match BarrierScope::of(&race.accesses) {
        BarrierScope::Warp => "no __syncwarp() or __syncthreads() lies between",
        BarrierScope::Block => "no __syncthreads() lies between",
        BarrierScope::Grid => "no grid-wide barrier lies between",
    };
    format!(
        "thread {} of block {} {} {memory} that {whom} {}{place}: {lacks}",
        triple(one.thread),
        triple(one.block),
        does(one),
        does(other)
    )
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x},{y},{z})")
}
