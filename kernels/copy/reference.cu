// The reference: its results are what is right. One thread per cell.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

template <typename T>
__device__ void copy(const T* x, T* y, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) y[i] = x[i];
}

extern "C" __global__ void copy_f32(const float* x, float* y, int n) {
    copy(x, y, n);
}

extern "C" __global__ void copy_f16(const __half* x, __half* y, int n) {
    copy(x, y, n);
}

LAB_LAUNCH(copy_f32) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(copy_f16) {
    launch.grid[0] = (dims.n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}
