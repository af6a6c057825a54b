//! What a timed window does, on a device that records what was done to it.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::outcome::unless_wrong;
use crate::problem::tensor::case_data::{CaseData, CaseSet, draw};
use crate::problem::tensor::file;
use crate::problem::tensor::input_sets::sets;
use crate::testing;
use crate::worker::Cells;
use crate::worker::{SHAPE_BYTES, statement_encoding};
use lab_device::{
    Arg, DeviceError, DeviceInfo, Driver, Entry, Filling, MemoryRange, Replayed, ReplayedWindow,
    Shape, Submission, Window,
};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROBLEM: &str = concat!(
    "entry = \"twice\"\ndims = [\"n\"]\ncache = \"CACHE\"\n",
    include_str!("../../../../tests/one_to_one.toml"),
    "[objective]\nsamples = \"n\"\n[[workload]]\ndims = { n = 100 }\n"
);

/// What happened to the device: a module was loaded, so many bytes were filled, one launch or
/// several in a graph ran with these two pointers, memory was read from this address.
#[derive(Clone, Debug, PartialEq)]
enum DeviceCall {
    Loaded,
    Filled(usize),
    Launched(u64, u64),
    Replayed(Vec<(u64, u64)>),
    Read(u64),
}

/// What each launch of a window takes.
const LAUNCH_SECONDS: f64 = 4e-6;

struct Fake {
    next: u64,
    l2_bytes: u64,
    /// What happened, in order.
    calls: Calls,
    /// The address at which memory reads as twos.
    wrong: Arc<Mutex<Option<u64>>>,
    /// Whether single launches crash.
    crashes: Arc<AtomicBool>,
}

type Calls = Arc<Mutex<Vec<DeviceCall>>>;

impl Fake {
    fn note(&self, call: DeviceCall) {
        self.calls.lock().unwrap().push(call);
    }
}

fn pointers(args: &[Arg]) -> (u64, u64) {
    let pointer = |at: usize| u64::from_le_bytes(*args[at].first_chunk().unwrap());
    (pointer(0), pointer(1))
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            l2_bytes: self.l2_bytes,
            ..testing::device()
        }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        self.note(DeviceCall::Loaded);
        Ok(0)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let index = u32::from(name.starts_with("lab_launch_"));
        Ok((!name.starts_with("lab_launches_")).then_some(Entry { module, index }))
    }
    fn blocks_per_sm(&mut self, _: Entry, _: u32, _: u32) -> Result<u32, DeviceError> {
        Ok(1)
    }
    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let address = self.next;
        self.next += bytes as u64;
        Ok(address)
    }
    fn free(&mut self, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn upload(&mut self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    /// Reads as ones, and where a launch statement writes, as one of one block with one thread.
    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        if bytes.len() == SHAPE_BYTES {
            bytes.copy_from_slice(&statement_encoding::shape([1, 1, 1, 1, 1, 1, 0, 0], "", 0));
            return Ok(());
        }
        self.note(DeviceCall::Read(address));
        let value = if *self.wrong.lock().unwrap() == Some(address) {
            2
        } else {
            1
        };
        for word in bytes.chunks_mut(4) {
            word.copy_from_slice(&[value, 0, 0, 0][..word.len()]);
        }
        Ok(())
    }
    fn fill(&mut self, to: MemoryRange, _: u32, _: Filling) -> Result<(), DeviceError> {
        self.note(DeviceCall::Filled(to.bytes));
        Ok(())
    }
    fn digests(&mut self, ranges: &[MemoryRange], _: u64) -> Result<Option<Vec<u64>>, DeviceError> {
        let wrong = *self.wrong.lock().unwrap();
        let of = |range: &MemoryRange| {
            self.note(DeviceCall::Read(range.address));
            if wrong == Some(range.address) { 2 } else { 1 }
        };
        Ok(Some(ranges.iter().map(of).collect()))
    }
    fn launch(
        &mut self,
        entry: Entry,
        _: &Shape,
        _: &[Arg],
        _: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        assert_eq!(entry.index, 1, "only the launch statement");
        Ok(0.0)
    }
    fn has_graphs(&self) -> bool {
        true
    }
    fn replay(&mut self, windows: &[Window], submission: Submission, key: u64) -> Replayed {
        let is_single = submission == Submission::Plain;
        let run = |window: &Window| {
            for (memory, _) in &window.fills {
                self.note(DeviceCall::Filled(memory.bytes));
            }
            self.digests(&window.read, key).unwrap();
            if let Some((memory, _)) = window.flush {
                self.note(DeviceCall::Filled(memory.bytes));
            }
            let launches = window.steps.iter().map(|step| pointers(&step.args));
            let launches: Vec<(u64, u64)> = launches.collect();
            let each = if is_single { 1.0 } else { LAUNCH_SECONDS };
            let seconds = Some(each * launches.len() as f64);
            self.note(match is_single {
                true => DeviceCall::Launched(launches[0].0, launches[0].1),
                false => DeviceCall::Replayed(launches),
            });
            ReplayedWindow {
                seconds,
                digests: self.digests(&window.digested, key).unwrap(),
            }
        };
        let windows: Vec<ReplayedWindow> = windows.iter().map(run).collect();
        if is_single && self.crashes.load(Ordering::Relaxed) {
            return Replayed {
                windows: Vec::new(),
                failure: Some(DeviceError::Kernel("an illegal address".into())),
            };
        }
        Replayed {
            windows,
            failure: None,
        }
    }
}

struct World {
    timing: TensorTiming,
    worker: Worker,
    calls: Calls,
    wrong: Arc<Mutex<Option<u64>>>,
    crashes: Arc<AtomicBool>,
}

/// A timed case of 100 numbers with this cache setting, on a device with an L2 cache of 1000 bytes.
fn world(cache: &str) -> World {
    let spec = Rc::new(
        file::parse(
            Path::new("problem.toml"),
            &PROBLEM.replace("CACHE", cache),
            None,
        )
        .unwrap(),
    );
    let (calls, wrong) = (Calls::default(), Arc::new(Mutex::new(None)));
    let crashes = Arc::new(AtomicBool::new(false));
    let fake = Fake {
        next: 0,
        l2_bytes: 1000,
        calls: calls.clone(),
        wrong: wrong.clone(),
        crashes: crashes.clone(),
    };
    let mut worker =
        Worker::on_a_thread(move || Ok(Box::new(fake)), Duration::from_secs(60)).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    let case = &spec.cases[0];
    let sets = (0..sets(case, worker.info())).map(|set| CaseSet {
        inputs: draw(case, 1, set, None, Vec::new()).unwrap(),
        expected: vec![None, Some(Cells::Host([1u8, 0, 0, 0].repeat(100)))],
        ..CaseSet::default()
    });
    let drawn = Rc::new(vec![CaseData::new(case, sets.collect())]);
    let resident = Rc::new(Resident::set_up(&spec, &drawn, &mut worker, (7, None)).unwrap());
    let accepted = [AcceptedOutputs::default(), AcceptedOutputs::default()];
    let place = WorkerRole::Verified;
    let timing = TensorTiming::new(resident, module, accepted, place, 5);
    World {
        timing,
        worker,
        calls,
        wrong,
        crashes,
    }
}

impl World {
    /// What a turn does to the device, and its seconds.
    fn turn(&mut self, inputs: u64) -> (Vec<DeviceCall>, Option<Vec<f64>>) {
        self.calls.lock().unwrap().clear();
        let out = &mut Writer::new(io::sink());
        let seconds = unless_wrong(self.timing.turn(&mut self.worker, inputs, None, out)).unwrap();
        (std::mem::take(&mut *self.calls.lock().unwrap()), seconds)
    }

    fn replayed(&mut self, inputs: u64) -> Vec<(u64, u64)> {
        let found = self.turn(inputs).0.into_iter().find_map(|call| match call {
            DeviceCall::Replayed(launches) => Some(launches),
            _ => None,
        });
        found.unwrap()
    }
}

#[test]
fn a_cold_window_is_poisoned_flushed_replayed_and_read() {
    let mut world = world("cold");
    world.turn(1);
    let (calls, seconds) = world.turn(2);
    assert_eq!(
        seconds,
        Some(vec![LAUNCH_SECONDS]),
        "the time of one launch of the window"
    );
    assert_eq!(calls[0], DeviceCall::Loaded, "globals are as in the image");
    let at = calls
        .iter()
        .position(|call| matches!(call, DeviceCall::Replayed(_)))
        .unwrap();
    let DeviceCall::Replayed(launches) = &calls[at] else {
        unreachable!()
    };
    assert_eq!(
        calls[at - 1],
        DeviceCall::Filled(4000),
        "the flush removes the poison from the cache too"
    );
    let poisoned = calls[..at]
        .iter()
        .filter(|call| **call == DeviceCall::Filled(400))
        .count();
    assert_eq!(poisoned, launches.len());
    let buffers: BTreeSet<u64> = launches.iter().flat_map(|(x, y)| [*x, *y]).collect();
    assert_eq!(
        buffers.len(),
        2 * launches.len(),
        "no launch shares a buffer: {launches:?}"
    );
    let next = calls[at + 1..]
        .iter()
        .position(|call| !matches!(call, DeviceCall::Read(_)))
        .unwrap();
    for (_, output) in launches {
        assert!(
            calls[at + 1..][..next].contains(&DeviceCall::Read(*output)),
            "{calls:?}"
        );
    }
}

#[test]
fn a_warm_window_finds_its_inputs_in_the_cache() {
    let mut world = world("warm");
    let (calls, _) = world.turn(1);
    assert!(!calls.contains(&DeviceCall::Filled(4000)), "{calls:?}");
    let at = calls
        .iter()
        .position(|call| matches!(call, DeviceCall::Replayed(_)))
        .unwrap();
    let DeviceCall::Replayed(launches) = &calls[at] else {
        unreachable!()
    };
    // After the poison, so that nothing takes their place.
    let poisoned = calls[..at]
        .iter()
        .rposition(|call| matches!(call, DeviceCall::Filled(_)))
        .unwrap();
    for (input, _) in launches {
        assert!(
            calls[poisoned..at].contains(&DeviceCall::Read(*input)),
            "{calls:?}"
        );
    }
}

#[test]
fn both_kernels_of_a_pair_get_the_same_launches_and_other_pairs_get_others() {
    let mut world = world("cold");
    // After its first turn it is known how many launches make a window long enough.
    world.turn(0);
    let first = world.replayed(1);
    assert!(first.len() as f64 * LAUNCH_SECONDS > 70e-6);
    assert_eq!(world.replayed(1), first);
    let others: Vec<_> = (2..12).map(|inputs| world.replayed(inputs)).collect();
    assert!(
        others.iter().all(|other| *other != first),
        "the order varies"
    );
    let counts: BTreeSet<usize> = others.iter().map(Vec::len).collect();
    assert!(
        counts.len() > 1,
        "the number of launches varies: {counts:?}"
    );
}

#[test]
fn a_turn_makes_no_more_launches_than_are_left() {
    let mut world = world("cold");
    let mut left = [40];
    let mut made = Vec::new();
    while left[0] > 0 {
        let (before, out) = (left[0], &mut Writer::new(io::sink()));
        let turn = world
            .timing
            .turn(&mut world.worker, 1, Some(&mut left), out);
        assert_eq!(turn.unwrap(), [LAUNCH_SECONDS]);
        made.push(before - left[0]);
    }
    assert!(made.len() < 5, "windows of several launches: {made:?}");
    let replayed = std::mem::take(&mut *world.calls.lock().unwrap());
    let replayed = replayed.iter().filter_map(|call| match call {
        DeviceCall::Replayed(launches) => Some(launches.len()),
        _ => None,
    });
    assert_eq!(replayed.collect::<Vec<_>>(), made);
    let out = &mut Writer::new(io::sink());
    let none = world
        .timing
        .turn(&mut world.worker, 2, Some(&mut left), out);
    assert!(none.unwrap()[0].is_nan(), "no window");
}

#[test]
fn a_wrong_result_of_a_late_turn_is_found() {
    let mut world = world("cold");
    for inputs in 1..20 {
        assert!(world.turn(inputs).1.is_some());
    }
    let (_, output) = world.replayed(20)[0];
    *world.wrong.lock().unwrap() = Some(output);
    assert_eq!(world.turn(20).1, None);
}

#[test]
fn an_input_or_a_guard_zone_that_changed_is_found_in_the_same_turn() {
    for (what, spoiled) in [
        ("an input", |(input, _)| input),
        ("behind an output", |(_, output)| output + 400),
    ] as [(_, fn(_) -> _); 2]
    {
        let mut world = world("cold");
        assert!(world.turn(1).1.is_some());
        let launches = world.replayed(2);
        *world.wrong.lock().unwrap() = Some(spoiled(launches[0]));
        assert_eq!(world.turn(2).1, None, "{what}");
    }
}

#[test]
fn single_launches_are_timed_in_the_first_turns_only() {
    let mut world = world("cold");
    let singles = |calls: &[DeviceCall]| {
        calls
            .iter()
            .any(|call| matches!(call, DeviceCall::Launched(..)))
    };
    let turns: Vec<bool> = (0..2 * LATENCY_TURNS as u64)
        .map(|inputs| singles(&world.turn(inputs).0))
        .collect();
    assert!(turns[..LATENCY_TURNS].iter().all(|single| *single));
    assert!(turns[LATENCY_TURNS..].iter().all(|single| !single));
    assert_eq!(world.timing.latency(0), Some(1.0));
}

#[test]
fn a_crash_of_a_single_launch_says_which_workload_it_was() {
    let mut world = world("cold");
    world.crashes.store(true, Ordering::Relaxed);
    let written = lab_protocol::report::Log::default();
    let turn = world
        .timing
        .turn(&mut world.worker, 1, None, &mut written.writer());
    assert!(matches!(turn, Err(Stop::Crash(_))), "{turn:?}");
    assert!(
        written
            .text()
            .contains("workload: n=100 correctness=crash\n"),
        "{}",
        written.text()
    );
}
