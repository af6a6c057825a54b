// Copy: y[i] = x[i].
//
// A thread loads and stores one pack of 16 bytes. The threads of the first block also take the cells
// behind the last whole pack.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

// As many cells as one access holds.
template <typename T>
struct alignas(16) Pack {
    T value[16 / sizeof(T)];
};

template <typename T>
__device__ void copy(const T* x, T* y, int n) {
    typedef Pack<T> P;
    constexpr int N = 16 / sizeof(T);
    const int packs = n / N, i = blockIdx.x * THREADS + threadIdx.x;
    if (i < packs) {
        reinterpret_cast<P*>(y)[i] = reinterpret_cast<const P*>(x)[i];
    }
    const int last = packs * N + i;
    if (i < N && last < n) y[last] = x[last];
}

extern "C" __global__ void copy_f32(const float* x, float* y, int n) {
    copy(x, y, n);
}

extern "C" __global__ void copy_f16(const __half* x, __half* y, int n) {
    copy(x, y, n);
}

// Blocks for so many packs, and at least the one that takes the cells behind them.
__device__ void launch_packs(LabShape& launch, int packs) {
    launch.grid[0] = packs > THREADS ? (packs + THREADS - 1) / THREADS : 1;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(copy_f32) {
    launch_packs(launch, dims.n / 4);
}

LAB_LAUNCH(copy_f16) {
    launch_packs(launch, dims.n / 8);
}
