//! The findings of the cpu device's race detector, and what it looked at.

use super::{SourceLine, ToolFinding, read_if_there, symbolize, unreadable};
use crate::outcome::{OrLab, Result};
use crate::problem::Watched;
use lab_device::cpu::{
    BarrierScope, Executed, MemorySpace, OutsideRead, Race, RaceKind, RaceLogLine, RacingAccess,
};
use lab_device::triple;
use std::collections::HashSet;
use std::path::Path;

/// What the detector wrote.
#[derive(Default)]
struct RaceLog {
    races: Vec<Race>,
    outside: Vec<OutsideRead>,
    executed: Executed,
}

/// Reads a log. Without a file it is empty.
fn read_log(log: &Path) -> Result<RaceLog> {
    let bytes = read_if_there(log)?;
    let mut all = RaceLog::default();
    for line in String::from_utf8_lossy(&bytes).lines() {
        let read = serde_json::from_str(line);
        match read.or_lab(|| format!("the race detector's {}", unreadable(log)))? {
            RaceLogLine::Race(race) => all.races.push(race),
            RaceLogLine::Outside(read) => all.outside.push(read),
            RaceLogLine::Executed(Executed { watched, unwatched }) => {
                all.executed.watched.extend(watched);
                all.executed.unwatched.extend(unwatched);
            }
        }
    }
    Ok(all)
}

/// What the launches of a log executed.
pub fn executed(log: &Path) -> Result<Executed> {
    read_log(log).map(|all| all.executed)
}

/// Reads the reads outside of tensors, one for each line and tensor.
pub fn outside(log: &Path, image: &Path, problem: &Watched) -> Result<Vec<ToolFinding>> {
    let mut reads = read_log(log)?.outside;
    reads.sort_by_key(|outside| (outside.read.block, outside.read.thread));
    let places = symbolize::resolve(image, reads.iter().map(|outside| call(&outside.read)))?;
    let mut shown = HashSet::new();
    let findings = reads.iter().filter_map(
        |OutsideRead {
             read,
             buffer,
             offset,
         }| {
            let place = places.get(&call(read));
            let what = problem.describe_outside(buffer, *offset)?;
            let (thread, block) = (triple(read.thread), triple(read.block));
            shown.insert((place, buffer)).then(|| ToolFinding {
                place: place.cloned(),
                what: format!("thread {thread} of block {block} reads {what}"),
            })
        },
    );
    Ok(findings.collect())
}

/// Reads the races of a log.
pub fn read(log: &Path, image: &Path) -> Result<Vec<ToolFinding>> {
    let mut races = read_log(log)?.races;
    // If two lines race in several ways, the way that needs the widest barrier is shown.
    races.sort_by_key(|race| std::cmp::Reverse(BarrierScope::of(&race.accesses)));
    let addresses = races.iter().flat_map(|r| &r.accesses).map(call);
    let places = symbolize::resolve(image, addresses)?;
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
        MemorySpace::Local => "local memory",
    };
    let does = |access: &RacingAccess| if access.writes { "writes" } else { "reads" };
    let who = format!(
        "thread {} of block {} {} {memory}",
        triple(one.thread),
        triple(one.block),
        does(one)
    );
    if race.kind == RaceKind::Local {
        return format!(
            "{who} of another thread: on a GPU the address is one of its own local memory"
        );
    }
    let same_block = one.block == other.block;
    let whom = if same_block {
        format!("thread {}", triple(other.thread))
    } else {
        format!(
            "thread {} of block {}",
            triple(other.thread),
            triple(other.block)
        )
    };
    let place = match (there, here) {
        (Some(there), Some(here)) if there == here => " at the same line".to_owned(),
        (Some(there), Some(here)) if there.file == here.file => format!(" at line {}", there.line),
        (Some(there), _) => format!(" at {}:{}", there.file, there.line),
        (None, _) => String::new(),
    };
    let lacks = match (race.kind, BarrierScope::of(&race.accesses)) {
        (RaceKind::BlockScope, _) => "the atomics of one of them hold within its block only",
        (RaceKind::LostUpdate, _) => {
            "one stores what it made of a value that it loaded before, and may undo what the other stored"
        }
        (RaceKind::ReadOnly, _) => "__ldg is for memory that no thread of the launch stores to",
        (_, BarrierScope::Warp) => "no __syncwarp() or __syncthreads() lies between",
        (_, BarrierScope::Block) => "no __syncthreads() lies between",
        (_, BarrierScope::Grid) => "no grid-wide barrier lies between",
    };
    format!("{who} that {whom} {}{place}: {lacks}", does(other))
}
