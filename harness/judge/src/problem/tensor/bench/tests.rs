//! What a launch finds in the caches, on a device that remembers what was done to it.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::problem::tensor::file;
use crate::testing;
use lab_device::{Arg, DeviceError, DeviceInfo, Driver, Entry, Shape};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PROBLEM: &str = r#"
entry = "twice"
dims = ["n"]
cache = "CACHE"
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
[objective]
samples = "n"
[[workload]]
dims = { n = 100 }
"#;

/// What happened to the device: bytes that were filled, pointers that a launch was given.
#[derive(Debug, PartialEq)]
enum Deed {
    Filled(usize),
    Launched(u64, u64),
}

struct Fake {
    next: u64,
    l2_bytes: u64,
    /// One launch of the statement, which asks for one block, and its place.
    deeds: Arc<Mutex<Vec<Deed>>>,
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo { l2_bytes: self.l2_bytes, ..testing::device() }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        Ok(0)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        Ok(Some(Entry { module, index: u32::from(name.starts_with("lab_launch_")) }))
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
    /// A launch statement of one block of one thread reads as eight ones.
    fn download(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        for word in bytes.chunks_mut(4) {
            word.copy_from_slice(&1u32.to_le_bytes()[..word.len()]);
        }
        Ok(())
    }
    fn fill(&mut self, _: u64, bytes: usize, _: u32) -> Result<(), DeviceError> {
        self.deeds.lock().unwrap().push(Deed::Filled(bytes));
        Ok(())
    }
    fn launch(
        &mut self,
        entry: Entry,
        _: &Shape,
        args: &[Arg],
        _: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        let pointer = |at: usize| u64::from_le_bytes(*args[at].first_chunk().unwrap());
        if entry.index == 0 {
            self.deeds.lock().unwrap().push(Deed::Launched(pointer(0), pointer(1)));
        }
        Ok(1.0)
    }
}

/// Three timed launches with this cache, on a device with an L2 cache of `l2_bytes`.
fn three_launches(cache: &str, l2_bytes: u64) -> Vec<Deed> {
    let spec = Rc::new(file::parse(&PROBLEM.replace("CACHE", cache), None).unwrap());
    let deeds = Arc::new(Mutex::new(Vec::new()));
    let fake = Fake { next: 0, l2_bytes, deeds: deeds.clone() };
    let mut worker = Worker::on_a_thread(move || Ok(Box::new(fake)), Duration::from_secs(60)).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    let sets = [draw(&spec, &spec.cases[0], 1, 0)];
    let scratch = scratch(&spec, &mut worker).unwrap();
    let bench = Bench::set_up(&spec, 0, &mut worker, module, &sets).unwrap();
    let bench = bench.timed(&mut worker, &sets, scratch).unwrap();
    bench.launch(&mut worker, 0, &sets[0], ExecutionOrder::Forward).unwrap();
    deeds.lock().unwrap().clear();
    for _ in 0..3 {
        bench.launch(&mut worker, 0, &sets[0], ExecutionOrder::Forward).unwrap();
    }
    bench.take_down(&mut worker).unwrap();
    std::mem::take(&mut *deeds.lock().unwrap())
}

#[test]
fn a_cold_launch_comes_after_a_flush_and_on_other_memory_than_the_one_before() {
    let deeds = three_launches("cold", 1000);
    // Outputs are poisoned before the flush, which leaves nothing of them in the cache.
    let [
        Deed::Filled(400),
        Deed::Filled(4000),
        Deed::Launched(x1, y1),
        Deed::Filled(400),
        Deed::Filled(4000),
        Deed::Launched(x2, y2),
        Deed::Filled(400),
        Deed::Filled(4000),
        Deed::Launched(x3, y3),
    ] = deeds[..]
    else {
        panic!("{deeds:?}")
    };
    assert!(x1 != x2 && y1 != y2, "{deeds:?}");
    assert_eq!((x1, y1), (x3, y3), "two copies take turns");
}

#[test]
fn a_case_that_sweeps_the_cache_by_itself_has_one_copy() {
    let deeds = three_launches("cold", 100);
    let places: Vec<&Deed> = deeds.iter().filter(|deed| matches!(deed, Deed::Launched(..))).collect();
    assert!(places.len() == 3 && places[0] == places[1] && places[1] == places[2], "{deeds:?}");
    assert!(deeds.contains(&Deed::Filled(400)), "{deeds:?}");
}

#[test]
fn a_warm_launch_is_left_alone() {
    let deeds = three_launches("warm", 1000);
    assert!(!deeds.contains(&Deed::Filled(4000)), "{deeds:?}");
    let places: Vec<&Deed> = deeds.iter().filter(|deed| matches!(deed, Deed::Launched(..))).collect();
    assert!(places.len() == 3 && places[0] == places[1] && places[1] == places[2], "{deeds:?}");
}
