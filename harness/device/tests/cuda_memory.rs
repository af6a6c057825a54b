//! Memory on a real GPU: digests, noise, and the L2 cache. These tests need a CUDA device and
//! NVRTC, and are ignored unless they are asked for: `scripts/gpu-tests`, or
//! `cargo test -p lab-device -- --include-ignored`.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

use lab_device::{
    BuildRequest, Builder, Driver, ExecutionOrder, Filling, FolderTrust, MemoryRange, Noise,
    SMALL_NOISE, Shape, cuda, digest,
};
use lab_protocol::CompileOptions;
use std::time::Instant;

fn fill(gpu: &mut dyn Driver, (address, bytes): (u64, usize), pattern: u32, how: Filling) {
    gpu.fill(MemoryRange { address, bytes }, pattern, how)
        .unwrap();
}

fn gpu() -> Box<dyn Driver> {
    cuda::open(0).unwrap_or_else(|error| panic!("this test needs a CUDA device: {error}"))
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_device_computes_the_digests_of_the_host() {
    let mut gpu = gpu();
    let content: Vec<u8> = (0..3_000_001_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let address = gpu.alloc(content.len()).unwrap();
    gpu.upload(address, &content).unwrap();
    let ranges = [
        (0, 3_000_001),
        (0, 0),
        (1, 1),
        (2, 3),
        (3, 262_144),
        (4, 262_144),
        (5, 2_999_990),
        (262_143, 2),
    ]
    .map(|(offset, bytes)| MemoryRange {
        address: address + offset,
        bytes,
    });
    let found = gpu
        .digests(&ranges, 77)
        .unwrap()
        .expect("a GPU computes digests");
    for (range, found) in ranges.iter().zip(found) {
        let offset = (range.address - address) as usize;
        assert_eq!(
            found,
            digest(&content[offset..][..range.bytes], range.address, 77),
            "{range:?}"
        );
    }
    assert!(
        gpu.digests(
            &[MemoryRange {
                address: 16,
                bytes: 4
            }],
            77
        )
        .is_err(),
        "not allocated"
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn many_large_ranges_take_little_time() {
    let mut gpu = gpu();
    let bytes = 256 << 20;
    let address = gpu.alloc(bytes).unwrap();
    fill(&mut *gpu, (address, bytes), 7, Filling::Waits);
    let ranges: Vec<MemoryRange> = (0..2000)
        .map(|i| MemoryRange {
            address: address + 131_072 * i + i % 3,
            bytes: 131_072 - 8,
        })
        .collect();
    let first = gpu.digests(&ranges, 1).unwrap();
    let began = Instant::now();
    assert_eq!(gpu.digests(&ranges, 1).unwrap(), first);
    let took = began.elapsed().as_secs_f64();
    println!("2000 ranges of 128 KiB: {:.3} ms", took * 1e3);
    assert!(took < 5e-3, "{took} s");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_device_writes_the_noise_of_the_host() {
    let mut gpu = gpu();
    let noise = Noise::new(5);
    let bytes = (5 << 20) + 12;
    let address = gpu.alloc(bytes).unwrap();
    for first in [1_000_003, SMALL_NOISE + 1_000_003] {
        gpu.fill_noise(address + 4, bytes - 4, &noise, first)
            .unwrap();
        let mut found = vec![0; bytes - 4];
        gpu.download(address + 4, &mut found).unwrap();
        assert!(
            found == noise.bytes(4 * first, bytes - 4),
            "every word is the host's"
        );
    }
    assert!(
        gpu.fill_noise(address + 2, 8, &noise, 0).is_err(),
        "no whole words"
    );
}

const KERNELS: &str = r#"
// Counts the words of shared memory that hold a mark, and leaves the mark in all of them.
extern "C" __global__ void remember(unsigned* found, unsigned words) {
    extern __shared__ unsigned shared[];
    volatile unsigned* all = shared;
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) {
        if (all[i] == 0xfeedbeefu) atomicAdd(found, 1u);
        all[i] = 0xfeedbeefu;
    }
}

// Reads everything, and asks the L2 cache to keep it.
extern "C" __global__ void keep(const float4* x, float* out, unsigned n) {
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v;
        asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(x + i), "l"(policy));
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 12345.678f) *out = sum;
}

extern "C" __global__ void sweep(const float4* x, float* out, unsigned n) {
    float sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = __ldcg(x + i);
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 12345.678f) *out = sum;
}
"#;

/// Builds and loads [`KERNELS`].
fn load_kernels(gpu: &mut dyn Driver) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("kernel.cu");
    std::fs::write(&source, KERNELS).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "kernel.cu".into(),
        include_dirs: vec![],
        defines: vec![],
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: "struct LabDims { int n; };\n".into(),
        arch: gpu.info().arch,
        cache_dir: folder.path().join("cache"),
    };
    let mut builder = cuda::nvrtc_builder(FolderTrust::Untrusted)
        .unwrap_or_else(|error| panic!("this test needs NVRTC: {error}"));
    let built = builder.build(&request).unwrap();
    gpu.load(&built.image.unwrap_or_else(|| panic!("{}", built.log)))
        .unwrap()
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn shared_memory_holds_nothing_of_an_earlier_launch_after_it_was_wiped() {
    let mut gpu = gpu();
    let info = gpu.info();
    let module = load_kernels(&mut *gpu);
    let remember = gpu.entry(module, "remember").unwrap().unwrap();
    let found = gpu.alloc(4).unwrap();
    let shared_bytes = info.max_shared_bytes / 2;
    let shape = Shape {
        grid: [info.sms, 1, 1],
        block: [256, 1, 1],
        shared_bytes,
        ..Shape::default()
    };
    let mut launch = |scrubs: bool| {
        if scrubs {
            gpu.scrub().unwrap();
        }
        fill(&mut *gpu, (found, 4), 0, Filling::Waits);
        let args = [
            found.to_le_bytes().to_vec(),
            (shared_bytes / 4).to_le_bytes().to_vec(),
        ];
        gpu.launch(remember, &shape, &args, ExecutionOrder::Forward)
            .unwrap();
        let mut count = [0; 4];
        gpu.download(found, &mut count).unwrap();
        u32::from_le_bytes(count)
    };
    launch(false);
    println!("{} words found without a wipe", launch(false));
    assert_eq!(launch(true), 0);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn lines_that_a_kernel_asked_to_keep_are_gone_after_a_flush() {
    let mut gpu = gpu();
    let info = gpu.info();
    let module = load_kernels(&mut *gpu);
    let [keep, sweep] = ["keep", "sweep"].map(|name| gpu.entry(module, name).unwrap().unwrap());

    let bytes = 8 << 20;
    let scratch_bytes = 4 * info.l2_bytes as usize;
    let (x, out, scratch) = (
        gpu.alloc(bytes).unwrap(),
        gpu.alloc(4).unwrap(),
        gpu.alloc(scratch_bytes).unwrap(),
    );
    fill(&mut *gpu, (x, bytes), 0, Filling::Waits);
    let args = [
        x.to_le_bytes().to_vec(),
        out.to_le_bytes().to_vec(),
        (bytes as u32 / 16).to_le_bytes().to_vec(),
    ];
    let shape = Shape {
        grid: [2 * info.sms, 1, 1],
        block: [256, 1, 1],
        ..Shape::default()
    };
    let mut best = |first, flushes: bool| {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            gpu.launch(first, &shape, &args, ExecutionOrder::Forward)
                .unwrap();
            let how = if flushes {
                Filling::FlushesCache
            } else {
                Filling::Waits
            };
            fill(&mut *gpu, (scratch, scratch_bytes), 1, how);
            best = best.min(
                gpu.launch(sweep, &shape, &args, ExecutionOrder::Forward)
                    .unwrap(),
            );
        }
        best * 1e6
    };
    let (before, kept, flushed) = (best(sweep, true), best(keep, false), best(keep, true));
    // The clock may have risen since the first.
    let cold = before.min(best(sweep, true));
    println!(
        "8 MiB: {cold:.2} µs cold, {kept:.2} µs after lines were kept, {flushed:.2} µs after a flush"
    );
    assert!(flushed > 0.93 * cold, "{flushed} of {cold}");
}
