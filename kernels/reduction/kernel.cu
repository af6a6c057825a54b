// Sum: y[0] = sum over i of x[i], in f32, for x in f32 or f16.
//
// Two passes. In the first one the threads go through x in packs of 16 bytes, all side by side, and each block writes the sum of what its
// threads read. In the second one a single block adds these sums. The order of all additions is fixed, so a sum is the same in each run.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int THREADS = 256;
constexpr int BLOCKS_PER_SM = 8;

// As many cells as one access holds.
template <typename T>
struct alignas(16) Pack {
    T value[16 / sizeof(T)];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }

// Returns the sum of v over the block, in thread 0.
__device__ float block_sum(float v) {
    __shared__ float warps[THREADS / WARP];
    v = lab_warp_sum(v);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < THREADS / WARP; w++) sum += warps[w];
    return sum;
}

template <typename T>
__device__ void sum_part(const T* x, int n, float* parts) {
    constexpr int N = 16 / sizeof(T);
    const Pack<T>* packs = reinterpret_cast<const Pack<T>*>(x);
    const int first = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;
    for (int p = first; p < n / N; p += gridDim.x * THREADS) {
        const Pack<T> pack = packs[p];
        for (int k = 0; k < N; k++) sum += widened(pack.value[k]);
    }
    // The first threads also take the cells behind the last whole pack.
    if (first < n % N) sum += widened(x[n / N * N + first]);
    sum = block_sum(sum);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void part_f32(const float* x, float* y, int n, float* parts) {
    sum_part(x, n, parts);
}

extern "C" __global__ void part_f16(const __half* x, float* y, int n, float* parts) {
    sum_part(x, n, parts);
}

extern "C" __global__ void sum_of_parts(const void* x, float* y, int n, const float* parts, int count) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += THREADS) sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[0] = sum;
}

__device__ void launch_both(LabLaunches& launches, const LabDevice& device, int packs, const char* part) {
    const int needed = packs / THREADS + 1, most = device.sms * BLOCKS_PER_SM;
    const int blocks = needed < most ? needed : most;
    launches.scratch_bytes = blocks * sizeof(float);
    LabShape& first = launches.add(part);
    first.grid[0] = blocks;
    first.block[0] = THREADS;
    launches.add("sum_of_parts").arg(blocks).block[0] = THREADS;
}

LAB_LAUNCHES(sum_f32) {
    launch_both(launches, device, dims.n / 4, "part_f32");
}

LAB_LAUNCHES(sum_f16) {
    launch_both(launches, device, dims.n / 8, "part_f16");
}
