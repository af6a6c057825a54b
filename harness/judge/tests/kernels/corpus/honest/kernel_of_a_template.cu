// A template does the work for any block size; thin kernels of C linkage call it, and the launch statement takes one
// of two.
// problem: two_pass
// judged: pass
#include "lab.h"

template <unsigned THREADS>
__device__ __forceinline__ void sum_of_a_row(const float* __restrict__ x, float* __restrict__ y, int cols) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
    __shared__ double warps[THREADS / 32];
    double sum = 0.0;
#pragma unroll 4
    for (int c = threadIdx.x; c < cols; c += THREADS) sum += __ldg(x + blockIdx.x * cols + c);
#pragma unroll
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    double all = 0.0;
    for (double part : warps) all += part;
    y[blockIdx.x] = static_cast<float>(all);
}

extern "C" __global__ void __launch_bounds__(32) narrow(const float* x, float* y, int, int cols, void*) {
    sum_of_a_row<32>(x, y, cols);
}

extern "C" __global__ void __launch_bounds__(256, 2) wide(const float* x, float* y, int, int cols, void*) {
    sum_of_a_row<256>(x, y, cols);
}

LAB_LAUNCHES(row_sums) {
    const bool is_wide = dims.cols > 300;
    LabShape& only = launches.add(is_wide ? "wide" : "narrow");
    only.grid[0] = dims.rows;
    only.block[0] = is_wide ? 256 : 32;
}
