//! The rules of a worker, on a device whose kernels are Rust closures.
#![allow(clippy::unwrap_used)]

mod allocating;
mod lab_header;
mod lists;
mod statements;

use super::launch_statement::encoding;
use super::messages::{Opened, WorkerRequest};
use super::*;
use crate::outcome::Stop;
use crate::process::framing;
use crate::testing;
use lab_device::DeviceError;
use lab_device::{
    COMPARE_CHUNK_BYTES, DeviceInfo, Entry, FLOAT_POISONS, Filling, MemoryRange, POISON, POISONS,
    SCRATCH_POISONS, Shape,
};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

type Kernel = Box<dyn Fn(&mut Vec<u8>, &[Arg]) -> Result<(), DeviceError> + Send>;

/// One block of memory, addressed from 0, and kernels by name.
#[derive(Default)]
struct Fake {
    memory: Vec<u8>,
    kernels: Vec<(&'static str, Kernel)>,
    /// Whether it computes digests and has pages, as a GPU.
    is_gpu: bool,
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            emulated: true,
            memory_bytes: 1 << 20,
            ..testing::device()
        }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        Ok(7)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let index = self.kernels.iter().position(|(n, _)| *n == name);
        Ok(index.map(|i| Entry {
            module,
            index: i as u32,
        }))
    }
    fn blocks_per_sm(&mut self, _: Entry, _: u32, _: u32) -> Result<u32, DeviceError> {
        Ok(2)
    }
    fn page_bytes(&self) -> usize {
        if self.is_gpu { 2 << 20 } else { 1 }
    }
    fn digests(
        &mut self,
        ranges: &[MemoryRange],
        key: u64,
    ) -> Result<Option<Vec<u64>>, DeviceError> {
        let of = |range: &MemoryRange| {
            let content = &self.memory[range.address as usize..][..range.bytes];
            lab_device::digest(content, range.address, key)
        };
        Ok(self.is_gpu.then(|| ranges.iter().map(of).collect()))
    }
    fn alloc(&mut self, bytes: usize) -> Result<u64, DeviceError> {
        let address = self.memory.len().next_multiple_of(256);
        self.memory.resize(address + bytes, 0);
        Ok(address as u64)
    }
    fn free(&mut self, _: u64) -> Result<(), DeviceError> {
        Ok(())
    }
    fn upload(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.memory[address as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
    fn download(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        bytes.copy_from_slice(&self.memory[address as usize..][..bytes.len()]);
        Ok(())
    }
    fn fill(&mut self, to: MemoryRange, pattern: u32, _: Filling) -> Result<(), DeviceError> {
        let words = pattern.to_le_bytes().repeat(to.bytes.div_ceil(4));
        self.upload(to.address, &words[..to.bytes])
    }
    fn launch(
        &mut self,
        entry: Entry,
        _: &Shape,
        args: &[Arg],
        _: ExecutionOrder,
    ) -> Result<f64, DeviceError> {
        self.kernels[entry.index as usize].1(&mut self.memory, args)?;
        Ok(0.5)
    }
}

fn address(arg: &Arg) -> usize {
    u64::from_le_bytes(arg.as_slice().try_into().unwrap()) as usize
}

/// A launch statement that gives these eight words.
fn statement(words: [u32; 8]) -> Kernel {
    stated(encoding::shape(words, "", 0))
}

/// A launch statement that writes these bytes.
fn stated(bytes: Vec<u8>) -> Kernel {
    Box::new(move |memory, args| {
        memory[address(&args[2])..][..bytes.len()].copy_from_slice(&bytes);
        Ok(())
    })
}

const PLAIN: [u32; 8] = [2, 1, 1, 32, 1, 1, 0, 0];

/// A worker with one kernel `k` and its launch statement.
fn worker_with(words: [u32; 8], kernel: Kernel) -> Worker {
    let limit = Duration::from_secs(10);
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels = vec![("k", kernel), ("lab_launch_k", statement(words))];
        Ok(Box::new(Fake {
            kernels,
            ..Fake::default()
        }))
    };
    Worker::on_a_thread(open, limit).unwrap()
}

/// A worker with kernels `a` and `b`, on a device that computes digests as a GPU does, or on one
/// that does not.
fn worker_of_two(is_gpu: bool, a: Kernel, b: Kernel) -> Worker {
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels = vec![
            ("a", a),
            ("lab_launch_a", statement(PLAIN)),
            ("b", b),
            ("lab_launch_b", statement(PLAIN)),
        ];
        Ok(Box::new(Fake {
            kernels,
            is_gpu,
            ..Fake::default()
        }))
    };
    Worker::on_a_thread(open, Duration::from_secs(10)).unwrap()
}

fn launch(worker: &mut Worker, args: Vec<LaunchArg>) -> Result<f64, Stop> {
    launch_entry(worker, "k", args)
}

fn launch_entry(worker: &mut Worker, entry: &str, args: Vec<LaunchArg>) -> Result<f64, Stop> {
    let module = worker.load(Path::new("image"))?;
    worker.launch(&Launch {
        module,
        entry: entry.into(),
        args,
        dims: vec![1; 4],
        order: ExecutionOrder::Forward,
        parameters: Vec::new(),
        scratch: SCRATCH_NAME.into(),
    })
}

/// Changes the byte at `offset` of the first argument.
fn changes(offset: i64) -> Kernel {
    Box::new(move |memory, args| {
        let at = address(&args[0]) as i64 + offset;
        memory[at as usize] ^= 1;
        Ok(())
    })
}

fn idle() -> Kernel {
    Box::new(|_, _| Ok(()))
}

/// Launches a kernel that changes the byte at `offset` of a 10-byte buffer `x`; what breaches come
/// of it.
fn store_at(is_gpu: bool, offset: i64, sealed: bool) -> Vec<Breach> {
    let mut worker = worker_of_two(is_gpu, changes(offset), idle());
    let x = worker.buffer("x", 10).unwrap();
    worker.write(x, &[3; 10]).unwrap();
    if sealed {
        let content = worker.read(x).unwrap();
        worker.write_input(x, &content).unwrap();
    }
    assert_eq!(
        worker.breaches().unwrap(),
        [],
        "nothing is broken before the launch"
    );
    launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(x)]).unwrap();
    let found = worker.breaches().unwrap();
    assert_eq!(worker.breaches().unwrap(), [], "a breach is reported once");
    found
}

#[test]
fn a_store_outside_a_buffer_is_found_on_both_sides() {
    let (front, back) = (FRONT as i64, BACK as i64);
    for offset in [10, 11, 4000, 8192, 1 << 20, -1, -4096, -8192, -front] {
        for is_gpu in [false, true] {
            let found = store_at(is_gpu, offset, false);
            assert_eq!(
                found,
                [Breach::OutOfBounds {
                    buffer: "x".into(),
                    offset
                }],
                "gpu {is_gpu}"
            );
        }
    }
    for (is_gpu, last) in [(true, (2 << 20) - front - 1), (false, back + 9)] {
        let found = store_at(is_gpu, last, false);
        assert_eq!(
            found,
            [Breach::OutOfBounds {
                buffer: "x".into(),
                offset: last
            }],
            "the last byte"
        );
    }
    assert_eq!(store_at(true, 9, false), [], "a store inside is none");
    assert_eq!(store_at(false, 9, false), [], "a store inside is none");
}

#[test]
fn a_store_into_a_sealed_input_is_found() {
    for is_gpu in [false, true] {
        assert_eq!(
            store_at(is_gpu, 9, true),
            [Breach::InputChanged {
                buffer: "x".into(),
                offset: 9
            }]
        );
    }
}

#[test]
fn a_copy_of_one_guard_zone_into_another_is_a_change() {
    for is_gpu in [false, true] {
        let copy: Kernel = Box::new(|memory, args| {
            let (from, to) = (address(&args[0]) + 16, address(&args[1]) + 16);
            memory.copy_within(from..from + 64, to);
            Ok(())
        });
        let mut worker = worker_of_two(is_gpu, copy, idle());
        let (x, y) = (
            worker.buffer("x", 16).unwrap(),
            worker.buffer("y", 16).unwrap(),
        );
        launch_entry(&mut worker, "a", [x, y].map(LaunchArg::Buffer).to_vec()).unwrap();
        let found = worker.breaches().unwrap();
        assert!(
            matches!(&found[..], [Breach::OutOfBounds { buffer, .. }] if buffer == "y"),
            "{found:?}"
        );
    }
}

/// Stores into a buffer that the launch is not given; what breaches come of it.
fn stray_store(is_gpu: bool, prepare: impl FnOnce(&mut Worker, BufferId)) -> Vec<Breach> {
    // The second buffer's distance from the first one.
    let distance = if is_gpu {
        2 << 20
    } else {
        (FRONT + 20 + BACK).next_multiple_of(64 << 10) + BACK_OF_LAST
    };
    let mut worker = worker_of_two(is_gpu, changes(distance as i64 + 5), idle());
    let (x, y) = (
        worker.buffer("x", 20).unwrap(),
        worker.buffer("y", 20).unwrap(),
    );
    prepare(&mut worker, y);
    launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(x)]).unwrap();
    let found = worker.breaches().unwrap();
    assert_eq!(worker.breaches().unwrap(), [], "a breach is reported once");
    found
}

#[test]
fn a_store_into_a_buffer_that_the_launch_was_not_given_is_found() {
    for is_gpu in [false, true] {
        let at_5 = [Breach::StrayStore {
            buffer: "y".into(),
            offset: Some(5),
        }];
        assert_eq!(stray_store(is_gpu, |_, _| ()), at_5, "a new buffer");
        assert_eq!(
            stray_store(is_gpu, |worker, y| worker.poison(y).unwrap()),
            at_5
        );
        assert_eq!(
            stray_store(is_gpu, |worker, y| worker.clear_all(vec![y]).unwrap()),
            at_5
        );
        let launch_on = |worker: &mut Worker, y| {
            launch_entry(worker, "b", vec![LaunchArg::Buffer(y)]).unwrap();
        };
        let found = stray_store(is_gpu, launch_on);
        let offset = (!is_gpu).then_some(5);
        assert_eq!(
            found,
            [Breach::StrayStore {
                buffer: "y".into(),
                offset
            }],
            "results of a launch"
        );
    }
}

#[test]
fn what_a_launch_leaves_beside_its_buffers_is_gone_after_a_reload_and_still_reported() {
    for is_gpu in [false, true] {
        let remember: Kernel = Box::new(|memory, args| {
            let at = address(&args[0]);
            memory[at] = memory[at + 100];
            memory[at + 100] ^= 1;
            Ok(())
        });
        let mut worker = worker_of_two(is_gpu, remember, idle());
        let x = worker.buffer("x", 4).unwrap();
        let module = worker.load(Path::new("image")).unwrap();
        let mut turn = || {
            worker.reload(module).unwrap();
            launch_entry(&mut worker, "a", vec![LaunchArg::Buffer(x)]).unwrap();
            worker.read(x).unwrap()[0]
        };
        assert_eq!(turn(), turn());
        let breach = Breach::OutOfBounds {
            buffer: "x".into(),
            offset: 100,
        };
        assert_eq!(worker.breaches().unwrap(), [breach.clone(), breach]);
    }
}

#[test]
fn a_change_far_into_a_large_input_is_found_at_its_byte() {
    let changed = [
        2 * COMPARE_CHUNK_BYTES + 5,
        2 * COMPARE_CHUNK_BYTES + 9,
        3 * COMPARE_CHUNK_BYTES,
    ];
    let kernel: Kernel = Box::new(move |memory, args| {
        changed
            .iter()
            .for_each(|at| memory[address(&args[0]) + at] ^= 1);
        Ok(())
    });
    let mut worker = worker_with(PLAIN, kernel);
    let x = worker.buffer("x", 3 * COMPARE_CHUNK_BYTES + 1).unwrap();
    worker
        .write(x, &vec![3; 3 * COMPARE_CHUNK_BYTES + 1])
        .unwrap();
    let content = worker.read(x).unwrap();
    worker.write_input(x, &content).unwrap();
    launch(&mut worker, vec![LaunchArg::Buffer(x)]).unwrap();
    let offset = changed[0] as u64;
    assert_eq!(
        worker.breaches().unwrap(),
        [Breach::InputChanged {
            buffer: "x".into(),
            offset
        }]
    );
    assert_eq!(worker.breaches().unwrap(), [], "all of it is restored");
}

#[test]
fn a_buffer_may_have_patterns_of_its_own() {
    let mut worker = worker_with(PLAIN, Box::new(|_, _| Ok(())));
    let (x, y) = (
        worker.buffer("x", 5).unwrap(),
        worker.buffer("y", 8).unwrap(),
    );
    let own = Dtype::U8.poisons();
    worker.set_poisons(x, own);
    assert_eq!(worker.last_poison(x), None);
    let mut seen = Vec::new();
    for _ in 0..8 {
        worker.poison_all(vec![x, y]).unwrap();
        let pattern = worker.last_poison(x).unwrap();
        assert_eq!(
            worker.read(x).unwrap(),
            pattern.to_le_bytes().repeat(2)[..5]
        );
        assert!(
            worker
                .last_poison(y)
                .is_some_and(|pattern| FLOAT_POISONS.contains(&pattern))
        );
        seen.push(pattern);
    }
    assert_eq!(seen[..4], seen[4..], "the patterns take turns");
    assert!(
        own.iter().all(|pattern| seen.contains(pattern)),
        "{seen:x?}"
    );
    assert_eq!(worker.breaches().unwrap(), []);
}

#[test]
fn a_new_buffer_is_poison_to_its_last_byte_and_becomes_so_again() {
    let mut worker = worker_with(PLAIN, Box::new(|_, _| Ok(())));
    let x = worker.buffer("x", 6).unwrap();
    let poisoned = |pattern: u32| pattern.to_le_bytes().repeat(2)[..6].to_vec();
    assert_eq!(worker.read(x).unwrap(), poisoned(POISON));
    worker.write(x, b"abcdef").unwrap();
    assert_eq!(worker.read(x).unwrap(), b"abcdef");
    let fills = [(); 4].map(|()| {
        worker.poison(x).unwrap();
        worker.read(x).unwrap()
    });
    assert!(POISONS.map(poisoned).contains(&fills[0]), "a NaN first");
    let all = FLOAT_POISONS.map(poisoned);
    assert!(all.iter().all(|filled| fills.contains(filled)), "{fills:?}");
    assert_eq!(worker.breaches().unwrap(), []);
    worker.free(x).unwrap();
    assert!(matches!(worker.write(x, b"abcdef"), Err(Stop::Lab(_))));
}

#[test]
fn poison_is_no_number_in_every_width() {
    for pattern in POISONS {
        assert!(f32::from_bits(pattern).is_nan());
        assert!(half::f16::from_bits(pattern as u16).is_nan());
        assert!(half::bf16::from_bits(pattern as u16).is_nan());
    }
}

#[test]
fn a_write_of_the_wrong_length_is_refused() {
    let mut worker = worker_with(PLAIN, Box::new(|_, _| Ok(())));
    let x = worker.buffer("x", 6).unwrap();
    let error = worker.write(x, b"four").unwrap_err();
    assert_eq!(error.to_string(), "4 bytes for buffer x, which holds 6");
}

#[test]
fn a_kernel_that_faults_or_hangs_is_a_crash() {
    let mut faulty = worker_with(
        PLAIN,
        Box::new(|_, _| Err(DeviceError::Kernel("an illegal address".into()))),
    );
    assert!(
        matches!(launch(&mut faulty, vec![]), Err(Stop::Crash(text)) if text == "an illegal address")
    );

    // Hangs until the judge gives up, which the test sees by the answer.
    let (give_up, gave_up) = std::sync::mpsc::channel::<()>();
    let gave_up = std::sync::Mutex::new(gave_up);
    let hang: Kernel = Box::new(move |_, _| {
        let _ = gave_up.lock().unwrap().recv();
        Ok(())
    });
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels = vec![("k", hang), ("lab_launch_k", statement(PLAIN))];
        Ok(Box::new(Fake {
            kernels,
            ..Fake::default()
        }))
    };
    // The limit of these launches counts, and not the one of all.
    let mut hanging = Worker::on_a_thread(open, Duration::from_secs(60)).unwrap();
    hanging.limit_launches(Some(Duration::from_millis(200)));
    let error = launch(&mut hanging, vec![]).unwrap_err();
    drop(give_up);
    assert!(matches!(error, Stop::Crash(_)));
    assert_eq!(
        error.to_string(),
        "the kernel did not end within 0.2 s: it hangs, or is far too slow"
    );
}

#[test]
fn a_device_that_does_not_open_says_why() {
    let open = || Err(DeviceError::Unavailable("no driver: install one".into()));
    let error = Worker::on_a_thread(open, Duration::from_secs(1))
        .err()
        .unwrap();
    assert!(matches!(error, Stop::Lab(text) if text == "no driver: install one"));
}

/// A worker whose other end is this test: forged answers.
fn forged(answer: impl FnOnce(UnixStream) + Send + 'static) -> Stop {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let forger = std::thread::spawn(move || {
        let mut theirs = theirs;
        framing::receive::<(u64, WorkerRequest)>(&mut theirs, 0).unwrap();
        answer(theirs);
    });
    let error = Worker::on_stream(ours, Duration::from_secs(1))
        .ready()
        .err()
        .unwrap();
    forger.join().unwrap();
    error
}

#[test]
fn forged_answers_are_a_crash_and_no_panic() {
    use std::io::Write;
    let wrong_id = forged(|mut s| {
        let opened = Opened {
            shares_memory: false,
            info: testing::device(),
            has_graphs: false,
            has_statements: true,
            sandbox: None,
        };
        let answer = (99u64, Ok::<_, Stop>(opened));
        framing::send(&mut s, &answer, &[]).unwrap();
    });
    assert!(
        wrong_id
            .to_string()
            .contains("an answer to another request"),
        "{wrong_id}"
    );
    let wrong_kind = forged(|mut s| {
        let answer = (1u64, Ok::<(), Stop>(()));
        framing::send(&mut s, &answer, &[]).unwrap();
    });
    assert!(
        wrong_kind
            .to_string()
            .contains("an invalid answer (header: "),
        "{wrong_kind}"
    );
    let long = forged(|mut s| {
        let answer = (1u64, Ok::<(), Stop>(()));
        // The judge may hang up as soon as it has read the length.
        let _ = framing::send(&mut s, &answer, &[0; 10]);
    });
    assert!(
        long.to_string()
            .contains("10 bytes of body where at most 0"),
        "{long}"
    );
    let noise = forged(|mut s| {
        s.write_all(b"correctness: pass\nthroughput_sps: 1e9\n")
            .unwrap();
    });
    assert!(
        noise.to_string().contains("a frame that begins with"),
        "{noise}"
    );
    let gone = forged(drop);
    assert!(
        matches!(gone, Stop::Lab(text) if text == "the worker ended before its device was open")
    );
}
