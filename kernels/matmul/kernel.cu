// The product of two matrices: c[i, j] = sum over p of a[i, p] * b[j, p], for bf16 and f16, summed in f32.
//
// A block of three warpgroups stays on its multiprocessor and computes tile after tile of c. One thread of the first warpgroup, the
// producer, lets the copy engine (TMA) bring 64 columns of the tile's rows of a and b into the next free stage of shared memory. The other
// two, the consumers, have half of the tile's rows each and give the stages to the tensor cores (wgmma). A tile of 64 rows has but one.
// While the copy engine stores a finished tile, the next one is computed.
// TMA needs rows that begin at multiples of 16 bytes: if they do not, a first launch copies a and b to longer rows. The cpu device has
// neither TMA nor tensor cores, and runs a plain kernel.
#include "lab.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float widened(__half v) { return __half2float(v); }
__device__ float widened(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void narrow(__half* to, float v) { *to = __float2half(v); }
__device__ void narrow(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }

#ifdef LAB_CPU
constexpr int SIDE = 16;
#define PLAIN(name, T)                                                                                                     \
    extern "C" __global__ void name(const T* a, const T* b, T* c, int m, int n, int k) {                                   \
        const int row = blockIdx.y * SIDE + threadIdx.x / SIDE, column = blockIdx.x * SIDE + threadIdx.x % SIDE;           \
        if (row >= m || column >= n) return;                                                                               \
        float sum = 0;                                                                                                     \
        for (int p = 0; p < k; p++) sum += widened(a[(long long)row * k + p]) * widened(b[(long long)column * k + p]);     \
        narrow(&c[(long long)row * n + column], sum);                                                                      \
    }                                                                                                                      \
    LAB_LAUNCH(name) {                                                                                                     \
        launch.grid[0] = (dims.n + SIDE - 1) / SIDE;                                                                       \
        launch.grid[1] = (dims.m + SIDE - 1) / SIDE;                                                                       \
        launch.block[0] = SIDE * SIDE;                                                                                     \
    }

PLAIN(matmul_bf16, __nv_bfloat16)
PLAIN(matmul_f16, __half)

#else
#include "hopper.h"  // the instructions of sm_90a as functions

constexpr int BK = 64;  // columns of a and b in a stage: 128 bytes, the width of the swizzle
constexpr int ROWS = 64, WARPGROUP = 128;  // rows of a consumer in one wgmma; its threads
// Rows of tiles that are computed together; rows, columns, stages and clusters of the kinds of tile below.
// lab: tune WIDE_ROWS = 64, 128, 256
// lab: tune WIDE_COLUMNS = 64..256 step 64
// lab: tune WIDE_STAGES = 3..6
// lab: tune WIDE_CLUSTER = 1, 2
// lab: tune GROUP = 4, 8, 16
// lab: require WIDE_ROWS * WIDE_COLUMNS <= 32768 && WIDE_STAGES * (WIDE_ROWS + WIDE_COLUMNS) <= 1540
constexpr int WIDE_ROWS = 128, WIDE_COLUMNS = 256, WIDE_STAGES = 4, WIDE_CLUSTER = 2, GROUP = 8;
constexpr int PAD_THREADS = 128;

// A kind of tile: BM rows and BN columns of c. CM x CN blocks form a cluster. Its tiles are neighbours, and share what they read.
template <int BM_, int BN_, int STAGES_, int CM_, int CN_>
struct Tile {
    static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_, CM = CM_, CN = CN_, CLUSTER = CM * CN;
    static constexpr int CONSUMERS = BM > ROWS ? 2 : 1, THREADS = (1 + CONSUMERS) * WARPGROUP;
    static constexpr int PARTS = BM / ROWS / CONSUMERS;       // of a consumer
    static constexpr int CHUNK = BN % 64 == 0 ? 64 : BN / 3;  // columns of c that one copy stores
};

typedef Tile<WIDE_ROWS, WIDE_COLUMNS, WIDE_STAGES, WIDE_CLUSTER, 1> Wide;
// 512 x 11008 cells are 2 x 65.5 of these tiles: one for each of 132 multiprocessors.
typedef Tile<256, 168, 3, 1, 2> Third;
typedef Tile<128, 128, 6, 1, 1> Square;
typedef Tile<128, 64, 8, 1, 1> Narrow;

// What a block has in shared memory.
template <typename T, typename S>
struct alignas(1024) Shared {
    T a[S::STAGES][S::BM * BK];
    T b[S::STAGES][S::BN * BK];
    T c[S::CONSUMERS][2][ROWS * S::CHUNK];  // chunks on their way to the memory
    Barrier full[S::STAGES], empty[S::STAGES];
};

// The tiles of c that the blocks compute, in an order in which those of one time use few rows and columns: GROUP rows of tiles at a time,
// column by column.
template <typename S>
struct Tiles {
    int rows, columns, tile, rank;  // rows and columns of cluster tiles; the next one; the block's place in the cluster

    __device__ Tiles(int m, int n)
        : rows((m + S::BM * S::CM - 1) / (S::BM * S::CM)), columns((n + S::BN * S::CN - 1) / (S::BN * S::CN)),
          tile(blockIdx.x / S::CLUSTER), rank(blockIdx.x % S::CLUSTER) {}

    // Gives the first row and the first column of the block's next tile. Returns whether there is one.
    __device__ bool next(int& row, int& column) {
        if (tile >= rows * columns) return false;
        const int above = tile / (GROUP * columns) * GROUP, within = tile % (GROUP * columns);
        const int height = rows - above < GROUP ? rows - above : GROUP;
        row = above + within % height;
        column = within / height;
        row = (row * S::CM + rank % S::CM) * S::BM;
        column = (column * S::CN + rank / S::CM) * S::BN;
        tile += gridDim.x / S::CLUSTER;
        return true;
    }
};

// Asks for the columns of a step: rows of a from `row` on and of b from `b_row` on. The blocks in one row of a cluster need the same rows
// of a: each loads a part of them for all. So it is with those in one column and the rows of b.
template <typename T, typename S>
__device__ void load_stage(Shared<T, S>& s, int stage, int step, int row, int b_row, int rank, const LabTensorMap& a_map,
                           const LabTensorMap& b_map) {
    constexpr int A_ROWS = S::BM / S::CN, B_ROWS = S::BN / S::CM;
    const int in_m = rank % S::CM, in_n = rank / S::CM;
    unsigned short row_blocks = 0, column_blocks = 0;
    for (int i = 0; i < S::CN; i++) row_blocks |= 1 << (in_m + S::CM * i);
    for (int i = 0; i < S::CM; i++) column_blocks |= 1 << (i + S::CM * in_n);
    // Cells outside of a tensor arrive as zeros, and count as bytes.
    barrier_expect(&s.full[stage], (S::BM + S::BN) * BK * sizeof(T));
    load_box(&s.a[stage][in_n * A_ROWS * BK], a_map, step * BK, row + in_n * A_ROWS, &s.full[stage], row_blocks);
    load_box(&s.b[stage][in_m * B_ROWS * BK], b_map, step * BK, b_row + in_m * B_ROWS, &s.full[stage], column_blocks);
}

// Fills stage after stage, when the first `early` steps have been asked for.
template <typename T, typename S>
__device__ void produce(Shared<T, S>& s, int m, int n, int early, int steps, int b_row, const LabTensorMap& a_map,
                        const LabTensorMap& b_map) {
    Tiles<S> tiles(m, n);
    int stage = early % S::STAGES, phase = early / S::STAGES;
    for (int row, column, step = early; tiles.next(row, column); step = 0) {
        for (; step < steps; step++) {
            barrier_wait(&s.empty[stage], phase ^ 1);
            load_stage(s, stage, step, row, b_row + column, tiles.rank, a_map, b_map);
            if (++stage == S::STAGES) stage = 0, phase ^= 1;
        }
    }
}

// Two neighbouring cells of c.
template <typename T>
__device__ unsigned rounded(float left, float right) {
    alignas(4) T pair[2];
    narrow(&pair[0], left);
    narrow(&pair[1], right);
    return *(unsigned*)pair;
}

// Stores 64 rows of a tile chunk by chunk. `turn` says which of two buffers is next. A thread has of each 8 columns two neighbouring cells,
// in each of two rows that are 8 apart. It does not wait for the last store.
template <typename T, typename S>
__device__ void store_part(T (&buffers)[2][ROWS * S::CHUNK], int& turn, const float (&sum)[S::BN / 2], const LabTensorMap& c_map, int row,
                           int column, int consumer) {
    const int lane = threadIdx.x % 32, r = threadIdx.x % WARPGROUP / 32 * 16 + lane / 4;
    const bool leader = threadIdx.x % WARPGROUP == 0;
#pragma unroll
    for (int chunk = 0; chunk < S::BN / S::CHUNK; chunk++) {
        char* buffer = (char*)buffers[turn];
        if (leader) wait_stores<1>();
        warpgroup_barrier(1 + consumer);
#pragma unroll
        for (int i = 0; i < S::CHUNK / 4; i++) {
            const int line = r + i % 2 * 8, at = chunk * S::CHUNK / 2 + i * 2;
            // A chunk of 64 columns is swizzled as the stages are. One of 56 has no two rows of 8 in the same banks anyhow.
            const int piece = S::CHUNK == 64 ? i / 2 ^ line % 8 : i / 2;
            *(unsigned*)(buffer + line * S::CHUNK * sizeof(T) + piece * 16 + lane % 4 * 4) = rounded<T>(sum[at], sum[at + 1]);
        }
        shared_fence();
        warpgroup_barrier(1 + consumer);
        if (leader) store_box(c_map, column + chunk * S::CHUNK, row, buffer);
        turn ^= 1;
    }
}

// Stores 64 rows of a tile whose rows do not begin at multiples of 16 bytes.
template <typename T, int N>
__device__ void store_cells(T* c, const float (&sum)[N], int m, int n, int row, int column) {
    const int lane = threadIdx.x % 32, first = row + threadIdx.x % WARPGROUP / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const int r = first + i / 2 % 2 * 8, s = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (r < m && s < n) narrow(&c[(long long)r * n + s], sum[i]);
    }
}

// Multiplies what is in the stages, and stores the tiles.
template <typename T, typename S>
__device__ void consume(Shared<T, S>& s, T* c, int m, int n, int steps, const LabTensorMap& c_map) {
    // A shuffle tells the compiler that a warp's threads agree: what follows from it needs no moves to uniform registers.
    const int consumer = __shfl_sync(0xffffffffu, threadIdx.x / WARPGROUP, 0) - 1, lane = threadIdx.x % 32;
    Tiles<S> tiles(m, n);
    int stage = 0, phase = 0, turn = 0;
    for (int row, column; tiles.next(row, column);) {
        float sum[S::PARTS][S::BN / 2];
        for (int step = 0; step < steps; step++) {
            barrier_wait(&s.full[stage], phase);
            products_fence();
#pragma unroll
            for (int p = 0; p < BK; p += 16)
#pragma unroll
                for (int part = 0; part < S::PARTS; part++)
                    multiply_add<S::BN>(T(), sum[part], describe(&s.a[stage][(consumer * S::PARTS + part) * ROWS * BK]) + p / 8,
                                        describe(s.b[stage]) + p / 8, step | p);
            commit_products();
            // When only this stage's products are under way, the stage before is free. Each warp says so to each block of the cluster.
            wait_products<1>();
            if (step > 0 && lane < S::CLUSTER) barrier_arrive(&s.empty[stage == 0 ? S::STAGES - 1 : stage - 1], lane);
            if (++stage == S::STAGES) stage = 0, phase ^= 1;
        }
        wait_products<0>();
        if (lane < S::CLUSTER) barrier_arrive(&s.empty[stage == 0 ? S::STAGES - 1 : stage - 1], lane);
#pragma unroll
        for (int part = 0; part < S::PARTS; part++) {
            const int first = row + (consumer * S::PARTS + part) * ROWS;
            for (float& v : sum[part]) lab_pin(v);  // not read before the products are done
            if (n % 8 == 0)
                store_part<T, S>(s.c[consumer], turn, sum[part], c_map, first, column, consumer);
            else
                store_cells(c, sum[part], m, n, first, column);
        }
    }
    if (threadIdx.x % WARPGROUP == 0) wait_stores<0>();
}

template <typename T, typename S>
__device__ void multiply_tiles(T* c, int m, int n, int k, int b_row, const LabTensorMap& a_map, const LabTensorMap& b_map,
                               const LabTensorMap& c_map) {
    extern __shared__ unsigned char memory[];
    // The swizzle counts rows from multiples of 1024 bytes.
    Shared<T, S>& s = *(Shared<T, S>*)(memory + (1024 - shared(memory) % 1024) % 1024);
    const int steps = (k + BK - 1) / BK, early = S::CLUSTER > 1 ? 0 : steps < S::STAGES ? steps : S::STAGES;
    if (threadIdx.x == 0) {
        for (int i = 0; i < S::STAGES; i++) {
            barrier_init(&s.full[i], 1);
            barrier_init(&s.empty[i], S::CONSUMERS * WARPGROUP / 32 * S::CLUSTER);  // each warp of a consumer arrives
        }
        barrier_init_fence();
        // A block without a cluster has the barriers to itself: the first loads do not wait for its other threads.
        Tiles<S> tiles(m, n);
        int row, column;
        tiles.next(row, column);
        for (int step = 0; step < early; step++) load_stage(s, step, step, row, b_row + column, 0, a_map, b_map);
    }
    cluster_barrier();
    // The producer gives registers to the consumers, who hold the sums.
    if (threadIdx.x < WARPGROUP) {
        if constexpr (S::CONSUMERS > 1) give_registers<24>();
        if (threadIdx.x == 0) produce<T, S>(s, m, n, early, steps, b_row, a_map, b_map);
    } else {
        if constexpr (S::CONSUMERS > 1) take_registers<240>();
        consume<T, S>(s, c, m, n, steps, c_map);
    }
    // No block ends while others still arrive at its barriers.
    __syncwarp();
    cluster_barrier();
}

#define TILED(name, T, S)                                                                                                    \
    extern "C" __global__ void __launch_bounds__(S::THREADS, 1)                                                              \
        name(const T* a, const T* b, T* c, int m, int n, int k, void* padded, const __grid_constant__ LabTensorMap a_map,    \
             const __grid_constant__ LabTensorMap b_map, const __grid_constant__ LabTensorMap c_map) {                       \
        multiply_tiles<T, S>(c, m, n, k, padded ? m : 0, a_map, b_map, c_map);                                               \
    }

#define KIND(name, S) TILED(name##_bf16, __nv_bfloat16, S) TILED(name##_f16, __half, S)
KIND(wide, Wide)
KIND(square, Square)
KIND(narrow, Narrow)
KIND(third, Third)

// Copies a, and then b, to rows that are a multiple of 8 numbers long, for either type. The numbers behind a row are zeros. A thread
// writes 8 numbers at once, and asks for all of them before it waits for one: the rows to read begin at no multiple of 16 bytes.
extern "C" __global__ void __launch_bounds__(PAD_THREADS) pad_rows(const short* a, const short* b, short* c, int m, int n, int k,
                                                                   short* padded) {
    const int packs = (k + 7) / 8;
    const long long pack = (long long)blockIdx.x * PAD_THREADS + threadIdx.x;
    if (pack >= (long long)(m + n) * packs) return;
    const int row = pack / packs, first = pack % packs * 8;
    const short* from = row < m ? a + (long long)row * k : b + (long long)(row - m) * k;
    alignas(16) short held[8];
#pragma unroll
    for (int i = 0; i < 8; i++) held[i] = first + i < k ? from[first + i] : 0;
    ((int4*)padded)[pack] = *(const int4*)held;
}

// How many clusters the device runs at a time.
template <typename S>
__device__ int at_once(int sms) {
    return sms / S::CLUSTER;
}

// The time of the product with one kind of tile: how many follow one another, times the cells of one, times `slow`.
template <typename S>
__device__ float time_of(const LabDims& dims, int sms, float slow) {
    const Tiles<S> tiles(dims.m, dims.n);
    return (float)((tiles.rows * tiles.columns + at_once<S>(sms) - 1) / at_once<S>(sms)) * S::BM * S::BN * slow;
}

__device__ LabMapRequest& ask_map(LabShape& launch, const char* tensor, int columns, int rows) {
    LabMapRequest& map = launch.tensor_map(tensor);
    map.box[0] = columns;
    map.box[1] = rows;
    map.swizzle = columns == 64 ? LAB_SWIZZLE_128B : LAB_SWIZZLE_NONE;
    map.l2_promotion = LAB_L2_256B;
    return map;
}

// Asks for a map of the rows of a and b: in their tensor, or one below the other in the scratch buffer.
__device__ void ask_input(LabShape& launch, const LabDims& dims, const char* tensor, bool padded, int rows) {
    LabMapRequest& map = ask_map(launch, padded ? "scratch" : tensor, BK, rows);
    if (!padded) return;
    map.rank = 2;
    map.element = 2;
    map.extent[0] = (dims.k + 7) / 8 * 8;
    map.extent[1] = dims.m + dims.n;
}

template <typename S>
__device__ void launch_kind(LabLaunches& launches, const LabDims& dims, int sms, bool padded, const char* kernel) {
    const Tiles<S> tiles(dims.m, dims.n);
    const int clusters = tiles.rows * tiles.columns;
    LabShape& launch = launches.add(kernel);
    launch.cluster[0] = S::CLUSTER;
    launch.grid[0] = S::CLUSTER * (clusters < at_once<S>(sms) ? clusters : at_once<S>(sms));
    launch.block[0] = S::THREADS;
    launch.shared_bytes = sizeof(Shared<__half, S>) + 1024;
    ask_input(launch, dims, "a", padded, S::BM / S::CN);
    ask_input(launch, dims, "b", padded, S::BN / S::CM);
    // Where c is stored cell by cell, the map must only be a valid one: that of an input is.
    if (dims.n % 8 == 0)
        ask_map(launch, "c", S::CHUNK, ROWS);
    else
        ask_input(launch, dims, "a", padded, ROWS);
}

__device__ void launch_product(LabLaunches& launches, const LabDims& dims, int sms, const char* const (&names)[4]) {
    const bool padded = dims.k % 8 != 0;
    if (padded) {
        launches.scratch_bytes = 2ull * (dims.m + dims.n) * ((dims.k + 7) / 8 * 8);
        LabShape& pad = launches.add("pad_rows");
        pad.grid[0] = ((dims.m + dims.n) * ((dims.k + 7ll) / 8) + PAD_THREADS - 1) / PAD_THREADS;
        pad.block[0] = PAD_THREADS;
    }
    const float times[] = {time_of<Wide>(dims, sms, 1), time_of<Square>(dims, sms, 1.15f), time_of<Narrow>(dims, sms, 1.5f),
                           time_of<Third>(dims, sms, 1.05f)};
    int best = 0;
    for (int i = 1; i < (int)(sizeof(times) / sizeof(float)); i++)
        if (times[i] < times[best]) best = i;
    if (best == 0) launch_kind<Wide>(launches, dims, sms, padded, names[0]);
    if (best == 1) launch_kind<Square>(launches, dims, sms, padded, names[1]);
    if (best == 2) launch_kind<Narrow>(launches, dims, sms, padded, names[2]);
    if (best == 3) launch_kind<Third>(launches, dims, sms, padded, names[3]);
}

LAB_LAUNCHES(matmul_bf16) { launch_product(launches, dims, device.sms, {"wide_bf16", "square_bf16", "narrow_bf16", "third_bf16"}); }
LAB_LAUNCHES(matmul_f16) { launch_product(launches, dims, device.sms, {"wide_f16", "square_f16", "narrow_f16", "third_f16"}); }

#endif
