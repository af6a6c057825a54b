// Scale: y[i] = a * x[i].
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

__device__ void scaled(float* to, float v, float a) { *to = a * v; }
__device__ void scaled(__half* to, __half v, float a) { *to = __float2half(a * __half2float(v)); }

template <typename T>
__device__ void scale(const T* x, T* y, float a, int n) {
    typedef Pack<T> P;
    constexpr int N = 16 / sizeof(T);
    const int packs = n / N, i = blockIdx.x * THREADS + threadIdx.x;
    if (i < packs) {
        const P in = reinterpret_cast<const P*>(x)[i];
        P out;
        for (int k = 0; k < N; k++) scaled(&out.value[k], in.value[k], a);
        reinterpret_cast<P*>(y)[i] = out;
    }
    const int last = packs * N + i;
    if (i < N && last < n) scaled(&y[last], x[last], a);
}

extern "C" __global__ void scale_f32(const float* x, float* y, float a, int n) {
    scale(x, y, a, n);
}

extern "C" __global__ void scale_f16(const __half* x, __half* y, float a, int n) {
    scale(x, y, a, n);
}

// Blocks for so many packs, and at least the one that takes the cells behind them.
__device__ void launch_packs(LabShape& launch, int packs) {
    launch.grid[0] = packs > THREADS ? (packs + THREADS - 1) / THREADS : 1;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(scale_f32) {
    launch_packs(launch, dims.n / 4);
}

LAB_LAUNCH(scale_f16) {
    launch_packs(launch, dims.n / 8);
}
