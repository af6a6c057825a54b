//! The errors of a kernel name the failure, its line, the block and the thread.

use super::*;

const SOURCE: &str = r#"#include <cooperative_groups.h>
#include <assert.h>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu

extern "C" __global__ void asserts(const int*, int* out, int n) {
    int t = threadIdx.x;
    assert(t < 40 && "in range");
    out[t] = t;
}
extern "C" __global__ void traps(const int*, int* out, int n) {
    if (blockIdx.x == 1 && threadIdx.x == 2) __trap();
}
extern "C" __global__ void returns_early(const int*, int* out, int n) {
    if (threadIdx.x >= 32) return;
    if (threadIdx.x < 16) out[0] = __shfl_sync(FULL, 1, 0); else __syncthreads();
}
extern "C" __global__ void two_barriers(const int*, int* out, int n) {
    if (threadIdx.x < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}
extern "C" __global__ void lanes_elsewhere(const int*, int* out, int n) {
    if (threadIdx.x < 16) {
        out[0] = __shfl_sync(FULL, 1, 0);
    } else {
        __syncthreads();
    }
}
extern "C" __global__ void not_in_mask(const int*, int* out, int n) {
    out[threadIdx.x] = __ballot_sync(0xff, 1);
}
extern "C" __global__ void no_cooperation(const int*, int* out, int n) {
    cg::this_grid().sync();
}
extern "C" __global__ void a_block_leaves(const int*, int* out, int n) {
    if (blockIdx.x == 3) return;
    cg::this_grid().sync();
}
extern "C" __global__ void a_thread_leaves(const int*, int* out, int n) {
    if (blockIdx.x == 3 && threadIdx.x == 5) return;
    cg::this_grid().sync();
}
// Right only where thread t - 1 has run before thread t.
extern "C" __global__ void missing_barrier(const int*, int* out, int n) {
    __shared__ int cell[64];
    cell[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = threadIdx.x ? cell[threadIdx.x - 1] : 0;
}
extern "C" __global__ void too_much_shared(const int*, int* out, int n) {
    __shared__ int cell[12 * 1024];
    extern __shared__ int more[];
    more[0] = 1;
    cell[0] = more[0];
    out[0] = cell[0];
}
extern "C" __global__ void overrun(const int*, int* out, int n) {
    extern __shared__ volatile int words[];
    words[64 + threadIdx.x] = 7;
}
__device__ __noinline__ int deep(int n) {
    volatile int room[256];
    for (int i = 0; i < 256; ++i) room[i] = n;
    return n ? deep(n - 1) + room[n & 255] : 0;
}
extern "C" __global__ void recursion(const int* in, int* out, int n) {
    out[0] = deep(in[0]);
}
extern "C" __global__ void wild(const int* in, int* out, int n) {
    if (blockIdx.x == 1 && threadIdx.x == 3) *reinterpret_cast<volatile int*>(size_t(16)) = 1;
}
extern "C" __global__ void prints(const int* in, int* out, int n) {
    if (threadIdx.x == 1) printf("thread %d says %.2f\n", int(threadIdx.x), 0.5f);
}
extern "C" __global__ void fine(const int*, int* out, int n) {
    __syncthreads();
    out[threadIdx.x] = threadIdx.x;
}
"#;

fn error(bench: &mut Bench, kernel: &str, shape: &Shape, order: ExecutionOrder) -> String {
    match bench.run::<i32, i32>(kernel, shape, &[0], 64, order) {
        Err(DeviceError::Kernel(text)) => text,
        other => panic!("{kernel} should fail, but: {other:?}"),
    }
}

#[test]
fn failures_name_the_kernel_the_line_and_the_thread() {
    let mut bench = Bench::new(SOURCE);
    let two = shape(1, 64);
    let grid = Shape {
        cooperative: true,
        ..shape(8, 32)
    };
    let at = "kernels/t/kernel.cu";
    for (kernel, shape, expected) in [
        ("asserts", two, format!("kernel 'asserts': assertion failed: t < 40 && \"in range\" at {at}:8, block (0,0,0), thread (40,0,0)")),
        ("traps", shape(2, 32), format!("kernel 'traps': __trap() at {at}:12, block (1,0,0), thread (2,0,0)")),
        ("returns_early", two, format!("kernel 'returns_early', block (0,0,0): __shfl_sync() at {at}:16 is never reached by all: 16 of 64 threads wait there, the first is thread (0,0,0); __syncthreads() at {at}:16 is never reached by all: 16 of 64 threads wait there, the first is thread (16,0,0); 32 threads have returned, the first is thread (32,0,0)")),
        ("two_barriers", two, format!("kernel 'two_barriers': threads of one block wait at different barriers: 32 at __syncthreads() at {at}:20, and one at __syncthreads() at {at}:22, block (0,0,0), thread (32,0,0)")),
        ("lanes_elsewhere", two, format!("kernel 'lanes_elsewhere', block (0,0,0): __shfl_sync() at {at}:27 is never reached by all: 16 of 64 threads wait there, the first is thread (0,0,0); __syncthreads() at {at}:29 is never reached by all: 48 of 64 threads wait there, the first is thread (16,0,0)")),
        ("not_in_mask", two, format!("kernel 'not_in_mask': __ballot_sync() at {at}:33 was called by lane 8, which is not in its mask 0x000000ff, block (0,0,0), thread (8,0,0)")),
        ("no_cooperation", two, format!("kernel 'no_cooperation': this_grid().sync() at {at}:36 needs a cooperative launch: set launch.cooperative = 1 in the launch statement, block (0,0,0), thread (0,0,0)")),
        ("a_block_leaves", grid, format!("kernel 'a_block_leaves': this_grid().sync() at {at}:40 is never reached by all: 7 of 8 blocks wait there, others have returned")),
        ("a_thread_leaves", grid, format!("kernel 'a_thread_leaves', block (3,0,0): this_grid().sync() at {at}:44 is never reached by all: 31 of 32 threads wait there, the first is thread (0,0,0); 1 threads have returned, the first is thread (5,0,0)")),
        ("too_much_shared", Shape { shared_bytes: 200 * 1024, ..two }, "kernel 'too_much_shared': the block uses 253952 bytes of shared memory, more than the 232448 that a block may use, block (0,0,0), thread (0,0,0)".into()),
        ("overrun", Shape { shared_bytes: 256, ..shape(1, 1) }, "kernel 'overrun': shared memory was written past its end in block (0,0,0)".into()),
    ] {
        assert_eq!(error(&mut bench, kernel, &shape, ExecutionOrder::Forward), expected);
        // The device can be used afterwards, in every order.
        for order in ORDERS {
            let fine: Vec<i32> = bench.run("fine", &two, &[0i32], 64, order).unwrap();
            assert_eq!(fine, (0..64).collect::<Vec<i32>>());
            error(&mut bench, kernel, &shape, order);
        }
    }
}

#[test]
fn a_stack_overflow_is_reported() {
    let mut bench = Bench::new(SOURCE);
    let shallow: Vec<i32> = bench
        .run(
            "recursion",
            &shape(1, 1),
            &[10i32],
            1,
            ExecutionOrder::Forward,
        )
        .unwrap();
    assert_eq!(shallow, [55]);
    let deep = bench.run::<i32, i32>("recursion", &shape(1, 1), &[80], 1, ExecutionOrder::Forward);
    let expected = "kernel 'recursion': stack overflow: on the cpu device a thread has 64 KiB for its local variables; the first to overflow is block (0,0,0), thread (0,0,0)";
    assert_eq!(deep, Err(DeviceError::Kernel(expected.into())));
}

#[test]
fn a_missing_barrier_shows_in_another_order() {
    let mut bench = Bench::new(SOURCE);
    let right: Vec<i32> = (0..64).map(|t: i32| (t - 1).max(0)).collect();
    let mut run = |order| {
        bench
            .run::<i32, i32>("missing_barrier", &shape(1, 64), &[0], 64, order)
            .unwrap()
    };
    assert_eq!(run(ExecutionOrder::Forward), right, "which hides it");
    assert_ne!(run(ExecutionOrder::Reverse), right);
    // What nobody wrote has six patterns in turn.
    let mut shuffled = || [(); 6].map(|()| run(ExecutionOrder::Shuffled(7)));
    let first = shuffled();
    assert!(first.iter().all(|found| *found != right));
    assert_eq!(first, shuffled(), "a seed gives one order");
}

#[test]
fn impossible_launches_are_refused() {
    let mut bench = Bench::new(SOURCE);
    let cooperative = Shape {
        cooperative: true,
        ..shape(100_000, 64)
    };
    for (shape, expected) in [
        (
            shape(1, 2000),
            "a block has 1 to 1024 threads (z at most 64), not (2000,1,1)",
        ),
        (
            shape(0, 32),
            "a grid has 1 to (2147483647,65535,65535) blocks, not (0,1,1)",
        ),
        (
            Shape {
                shared_bytes: 300_000,
                ..shape(1, 32)
            },
            "a block has 232448 bytes of shared memory at most, not 300000",
        ),
        (cooperative, "100000 blocks cannot be resident at once"),
    ] {
        let text = error(&mut bench, "fine", &shape, ExecutionOrder::Forward);
        assert!(
            text.starts_with(&format!("kernel 'fine' cannot be launched: {expected}")),
            "{text}"
        );
    }
    let entry = bench.device.entry(bench.module, "fine").unwrap().unwrap();
    let mut launch = |args: &[Vec<u8>]| {
        bench
            .device
            .launch(entry, &shape(1, 1), args, ExecutionOrder::Forward)
    };
    assert_eq!(
        launch(&[vec![0; 8]]),
        Err(DeviceError::Kernel(
            "kernel 'fine' takes other parameters than the problem passes: it has 3, and the problem has 1"
                .into()
        ))
    );
    assert_eq!(
        launch(&[vec![0; 8], vec![0; 8], vec![0; 8]]),
        Err(DeviceError::Kernel("kernel 'fine' takes other parameters than the problem passes: its parameter 3 has 4 bytes, and that of the problem has 8".into()))
    );
}

#[test]
fn an_image_that_cannot_be_loaded_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("kernel.so");
    std::fs::write(&image, "no image").unwrap();
    let error = open().unwrap().load(&image).unwrap_err().to_string();
    let cause = format!(
        "cannot load the built kernel {0}: dlopen failed: {0}: file too short",
        image.display()
    );
    assert!(error.starts_with(&cause), "{error}");
}

#[test]
fn an_address_outside_an_allocation_is_refused() {
    let mut device = open().unwrap();
    let at = device.alloc(64).unwrap();
    assert_eq!(at % 256, 0);
    assert!(device.upload(at + 60, &[1, 2, 3, 4]).is_ok());
    assert!(device.upload(at + 61, &[1, 2, 3, 4]).is_err());
    device.free(at).unwrap();
    assert!(device.download(at, &mut [0]).is_err());
    assert!(device.free(at).is_err());
}

/// The wild access ends its process, so this test starts itself again in a child process, with a
/// variable set.
#[test]
fn a_wild_access_is_reported_with_its_thread() {
    use std::os::unix::process::ExitStatusExt;
    const IN_CHILD: &str = "LAB_TEST_WILD_ACCESS";
    if std::env::var_os(IN_CHILD).is_some() {
        let mut bench = Bench::new(SOURCE);
        bench
            .run::<i32, i32>("prints", &shape(1, 2), &[0], 1, ExecutionOrder::Forward)
            .unwrap();
        bench
            .run::<i32, i32>("wild", &shape(2, 32), &[0], 1, ExecutionOrder::Forward)
            .unwrap();
        return;
    }
    let name = "cpu::tests::failures::a_wild_access_is_reported_with_its_thread";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(IN_CHILD, "1")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    let line =
        "kernel 'wild': illegal memory access at address 0x10, block (1,0,0), thread (3,0,0)";
    assert!(stderr.contains(line), "{stderr}");
    assert_eq!(child.status.signal(), Some(libc::SIGSEGV));
    let stdout = String::from_utf8_lossy(&child.stdout);
    assert!(
        stdout.contains("thread 1 says 0.50\n"),
        "printed before the wild access: {stdout}"
    );
}
