//! CUB's block and warp primitives, and cuRAND's Philox generator.

use super::*;

const SOURCE: &str = r#"
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/functional>
#include <curand_kernel.h>

// One block of 64 threads in two rows. Each `put` writes one row of results.
struct Running {
    int before;
    __device__ int operator()(int total) {
        const int first = before;
        before += total;
        return first;
    }
};

extern "C" __global__ void primitives(const int* in, int* out, int n) {
    using Reduce = cub::BlockReduce<int, 32, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 2>;
    using Scan = cub::BlockScan<int, 32, cub::BLOCK_SCAN_WARP_SCANS, 2>;
    using Exchange = cub::BlockExchange<int, 32, 2, false, 2>;
    using Load = cub::BlockLoad<int, 32, 2, cub::BLOCK_LOAD_STRIPED, 2>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
        typename Exchange::TempStorage exchange;
    } temp;
    __shared__ typename cub::WarpReduce<int, 8>::TempStorage of_eight;
    __shared__ typename cub::WarpScan<int>::TempStorage of_warp;
    const int t = threadIdx.x + 32 * threadIdx.y, x = in[t];
    int k = 0;
    auto put = [&](int v) { out[(k++) * 64 + t] = v; };
    int r = Reduce(temp.reduce).Sum(x);
    put(t == 0 ? r : 0);
    __syncthreads();
    r = Reduce(temp.reduce).Reduce(x, cuda::maximum<>{}, 40);
    put(t == 0 ? r : 0);
    __syncthreads();
    int two[2] = {x, 1000 * x};
    r = Reduce(temp.reduce).Sum(two);
    put(t == 0 ? r : 0);
    r = cub::WarpReduce<int, 8>(of_eight).Reduce(x, cuda::minimum<>{});
    put(t % 8 == 0 ? r : 0);
    int total;
    cub::WarpScan<int>(of_warp).InclusiveSum(x, r, total);
    put(r + 100000 * total);
    cub::WarpScan<int>(of_warp).ExclusiveScan(x, r, 7, cuda::maximum<>{});
    put(r);
    __syncthreads();
    Scan(temp.scan).ExclusiveSum(x, r, total);
    put(r);
    put(total);
    __syncthreads();
    Scan(temp.scan).InclusiveScan(two, two, [](int a, int b) { return a + b; });
    put(two[0]);
    put(two[1]);
    Running running{5};
    for (int round = 0; round < 2; round++) {
        __syncthreads();
        Scan(temp.scan).InclusiveSum(x, r, running);
    }
    put(r);
    __syncthreads();
    int items[2] = {2 * t, 2 * t + 1};
    Exchange(temp.exchange).BlockedToStriped(items);
    put(items[0]);
    put(items[1]);
    Load().Load(in, items, 100, -1);
    put(items[1]);
}

extern "C" __global__ void philox(const int* in, unsigned* out, int n) {
    if (threadIdx.x) return;
    curandStatePhilox4_32_10_t state;
    curand_init(1234ull, 0ull, 0ull, &state);
    for (int i = 0; i < 3; i++) out[i] = curand(&state);
    const uint4 four = curand4(&state);
    out[3] = four.x;
    out[4] = four.w;
    curand_init(1234ull, 0ull, 3ull, &state);
    out[5] = curand(&state);
    out[6] = curand(&state);
    const float u = curand_uniform(&state), z = curand_normal(&state);
    out[7] = u > 0.0f && u <= 1.0f && z > -7.0f && z < 7.0f;
}
"#;

#[test]
fn cubs_primitives_reduce_scan_and_exchange() {
    let input: Vec<i32> = (0..128).map(|i| (i * 37) % 101 - 20).collect();
    let x = &input[..64];
    let at_zero = |value: i32| {
        let mut row = vec![0; 64];
        row[0] = value;
        row
    };
    let sum: i32 = x.iter().sum();
    let before = |t: usize| x[..t].iter().sum::<i32>();
    let warp = |t: usize| t / 32 * 32;
    let row = |of: &dyn Fn(usize) -> i32| (0..64).map(of).collect::<Vec<i32>>();
    let expected: Vec<Vec<i32>> = vec![
        at_zero(sum),
        at_zero(*x[..40].iter().max().unwrap()),
        at_zero(1001 * sum),
        row(&|t| match t % 8 {
            0 => *x[t..t + 8].iter().min().unwrap(),
            _ => 0,
        }),
        row(&|t| {
            let total: i32 = x[warp(t)..warp(t) + 32].iter().sum();
            x[warp(t)..=t].iter().sum::<i32>() + 100_000 * total
        }),
        row(&|t| x[warp(t)..t].iter().copied().fold(7, i32::max)),
        row(&before),
        vec![sum; 64],
        row(&|t| 1001 * before(t) + x[t]),
        row(&|t| 1001 * before(t + 1)),
        row(&|t| 5 + sum + before(t + 1)),
        row(&|t| t as i32),
        row(&|t| 64 + t as i32),
        row(&|t| if t < 36 { input[64 + t] } else { -1 }),
    ];
    let wide = Shape {
        block: [32, 2, 1],
        ..shape(1, 32)
    };
    for order in ORDERS {
        let cells = 64 * expected.len();
        let got: Vec<i32> = Bench::new(SOURCE)
            .run("primitives", &wide, &input, cells, order)
            .unwrap();
        for (number, (want, got)) in expected.iter().zip(got.chunks(64)).enumerate() {
            assert_eq!(got, want, "row {number}, {order:?}");
        }
    }
}

/// The first block of the key 1234 is computed here as well.
#[test]
fn philox_gives_the_words_of_its_algorithm() {
    let block = |counter: u32| {
        let (mut c, mut k) = ([counter, 0, 0, 0], [1234u32, 0]);
        for _ in 0..10 {
            let a = u64::from(0xD251_1F53u32) * u64::from(c[0]);
            let b = u64::from(0xCD9E_8D57u32) * u64::from(c[2]);
            c = [
                (b >> 32) as u32 ^ c[1] ^ k[0],
                b as u32,
                (a >> 32) as u32 ^ c[3] ^ k[1],
                a as u32,
            ];
            k = [
                k[0].wrapping_add(0x9E37_79B9),
                k[1].wrapping_add(0xBB67_AE85),
            ];
        }
        c
    };
    let (first, second) = (block(0), block(1));
    let got: Vec<u32> = Bench::new(SOURCE)
        .run("philox", &shape(1, 32), &[0], 8, ExecutionOrder::Forward)
        .unwrap();
    assert_eq!(
        got,
        [
            first[0], first[1], first[2], first[3], second[2], first[3], second[0], 1
        ]
    );
}
