// RMSNorm: y[r, c] = x[r, c] * gain[c] / sqrt(mean(x[r, :]^2) + eps).
//
// One block computes one row, in two passes. In the first pass the threads add up the squares, 16 bytes per load if the
// row is aligned for that; warp shuffles and shared memory combine the sums. In the second pass the threads write the
// result. The second read of x comes from the cache.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int MAX_THREADS = 256;

// N values that are loaded and stored in one access.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T value[N];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// Returns the sum of v over the block, in every thread.
__device__ float block_sum(float v) {
    __shared__ float partial[MAX_THREADS / WARP];
    for (int offset = WARP / 2; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < (int)blockDim.x / WARP; w++) sum += partial[w];
    return sum;
}

// Normalises one row, N values at a time. N must divide cols.
template <typename T, int N>
__device__ void normalise(const T* x, const T* gain, T* y, float eps, int cols) {
    typedef Pack<T, N> P;
    const P* xs = reinterpret_cast<const P*>(x);
    const P* gains = reinterpret_cast<const P*>(gain);
    P* ys = reinterpret_cast<P*>(y);
    const int packs = cols / N;

    float squares = 0;
    for (int p = threadIdx.x; p < packs; p += blockDim.x) {
        const P v = xs[p];
        for (int i = 0; i < N; i++) squares += widened(v.value[i]) * widened(v.value[i]);
    }
    const float scale = 1.0f / sqrtf(block_sum(squares) / cols + eps);

    for (int p = threadIdx.x; p < packs; p += blockDim.x) {
        const P v = xs[p];
        const P g = gains[p];
        P out;
        for (int i = 0; i < N; i++) narrow(&out.value[i], widened(v.value[i]) * scale * widened(g.value[i]));
        ys[p] = out;
    }
}

template <typename T>
__device__ void rmsnorm(const T* x, const T* gain, T* y, float eps, int cols) {
    constexpr int N = 16 / sizeof(T);
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    // If a row is a whole number of packs, every row is aligned to 16 bytes, because the first one is.
    if (cols % N == 0) {
        normalise<T, N>(x, gain, y, eps, cols);
    } else {
        normalise<T, 1>(x, gain, y, eps, cols);
    }
}

extern "C" __global__ void rmsnorm_f32(const float* x, const float* gain, float* y, float eps, int rows, int cols) {
    rmsnorm(x, gain, y, eps, cols);
}

extern "C" __global__ void rmsnorm_f16(const __half* x, const __half* gain, __half* y, float eps, int rows, int cols) {
    rmsnorm(x, gain, y, eps, cols);
}

// Returns the threads of a block: enough warps for one 16-byte pack per lane, from one warp to eight.
__device__ unsigned threads_for(int cols, int pack) {
    const int warps = (cols / pack + WARP - 1) / WARP;
    return WARP * (warps < 1 ? 1 : warps > MAX_THREADS / WARP ? MAX_THREADS / WARP : warps);
}

LAB_LAUNCH(rmsnorm_f32) {
    launch.grid[0] = dims.rows;
    launch.block[0] = threads_for(dims.cols, 4);
}

LAB_LAUNCH(rmsnorm_f16) {
    launch.grid[0] = dims.rows;
    launch.block[0] = threads_for(dims.cols, 8);
}
