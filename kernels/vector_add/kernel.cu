// Vector add: c[i] = a[i] + b[i].
//
// A thread loads one pack of 16 bytes of each vector and stores one. The threads of the first block also take the cells
// behind the last whole pack.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int THREADS = 256;

// As many cells as one access holds.
template <typename T>
struct alignas(16) Pack {
    T value[16 / sizeof(T)];
};

__device__ void add(float* to, float v, float w) { *to = v + w; }
__device__ void add(__half* to, __half v, __half w) { *to = __float2half(__half2float(v) + __half2float(w)); }

template <typename T>
__device__ void add_vectors(const T* a, const T* b, T* c, int n) {
    typedef Pack<T> P;
    constexpr int N = 16 / sizeof(T);
    const int packs = n / N, i = blockIdx.x * THREADS + threadIdx.x;
    if (i < packs) {
        const P left = reinterpret_cast<const P*>(a)[i], right = reinterpret_cast<const P*>(b)[i];
        P sum;
        for (int k = 0; k < N; k++) add(&sum.value[k], left.value[k], right.value[k]);
        reinterpret_cast<P*>(c)[i] = sum;
    }
    const int last = packs * N + i;
    if (i < N && last < n) add(&c[last], a[last], b[last]);
}

extern "C" __global__ void vector_add_f32(const float* a, const float* b, float* c, int n) {
    add_vectors(a, b, c, n);
}

extern "C" __global__ void vector_add_f16(const __half* a, const __half* b, __half* c, int n) {
    add_vectors(a, b, c, n);
}

// Blocks for so many packs, and at least the one that takes the cells behind them.
__device__ void launch_packs(LabShape& launch, int packs) {
    launch.grid[0] = packs > THREADS ? (packs + THREADS - 1) / THREADS : 1;
    launch.block[0] = THREADS;
}

LAB_LAUNCH(vector_add_f32) {
    launch_packs(launch, dims.n / 4);
}

LAB_LAUNCH(vector_add_f16) {
    launch_packs(launch, dims.n / 8);
}
