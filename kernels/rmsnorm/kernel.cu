// RMSNorm: y[r, c] = x[r, c] * gain[c] / sqrt(mean(x[r, :]^2) + eps).
//
// One block computes one row and reads it once. A thread loads its packs of 16 bytes, and those of the gain, without waiting for the
// first one, and keeps them in registers; warp shuffles and shared memory combine the sums of squares; then it writes the result.
// There is a kernel for each number of packs and without a loop. One kernel with the code for all would have the registers that eight
// packs need, so fewer blocks would be on a multiprocessor; and with a cold L2 cache the code itself comes from memory, which a launch
// of 2 us notices.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
constexpr int MAX_THREADS = 1024;

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
    if (blockDim.x == WARP) return v;
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = v;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < (int)blockDim.x / WARP; w++) sum += partial[w];
    return sum;
}

// Normalises one row of at most PACKS packs a thread. N, the values of a pack, must divide cols.
template <typename T, int N, int PACKS>
__device__ void normalise(const T* x, const T* gain, T* y, float eps, int cols) {
    typedef Pack<T, N> P;
    const P* xs = reinterpret_cast<const P*>(x + (long long)blockIdx.x * cols);
    const P* gains = reinterpret_cast<const P*>(gain);
    P* ys = reinterpret_cast<P*>(y + (long long)blockIdx.x * cols);
    const int packs = cols / N;

    P row[PACKS] = {}, held[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p < packs) row[k] = xs[p];
    }
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p < packs) held[k] = gains[p];
    }
    float squares = 0;
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        for (int i = 0; i < N; i++) squares += widened(row[k].value[i]) * widened(row[k].value[i]);
    const float scale = rsqrtf(block_sum(squares) / cols + eps);
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p >= packs) break;
        P out;
        for (int i = 0; i < N; i++) narrow(&out.value[i], widened(row[k].value[i]) * scale * widened(held[k].value[i]));
        ys[p] = out;
    }
}

// Normalises one row of any length. The second read of x comes from the cache.
template <typename T>
__device__ void normalise_long(const T* x, const T* gain, T* y, float eps, int cols) {
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += widened(x[c]) * widened(x[c]);
    const float scale = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) narrow(&y[c], widened(x[c]) * scale * widened(gain[c]));
}

#define KERNEL(name, T, call)                                                                                   \
    extern "C" __global__ void __launch_bounds__(MAX_THREADS)                                                   \
        name(const T* x, const T* gain, T* y, float eps, int rows, int cols, void* no_scratch) {                \
        call(x, gain, y, eps, cols);                                                                            \
    }

KERNEL(f32_of_1, float, (normalise<float, 4, 1>))
KERNEL(f32_of_2, float, (normalise<float, 4, 2>))
KERNEL(f32_of_4, float, (normalise<float, 4, 4>))
KERNEL(f32_of_8, float, (normalise<float, 4, 8>))
KERNEL(f32_odd, float, (normalise<float, 1, 4>))
KERNEL(f32_long, float, normalise_long)
KERNEL(f16_of_1, __half, (normalise<__half, 8, 1>))
KERNEL(f16_of_2, __half, (normalise<__half, 8, 2>))
KERNEL(f16_of_4, __half, (normalise<__half, 8, 4>))
KERNEL(f16_of_8, __half, (normalise<__half, 8, 8>))
KERNEL(f16_odd, __half, (normalise<__half, 1, 4>))
KERNEL(f16_long, __half, normalise_long)

// Few packs in all are done when the slowest block is: many threads for a row make it short. Many packs are done as fast as memory is:
// few threads with several loads on the way each leave room for further blocks.
constexpr long long FEW = 1 << 18;

// Adds the launch. `kernels` are those of 1, 2, 4 and 8 packs, then those of odd and of long rows; a pack has `n` values. If a row is a
// whole number of packs, every row is aligned to 16 bytes, because the first one is.
__device__ void launch_rows(LabLaunches& launches, int rows, int cols, int n, const char* const (&kernels)[6]) {
    const bool odd = cols % n != 0;
    const int packs = odd ? cols : cols / n;
    const bool few = (long long)rows * packs <= FEW;
    int kernel = odd ? 4 : few ? 0 : 2, each = odd ? 4 : few ? 1 : 4;
    while (kernel < 3 && packs > MAX_THREADS * each) kernel++, each *= 2;
    if (packs > MAX_THREADS * each) kernel = 5;
    const int warps = (packs + WARP * each - 1) / (WARP * each);
    LabShape& launch = launches.add(kernels[kernel]);
    launch.grid[0] = rows;
    launch.block[0] = WARP * (warps < MAX_THREADS / WARP ? warps : MAX_THREADS / WARP);
}

LAB_LAUNCHES(rmsnorm_f32) {
    launch_rows(launches, dims.rows, dims.cols, 4, {"f32_of_1", "f32_of_2", "f32_of_4", "f32_of_8", "f32_odd", "f32_long"});
}

LAB_LAUNCHES(rmsnorm_f16) {
    launch_rows(launches, dims.rows, dims.cols, 8, {"f16_of_1", "f16_of_2", "f16_of_4", "f16_of_8", "f16_odd", "f16_long"});
}
