//! CUDA's features: warps, groups, atomics, shared memory in every form, types and intrinsics.

use super::*;

const SOURCE: &str = r#"
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include "lab.h"
namespace cg = cooperative_groups;

#define FULL 0xffffffffu
__constant__ int primes[4] = {2, 3, 5, 7};
__device__ int counter;

// One block of 64 threads. Each `put` writes one row of results.
extern "C" __global__ void warps(const int* in, int* out, int n) {
    const int t = threadIdx.x, lane = t & 31;
    const int x = in[t];
    int k = 0;
    auto put = [&](int v) { out[(k++) * 64 + t] = v; };
    put(__shfl_sync(FULL, x, 5));
    put(__shfl_up_sync(FULL, x, 3));
    put(__shfl_down_sync(FULL, x, 3, 16));
    put(__shfl_xor_sync(FULL, x, 9));
    put(__ballot_sync(FULL, x % 3 == 0));
    put(__any_sync(FULL, x == 40) * 2 + __all_sync(FULL, x < 64));
    put(__reduce_add_sync(FULL, x));
    put(__reduce_max_sync(FULL, x));
    put(__match_any_sync(FULL, x % 4));
    // The halves of a warp diverge, and each half meets.
    if (lane < 16) put(__shfl_sync(0x0000ffffu, x, 15));
    else put(__reduce_min_sync(0xffff0000u, x));
    // The lanes that are together.
    int together = 0;
    if (lane % 5 == 0) together = __popc(__activemask());
    put(together);
    put(__syncthreads_count(x % 2));
    put(__syncthreads_and(x < 64) * 2 + __syncthreads_or(x == 70));
    float s = 1.0f / (x + 1), w = s;
    for (int d = 16; d; d /= 2) s += __shfl_xor_sync(FULL, s, d);
    put(__float_as_int(s) == __float_as_int(lab_warp_sum(w)));
    double wide = __shfl_sync(FULL, x * 0.5, 7);
    put(int(wide * 2));
    put(primes[t & 3]);
}

extern "C" __global__ void groups(const int* in, int* out, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    auto warp = cg::tiled_partition<32>(block);
    const int t = block.thread_rank(), x = in[t];
    int k = 0;
    auto put = [&](int v) { out[(k++) * 64 + t] = v; };
    put(tile.shfl(x, 2));
    put(cg::reduce(tile, x, cg::plus<int>()));
    put(tile.any(x == 9) * 2 + tile.all(x >= 0));
    put(tile.ballot(x & 1));
    put(tile.meta_group_rank());
    put(cg::reduce(warp, x, cg::greater<int>()));
    put(int(cg::reduce(warp, float(x), cg::plus<float>())));
    put(cg::inclusive_scan(tile, x));
    struct Wide { int a[5]; } wide = {{x, 1, 2, 3, x * 2}};
    put(tile.shfl(wide, 3).a[4]);
    if (x % 3 == 0) {
        cg::coalesced_group here = cg::coalesced_threads();
        put(here.size() * 100 + here.thread_rank());
        k -= 1;
    }
    k += 1;
    tile.sync();
    cg::thread_group any = block;
    any.sync();
    cg::sync(block);
    put(block.group_dim().x + any.size() - cg::thread_group(tile).size());
}

extern "C" __global__ void atomics(const int* in, int* out, int n) {
    __shared__ int total;
    __shared__ unsigned long long big;
    if (threadIdx.x == 0) total = 0, big = 0;
    __syncthreads();
    atomicAdd(&total, in[threadIdx.x]);
    atomicMax(&big, (unsigned long long)in[threadIdx.x] << 40);
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(out + 0, total);
        atomicMax(out + 1, int(big >> 40));
        atomicOr(out + 2, 1 << blockIdx.x);
        atomicAdd((float*)out + 3, 0.5f);
        atomicExch(out + 4, 77);
        int old = atomicCAS(out + 5, 0, 9);
        if (old != 0 && old != 9) atomicExch(out + 5, -1);
        cuda::atomic_ref<int, cuda::thread_scope_device> ref(out[6]);
        ref.fetch_add(3, cuda::memory_order_relaxed);
        atomicAdd((__half2*)(out + 7), __halves2half2(1.0f, 2.0f));
        atomicMin(out + 8, -int(blockIdx.x));
    }
}

template <int N, class T>
__device__ T in_template(T x) {
    __shared__ T cell[N], other;
    cell[threadIdx.x % N] = x;
    if (threadIdx.x == 0) other = T(N);
    __syncthreads();
    return cell[(threadIdx.x + 1) % N] + other;
}
extern __shared__ __align__(16) unsigned char outside[];
extern "C" __global__ void shared_forms(const int* in, int* out, int n) {
    const int t = threadIdx.x;
    int k = 0;
    auto put = [&](int v) { out[(k++) * 64 + t] = v; };
    put(in_template<64>(in[t]));
    __syncthreads();
    put(int(in_template<64>(float(in[t]))));
    __shared__ alignas(16) volatile float tile[8]
        [9];
    static __shared__ float4 vec[2]; __shared__ struct { int a; float b; } pair;
    tile[t / 8][t % 8] = t;
    if (t == 0) vec[1] = make_float4(1, 2, 3, 4), pair.a = 5, pair.b = 6;
    extern __shared__ float words[];
    words[t] = 2 * t;
    __syncthreads();
    put(int(tile[t % 8][t / 8]));
    put(int(vec[1].z + pair.a + pair.b));
    put(int(words[63 - t]));
    put(int(reinterpret_cast<float*>(outside)[t]));
    put(sizeof(tile) + (reinterpret_cast<size_t>(vec) % 16));
}

extern "C" __global__ void three(const int*, int* out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
              z = blockIdx.z * blockDim.z + threadIdx.z;
    const int w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
    out[(z * h + y) * w + x] = x + 100 * y + 10000 * z;
}

// Each block writes, all meet, and each block reads its neighbour's value; three times.
extern "C" __global__ void whole_grid(const int*, int* out, int n) {
    auto grid = cg::this_grid();
    for (int round = 1; round <= 3; ++round) {
        if (threadIdx.x == 0) out[blockIdx.x] += round;
        grid.sync();
        int next = out[(blockIdx.x + 1) % gridDim.x];
        grid.sync();
        if (threadIdx.x == 7) out[blockIdx.x] += next;
        grid.sync();
    }
}

// A hand-made barrier that polls.
extern "C" __global__ void hand_made(const int*, int* out, int n) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(out, 1);
        while (__ldcg(out) < int(gridDim.x)) {}
        atomicAdd(out + 1, 1);
        while (atomicAdd(out + 1, 0) < int(gridDim.x)) {}
    }
    __syncthreads();
    if (threadIdx.x == 33) atomicAdd(out + 2, 1);
}

extern "C" __global__ void intrinsics(const int*, int* out, int n) {
    int k = 0;
    auto put = [&](int v) { out[k++] = v; };
    put(__popc(0xf0f0));
    put(__ffs(8));
    put(__clz(1));
    put(__brev(1u) == 0x80000000u);
    put(__byte_perm(0x33221100, 0x77665544, 0x5140) == 0x55114400);
    put(__funnelshift_l(0x80000000u, 1u, 1) == 3);
    put(__umulhi(0x80000000u, 6u));
    put(__float2int_rn(2.5f));
    put(__float2int_rz(3e9f) == 2147483647);
    put(rsqrtf(0.25f) == 2.0f);
    put(__fmaf_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f) == 0x1p-11f + 0x1p-24f);
    put((1.0f + 0x1p-12f) * (1.0f + 0x1p-12f) - 1.0f == 0x1p-11f);
    put(fabsf(__expf(1.0f) - 2.7182817f) < 1e-6f);
    put(min(3, 4) + max(2.0f, 1.0f));
    put(__dp4a(0x01020304, 0x01010101, 1));
    put(clock64() > 0);
    float4 v = make_float4(1, 2, 3, 4);
    put(sizeof(float3) + alignof(float4) + int(v.w));
    put(__saturatef(1.5f));
    dim3 d(2, 3);
    put(d.x + d.y + d.z);
}
"#;

fn bench() -> Bench {
    Bench::new(SOURCE)
}

#[test]
fn warps_blocks_and_groups() {
    let mut bench = bench();
    let x: Vec<i32> = (0..64).map(|t| (t * 7) % 64).collect();
    let warp = |t: usize| &x[t / 32 * 32..][..32];
    let bits = |t: usize, yes: &dyn Fn(i32) -> bool| -> i32 {
        warp(t)
            .iter()
            .enumerate()
            .map(|(l, v)| i32::from(yes(*v)) << l)
            .fold(0, |a, b| a | b)
    };
    for order in ORDERS {
        let out: Vec<i32> = bench
            .run("warps", &shape(1, 64), &x, 16 * 64, order)
            .unwrap();
        for t in 0..64 {
            let (lane, row) = (t % 32, |k: usize| out[k * 64 + t]);
            assert_eq!(row(0), warp(t)[5]);
            assert_eq!(row(1), warp(t)[if lane < 3 { lane } else { lane - 3 }]);
            assert_eq!(
                row(2),
                warp(t)[if lane % 16 + 3 > 15 { lane } else { lane + 3 }]
            );
            assert_eq!(row(3), warp(t)[lane ^ 9]);
            assert_eq!(row(4), bits(t, &|v| v % 3 == 0));
            assert_eq!(row(5), i32::from(warp(t).contains(&40)) * 2 + 1);
            assert_eq!(row(6), warp(t).iter().sum::<i32>());
            assert_eq!(row(7), *warp(t).iter().max().unwrap());
            assert_eq!(row(8), bits(t, &|v| v % 4 == x[t] % 4));
            let half = if lane < 16 {
                warp(t)[15]
            } else {
                *warp(t)[16..].iter().min().unwrap()
            };
            assert_eq!(row(9), half);
            assert_eq!(row(10), if lane % 5 == 0 { 7 } else { 0 });
            assert_eq!(row(11), x.iter().filter(|v| *v % 2 == 1).count() as i32);
            assert_eq!(row(12), 2);
            assert_eq!(row(13), 1, "one rendezvous adds like five shuffles");
            assert_eq!(row(14), warp(t)[7]);
            assert_eq!(row(15), [2, 3, 5, 7][t & 3]);
        }
        let out: Vec<i32> = bench
            .run("groups", &shape(1, 64), &x, 11 * 64, order)
            .unwrap();
        for t in 0..64 {
            let (tile, row) = (&x[t / 8 * 8..][..8], |k: usize| out[k * 64 + t]);
            assert_eq!(row(0), tile[2]);
            assert_eq!(row(1), tile.iter().sum::<i32>());
            assert_eq!(row(2), i32::from(tile.contains(&9)) * 2 + 1);
            assert_eq!(
                row(3),
                tile.iter()
                    .enumerate()
                    .map(|(i, v)| (v & 1) << i)
                    .sum::<i32>()
            );
            assert_eq!(row(4), t as i32 / 8);
            assert_eq!(row(5), *warp(t).iter().max().unwrap());
            assert_eq!(row(6), warp(t).iter().sum::<i32>());
            assert_eq!(row(7), tile[..=t % 8].iter().sum::<i32>());
            assert_eq!(row(8), tile[3] * 2);
            if x[t] % 3 == 0 {
                let here = |part: &[i32]| part.iter().filter(|v| *v % 3 == 0).count() as i32;
                assert_eq!(row(9), here(warp(t)) * 100 + here(&warp(t)[..t % 32]));
            }
            assert_eq!(row(10), 64 + 64 - 8);
        }
    }
}

#[test]
fn atomics_add_up_over_blocks() {
    let mut bench = bench();
    let x: Vec<i32> = (0..64).collect();
    for order in ORDERS {
        let out = bench
            .run_over(&[0; 9], "atomics", &shape(16, 64), &x, order)
            .unwrap();
        let sum: i32 = x.iter().sum();
        let pair = i32::from(half::f16::from_f32(16.0).to_bits())
            | i32::from(half::f16::from_f32(32.0).to_bits()) << 16;
        assert_eq!(
            out,
            [
                16 * sum,
                63,
                0xffff,
                8.0f32.to_bits() as i32,
                77,
                9,
                48,
                pair,
                -15
            ]
        );
    }
}

#[test]
fn shared_memory_in_every_form() {
    let mut bench = bench();
    let x: Vec<i32> = (0..64).map(|t| t * t).collect();
    let shape = Shape {
        shared_bytes: 64 * 4,
        ..shape(1, 64)
    };
    for order in ORDERS {
        let out: Vec<i32> = bench
            .run("shared_forms", &shape, &x, 7 * 64, order)
            .unwrap();
        for t in 0..64 {
            let row = |k: usize| out[k * 64 + t];
            assert_eq!(row(0), x[(t + 1) % 64] + 64);
            assert_eq!(row(1), x[(t + 1) % 64] + 64);
            assert_eq!(row(2), (t % 8 * 8 + t / 8) as i32);
            assert_eq!(row(3), 14);
            assert_eq!(row(4), 2 * (63 - t as i32));
            assert_eq!(row(5), 2 * t as i32);
            assert_eq!(row(6), 8 * 9 * 4);
        }
    }
}

#[test]
fn grids_of_three_dimensions() {
    let mut bench = bench();
    let shape = Shape {
        grid: [3, 2, 2],
        block: [4, 5, 3],
        ..Shape::default()
    };
    for order in ORDERS {
        let out: Vec<i32> = bench
            .run("three", &shape, &[0i32], 12 * 10 * 6, order)
            .unwrap();
        let expected: Vec<i32> = (0..6)
            .flat_map(|z| (0..10).flat_map(move |y| (0..12).map(move |x| x + 100 * y + 10000 * z)))
            .collect();
        assert_eq!(out, expected);
    }
}

#[test]
fn all_blocks_meet_at_the_grids_barrier() {
    let mut bench = bench();
    let blocks = 24;
    let mut expected = vec![0i32; blocks];
    for round in 1..=3 {
        expected.iter_mut().for_each(|v| *v += round);
        let before = expected.clone();
        (0..blocks).for_each(|b| expected[b] += before[(b + 1) % blocks]);
    }
    for order in ORDERS {
        let shape = Shape {
            cooperative: true,
            ..shape(blocks as u32, 64)
        };
        let out = bench
            .run_over(&vec![0; blocks], "whole_grid", &shape, &[0], order)
            .unwrap();
        assert_eq!(out, expected);
        let out = bench
            .run_over(&[0; 3], "hand_made", &shape, &[0], order)
            .unwrap();
        assert_eq!(out[2], blocks as i32);
    }
}

#[test]
fn intrinsics_have_their_values() {
    let mut bench = bench();
    let out: Vec<i32> = bench
        .run(
            "intrinsics",
            &shape(1, 1),
            &[0i32],
            19,
            ExecutionOrder::Forward,
        )
        .unwrap();
    assert_eq!(
        out,
        [8, 4, 31, 1, 1, 1, 3, 2, 1, 1, 1, 1, 1, 5, 11, 1, 32, 1, 6]
    );
}

/// CUDA C++ Programming Guide: barriers and warp functions wait for all threads that have not
/// exited.
#[test]
fn threads_that_have_returned_are_not_waited_for() {
    let mut bench = Bench::new(
        r#"#include "lab.h"
#define KERNEL(name) extern "C" __global__ void name(const int* in, int* out, int n)
KERNEL(sums) {
    const int t = threadIdx.x;
    if (t >= 40) return;
    __shared__ int sums[2];
    int sum = in[t];
    const unsigned here = t < 32 ? 0xffffffffu : 0xffu;
    for (int d = 16; d; d /= 2) {
        const int other = __shfl_down_sync(here, sum, d);
        if ((t & 31) + d < (t < 32 ? 32 : 8)) sum += other;
    }
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    out[t] = sums[0] + sums[1] + 1000 * __syncthreads_count(t % 2) + 100000 * __syncthreads_and(t < 40);
}
// The last thread returns when all others wait already.
KERNEL(last_returns) {
    if (threadIdx.x == 5) return;
    __syncthreads();
    out[threadIdx.x] = __syncthreads_count(1);
}
KERNEL(after_a_barrier) {
    const int t = threadIdx.x;
    __shared__ int cells[64];
    for (int left = 64; left > 1; left /= 2) {
        cells[t] = left;
        __syncthreads();
        if (t >= left / 2) return;
        out[t] = cells[t + left / 2];
        __syncthreads();
    }
}
"#,
    );
    let input: Vec<i32> = (0..64).collect();
    for order in ORDERS {
        let out: Vec<i32> = bench.run("sums", &shape(1, 64), &input, 40, order).unwrap();
        assert_eq!(out, [780 + 20_000 + 100_000; 40], "{order:?}");
        let out: Vec<i32> = bench
            .run("last_returns", &shape(1, 64), &input, 64, order)
            .unwrap();
        assert_eq!((out[0], out[63]), (63, 63), "{order:?}");
        let out: Vec<i32> = bench
            .run("after_a_barrier", &shape(1, 64), &input, 64, order)
            .unwrap();
        assert_eq!(out[..4], [2, 4, 8, 8], "{order:?}");
    }
}

/// A GPU gives an undefined value, often that of an earlier instruction: no kernel may rely on a
/// zero.
#[test]
fn lanes_that_have_returned_contribute_no_number() {
    let mut bench = Bench::new(
        r#"#include "lab.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(const float* in, float* out, int n) {
    const int t = threadIdx.x;
    if (t >= 20) return;
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int k = 0;
    auto put = [&](float v) { out[20 * k++ + t] = v; };
    put(lab_warp_sum(in[t]));
    put(__shfl_down_sync(0xffffffffu, in[t], 1));
    put(cg::reduce(warp, in[t], cg::plus<float>()));
    put(cg::exclusive_scan(warp, in[t], cg::plus<float>()));
    put(cg::reduce(cg::coalesced_threads(), in[t], cg::plus<float>()));
    put(float(cg::reduce(warp, int(in[t]), cg::plus<int>())));
    put(float(__reduce_add_sync(0xffffffffu, int(in[t]))));
}
"#,
    );
    let input: Vec<f32> = (0..32).map(|i| i as f32).collect();
    for order in ORDERS {
        let out: Vec<f32> = bench
            .run("sums", &shape(1, 32), &input, 140, order)
            .unwrap();
        let rows: Vec<&[f32]> = out.chunks(20).collect();
        for row in [0, 2] {
            assert!(
                rows[row].iter().all(|v| v.is_nan()),
                "row {row}, {order:?}: {:?}",
                rows[row]
            );
        }
        assert!(
            rows[1][19].is_nan() && rows[1][18] == 19.0,
            "{order:?}: {:?}",
            rows[1]
        );
        // Ranks count from the first member, and only later ones have returned.
        assert_eq!(
            (rows[3][19], rows[4], rows[5], rows[6]),
            (171.0, &[190.0; 20][..], &[190.0; 20][..], &[190.0; 20][..])
        );
    }
}
