// The product of two matrices: c[i, j] = sum over p of a[i, p] * b[j, p], for bf16 and f16, summed in f32.
//
// A block computes one tile of c, 128 x 128. The copy engine (TMA) brings 64 columns of the tile's rows of a and b into one of four
// stages of shared memory, while the tensor cores (wgmma) work on the stages before. Each of the two warpgroups of a block has 64 rows
// of the tile. TMA needs rows that begin at multiples of 16 bytes. Where they do not, and on the cpu device, which has neither TMA nor
// tensor cores, a plain kernel computes the product.
#include "lab.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float widened(__half v) { return __half2float(v); }
__device__ float widened(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }
__device__ void narrow(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }

// ---- The plain kernel: a block computes TILE x TILE cells, a thread EACH x EACH of them ----

constexpr int TILE = 64, DEPTH = 16, SIDE = 16, EACH = TILE / SIDE;

template <typename T>
__device__ void multiply_plain(const T* a, const T* b, T* c, int m, int n, int k) {
    __shared__ float rows[DEPTH][TILE + 1], columns[DEPTH][TILE + 1];
    const int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const int x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    float sum[EACH][EACH] = {};
    for (int from = 0; from < k; from += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH; i += SIDE * SIDE) {
            const int line = i / DEPTH, p = i % DEPTH;
            const bool in_k = from + p < k;
            rows[p][line] = in_k && row + line < m ? widened(a[(long long)(row + line) * k + from + p]) : 0;
            columns[p][line] = in_k && column + line < n ? widened(b[(long long)(column + line) * k + from + p]) : 0;
        }
        __syncthreads();
        for (int p = 0; p < DEPTH; p++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++) sum[i][j] += rows[p][y + SIDE * i] * columns[p][x + SIDE * j];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            const int r = row + y + SIDE * i, s = column + x + SIDE * j;
            if (r < m && s < n) narrow(&c[(long long)r * n + s], sum[i][j]);
        }
}

#define PLAIN(name, T)                                                                                      \
    extern "C" __global__ void __launch_bounds__(SIDE * SIDE)                                               \
        name(const T* a, const T* b, T* c, int m, int n, int k, void* no_scratch) {                         \
        multiply_plain(a, b, c, m, n, k);                                                                   \
    }

PLAIN(plain_bf16, __nv_bfloat16)
PLAIN(plain_f16, __half)

// ---- The kernel for tensor cores ----

constexpr int BM = 128, BN = 128, BK = 64;  // a tile of c, and the columns of a and b of a stage: 128 bytes
constexpr int STAGES = 4;
constexpr int THREADS = 256;

#ifndef LAB_CPU

#include "hopper.h"  // the instructions of sm_90a as functions

template <typename T>
struct alignas(1024) Stages {
    T a[STAGES][BM * BK];
    T b[STAGES][BN * BK];
    Barrier full[STAGES];
};

template <typename T>
__device__ void multiply_tile(T* c, int m, int n, int k, const LabTensorMap& a_map, const LabTensorMap& b_map) {
    extern __shared__ unsigned char memory[];
    // The swizzle counts rows from multiples of 1024 bytes.
    Stages<T>& s = *(Stages<T>*)(memory + (1024 - shared(memory) % 1024) % 1024);
    const int row = blockIdx.y * BM, column = blockIdx.x * BN, steps = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) barrier_init(&s.full[i], 1);
        barrier_init_fence();
    }
    __syncthreads();
    // Cells outside of a tensor arrive as zeros, and count as bytes.
    const auto load = [&](int step) {
        const int stage = step % STAGES;
        barrier_expect(&s.full[stage], (BM + BN) * BK * sizeof(T));
        load_box(s.a[stage], a_map, step * BK, row, &s.full[stage]);
        load_box(s.b[stage], b_map, step * BK, column, &s.full[stage]);
    };
    if (threadIdx.x == 0)
        for (int step = 0; step < STAGES && step < steps; step++) load(step);

    const int group = threadIdx.x / 128;
    float sum[BN / 2];
    for (int step = 0; step < steps; step++) {
        const int stage = step % STAGES;
        barrier_wait(&s.full[stage], step / STAGES % 2);
        products_fence();
        for (int p = 0; p < BK; p += 16)  // 16 numbers are 2 units of 16 bytes
            multiply_add<BN>(T(), sum, describe(s.a[stage] + group * 64 * BK) + p / 8, describe(s.b[stage]) + p / 8, step + p);
        commit_products();
        wait_products<0>();
        // Now nobody reads the stage any more.
        __syncthreads();
        if (threadIdx.x == 0 && step + STAGES < steps) load(step + STAGES);
    }

    // A thread has of each 8 columns two neighbouring cells, in each of two rows that are 8 apart.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = 0; i < BN / 2; i += 2) {
        const int r = row + warp * 16 + lane / 4 + i % 4 * 4, s = column + i / 4 * 8 + lane % 4 * 2;
        alignas(4) T pair[2];
        narrow(&pair[0], sum[i]);
        narrow(&pair[1], sum[i + 1]);
        if (r < m && s < n) *(unsigned*)&c[(long long)r * n + s] = *(unsigned*)pair;
    }
}

#define TILED(name, T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 1)                                                        \
        name(const T* a, const T* b, T* c, int m, int n, int k, void* no_scratch,                                   \
             const __grid_constant__ LabTensorMap a_map, const __grid_constant__ LabTensorMap b_map) {              \
        multiply_tile(c, m, n, k, a_map, b_map);                                                                    \
    }

TILED(tiled_bf16, __nv_bfloat16)
TILED(tiled_f16, __half)

#endif

__device__ void launch_product(LabLaunches& launches, const LabDims& dims, const char* tiled, const char* plain) {
#ifndef LAB_CPU
    if (dims.k % 8 == 0 && dims.n % 8 == 0) {
        LabShape& launch = launches.add(tiled);
        launch.grid[0] = (dims.n + BN - 1) / BN;
        launch.grid[1] = (dims.m + BM - 1) / BM;
        launch.block[0] = THREADS;
        launch.shared_bytes = sizeof(Stages<__half>) + 1024;
        const char* const tensors[] = {"a", "b"};
        for (int i = 0; i < 2; i++) {
            LabMapRequest& map = launch.tensor_map(tensors[i]);
            map.box[0] = BK;
            map.box[1] = i == 0 ? BM : BN;
            map.swizzle = LAB_SWIZZLE_128B;
            map.l2_promotion = LAB_L2_256B;
        }
        return;
    }
#endif
    LabShape& launch = launches.add(plain);
    launch.grid[0] = (dims.n + TILE - 1) / TILE;
    launch.grid[1] = (dims.m + TILE - 1) / TILE;
    launch.block[0] = SIDE * SIDE;
}

LAB_LAUNCHES(matmul_bf16) { launch_product(launches, dims, "tiled_bf16", "plain_bf16"); }

LAB_LAUNCHES(matmul_f16) { launch_product(launches, dims, "tiled_f16", "plain_f16"); }
