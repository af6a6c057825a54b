// The reference: its results are what is right. Blocks sum parts of x in f64, and one block the sums of the parts.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;
constexpr int MOST_PARTS = 2048;

__device__ double widened(double v) { return v; }
__device__ double widened(float v) { return v; }
__device__ double widened(__half v) { return __half2float(v); }

// Returns the sum of x[first], x[first + step], …, in thread 0 of the block.
template <typename T>
__device__ double block_sum(const T* x, int n, int first, int step) {
    __shared__ double sums[THREADS];
    double sum = 0;
    for (long long i = first; i < n; i += step) sum += widened(x[i]);
    sums[threadIdx.x] = sum;
    __syncthreads();
    sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < THREADS; i++) sum += sums[i];
    return sum;
}

template <typename T>
__device__ void sum_part(const T* x, int n, double* parts) {
    const double sum = block_sum(x, n, blockIdx.x * THREADS + threadIdx.x, gridDim.x * THREADS);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

extern "C" __global__ void part_f32(const float* x, float* y, int n, double* parts) {
    sum_part(x, n, parts);
}

extern "C" __global__ void part_f16(const __half* x, float* y, int n, double* parts) {
    sum_part(x, n, parts);
}

extern "C" __global__ void sum_of_parts(const void* x, float* y, int n, const double* parts, int count) {
    const double sum = block_sum(parts, count, threadIdx.x, THREADS);
    if (threadIdx.x == 0) y[0] = sum;
}

__device__ void launch_both(LabLaunches& launches, int n, const char* part) {
    const int blocks = (n - 1) / THREADS + 1, parts = blocks < MOST_PARTS ? blocks : MOST_PARTS;
    launches.scratch_bytes = parts * sizeof(double);
    LabShape& first = launches.add(part);
    first.grid[0] = parts;
    first.block[0] = THREADS;
    launches.add("sum_of_parts").arg(parts).block[0] = THREADS;
}

LAB_LAUNCHES(sum_f32) {
    launch_both(launches, dims.n, "part_f32");
}

LAB_LAUNCHES(sum_f16) {
    launch_both(launches, dims.n, "part_f16");
}
