//! The helpers of lab.h, on the cpu device.

use crate::problem::philox::{key, philox};
use crate::worker::{BufferId, Launch, LaunchArg, SCRATCH_NAME, Worker};
use lab_device::{BuildRequest, DeviceError, ExecutionOrder};
use lab_protocol::{CompileOptions, Target};
use std::path::PathBuf;
use std::time::Duration;

/// The Gumbel noise of every token at step `t`: `−ln(−ln(uniform))` with
/// `uniform = ((word >> 9) + 0.5) · 2⁻²³`.
fn gumbel(seed: u64, t: u32, tokens: u32) -> impl Iterator<Item = f64> {
    (0..tokens.div_ceil(4))
        .flat_map(move |quad| philox([quad, t, 0, 0], key(seed)))
        .map(|word| {
            let uniform = (f64::from(word >> 9) + 0.5) * 2f64.powi(-23);
            -(-uniform.ln()).ln()
        })
}

/// A source built for the cpu device, and a worker for it.
struct Built {
    image: PathBuf,
    worker: Worker,
    /// Keeps the source as long as it is in use.
    _folder: tempfile::TempDir,
}

fn build(source: &str, problem_header: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel.cu");
    std::fs::write(&path, source).unwrap();
    let request = BuildRequest {
        source: path,
        shown_as: "kernel.cu".into(),
        include_dirs: Vec::new(),
        defines: Vec::new(),
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: problem_header.into(),
        arch: String::new(),
        cache_dir: crate::testing::headers::beside(),
    };
    let built = lab_device::builder(Target::Cpu)
        .unwrap()
        .build(&request)
        .unwrap();
    let image = built
        .image
        .unwrap_or_else(|| panic!("does not build:\n{}", built.log));
    let open = || -> Result<_, DeviceError> { lab_device::open(Target::Cpu) };
    let worker = Worker::on_a_thread(open, Duration::from_secs(120)).unwrap();
    Built {
        image,
        worker,
        _folder: folder,
    }
}

/// Launches a kernel that takes one buffer, and returns what it left there.
fn run(source: &str, order: ExecutionOrder, content: &[u32]) -> Vec<u32> {
    let Built {
        image,
        mut worker,
        _folder,
    } = build(source, "struct LabDims { int n; };\n");
    let module = worker.load(&image).unwrap();
    let buffer: BufferId = worker.buffer("cells", 4 * content.len()).unwrap();
    worker.write(buffer, bytemuck::cast_slice(content)).unwrap();
    let launch = Launch {
        module,
        entry: "k".into(),
        args: vec![LaunchArg::Buffer(buffer)],
        dims: 0u32.to_le_bytes().to_vec(),
        order,
        parameters: Vec::new(),
        scratch: SCRATCH_NAME.into(),
    };
    worker.launch(&launch).unwrap();
    bytemuck::pod_collect_to_vec(&worker.read(buffer).unwrap())
}

#[test]
fn the_noise_of_lab_h_is_that_of_philox() {
    let source = r#"
        #include "lab.h"
        extern "C" __global__ void k(unsigned* cells) {
            const unsigned step = blockIdx.x, token = threadIdx.x;
            cells[step * 256 + token] = __float_as_uint(lab_gumbel(0x89abcdefu, 0x01234567u, step, token));
        }
        LAB_LAUNCH(k) { launch.grid[0] = 8; launch.block[0] = 256; }
    "#;
    let found = run(source, ExecutionOrder::Forward, &[0; 8 * 256]);
    for (step, found) in (0..).zip(found.chunks(256)) {
        for (token, (found, expected)) in found
            .iter()
            .zip(gumbel(0x0123_4567_89ab_cdef, step, 256))
            .enumerate()
        {
            let found = f64::from(f32::from_bits(*found));
            // Five units of rounding at the largest possible noise, 16.6, in f32.
            assert!(
                (found - expected).abs() < 1.1e-6,
                "step {step} token {token}: {found}, not {expected}"
            );
        }
    }
}

#[test]
fn a_warp_sum_adds_in_the_order_that_lab_h_says() {
    let source = r#"
        #include "lab.h"
        extern "C" __global__ void k(unsigned* cells) {
            cells[threadIdx.x] = __float_as_uint(lab_warp_sum(__uint_as_float(cells[threadIdx.x])));
        }
        LAB_LAUNCH(k) { launch.block[0] = 32; }
    "#;
    let values: Vec<f32> = (0..32).map(|i| 1.0 / (i as f32 * 37.0 + 0.3)).collect();
    let mut sums = values.clone();
    for bits in [16, 8, 4, 2, 1] {
        sums = (0..32).map(|lane| sums[lane] + sums[lane ^ bits]).collect();
    }
    let found = run(
        source,
        ExecutionOrder::Shuffled(4),
        bytemuck::cast_slice(&values),
    );
    assert_eq!(bytemuck::cast_slice::<u32, f32>(&found), sums);
}

#[test]
fn tagged_words_and_the_grid_barrier_carry_values_between_blocks() {
    // Every thread passes its number on to the next thread: 5 times through tagged words (two in
    // turn) and 20 times through plain memory between two barriers.
    let source = r#"
        #include "lab.h"
        constexpr int N = 4 * 32;
        extern "C" __global__ void k(unsigned* cells) {
            unsigned long long* words = reinterpret_cast<unsigned long long*>(cells);
            unsigned* arrivals = cells + 4 * N;
            volatile unsigned* plain = cells + 4 * N + 1;
            const int me = blockIdx.x * blockDim.x + threadIdx.x, before = (me + N - 1) % N;
            float value = float(me);
            for (unsigned epoch = 1; epoch <= 5; ++epoch) {
                unsigned long long* turn = words + epoch % 2 * N;
                lab_store_tagged(turn + me, value, epoch);
                // Reads all words, so that none is overwritten before all threads have read it.
                float sum = 0.0f;
                for (int i = 0; i < N; ++i) sum += lab_load_tagged(turn + i, epoch);
                value = sum == N * (N - 1) / 2 ? lab_load_tagged(turn + before, epoch) : -1.0f;
            }
            for (int round = 0; round < 20; ++round) {
                plain[me] = unsigned(value);
                lab_grid_barrier(arrivals);
                value = float(plain[before]);
                lab_grid_barrier(arrivals);
            }
            plain[me] = unsigned(value);
        }
        LAB_LAUNCH(k) { launch.grid[0] = 4; launch.block[0] = 32; launch.cooperative = 1; }
    "#;
    let n = 128u32;
    for order in [
        ExecutionOrder::Forward,
        ExecutionOrder::Reverse,
        ExecutionOrder::Shuffled(1),
    ] {
        let found = run(source, order, &vec![0; 5 * n as usize + 1]);
        let expected: Vec<u32> = (0..n).map(|me| (me + n - 25) % n).collect();
        assert_eq!(found[4 * n as usize + 1..], expected, "{order:?}");
        assert_eq!(found[4 * n as usize], 4 * 40, "arrivals count up");
    }
}

/// A kernel that counts its launches in a global. Its cells are the count, and what the launch
/// statement left.
const REMEMBERS: &str = r#"
    #include "lab.h"
    __device__ unsigned launches = 5, left;
    extern "C" __global__ void k(unsigned* cells) {
        cells[0] = ++launches;
        cells[1] = left;
    }
    LAB_LAUNCH(k) { left = dims.n + 1; }
"#;

#[test]
fn a_module_that_is_renewed_remembers_no_launch_and_no_launch_statement() {
    let Built {
        image,
        mut worker,
        _folder,
    } = build(REMEMBERS, "struct LabDims { int n; };\n");
    let module = worker.load(&image).unwrap();
    let cells = worker.buffer("cells", 8).unwrap();
    let seen = |worker: &mut Worker, n: u32| -> Vec<u32> {
        let launch = Launch {
            module,
            entry: "k".into(),
            args: vec![LaunchArg::Buffer(cells)],
            dims: n.to_le_bytes().to_vec(),
            order: ExecutionOrder::Forward,
            parameters: Vec::new(),
            scratch: SCRATCH_NAME.into(),
        };
        worker.launch(&launch).unwrap();
        bytemuck::pod_collect_to_vec(&worker.read(cells).unwrap())
    };
    assert_eq!(
        seen(&mut worker, 1),
        [6, 0],
        "the statement ran before, and left nothing"
    );
    assert_eq!(
        seen(&mut worker, 1),
        [7, 0],
        "launches of one instance remember each other"
    );
    worker.reload(module).unwrap();
    assert_eq!(seen(&mut worker, 1), [6, 0]);
    // With other dims the launch statement runs again.
    assert_eq!(seen(&mut worker, 2), [6, 0]);
}

#[test]
fn pairs_of_tagged_words_and_counted_sums_carry_values_between_blocks() {
    // Every thread publishes a pair and reads two others' pairs at once. Then all threads add to
    // one sum in three rounds: fractions and negative numbers, each an exact multiple of 2^-36.
    let source = r#"
        #include "lab.h"
        constexpr int N = 4 * 32, ROUNDS = 3;
        extern "C" __global__ void k(unsigned* cells) {
            unsigned long long* words = reinterpret_cast<unsigned long long*>(cells);
            unsigned long long* sum = words + 2 * N;
            unsigned* arrivals = cells + 4 * N + 2;
            unsigned* out = cells + 4 * N + 4;
            const int me = blockIdx.x * blockDim.x + threadIdx.x;
            lab_store_tagged(words + 2 * me, make_float2(me, -me), 7);
            float2 pairs[2];
            lab_load_tagged(words + me / 2 * 2, N, 7, pairs);
            const int low = me / 2, high = low + N / 2;
            bool right = pairs[0].x == low && pairs[0].y == -low && pairs[1].x == high && pairs[1].y == -high;
            unsigned long long before = 0;
            for (int round = 1; round <= ROUNDS; ++round) {
                lab_add_counted(sum, round * (me * 0.25f - 100.0f));
                const unsigned long long after = lab_load_counted(sum, N * round);
                right &= lab_counted_between(before, after) == round * (N * (N - 1) / 8.0f - 100.0f * N);
                before = after;
                lab_grid_barrier(arrivals);
            }
            out[me] = right;
        }
        LAB_LAUNCH(k) { launch.grid[0] = 4; launch.block[0] = 32; launch.cooperative = 1; }
    "#;
    for order in [
        ExecutionOrder::Forward,
        ExecutionOrder::Reverse,
        ExecutionOrder::Shuffled(1),
    ] {
        let found = run(source, order, &[0; 5 * 128 + 4]);
        assert_eq!(found[4 * 128 + 4..], [1; 128], "{order:?}");
    }
}

#[test]
fn marked_values_carry_all_but_their_lowest_bit_between_blocks() {
    // Every thread publishes one value in each of 4 turns, with two words in turn, and reads two
    // groups of four from others at once.
    let source = r#"
        #include "lab.h"
        constexpr int N = 4 * 32;
        extern "C" __global__ void k(unsigned* cells) {
            float* words = reinterpret_cast<float*>(cells);
            unsigned* arrivals = cells + 2 * N;
            unsigned* out = cells + 2 * N + 4;
            const int me = blockIdx.x * blockDim.x + threadIdx.x, four = me / 4 * 4, other = (four + N / 2) % N;
            bool right = true;
            for (int turn = 0; turn < 4; ++turn) {
                float* word = words + turn % 2 * N;
                const unsigned mark = turn / 2 + 1;
                lab_store_marked(word + me, me * 1.5f - turn, mark);
                float4 values[2];
                lab_load_marked(word + min(four, other), N / 2, mark, values);
                const float4 mine = values[four > other];
                for (int i = 0; i < 4; ++i) {
                    const float got = i == 0 ? mine.x : i == 1 ? mine.y : i == 2 ? mine.z : mine.w;
                    right &= got == lab_marked((four + i) * 1.5f - turn, mark);
                    right &= fabsf(got - ((four + i) * 1.5f - turn)) <= fabsf(got) * 1.2e-7f + 2e-45f;
                }
                lab_grid_barrier(arrivals);
            }
            if (me % 4 == 0) lab_store_marked(words + me, make_float4(me, me + 1, me + 2, me + 3), 1);
            const float4 last = lab_load_marked(words + four, 1);
            out[me] = right && last.w == lab_marked(four + 3, 1);
        }
        LAB_LAUNCH(k) { launch.grid[0] = 4; launch.block[0] = 32; launch.cooperative = 1; }
    "#;
    for order in [
        ExecutionOrder::Forward,
        ExecutionOrder::Reverse,
        ExecutionOrder::Shuffled(1),
    ] {
        let found = run(source, order, &[0; 3 * 128 + 4]);
        assert_eq!(found[2 * 128 + 4..], [1; 128], "{order:?}");
    }
}
