// LayerNorm: y[r, c] = (x[r, c] - mean) / sqrt(var + eps) * gain[c] + bias[c].
//
// One block computes one row and reads it once. A thread loads its packs of 16 bytes without waiting for the first one, and keeps them in
// registers. Each warp computes the mean of its cells and the squared deviations from it, so that warps wait for one another only once: the
// deviations from the mean of the row follow from these. There is a kernel for each number of packs and without a loop: fewer registers
// where fewer packs are held, and less code, which comes from memory too if the L2 cache is cold. Few short rows have a thread for each
// cell, in a kernel with the least code.
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

// (v - origin) * scale + shift is the normalised v.
struct Moments {
    float origin, scale, shift;
};

__device__ float normal(float v, Moments m) { return (v - m.origin) * m.scale + m.shift; }

// Some cells of a row: the sum of (v - origin), and the sum of the squared deviations from their own mean.
struct Part {
    float sum, squares;
};

// Returns the moments of the row from the part of each warp, which has `cells` cells. The squared deviations from the mean of the row are
// those from the mean of the warp, and for each cell the squared distance of the two means (Chan, Golub, LeVeque 1983).
__device__ Moments moments(float origin, Part own, int cells, float eps, float per_col) {
    __shared__ float2 sums[MAX_THREADS / WARP];
    __shared__ int counts[MAX_THREADS / WARP];
    const int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    float mean = own.sum * per_col, squares = own.squares;
    if (warps > 1) {
        if (lane == 0) sums[threadIdx.x / WARP] = make_float2(own.sum, own.squares), counts[threadIdx.x / WARP] = cells;
        __syncthreads();
        const float2 part = lane < warps ? sums[lane] : make_float2(0, 0);
        const float count = lane < warps ? counts[lane] : 0;
        mean = lab_warp_sum(part.x) * per_col;
        const float distance = count > 0 ? __fdividef(part.x, count) - mean : 0;
        squares = lab_warp_sum(part.y + count * distance * distance);
    }
    const float scale = rsqrtf(squares * per_col + eps);
    return {origin, scale, -mean * scale};
}

// Normalises one row of at most PACKS packs a thread. N, the values of a pack, must divide cols. One or two packs of gain and bias are
// loaded together with x, and not after the sums: there are registers for them, and small launches do not wait for memory twice.
template <typename T, int N, int PACKS>
__device__ void normalise(const T* x, const T* gain, const T* bias, T* y, float eps, int rows, int cols, float per_col) {
    typedef Pack<T, N> P;
    const P* xs = reinterpret_cast<const P*>(x + (long long)blockIdx.x * cols);
    P* ys = reinterpret_cast<P*>(y + (long long)blockIdx.x * cols);
    const int packs = cols / N;

    // Deviations from any cell of the row are exact where they matter, unlike the mean in f32.
    const float origin = widened(x[(long long)blockIdx.x * cols]);
    const bool early = PACKS * sizeof(P) <= 2 * 16;
    P row[PACKS] = {}, gains[PACKS], biases[PACKS];
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p < packs) row[k] = xs[p];
    }
#pragma unroll
    for (int k = 0; k < PACKS && early; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p < packs) gains[k] = reinterpret_cast<const P*>(gain)[p], biases[k] = reinterpret_cast<const P*>(bias)[p];
    }
    Part own = {0, 0};
    int cells = 0;  // of the warp
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        float part = 0;  // a chain of additions for each pack, so that they need not wait for one another
        for (int i = 0; i < N; i++) part += widened(row[k].value[i]) - origin;
        const int first = threadIdx.x - threadIdx.x % WARP + k * blockDim.x;
        if ((int)(threadIdx.x + k * blockDim.x) < packs) own.sum += part;
        cells += N * max(0, min(WARP, packs - first));
    }
    own.sum = lab_warp_sum(own.sum);
    const float mean = cells > 0 ? __fdividef(own.sum, (float)cells) : 0;
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        float part = 0;
        for (int i = 0; i < N; i++) {
            const float deviation = widened(row[k].value[i]) - origin - mean;
            part += deviation * deviation;
        }
        if ((int)(threadIdx.x + k * blockDim.x) < packs) own.squares += part;
    }
    own.squares = lab_warp_sum(own.squares);
    const Moments m = moments(origin, own, cells, eps, per_col);
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        const int p = threadIdx.x + k * blockDim.x;
        if (p >= packs) break;
        if (!early) gains[k] = reinterpret_cast<const P*>(gain)[p], biases[k] = reinterpret_cast<const P*>(bias)[p];
        P out;
        for (int i = 0; i < N; i++)
            narrow(&out.value[i], normal(widened(row[k].value[i]), m) * widened(gains[k].value[i]) + widened(biases[k].value[i]));
        ys[p] = out;
    }
}

// Normalises one row of any length. The later reads of x come from the cache.
template <typename T>
__device__ void normalise_long(const T* x, const T* gain, const T* bias, T* y, float eps, int rows, int cols, float per_col) {
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    const float origin = widened(x[0]);
    Part own = {0, 0};
    for (int c = threadIdx.x; c < cols; c += blockDim.x) own.sum += widened(x[c]) - origin;
    own.sum = lab_warp_sum(own.sum);
    const int first = threadIdx.x - threadIdx.x % WARP, rest = cols % blockDim.x - first;
    const int cells = cols / blockDim.x * WARP + max(0, min(WARP, rest));
    const float mean = __fdividef(own.sum, (float)cells);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        const float deviation = widened(x[c]) - origin - mean;
        own.squares += deviation * deviation;
    }
    own.squares = lab_warp_sum(own.squares);
    const Moments m = moments(origin, own, cells, eps, per_col);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        narrow(&y[c], normal(widened(x[c]), m) * widened(gain[c]) + widened(bias[c]));
}

// Rows of one cell: its deviation is 0, and NaN of an infinity or NaN.
template <typename T>
__device__ void normalise_one(const T* x, const T* gain, const T* bias, T* y, float eps, int rows, int cols, float per_col) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) narrow(&y[row], (widened(x[row]) - widened(x[row])) * widened(gain[0]) + widened(bias[0]));
}

#define KERNEL(name, T, call)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(MAX_THREADS)                                                                  \
        name(const T* x, const T* gain, const T* bias, T* y, float eps, int rows, int cols, void* no_scratch, float per_col) { \
        call(x, gain, bias, y, eps, rows, cols, per_col);                                                                      \
    }

KERNEL(f32_one, float, normalise_one)
KERNEL(f32_of_1, float, (normalise<float, 4, 1>))
KERNEL(f32_of_2, float, (normalise<float, 4, 2>))
KERNEL(f32_of_4, float, (normalise<float, 4, 4>))
KERNEL(f32_of_8, float, (normalise<float, 4, 8>))
KERNEL(f32_cells, float, (normalise<float, 1, 1>))
KERNEL(f32_odd, float, (normalise<float, 1, 4>))
KERNEL(f32_long, float, normalise_long)
KERNEL(f16_one, __half, normalise_one)
KERNEL(f16_of_1, __half, (normalise<__half, 8, 1>))
KERNEL(f16_of_2, __half, (normalise<__half, 8, 2>))
KERNEL(f16_of_4, __half, (normalise<__half, 8, 4>))
KERNEL(f16_cells, __half, (normalise<__half, 1, 1>))
KERNEL(f16_odd, __half, (normalise<__half, 1, 4>))
KERNEL(f16_long, __half, normalise_long)

// Few packs in all are done when the slowest block is: many threads for a row make it short. Many packs are done as fast as memory is:
// few threads with several loads on the way each leave room for further blocks.
constexpr long long FEW = 1 << 18;

__device__ void launch_rows_of_one(LabShape& launch, int rows) {
    launch.block[0] = 4 * WARP, launch.grid[0] = (rows + 4 * WARP - 1) / (4 * WARP);
}

// Adds the launch. `kernels` are those of odd, of long, and of few short rows, then those of 1, 2, 4, … packs, at most `most`; a pack has `n` values. If
// a row is a whole number of packs, every row is aligned to 16 bytes, because the first one is.
__device__ void launch_rows(LabLaunches& launches, int rows, int cols, int n, int most, unsigned sms, const char* const* kernels) {
    const bool small = cols <= 16 * WARP && rows <= (int)sms, odd = small || cols % n != 0;
    const int packs = odd ? cols : cols / n;
    const bool few = (long long)rows * packs <= FEW;
    int kernel = small ? 2 : odd ? 0 : few ? 3 : 5, each = small ? 1 : odd || !few ? 4 : 1;
    while (!odd && each < most && packs > MAX_THREADS * each) kernel++, each *= 2;
    if (packs > MAX_THREADS * each) kernel = 1;
    const int warps = (packs + WARP * each - 1) / (WARP * each);
    LabShape& launch = launches.add(kernels[kernel]).arg(1.0f / cols);
    launch.grid[0] = rows;
    launch.block[0] = WARP * (warps < MAX_THREADS / WARP ? warps : MAX_THREADS / WARP);
}

LAB_LAUNCHES(layernorm_f32) {
    if (dims.cols == 1) return launch_rows_of_one(launches.add("f32_one").arg(1.0f), dims.rows);
    const char* const kernels[] = {"f32_odd", "f32_long", "f32_cells", "f32_of_1", "f32_of_2", "f32_of_4", "f32_of_8"};
    launch_rows(launches, dims.rows, dims.cols, 4, 8, device.sms, kernels);
}

LAB_LAUNCHES(layernorm_f16) {
    if (dims.cols == 1) return launch_rows_of_one(launches.add("f16_one").arg(1.0f), dims.rows);
    const char* const kernels[] = {"f16_odd", "f16_long", "f16_cells", "f16_of_1", "f16_of_2", "f16_of_4"};
    launch_rows(launches, dims.rows, dims.cols, 8, 4, device.sms, kernels);
}
