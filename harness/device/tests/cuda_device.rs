//! Kernels on a real GPU, from source to values. These tests need a CUDA device and NVRTC, and are
//! ignored unless they are asked for: `scripts/gpu-tests`, or
//! `cargo test -p lab-device -- --include-ignored`.
#![allow(clippy::unwrap_used)]

use lab_device::{
    BuildRequest, Builder, COMPARE_CHUNK_BYTES, DeviceError, Driver, Entry, ExecutionOrder,
    Filling, FolderTrust, MemoryRange, Shape, Step, Submission, Window, cuda,
};
use lab_protocol::CompileOptions;

/// A GPU with one module loaded. The tests share the process's context, so a kernel that breaks the
/// context runs in a child process: see [`alone`].
struct Gpu {
    driver: Box<dyn Driver>,
    module: u32,
    _folder: tempfile::TempDir,
}

/// Builds `text`, opens the first GPU and loads the module. Fails where the device or NVRTC is
/// missing.
fn gpu(text: &str) -> Gpu {
    let mut builder = cuda::nvrtc_builder(FolderTrust::Untrusted)
        .unwrap_or_else(|error| panic!("this test needs NVRTC: {error}"));
    let mut driver =
        cuda::open(0).unwrap_or_else(|error| panic!("this test needs a CUDA device: {error}"));
    let folder = tempfile::tempdir().unwrap();
    let image = build(&mut builder, folder.path(), text, &driver.info().arch);
    let module = driver.load(&image).unwrap();
    Gpu {
        driver,
        module,
        _folder: folder,
    }
}

fn build(
    builder: &mut dyn Builder,
    folder: &std::path::Path,
    text: &str,
    arch: &str,
) -> std::path::PathBuf {
    let source = folder.join("kernel.cu");
    std::fs::write(&source, text).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "kernel.cu".into(),
        include_dirs: vec![],
        defines: vec![],
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: "struct LabDims { unsigned rows; };\n".into(),
        arch: arch.into(),
        cache_dir: folder.join("cache"),
    };
    let built = builder.build(&request).unwrap();
    built.image.unwrap_or_else(|| panic!("{}", built.log))
}

fn shape(grid: u32, block: u32, shared_bytes: u32, cooperative: bool) -> Shape {
    Shape {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        shared_bytes,
        cooperative,
        ..Shape::default()
    }
}

impl Gpu {
    fn entry(&mut self, name: &str) -> Entry {
        self.driver.entry(self.module, name).unwrap().unwrap()
    }

    fn buffer(&mut self, values: &[f32]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let address = self.driver.alloc(bytes.len()).unwrap();
        assert_eq!(address % 256, 0);
        self.driver.upload(address, bytes).unwrap();
        address
    }

    fn read(&mut self, address: u64, count: usize) -> Vec<f32> {
        let mut values = vec![0f32; count];
        self.driver
            .download(address, bytemuck::cast_slice_mut(&mut values))
            .unwrap();
        values
    }

    fn launch(&mut self, name: &str, shape: Shape, args: &[&[u8]]) -> Result<f64, DeviceError> {
        let entry = self.entry(name);
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.to_vec()).collect();
        self.driver
            .launch(entry, &shape, &args, ExecutionOrder::Forward)
    }

    fn refused(&mut self, name: &str, shape: Shape, args: &[&[u8]], words: &str) {
        let error = self.launch(name, shape, args).unwrap_err();
        assert!(matches!(error, DeviceError::Kernel(_)), "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

const KERNELS: &str = r#"
#include <cooperative_groups.h>
#include "lab.h"

extern "C" __global__ void add(const float* x, const float* y, float* sum, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = x[i] + y[i];
}
LAB_LAUNCH(add) {
    launch.grid[0] = (dims.rows + 255) / 256;
    launch.block[0] = 256;
    launch.shared_bytes = 8;
}

extern "C" __global__ void total(const float* x, float* out) {
    __shared__ float part[256];
    part[threadIdx.x] = x[threadIdx.x];
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *out = part[0];
}

// Each block writes, all blocks synchronize, and each block reads its neighbour's word.
extern "C" __global__ void turn(float* words, float* out) {
    if (threadIdx.x == 0) words[blockIdx.x] = blockIdx.x;
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) out[blockIdx.x] = words[(blockIdx.x + 1) % gridDim.x];
}

extern "C" __global__ void reverse(float* x, unsigned n) {
    extern __shared__ float room[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) room[i] = x[i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) x[i] = room[n - 1 - i];
}

extern "C" __global__ void spin(unsigned long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) {}
}

extern "C" __global__ void __launch_bounds__(64) narrow(float* x) { *x = 1; }
"#;

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn two_vectors_are_added() {
    let mut gpu = gpu(KERNELS);
    let n = 1000u32;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (x, y) = (gpu.buffer(&x), gpu.buffer(&vec![0.5; n as usize]));
    let sum = gpu.driver.alloc(4 * 1024).unwrap();
    let of_sum = MemoryRange {
        address: sum,
        bytes: 4 * 1024,
    };
    gpu.driver
        .fill(of_sum, 0x7fff_7fff, Filling::Waits)
        .unwrap();
    let args: [&[u8]; 4] = [
        &x.to_le_bytes(),
        &y.to_le_bytes(),
        &sum.to_le_bytes(),
        &n.to_le_bytes(),
    ];
    let seconds = gpu.launch("add", shape(4, 256, 0, false), &args).unwrap();
    assert!(seconds > 0.0 && seconds < 1.0, "{seconds}");
    let out = gpu.read(sum, 1024);
    assert!((0..1000).all(|i| out[i] == i as f32 + 0.5), "{out:?}");
    assert!(
        out[1000..].iter().all(|v| v.to_bits() == 0x7fff_7fff),
        "memory that no kernel wrote keeps the pattern"
    );
    for address in [x, y, sum] {
        gpu.driver.free(address).unwrap();
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn memory_is_compared_piece_by_piece() {
    let mut gpu = gpu(KERNELS);
    let held: Vec<f32> = (0..=(3 * COMPARE_CHUNK_BYTES / 4))
        .map(|i| i as f32)
        .collect();
    let x = gpu.buffer(&held);
    let held: &[u8] = bytemuck::cast_slice(&held);
    let mut right = held.to_vec();
    assert_eq!(gpu.driver.first_difference(x, &right).unwrap(), None);
    for at in [
        held.len() - 1,
        2 * COMPARE_CHUNK_BYTES,
        COMPARE_CHUNK_BYTES - 1,
        0,
    ] {
        right[at] ^= 1;
        assert_eq!(gpu.driver.first_difference(x, &right).unwrap(), Some(at));
    }
    assert_eq!(gpu.driver.first_difference(x, &[]).unwrap(), None);
    gpu.driver.free(x).unwrap();
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_launch_statement_runs_on_the_device() {
    let mut gpu = gpu(KERNELS);
    let info = gpu.driver.info();
    let device = [info.sms, info.max_shared_bytes];
    // A LabShape of lab.h.
    let out = gpu.buffer(&[0.0; 478]);
    let args: [&[u8]; 3] = [
        &1000u32.to_le_bytes(),
        bytemuck::cast_slice(&device),
        &out.to_le_bytes(),
    ];
    gpu.launch("lab_launch_add", shape(1, 1, 0, false), &args)
        .unwrap();
    let words: Vec<u32> = gpu.read(out, 8).iter().map(|v| v.to_bits()).collect();
    assert_eq!(words, [4, 1, 1, 256, 1, 1, 8, 0]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_block_reduces_in_shared_memory() {
    let mut gpu = gpu(KERNELS);
    let x = gpu.buffer(&(0..256).map(|i| i as f32).collect::<Vec<_>>());
    let out = gpu.buffer(&[0.0]);
    gpu.launch(
        "total",
        shape(1, 256, 0, false),
        &[&x.to_le_bytes(), &out.to_le_bytes()],
    )
    .unwrap();
    assert_eq!(gpu.read(out, 1), [255.0 * 128.0]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn all_blocks_meet_in_a_cooperative_launch() {
    let mut gpu = gpu(KERNELS);
    let sms = gpu.driver.info().sms;
    let entry = gpu.entry("turn");
    let blocks = sms * gpu.driver.blocks_per_sm(entry, 128, 0).unwrap();
    let (words, out) = (
        gpu.buffer(&vec![0.0; blocks as usize]),
        gpu.buffer(&vec![0.0; blocks as usize]),
    );
    let args: [&[u8]; 2] = [&words.to_le_bytes(), &out.to_le_bytes()];
    gpu.launch("turn", shape(blocks, 128, 0, true), &args)
        .unwrap();
    let expected: Vec<f32> = (1..=blocks).map(|i| (i % blocks) as f32).collect();
    assert_eq!(gpu.read(out, blocks as usize), expected);
    // One block more does not fit. The message holds the numbers.
    let words = format!("asks for {}, and {blocks} fit", blocks + 1);
    gpu.refused("turn", shape(blocks + 1, 128, 0, true), &args, &words);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_block_may_have_all_the_shared_memory_that_the_device_offers() {
    let mut gpu = gpu(KERNELS);
    let most = gpu.driver.info().max_shared_bytes;
    assert!(
        most > 48 * 1024,
        "every device since Volta offers more than 48 KiB"
    );
    let n = most / 4;
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = gpu.buffer(&values);
    let args: [&[u8]; 2] = [&x.to_le_bytes(), &n.to_le_bytes()];
    let entry = gpu.entry("reverse");
    assert_eq!(gpu.driver.blocks_per_sm(entry, 256, most).unwrap(), 1);
    gpu.launch("reverse", shape(1, 256, most, false), &args)
        .unwrap();
    let expected: Vec<f32> = values.into_iter().rev().collect();
    assert_eq!(gpu.read(x, n as usize), expected);
    gpu.refused(
        "reverse",
        shape(1, 256, most + 4, false),
        &args,
        "bytes of dynamic shared memory",
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn an_impossible_launch_is_refused_with_the_reason() {
    let mut gpu = gpu(KERNELS);
    let x = gpu.buffer(&[0.0]).to_le_bytes();
    gpu.refused(
        "narrow",
        shape(1, 128, 0, false),
        &[&x],
        "a block may have 64 threads",
    );
    gpu.refused(
        "narrow",
        shape(1, 2048, 0, false),
        &[&x],
        "may be 1 to 1024",
    );
    gpu.refused(
        "narrow",
        shape(0, 32, 0, false),
        &[&x],
        "launch.grid is [0, 1, 1]",
    );
    gpu.refused(
        "narrow",
        shape(1, 32, 0, false),
        &[],
        "it has 1, and the problem has 0",
    );
    gpu.refused(
        "narrow",
        shape(1, 32, 0, false),
        &[&[0; 4]],
        "its parameter 1 has 8 bytes",
    );
    // None of these launches reached the device, which can still be used.
    gpu.launch("narrow", shape(1, 64, 0, false), &[&x]).unwrap();
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_time_is_measured_on_the_device() {
    let mut gpu = gpu(KERNELS);
    let mut time = |cycles: u64| {
        gpu.launch("spin", shape(1, 1, 0, false), &[&cycles.to_le_bytes()])
            .unwrap()
    };
    time(1_000);
    let (short, long) = (time(1_000_000), time(20_000_000));
    // 20 million cycles are 10 ms at 2 GHz; a launch alone takes microseconds.
    assert!(
        short > 1e-4 && long > 1e-3 && long / short > 5.0 && long < 1.0,
        "{short} {long}"
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_missing_kernel_is_none_and_an_unloaded_module_an_error() {
    let mut gpu = gpu(KERNELS);
    assert_eq!(gpu.driver.entry(gpu.module, "nowhere").unwrap(), None);
    let entry = gpu.entry("add");
    gpu.driver.unload(gpu.module).unwrap();
    let error = gpu
        .driver
        .launch(entry, &shape(1, 1, 0, false), &[], ExecutionOrder::Forward)
        .unwrap_err();
    assert!(error.to_string().contains("not loaded any more"), "{error}");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn too_large_an_allocation_is_an_error_with_the_numbers() {
    let mut gpu = gpu(KERNELS);
    let error = gpu.driver.alloc(1 << 50).unwrap_err();
    assert!(matches!(error, DeviceError::Driver(_)), "{error:?}");
    assert!(
        error.to_string().contains("MiB are free") && error.to_string().contains("nvidia-smi"),
        "{error}"
    );
    gpu.buffer(&[1.0]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_file_that_is_no_cubin_is_refused() {
    let mut gpu = gpu(KERNELS);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no.cubin");
    std::fs::write(&path, [0u8; 4096]).unwrap();
    let error = gpu.driver.load(&path).unwrap_err();
    assert!(error.to_string().contains("could not load"), "{error}");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_missing_device_is_an_error_that_lists_the_devices() {
    assert!(cuda::available(), "this test needs a CUDA device");
    let Err(error) = cuda::open(99) else {
        panic!("there is no machine with 100 GPUs")
    };
    assert!(
        error
            .to_string()
            .contains("no device cuda:99: this machine has cuda:0"),
        "{error}"
    );
}

/// Set in the child process that runs one broken kernel.
const ALONE: &str = "LAB_TEST_ALONE";

/// Runs `scene` in a child process, because it breaks the context. Returns how the child ended;
/// `None` in the child itself.
fn alone(test: &str, text: &str, scene: impl FnOnce(Gpu)) -> Option<std::process::Output> {
    let gpu = gpu(text);
    if std::env::var_os(ALONE).is_some() {
        scene(gpu);
        return None;
    }
    drop(gpu);
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    // `--include-ignored`: otherwise the child would run no test, and end well.
    command.args([
        "--exact",
        test,
        "--include-ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    Some(command.env(ALONE, "1").output().unwrap())
}

#[track_caller]
fn succeeded(output: Option<std::process::Output>) {
    let Some(output) = output else { return };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn an_illegal_address_is_explained_and_the_context_stays_broken() {
    let text = r#"extern "C" __global__ void k(float* x) { x[1ull << 40] = 1; }"#;
    succeeded(alone(
        "an_illegal_address_is_explained_and_the_context_stays_broken",
        text,
        |mut gpu| {
            let x = gpu.buffer(&[0.0]).to_le_bytes();
            gpu.refused(
                "k",
                shape(1, 1, 0, false),
                &[&x],
                "an address that belongs to no buffer",
            );
            let error = gpu
                .driver
                .download(u64::from_le_bytes(x), &mut [0; 4])
                .unwrap_err();
            assert!(matches!(error, DeviceError::Kernel(_)), "{error:?}");
        },
    ));
}

/// A kernel that adds to a word, and leaves no word to add to where its step is 0.
const COUNT: &str = r#"extern "C" __global__ void count(unsigned* x, unsigned step) {
    if (step == 0) x = (unsigned*)16;
    *x += step;
}"#;

/// A window that fills a word with 5, adds `step` to it `launches` times, and digests it.
fn window(entry: Entry, address: u64, step: u32, launches: usize) -> Window {
    let word = MemoryRange { address, bytes: 4 };
    let step = Step {
        zeroed: None,
        entry,
        shape: shape(1, 1, 0, false),
        args: vec![address.to_le_bytes().to_vec(), step.to_le_bytes().to_vec()],
        order: ExecutionOrder::Forward,
    };
    Window {
        fills: vec![(word, 5)],
        steps: vec![step; launches],
        digested: vec![word],
        ..Window::default()
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn windows_follow_one_another_each_with_its_time_and_digests() {
    const KEY: u64 = 77;
    let mut gpu = gpu(COUNT);
    let (x, entry) = (gpu.buffer(&[0.0]), gpu.entry("count"));
    let windows: Vec<Window> = (1..=40).map(|step| window(entry, x, step, 3)).collect();
    for submission in [Submission::Graph, Submission::Plain] {
        let replayed = gpu.driver.replay(&windows, submission, KEY);
        assert!(replayed.failure.is_none(), "{:?}", replayed.failure);
        assert_eq!(replayed.windows.len(), windows.len());
        for (step, window) in (1u32..).zip(&replayed.windows) {
            let word = (5 + 3 * step).to_le_bytes();
            let digest = lab_device::digest(&word, x, KEY);
            assert_eq!(window.digests, Some(vec![digest]), "{submission:?} {step}");
            assert!(window.seconds.is_some_and(|seconds| seconds > 0.0));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_window_that_fails_is_known_among_those_around_it() {
    succeeded(alone(
        "a_window_that_fails_is_known_among_those_around_it",
        COUNT,
        |mut gpu| {
            let (x, entry) = (gpu.buffer(&[0.0]), gpu.entry("count"));
            let windows = [1, 2, 0, 3].map(|step| window(entry, x, step, 1));
            let replayed = gpu.driver.replay(&windows, Submission::Graph, 7);
            let failure = replayed.failure.unwrap();
            assert!(matches!(failure, DeviceError::Kernel(_)), "{failure:?}");
            assert_eq!(replayed.windows.len(), 2, "{:?}", replayed.windows);
            for (step, window) in [1u32, 2].iter().zip(&replayed.windows) {
                let digest = lab_device::digest(&(5 + step).to_le_bytes(), x, 7);
                assert_eq!(window.digests, Some(vec![digest]));
            }
        },
    ));
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_misaligned_address_is_explained() {
    let text =
        r#"extern "C" __global__ void k(char* x) { *(float4*)(x + 4) = float4{1, 2, 3, 4}; }"#;
    succeeded(alone(
        "a_misaligned_address_is_explained",
        text,
        |mut gpu| {
            let x = gpu.buffer(&[0.0; 8]).to_le_bytes();
            gpu.refused(
                "k",
                shape(1, 1, 0, false),
                &[&x],
                "not a multiple of the access's size",
            );
        },
    ));
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_failed_assert_is_the_kernels_fault() {
    let text = r#"extern "C" __global__ void k(int one) { assert(one == 2); }"#;
    succeeded(alone(
        "a_failed_assert_is_the_kernels_fault",
        text,
        |mut gpu| {
            let one = 1u32.to_le_bytes();
            gpu.refused(
                "k",
                shape(1, 1, 0, false),
                &[&one],
                "an assert in the kernel failed",
            );
        },
    ));
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_trap_is_the_kernels_fault() {
    let text = r#"extern "C" __global__ void k() { __trap(); }"#;
    succeeded(alone("a_trap_is_the_kernels_fault", text, |mut gpu| {
        gpu.refused("k", shape(1, 1, 0, false), &[], "could not run k");
    }));
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_kernels_output_has_left_the_process_when_the_launch_returns() {
    let text = r#"#include <cstdio>
extern "C" __global__ void k(int x) { printf("thread %d of %d\n", threadIdx.x, x); }"#;
    let test = "a_kernels_output_has_left_the_process_when_the_launch_returns";
    let output = alone(test, text, |mut gpu| {
        gpu.launch("k", shape(1, 2, 0, false), &[&2u32.to_le_bytes()])
            .unwrap();
        // The process is killed, so that nothing is flushed when it ends.
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
    });
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("thread 0 of 2\nthread 1 of 2\n"), "{said}");
}
