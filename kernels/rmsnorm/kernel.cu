// RMSNorm: y[r, c] = x[r, c] * gain[c] / sqrt(mean(x[r, :]^2) + eps).
//
// One block computes one row and reads it once. A thread loads its packs of PACK_BYTES, and those of the gain, without waiting for the
// first one, and keeps them in registers; warp shuffles and shared memory combine the sums of squares; then it writes the result.
// There is a kernel for each number of packs and without a loop. One kernel with the code for all would have the registers that eight
// packs need, so fewer blocks would be on a multiprocessor; and with a cold L2 cache the code itself comes from memory, which a launch
// of 2 us notices.
// Where there are few long rows, a cluster of SLICES blocks computes one: more multiprocessors read it, and each thread holds less. The cpu
// device has no clusters, so it runs the other kernels.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int WARP = 32;
// Bytes of a pack, which one access reads; threads of a block at most; blocks of a cluster, and their threads.
// lab: tune PACK_BYTES = 4, 8, 16
// lab: tune MAX_THREADS = 256, 512, 1024
// lab: tune SLICES = 4, 8
// lab: tune SLICE_THREADS = 256, 512, 1024
constexpr int PACK_BYTES = 16, MAX_THREADS = 1024;
constexpr int SLICES = 8, SLICE_THREADS = 512;
constexpr int F32_PACK = PACK_BYTES / 4, F16_PACK = PACK_BYTES / 2;  // values

// N values that are loaded and stored in one access.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T value[N];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// Returns the sum of v over the block, in every thread. The sums of four warps are one access of shared memory. The last warp puts zeros
// behind its own.
__device__ float block_sum(float v) {
    __shared__ float4 partial[MAX_THREADS / WARP / 4 + 1];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    v = lab_warp_sum(v);
    if (warps == 1) return v;
    if (lane == 0 || (warp == warps - 1 && lane < 4)) reinterpret_cast<float*>(partial)[warp + lane] = lane == 0 ? v : 0.0f;
    __syncthreads();
    float4 sum = partial[0];
#pragma unroll 2
    for (int w = 4; w < warps; w += 4) {
        const float4 next = partial[w / 4];
        sum.x += next.x, sum.y += next.y, sum.z += next.z, sum.w += next.w;
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}

#ifndef LAB_CPU
__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// block_sum over a cluster. Every warp stores its sum in the shared memory of every block, so that one barrier of the cluster is all they
// wait for. The barrier before it, at which all blocks arrived when they started, is over by now: all of them are there.
__device__ float cluster_sum(float v) {
    constexpr int WARPS = SLICE_THREADS / WARP;
    __shared__ float partial[SLICES * WARPS];
    const int lane = threadIdx.x % WARP;
    v = lab_warp_sum(v);
    cluster_wait();
    if (lane < SLICES) {
        unsigned at = (unsigned)__cvta_generic_to_shared(&partial[blockIdx.x % SLICES * WARPS + threadIdx.x / WARP]);
        asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(lane));
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory");
    }
    cluster_arrive();
    cluster_wait();
    float sum = 0;
    for (int i = lane; i < SLICES * WARPS; i += WARP) sum += partial[i];
    return lab_warp_sum(sum);
}
#endif

// Normalises one row of at most PACKS packs a thread. N, the values of a pack, must divide cols. With 8 packs there are no registers for
// the gain too, so it is loaded when the sum is known: by then other rows have brought it to the L2 cache, or will use it from there.
// With SLICED a cluster has the row.
template <typename T, int N, int PACKS, bool SLICED = false>
__device__ void normalise(const T* x, const T* gain, T* y, float eps, int rows, int cols) {
    typedef Pack<T, N> P;
    const int at = SLICED ? blockIdx.x / SLICES : blockIdx.x, step = SLICED ? SLICES * SLICE_THREADS : blockDim.x;
    const int first = threadIdx.x + (SLICED ? blockIdx.x % SLICES * SLICE_THREADS : 0);
#ifndef LAB_CPU
    if (SLICED) cluster_arrive();
#endif
    const P* xs = reinterpret_cast<const P*>(x + (long long)at * cols);
    const P* gains = reinterpret_cast<const P*>(gain);
    P* ys = reinterpret_cast<P*>(y + (long long)at * cols);
    const int packs = cols / N;
    const float per_col = __fdividef(1, (float)cols);  // known before the sum; a division behind it would be a subroutine

    const bool early = PACKS < 8;
    P row[PACKS] = {}, held[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = first + k * step;
        if (p < packs) row[k] = xs[p];
    }
#pragma unroll
    for (int k = 0; k < PACKS && early; k++) {
        const int p = first + k * step;
        if (p < packs) held[k] = gains[p];
    }
    float squares = 0;
#pragma unroll
    for (int k = 0; k < PACKS; k++)
        for (int i = 0; i < N; i++) squares += widened(row[k].value[i]) * widened(row[k].value[i]);
#ifndef LAB_CPU
    const float scale = rsqrtf((SLICED ? cluster_sum(squares) : block_sum(squares)) * per_col + eps);
#else
    const float scale = rsqrtf(block_sum(squares) * per_col + eps);
#endif
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = first + k * step;
        if (p >= packs) break;
        if (!early) held[k] = gains[p];
        P out;
        for (int i = 0; i < N; i++) narrow(&out.value[i], widened(row[k].value[i]) * scale * widened(held[k].value[i]));
        ys[p] = out;
    }
}

// Normalises one row of any length. The second read of x comes from the cache.
template <typename T>
__device__ void normalise_long(const T* x, const T* gain, T* y, float eps, int rows, int cols) {
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    float squares = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += widened(x[c]) * widened(x[c]);
    const float scale = rsqrtf(block_sum(squares) / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) narrow(&y[c], widened(x[c]) * scale * widened(gain[c]));
}

// Rows of one cell: nothing to add up.
template <typename T>
__device__ void normalise_one(const T* x, const T* gain, T* y, float eps, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float v = widened(x[row]);
    narrow(&y[row], v * rsqrtf(v * v + eps) * widened(gain[0]));
}

#define KERNEL(name, T, call)                                                                                   \
    extern "C" __global__ void __launch_bounds__(MAX_THREADS)                                                   \
        name(const T* x, const T* gain, T* y, float eps, int rows, int cols, void* no_scratch) {                \
        call(x, gain, y, eps, rows, cols);                                                                      \
    }

KERNEL(f32_one, float, normalise_one)
KERNEL(f32_of_1, float, (normalise<float, F32_PACK, 1>))
KERNEL(f32_of_2, float, (normalise<float, F32_PACK, 2>))
KERNEL(f32_of_4, float, (normalise<float, F32_PACK, 4>))
KERNEL(f32_of_8, float, (normalise<float, F32_PACK, 8>))
KERNEL(f32_odd, float, (normalise<float, 1, 4>))
KERNEL(f32_long, float, normalise_long)
KERNEL(f16_one, __half, normalise_one)
KERNEL(f16_of_1, __half, (normalise<__half, F16_PACK, 1>))
KERNEL(f16_of_2, __half, (normalise<__half, F16_PACK, 2>))
KERNEL(f16_of_4, __half, (normalise<__half, F16_PACK, 4>))
KERNEL(f16_of_8, __half, (normalise<__half, F16_PACK, 8>))
KERNEL(f16_odd, __half, (normalise<__half, 1, 4>))
KERNEL(f16_long, __half, normalise_long)
#ifndef LAB_CPU
KERNEL(f32_sliced, float, (normalise<float, F32_PACK, 32 / PACK_BYTES, true>))
KERNEL(f16_sliced, __half, (normalise<__half, F16_PACK, 16 / PACK_BYTES, true>))
#endif

// Few packs in all are done when the slowest block is: many threads for a row make it short. Many packs are done as fast as memory is:
// few threads with several loads on the way each leave room for further blocks.
constexpr long long FEW = 1 << 18;

__device__ void launch_rows_of_one(LabShape& launch, int rows) {
    launch.block[0] = 4 * WARP, launch.grid[0] = (rows + 4 * WARP - 1) / (4 * WARP);
}

// Whether a row is so long, and there are so few, that a cluster should compute it, of `each` packs a thread.
__device__ bool is_sliced(int rows, int packs, int each, unsigned sms) {
#ifndef LAB_CPU
    return packs * PACK_BYTES >= 32768 && packs <= SLICES * SLICE_THREADS * each && (long long)rows * SLICES <= 2 * sms;
#else
    return false;
#endif
}

__device__ void launch_slices(LabShape& launch, int rows) {
    launch.grid[0] = rows * SLICES, launch.block[0] = SLICE_THREADS, launch.cluster[0] = SLICES;
}

// Adds the launch. `kernels` are those of 1, 2, 4 and 8 packs, then those of odd and of long rows; a pack has `n` values. If a row is a
// whole number of packs, every row is aligned to a pack, because the first one is.
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
    if (dims.cols == 1) return launch_rows_of_one(launches.add("f32_one"), dims.rows);
    if (dims.cols % F32_PACK == 0 && is_sliced(dims.rows, dims.cols / F32_PACK, 32 / PACK_BYTES, device.sms))
        return launch_slices(launches.add("f32_sliced"), dims.rows);
    launch_rows(launches, dims.rows, dims.cols, F32_PACK, {"f32_of_1", "f32_of_2", "f32_of_4", "f32_of_8", "f32_odd", "f32_long"});
}

LAB_LAUNCHES(rmsnorm_f16) {
    if (dims.cols == 1) return launch_rows_of_one(launches.add("f16_one"), dims.rows);
    if (dims.cols % F16_PACK == 0 && is_sliced(dims.rows, dims.cols / F16_PACK, 16 / PACK_BYTES, device.sms))
        return launch_slices(launches.add("f16_sliced"), dims.rows);
    launch_rows(launches, dims.rows, dims.cols, F16_PACK, {"f16_of_1", "f16_of_2", "f16_of_4", "f16_of_8", "f16_odd", "f16_long"});
}
