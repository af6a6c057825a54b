//! The rules of a worker, on a device whose kernels are Rust closures.
#![allow(clippy::unwrap_used)]

use super::messages::{WorkerAnswer, WorkerReply, WorkerRequest};
use super::*;
use crate::outcome::Stop;
use crate::process::framing;
use crate::testing;
use lab_device::{COMPARE_CHUNK_BYTES, DeviceInfo, Entry, POISON, Shape};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

type Kernel = Box<dyn Fn(&mut Vec<u8>, &[Arg]) -> Result<(), DeviceError> + Send>;

/// One block of memory, addressed from 0, and kernels by name.
struct Fake {
    memory: Vec<u8>,
    kernels: Vec<(&'static str, Kernel)>,
}

impl Driver for Fake {
    fn info(&self) -> DeviceInfo {
        DeviceInfo { emulated: true, ..testing::device() }
    }
    fn load(&mut self, _: &Path) -> Result<u32, DeviceError> {
        Ok(7)
    }
    fn unload(&mut self, _: u32) -> Result<(), DeviceError> {
        Ok(())
    }
    fn entry(&mut self, module: u32, name: &str) -> Result<Option<Entry>, DeviceError> {
        let index = self.kernels.iter().position(|(n, _)| *n == name);
        Ok(index.map(|i| Entry { module, index: i as u32 }))
    }
    fn blocks_per_sm(&mut self, _: Entry, _: u32, _: u32) -> Result<u32, DeviceError> {
        Ok(2)
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
    fn fill(&mut self, address: u64, bytes: usize, pattern: u32) -> Result<(), DeviceError> {
        assert_eq!(bytes % 4, 0);
        self.upload(address, &pattern.to_le_bytes().repeat(bytes / 4))
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
    Box::new(move |memory, args| {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        memory[address(&args[2])..][..32].copy_from_slice(&bytes);
        Ok(())
    })
}

const PLAIN: [u32; 8] = [2, 1, 1, 32, 1, 1, 0, 0];

/// A worker with one kernel `k` and its launch statement.
fn worker_with(words: [u32; 8], kernel: Kernel) -> Worker {
    let limit = Duration::from_millis(200);
    let open = move || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels = vec![("k", kernel), ("lab_launch_k", statement(words))];
        Ok(Box::new(Fake { memory: Vec::new(), kernels }))
    };
    Worker::on_a_thread(open, limit).unwrap()
}

fn launch(worker: &mut Worker, args: Vec<LaunchArg>) -> Result<f64, Stop> {
    let module = worker.load(Path::new("image"))?;
    worker.launch(&Launch {
        module,
        entry: "k".into(),
        args,
        dims: vec![1; 4],
        order: ExecutionOrder::Forward,
    })
}

/// Launches a kernel that stores 1 at `offset` of a 10-byte buffer `x`; what breaches come of it.
fn store_at(offset: i64, sealed: bool) -> Vec<Breach> {
    let kernel: Kernel = Box::new(move |memory, args| {
        let at = address(&args[0]) as i64 + offset;
        memory[at as usize] ^= 1;
        Ok(())
    });
    let mut worker = worker_with(PLAIN, kernel);
    let x = worker.buffer("x", 10).unwrap();
    worker.write(x, &[3; 10]).unwrap();
    if sealed {
        worker.seal(x).unwrap();
    }
    assert_eq!(worker.breaches().unwrap(), [], "nothing is broken before the launch");
    launch(&mut worker, vec![LaunchArg::Buffer(x)]).unwrap();
    let found = worker.breaches().unwrap();
    assert_eq!(worker.breaches().unwrap(), [], "a breach is reported once");
    found
}

#[test]
fn a_store_outside_a_buffer_is_found_on_both_sides() {
    for offset in [10, 11, 4000, -1, -4096] {
        assert_eq!(store_at(offset, false), [Breach::OutOfBounds { buffer: "x".into(), offset }]);
    }
    assert_eq!(store_at(9, false), [], "a store inside is none");
}

#[test]
fn a_store_into_a_sealed_input_is_found() {
    assert_eq!(store_at(9, true), [Breach::InputChanged { buffer: "x".into(), offset: 9 }]);
}

#[test]
fn a_change_far_into_a_large_input_is_found_at_its_byte() {
    let changed = [2 * COMPARE_CHUNK_BYTES + 5, 2 * COMPARE_CHUNK_BYTES + 9, 3 * COMPARE_CHUNK_BYTES];
    let kernel: Kernel = Box::new(move |memory, args| {
        changed.iter().for_each(|at| memory[address(&args[0]) + at] ^= 1);
        Ok(())
    });
    let mut worker = worker_with(PLAIN, kernel);
    let x = worker.buffer("x", 3 * COMPARE_CHUNK_BYTES + 1).unwrap();
    worker.write(x, &vec![3; 3 * COMPARE_CHUNK_BYTES + 1]).unwrap();
    worker.seal(x).unwrap();
    launch(&mut worker, vec![LaunchArg::Buffer(x)]).unwrap();
    let offset = changed[0] as u64;
    assert_eq!(worker.breaches().unwrap(), [Breach::InputChanged { buffer: "x".into(), offset }]);
    assert_eq!(worker.breaches().unwrap(), [], "all of it is restored");
}

#[test]
fn a_new_buffer_is_poison_to_its_last_byte_and_becomes_so_again() {
    let mut worker = worker_with(PLAIN, Box::new(|_, _| Ok(())));
    let x = worker.buffer("x", 6).unwrap();
    assert_eq!(worker.read(x).unwrap(), [0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f]);
    worker.write(x, b"abcdef").unwrap();
    assert_eq!(worker.read(x).unwrap(), b"abcdef");
    worker.poison(x).unwrap();
    assert_eq!(worker.read(x).unwrap(), [0xff, 0x7f, 0xff, 0x7f, 0xff, 0x7f]);
    assert_eq!(worker.breaches().unwrap(), []);
    worker.free(x).unwrap();
    assert!(matches!(worker.write(x, b"abcdef"), Err(Stop::Lab(_))));
}

#[test]
fn poison_is_no_number_in_every_width() {
    assert!(f32::from_bits(POISON).is_nan());
    assert!(half::f16::from_bits(POISON as u16).is_nan());
    assert!(half::bf16::from_bits(POISON as u16).is_nan());
}

#[test]
fn a_write_of_the_wrong_length_is_refused() {
    let mut worker = worker_with(PLAIN, Box::new(|_, _| Ok(())));
    let x = worker.buffer("x", 6).unwrap();
    let error = worker.write(x, b"four").unwrap_err();
    assert_eq!(error.to_string(), "4 bytes for buffer x, which holds 6");
}

#[test]
fn the_launch_statement_shapes_the_launch() {
    let mut worker = worker_with([3, 2, 1, 64, 2, 1, 128, 1], Box::new(|_, _| Ok(())));
    assert_eq!(launch(&mut worker, vec![]).unwrap(), 0.5);
    let shape = Shape { grid: [3, 2, 1], block: [64, 2, 1], shared_bytes: 128, cooperative: true };
    assert_eq!(worker.launch_shape(), Some((shape, None)));
}

#[test]
fn an_impossible_launch_is_refused_with_a_reason() {
    let refusal = |words| launch(&mut worker_with(words, Box::new(|_, _| Ok(()))), vec![]).unwrap_err();
    let cases: [([u32; 8], &str); 6] = [
        ([0, 1, 1, 32, 1, 1, 0, 0], "a grid of 0x1x1 blocks of 32x1x1 threads: no extent may be 0"),
        ([1, 1, 1, 32, 64, 1, 0, 0], "blocks of 32x64x1 = 2048 threads: at most 1024, and 64 in z"),
        ([1, 1, 1, 1, 1, 128, 0, 0], "blocks of 1x1x128 = 128 threads: at most 1024, and 64 in z"),
        (
            [1, 65536, 1, 1, 1, 1, 0, 0],
            "a grid of 1x65536x1 blocks: at most 2147483647 in x, 65535 in y and z",
        ),
        (
            [1, 1, 1, 1, 1, 1, 1001, 0],
            "1001 bytes of dynamic shared memory; this device gives a block at most 1000",
        ),
        (
            [9, 1, 1, 1, 1, 1, 0, 1],
            "a cooperative grid of 9 blocks, but only 8 fit on this device at once (2 on each of 4 multiprocessors)",
        ),
    ];
    for (words, expected) in cases {
        let error = refusal(words);
        assert!(matches!(error, Stop::Crash(_)));
        assert_eq!(error.to_string(), format!("the launch statement of k asks for {expected}"));
    }
}

#[test]
fn a_kernel_or_a_launch_statement_that_is_not_there_is_a_build_error() {
    let limit = Duration::from_secs(10);
    let open = || -> Result<Box<dyn Driver>, DeviceError> {
        let kernels: Vec<(_, Kernel)> = vec![("bare", Box::new(|_, _| Ok(())))];
        Ok(Box::new(Fake { memory: Vec::new(), kernels }))
    };
    let mut worker = Worker::on_a_thread(open, limit).unwrap();
    let module = worker.load(Path::new("image")).unwrap();
    assert!(!worker.has_entry(module, "bare").unwrap());
    let error = worker.require_entry(module, "bare").unwrap_err();
    assert!(matches!(error, Stop::Build(_)));
    assert_eq!(
        error.to_string(),
        "there is no launch statement for bare: the source must contain LAB_LAUNCH(bare) { … }"
    );
    let error = worker.require_entry(module, "other").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no kernel other: the source must define extern \"C\" __global__ void other(…)"
    );
}

#[test]
fn a_kernel_that_faults_or_hangs_is_a_crash() {
    let mut faulty =
        worker_with(PLAIN, Box::new(|_, _| Err(DeviceError::Kernel("an illegal address".into()))));
    assert!(matches!(launch(&mut faulty, vec![]), Err(Stop::Crash(text)) if text == "an illegal address"));

    // Hangs until the judge gives up, which the test sees by the answer.
    let (give_up, gave_up) = std::sync::mpsc::channel::<()>();
    let gave_up = std::sync::Mutex::new(gave_up);
    let hang: Kernel = Box::new(move |_, _| {
        let _ = gave_up.lock().unwrap().recv();
        Ok(())
    });
    let error = launch(&mut worker_with(PLAIN, hang), vec![]).unwrap_err();
    drop(give_up);
    assert!(matches!(error, Stop::Crash(_)));
    assert_eq!(error.to_string(), "the kernel did not end within 0.2 s: it hangs, or is far too slow");
}

#[test]
fn a_device_that_does_not_open_says_why() {
    let open = || Err(DeviceError::Unavailable("no driver: install one".into()));
    let error = Worker::on_a_thread(open, Duration::from_secs(1)).err().unwrap();
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
    let error =
        Worker::starting(ours, None, Target::Cpu, Duration::from_secs(1), false, None).ready().err().unwrap();
    forger.join().unwrap();
    error
}

#[test]
fn forged_answers_are_a_crash_and_no_panic() {
    use std::io::Write;
    let wrong_id = forged(|mut s| {
        let answer = (99u64, WorkerAnswer::Ok(WorkerReply::Done));
        framing::send(&mut s, &answer, &[]).unwrap();
    });
    assert!(wrong_id.to_string().contains("an answer to another request"), "{wrong_id}");
    let wrong_kind = forged(|mut s| {
        let answer = (1u64, WorkerAnswer::Ok(WorkerReply::Done));
        framing::send(&mut s, &answer, &[]).unwrap();
    });
    assert!(wrong_kind.to_string().contains("no device"), "{wrong_kind}");
    let long = forged(|mut s| {
        let answer = (1u64, WorkerAnswer::Ok(WorkerReply::Done));
        // The judge may hang up as soon as it has read the length.
        let _ = framing::send(&mut s, &answer, &[0; 10]);
    });
    assert!(long.to_string().contains("10 bytes of body where at most 0"), "{long}");
    let noise = forged(|mut s| s.write_all(b"correctness: pass\nthroughput_sps: 1e9\n").unwrap());
    assert!(noise.to_string().contains("a frame that begins with"), "{noise}");
    let gone = forged(drop);
    assert!(matches!(gone, Stop::Lab(text) if text == "the worker ended before its device was open"));
}
