//! What a launch finds in the caches, on a device that records what was done to it.
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

/// What happened to the device: a fill of so many bytes, or a launch with these two pointers.
#[derive(Debug, PartialEq)]
enum DeviceCall {
    Filled(usize),
    Launched(u64, u64),
}

struct Fake {
    next: u64,
    l2_bytes: u64,
    /// What happened, in order.
    calls: Arc<Mutex<Vec<DeviceCall>>>,
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
    /// Reads as eight ones, which is a launch statement of one block with one thread.
    fn download(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        for word in bytes.chunks_mut(4) {
            word.copy_from_slice(&1u32.to_le_bytes()[..word.len()]);
        }
        Ok(())
    }
    fn fill(&mut self, _: u64, bytes: usize, _: u32) -> Result<(), DeviceError> {
        self.calls.lock().unwrap().push(DeviceCall::Filled(bytes));
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
            self.calls.lock().unwrap().push(DeviceCall::Launched(pointer(0), pointer(1)));
        }
        Ok(1.0)
    }
}

/// What happens in three timed launches with this cache setting, on a device with an L2 cache of `l2_bytes`.
fn three_launches(cache: &str, l2_bytes: u64) -> Vec<DeviceCall> {
    let spec = Rc::new(file::parse(&PROBLEM.replace("CACHE", cache), None).unwrap());
    let calls = Arc::new(Mutex::new(Vec::new()));
    let fake = Fake { next: 0, l2_bytes, calls: calls.clone() };
    let mut worker = Worker::on_a_thread(move || Ok(Box::new(fake)), Duration::from_secs(60)).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    let sets = [draw(&spec, &spec.cases[0], 1, 0)];
    let scratch = scratch(&spec, &mut worker).unwrap();
    let launcher = CaseLauncher::set_up(&spec, 0, &mut worker, module, &sets).unwrap();
    let launcher = launcher.timed(&mut worker, &sets, scratch).unwrap();
    launcher.launch(&mut worker, 0, &sets[0], ExecutionOrder::Forward).unwrap();
    calls.lock().unwrap().clear();
    for _ in 0..3 {
        launcher.launch(&mut worker, 0, &sets[0], ExecutionOrder::Forward).unwrap();
    }
    launcher.take_down(&mut worker).unwrap();
    std::mem::take(&mut *calls.lock().unwrap())
}

#[test]
fn a_cold_launch_comes_after_a_flush_and_on_other_memory_than_the_one_before() {
    let calls = three_launches("cold", 1000);
    // Outputs are poisoned before the flush, which then removes them from the cache.
    let [
        DeviceCall::Filled(400),
        DeviceCall::Filled(4000),
        DeviceCall::Launched(x1, y1),
        DeviceCall::Filled(400),
        DeviceCall::Filled(4000),
        DeviceCall::Launched(x2, y2),
        DeviceCall::Filled(400),
        DeviceCall::Filled(4000),
        DeviceCall::Launched(x3, y3),
    ] = calls[..]
    else {
        panic!("{calls:?}")
    };
    assert!(x1 != x2 && y1 != y2, "{calls:?}");
    assert_eq!((x1, y1), (x3, y3), "two copies take turns");
}

#[test]
fn a_case_that_sweeps_the_cache_by_itself_has_one_copy() {
    let calls = three_launches("cold", 100);
    let places: Vec<&DeviceCall> =
        calls.iter().filter(|call| matches!(call, DeviceCall::Launched(..))).collect();
    assert!(places.len() == 3 && places[0] == places[1] && places[1] == places[2], "{calls:?}");
    assert!(calls.contains(&DeviceCall::Filled(400)), "{calls:?}");
}

#[test]
fn a_warm_launch_is_left_alone() {
    let calls = three_launches("warm", 1000);
    assert!(!calls.contains(&DeviceCall::Filled(4000)), "{calls:?}");
    let places: Vec<&DeviceCall> =
        calls.iter().filter(|call| matches!(call, DeviceCall::Launched(..))).collect();
    assert!(places.len() == 3 && places[0] == places[1] && places[1] == places[2], "{calls:?}");
}
