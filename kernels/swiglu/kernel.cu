// SwiGLU: y[r, c] = silu(g[r, c]) * x[r, c], where silu(g) = g / (1 + exp(-g)).
//
// The rows play no part, so the matrices are arrays of rows * cols cells. One thread computes a pack of 16 bytes. The cells that
// are left over behind the last whole pack have a thread each, so that no thread waits for memory twice.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

// N values that are loaded and stored in one access.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T value[N];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// The exponential and the division are the hardware's: off by 2e-6 of the result at most where the result is not close to zero. exp(-v)
// beyond f32 is infinity, and its reciprocal 0 with the sign of v, as it should be.
template <typename T>
__device__ void gate(T g, T x, T* y) {
    const float v = widened(g);
    narrow(y, __fdividef(v, 1 + __expf(-v)) * widened(x));
}

// Computes the pack of this thread. N is the number of values of a pack.
template <typename T, int N>
__device__ void gate_packs(const T* g, const T* x, T* y, long long cells) {
    typedef Pack<T, N> P;
    const long long packs = cells / N, p = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (p < packs) {
        const P gs = reinterpret_cast<const P*>(g)[p], xs = reinterpret_cast<const P*>(x)[p];
        P ys;
        for (int i = 0; i < N; i++) gate(gs.value[i], xs.value[i], &ys.value[i]);
        reinterpret_cast<P*>(y)[p] = ys;
    }
    const long long left = packs * N + (p - packs);
    if (p >= packs && left < cells) gate(g[left], x[left], &y[left]);
}

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_f32(const float* g, const float* x, float* y, int rows, int cols) {
    gate_packs<float, 4>(g, x, y, (long long)rows * cols);
}

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_f16(const __half* g, const __half* x, __half* y, int rows, int cols) {
    gate_packs<__half, 8>(g, x, y, (long long)rows * cols);
}

__device__ void launch_packs(LabShape& launch, long long cells, int n) {
    launch.grid[0] = (cells / n + cells % n + THREADS - 1) / THREADS;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(swiglu_f32) { launch_packs(launch, (long long)dims.rows * dims.cols, 4); }

LAB_LAUNCH(swiglu_f16) { launch_packs(launch, (long long)dims.rows * dims.cols, 8); }
