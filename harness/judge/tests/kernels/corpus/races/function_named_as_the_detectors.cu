// The kernel has a function of its own with a name that the race detector's functions have, and an addition that loses
// updates. NVRTC takes the name.
// problem: int_totals
// judged: no build: function of the race detector
// judged on cuda: fail
#include "lab.h"

extern "C" {
static __device__ void __tsan_write4(void*) {}
static __device__ void __tsan_read4(void*) {}
}

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 32) total += x[blockIdx.x * cols + c];
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
