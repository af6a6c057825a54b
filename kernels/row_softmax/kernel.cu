// Softmax over rows: y[r, c] = exp(x[r, c] - max) / sum over c of exp(x[r, c] - max).
//
// One block computes one row and reads it once. A thread loads its packs of 16 bytes without waiting for the first one, and keeps their
// exponentials in registers. Each warp takes its own maximum away, so that warps wait for one another only once: then they know the
// maximum and the sum of the row, and by what their exponentials are to be multiplied. There is a kernel for each number of packs and
// without a loop: fewer registers where fewer packs are held, and less code, which comes from memory too if the L2 cache is cold. Where a
// warp holds a row, a block has ROWS warps and as many rows. If a row is no whole number of packs, its packs begin before it, so that they
// are aligned all the same, and the first and the last one are loaded and stored value by value. Where there are few long rows, a cluster
// of blocks computes one. A short row has a warp and hardly any code. Few short rows have a thread for each cell and
// the least code: they are done before the code of a larger kernel has come from memory.
#include "lab.h"
#include <cuda_fp16.h>
#include <cmath>

constexpr int WARP = 32, MAX_THREADS = 1024;
constexpr int ROWS = 4;                         // of a block, where a warp holds a row
constexpr int SLICES = 8, SLICE_THREADS = 512;  // blocks of a cluster, where one computes a row, and their threads

// N values that are loaded and stored in one access.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T value[N];
};

__device__ float widened(float v) { return v; }
__device__ float widened(__half v) { return __half2float(v); }
__device__ void narrow(float* to, float v) { *to = v; }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }

// The bits of a float as an integer of the same order, and back. A NaN without a sign is above all numbers.
__device__ int ordered(int bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

// Returns the maximum of a warp: a reduction of integers is one instruction. A NaN gives NaN, or counts as less than all numbers: its own
// exponential is NaN, and so is the sum.
__device__ float warp_max(float v) {
    return __int_as_float(ordered(__reduce_max_sync(0xffffffffu, ordered(__float_as_int(v)))));
}

// The maximum of some cells and the sum of exp(cell - maximum). A maximum of -inf counts as 0 in the sum, which is 0 then.
struct Part { float largest, sum; };
__device__ float base_of(float largest) { return largest == -INFINITY ? 0 : largest; }

// Returns what makes a power of this warp, exp(cell - base_of(largest)), the result. `own` is the part of the warp. A row of -inf gives
// 0 * NaN: its sum is NaN, or in a single warp 1 / 0.
__device__ float scale_of(Part own) {
    __shared__ Part parts[MAX_THREADS / WARP];
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    if (warps == 1) return __fdividef(1, own.sum);
    if (lane == 0) parts[threadIdx.x / WARP] = own;
    __syncthreads();
    const Part part = lane < warps ? parts[lane] : Part{-INFINITY, 0};
    const float largest = warp_max(part.largest);
    return __fdividef(__expf(own.largest - largest), lab_warp_sum(part.sum * __expf(part.largest - largest)));
}

#ifdef LAB_CPU
enum { HAS_CLUSTERS = false };  // no kernel is SLICED there, so nothing calls these functions
__device__ void cluster_arrive() {}
__device__ float scale_of_slices(Part own) { return scale_of(own); }
#else
enum { HAS_CLUSTERS = true };
__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Stores a part where `slot` is in the shared memory of the cluster's block `rank`.
__device__ void store_part(const Part* slot, int rank, Part part) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"((unsigned)__cvta_generic_to_shared(slot)), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(part.largest), "f"(part.sum) : "memory");
}

// scale_of in a cluster. Every warp stores its part in the shared memory of every block, so that one barrier of the cluster is all they
// wait for. The barrier before it, at which all blocks arrived when they started, is over by now.
__device__ float scale_of_slices(Part own) {
    constexpr int WARPS = SLICE_THREADS / WARP;
    __shared__ Part parts[SLICES * WARPS];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    cluster_wait();
    if (lane < SLICES) store_part(&parts[blockIdx.x % SLICES * WARPS + warp], lane, own);
    cluster_arrive();
    cluster_wait();
    float largest = -INFINITY, sum = 0;
    for (int i = lane; i < SLICES * WARPS; i += WARP) largest = fmaxf(largest, parts[i].largest);
    largest = warp_max(largest);
    for (int i = lane; i < SLICES * WARPS; i += WARP) sum += parts[i].sum * __expf(parts[i].largest - largest);
    return __fdividef(__expf(own.largest - largest), lab_warp_sum(sum));
}
#endif

enum Kind { EVEN, ODD, SLICED, SHORT };  // rows of whole packs; other rows; rows of whole packs, each in a cluster or in a warp

// The packs of one row of `cols` values. With PARTIAL the row may begin inside of a pack, and end inside of another.
template <typename T, int N, bool PARTIAL>
struct Row {
    typedef Pack<T, N> P;
    int cols, before, packs;  // `before`: values of the first pack that lie before the row

    __device__ Row(int at, int cols)
        : cols(cols), before(PARTIAL ? (unsigned)at * (unsigned)cols % N : 0), packs((before + cols + N - 1) / N) {}
    __device__ bool is_whole(int first) const { return !PARTIAL || (first >= 0 && first + N <= cols); }

    // What is not in the row counts as -inf, whose exponential is 0.
    __device__ P load(const T* row, int p) const {
        const int first = p * N - before;
        P pack;
        for (int i = 0; i < N; i++) narrow(&pack.value[i], -INFINITY);
        if (p < packs && is_whole(first)) return *reinterpret_cast<const P*>(row + first);
        for (int i = 0; i < N && PARTIAL; i++)
            if (first + i >= 0 && first + i < cols) pack.value[i] = row[first + i];
        return pack;
    }
    __device__ void store(T* row, int p, const P& pack) const {
        const int first = p * N - before;
        if (p >= packs || !is_whole(first)) {
            for (int i = 0; i < N && PARTIAL; i++)
                if (first + i >= 0 && first + i < cols) row[first + i] = pack.value[i];
        } else if constexpr (N > 1) {  // nothing uses it again, so the L2 cache may drop its lines first
            __stcs(reinterpret_cast<uint4*>(row + first), reinterpret_cast<const uint4&>(pack));
        } else *reinterpret_cast<P*>(row + first) = pack;
    }
};

// Computes one row of at most PACKS packs a thread. The maximum is taken away before the product with log2(e) in __expf, which could be
// infinite.
template <typename T, int N, int PACKS, Kind KIND>
__device__ void softmax(const T* x, T* y, int rows, int cols) {
    const int at = KIND == SLICED ? blockIdx.x / SLICES : blockIdx.x * blockDim.y + threadIdx.y;
    if (at >= rows) return;
    x += (long long)at * cols, y += (long long)at * cols;
    const Row<T, N, KIND == ODD> packs(at, cols);
    const int first = threadIdx.x + (KIND == SLICED ? blockIdx.x % SLICES * SLICE_THREADS : 0);
    const int step = KIND == SLICED ? SLICES * SLICE_THREADS : blockDim.x;
    if (KIND == SLICED) cluster_arrive();
    Pack<T, N> row[PACKS];
    for (int k = 0; k < PACKS; k++) row[k] = packs.load(x, first + k * step);
    Part own = {-INFINITY, 0};
    for (int k = 0; k < PACKS; k++)
        for (int i = 0; i < N; i++) own.largest = fmaxf(own.largest, widened(row[k].value[i]));
    own.largest = warp_max(own.largest);
    const float base = base_of(own.largest);
    float power[PACKS][N];
    for (int k = 0; k < PACKS; k++) {
        float part = 0;  // a chain of additions for each pack: they need not wait for one another
        for (int i = 0; i < N; i++) part += power[k][i] = __expf(widened(row[k].value[i]) - base);
        own.sum += part;
    }
    own.sum = lab_warp_sum(own.sum);
    const float scale = KIND == SLICED ? scale_of_slices(own) : KIND == SHORT ? __fdividef(1, own.sum) : scale_of(own);
    for (int k = 0; k < PACKS; k++) {
        Pack<T, N> out;
        for (int i = 0; i < N; i++) narrow(&out.value[i], power[k][i] * scale);
        packs.store(y, first + k * step, out);
    }
}

// Computes one row of any length. The later reads of x come from the cache.
template <typename T>
__device__ void softmax_long(const T* x, T* y, int rows, int cols) {
    x += (long long)blockIdx.x * cols, y += (long long)blockIdx.x * cols;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, widened(x[c]));
    largest = warp_max(largest);
    const float base = base_of(largest);
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += __expf(widened(x[c]) - base);
    const float scale = scale_of({largest, lab_warp_sum(sum)});
    for (int c = threadIdx.x; c < cols; c += blockDim.x) narrow(&y[c], __expf(widened(x[c]) - base) * scale);
}

// Rows of one cell: each is 1. An infinity or NaN less itself is NaN.
template <typename T>
__device__ void softmax_one(const T* x, T* y, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) narrow(&y[row], 1 + (widened(x[row]) - widened(x[row])));
}

#define KERNEL(name, T, call) extern "C" __global__ void __launch_bounds__(MAX_THREADS) \
    name(const T* x, T* y, int rows, int cols, void* no_scratch) { call(x, y, rows, cols); }

// The kernels of a type, with N values in a pack.
#define KERNELS(type, T, N)                                                                               \
    KERNEL(type##_one, T, softmax_one)                KERNEL(type##_long, T, softmax_long)                \
    KERNEL(type##_cells, T, (softmax<T, 1, 1, EVEN>)) KERNEL(type##_short, T, (softmax<T, 1, 4, SHORT>))  \
    KERNEL(type##_of_1, T, (softmax<T, N, 1, EVEN>))  KERNEL(type##_odd_1, T, (softmax<T, N, 1, ODD>))    \
    KERNEL(type##_of_2, T, (softmax<T, N, 2, EVEN>))  KERNEL(type##_odd_2, T, (softmax<T, N, 2, ODD>))    \
    KERNEL(type##_of_4, T, (softmax<T, N, 4, EVEN>))

KERNELS(f32, float, 4)
KERNELS(f16, __half, 8)
KERNEL(f32_of_8, float, (softmax<float, 4, 8, EVEN>))
KERNEL(f32_odd_4, float, (softmax<float, 4, 4, ODD>))
#ifndef LAB_CPU
KERNEL(f32_sliced, float, (softmax<float, 4, 2, SLICED>))
KERNEL(f16_sliced, __half, (softmax<__half, 8, 1, SLICED>))
#endif

__device__ int quotient(int a, int b) { return (a + b - 1) / b; }  // rounded up
__device__ void set(LabShape& launch, int blocks, int threads) { launch.grid[0] = blocks, launch.block[0] = threads; }

// Whether a thread for each cell is best: at most a block for each multiprocessor, with not many warps to wait for.
__device__ bool is_small(const LabDims& of, int sms) { return of.cols <= 16 * WARP && of.rows <= sms; }

// Whether a row is so long, and there are so few, that a cluster should compute it, of `each` packs a thread.
__device__ bool is_sliced(int rows, int packs, int each, int sms) {
    return HAS_CLUSTERS && packs >= 2048 && packs <= SLICES * SLICE_THREADS * each && rows * SLICES <= 2 * sms;
}

// Few packs in all are done when the slowest block is: many threads for a row make it short. Many packs are done as
// fast as memory is: few threads with several loads on the way each leave room for further blocks.
constexpr long long FEW = 1 << 18;

// Adds the launch of rows that are not small. `even` and `odd` are the kernels for rows of whole packs, of `n` values
// each, and for others: those of short and of long rows, then those of 1, 2, 4, … packs a thread. If a row is a whole
// number of packs, every row is aligned to 16 bytes, because the first one is. Otherwise up to two packs are not whole.
__device__ void add_rows(LabLaunches& launches, int rows, int cols, int sms, int n, const char* sliced,
                         const char* const* even, const char* const* odd) {
    const bool is_even = cols % n == 0, is_short = cols <= 4 * WARP;
    if (is_even && is_sliced(rows, cols / n, 8 / n, sms)) {
        LabShape& launch = launches.add(sliced);
        launch.grid[0] = rows * SLICES, launch.block[0] = SLICE_THREADS, launch.cluster[0] = SLICES;
        return;
    }
    const char* const* kernels = is_even ? even : odd;
    const int most = is_even ? 32 / n : 16 / n;  // packs that a thread holds in registers
    const int packs = is_short ? cols : is_even ? cols / n : cols / n + 2;
    const int wanted = (long long)rows * packs <= FEW ? 1 : most < 4 || cols % n == 0 ? 2 : 4;
    int kernel = is_short ? 0 : 2, each = is_short ? 4 : 1;
    while ((!is_short && each < wanted) || (each < most && packs > MAX_THREADS * each)) kernel++, each *= 2;
    if (packs > MAX_THREADS * each) kernel = 1;
    const int warps = quotient(packs, WARP * each);
    LabShape& launch = launches.add(kernels[kernel]);
    launch.block[1] = warps == 1 ? ROWS : 1, launch.grid[0] = (rows + launch.block[1] - 1) / launch.block[1];
    launch.block[0] = WARP * min(warps, MAX_THREADS / WARP);
}

LAB_LAUNCHES(row_softmax_f32) {
    if (dims.cols == 1) return set(launches.add("f32_one"), quotient(dims.rows, 4 * WARP), 4 * WARP);
    if (is_small(dims, device.sms)) return set(launches.add("f32_cells"), dims.rows, quotient(dims.cols, WARP) * WARP);
    const char* const even[] = {"f32_short", "f32_long", "f32_of_1", "f32_of_2", "f32_of_4", "f32_of_8"};
    const char* const odd[] = {"f32_short", "f32_long", "f32_odd_1", "f32_odd_2", "f32_odd_4"};
    add_rows(launches, dims.rows, dims.cols, device.sms, 4, "f32_sliced", even, odd);
}

LAB_LAUNCHES(row_softmax_f16) {
    if (dims.cols == 1) return set(launches.add("f16_one"), quotient(dims.rows, 4 * WARP), 4 * WARP);
    if (is_small(dims, device.sms)) return set(launches.add("f16_cells"), dims.rows, quotient(dims.cols, WARP) * WARP);
    const char* const even[] = {"f16_short", "f16_long", "f16_of_1", "f16_of_2", "f16_of_4"};
    const char* const odd[] = {"f16_short", "f16_long", "f16_odd_1", "f16_odd_2"};
    add_rows(launches, dims.rows, dims.cols, device.sms, 8, "f16_sliced", even, odd);
}
