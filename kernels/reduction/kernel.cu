// Sum: y[0] = sum over i of x[i], in f32, for x in f32 or f16.
//
// As many blocks as are resident at once go through x, fewer if a thread would not have four loads of 16 bytes. A thread has up to eight
// of them on the way at once. Each block writes a sum, and a second launch of one warp adds those. What one block can load at once takes a
// single launch. The order of all additions is fixed, so a sum is the same in each run.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int THREADS = 512;
constexpr int BLOCKS_PER_SM = 2;
constexpr int PACKS = 8;  // loads of a thread on the way at once
constexpr int LEAST = 4;  // loads that make a further block worth its start

// As many cells as one access holds.
template <typename T>
struct alignas(16) Pack {
    static constexpr int N = 16 / sizeof(T);
    T value[N];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }

// Returns the sum of v over the block, in thread 0.
__device__ float block_sum(float v) {
    __shared__ float warps[THREADS / WARP];
    v = lab_warp_sum(v);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = v;
    __syncthreads();
    if (threadIdx.x >= WARP) return 0;
    return lab_warp_sum(threadIdx.x < THREADS / WARP ? warps[threadIdx.x] : 0.0f);
}

// Returns the sum of a pack: of halves, then of those, so that no addition waits for all before it.
template <typename T>
__device__ float sum_of(Pack<T> pack) {
    float part[Pack<T>::N];
    for (int i = 0; i < Pack<T>::N; i++) part[i] = widened(pack.value[i]);
    for (int half = Pack<T>::N / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) part[i] += part[i + half];
    return part[0];
}

// Returns the sum of the packs that the thread takes: all threads of the grid go through x side by side.
template <typename T>
__device__ float thread_sum(const T* x, int n) {
    typedef Pack<T> P;
    const P* xs = reinterpret_cast<const P*>(x);
    const int packs = n / P::N, first = blockIdx.x * THREADS + threadIdx.x, step = gridDim.x * THREADS;
    // The first threads also take the cells behind the last whole pack.
    float sum = first < n % P::N ? widened(x[packs * P::N + first]) : 0.0f;
#pragma unroll 1
    for (int p = first; p < packs; p += PACKS * step) {
        P held[PACKS] = {};
#pragma unroll
        for (int k = 0; k < PACKS; k++)
            if (p + k * step < packs) held[k] = xs[p + k * step];
#pragma unroll
        for (int k = 0; k < PACKS; k++) sum += sum_of(held[k]);
    }
    return sum;
}

template <typename T>
__device__ void sum_part(const T* x, int n, float* parts) {
    const float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) all_f32(const float* x, float* y, int n, float* parts) {
    sum_part(x, n, parts);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) all_f16(const __half* x, float* y, int n, float* parts) {
    sum_part(x, n, parts);
}

template <typename T>
__device__ void sum_alone(const T* x, float* y, int n) {
    const float sum = block_sum(thread_sum(x, n));
    if (threadIdx.x == 0) y[0] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) alone_f32(const float* x, float* y, int n, void* no_parts) {
    sum_alone(x, y, n);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) alone_f16(const __half* x, float* y, int n, void* no_parts) {
    sum_alone(x, y, n);
}

// One warp asks for all sums at once, and waits for no other warp.
constexpr int AT_ONCE = 9;  // 288 sums

extern "C" __global__ void __launch_bounds__(WARP) sum_of_parts(const void* x, float* y, int n, const float* parts, int count) {
    float held[AT_ONCE], sum = 0;
    for (int from = threadIdx.x; from < count; from += WARP * AT_ONCE) {
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) held[k] = from + k * WARP < count ? parts[from + k * WARP] : 0.0f;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) sum += held[k];
    }
    sum = lab_warp_sum(sum);
    if (threadIdx.x == 0) y[0] = sum;
}

__device__ void launch_sum(LabLaunches& launches, const LabDevice& device, int packs, const char* part, const char* alone) {
    if (packs <= THREADS * PACKS) {
        launches.add(alone).block[0] = THREADS;
        return;
    }
    const int needed = packs / (THREADS * LEAST) + 1, most = device.sms * BLOCKS_PER_SM;
    const int blocks = needed < most ? needed : most;
    launches.scratch_bytes = blocks * sizeof(float);
    LabShape& first = launches.add(part);
    first.grid[0] = blocks;
    first.block[0] = THREADS;
    launches.add("sum_of_parts").arg(blocks).block[0] = WARP;
}

LAB_LAUNCHES(sum_f32) { launch_sum(launches, device, dims.n / 4, "all_f32", "alone_f32"); }

LAB_LAUNCHES(sum_f16) { launch_sum(launches, device, dims.n / 8, "all_f16", "alone_f16"); }
