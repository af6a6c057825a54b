// One decode step in one cooperative launch of clusters. A cluster computes a head of all sequences, from the norm to the context: its blocks
// divide the products of q among themselves, then the tokens, and put both together in one another's shared memory. One barrier of the
// whole grid comes before gate, up, SwiGLU and the last addition.
//
// Nothing that comes from memory depends on what is computed, so each block asks for all of it at the beginning: the threads load the
// weights of q and their first tokens into registers, and the copy engine fetches the block's rows of gate and up, 128 KiB, into shared
// memory. The projections run on the tensor cores: 16 rows of weights times 8 vectors, one for each sequence.
#include "lab.h"

#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <cmath>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, HEADS = HIDDEN / HEAD, MOST_BATCH = 8;
constexpr int WARP = 32, WARPS = 8, PACK = 8, PACKS = HIDDEN / (WARP * PACK);
constexpr int LANES = HEAD / PACK, AHEAD = 4;     // lanes that share a token of a head, tokens at a time
constexpr int PARTS = HIDDEN / 64;                // parts of a product of q
#ifdef LAB_CPU
constexpr int BLOCKS = 1;                         // of a cluster
#else
constexpr int BLOCKS = 8;
#endif
constexpr int PAIRS = INTER / 16 / (HEADS * BLOCKS), TILES = PAIRS * 8;     // tiles of ff of a block, quarters of them for gate and for up
constexpr int ROW = HIDDEN + PACK;                // in shared memory rows are padded: 8 rows at the same place lie in different banks
constexpr unsigned ALL = 0xffffffffu;

// What the clusters leave for all blocks.
struct Scratch {
    __half context[MOST_BATCH][HIDDEN];
};

#define PARAMETERS                                                                                                            \
    const __half *x, const __half *gain, const __half *w_q, const __half *k, const __half *v, const __half *w_gate_up,        \
        const int *lengths, __half *ff, __half *y, float eps, float scale, int batch, int hidden, int inter, int cache,       \
        int longest, int shortest, Scratch *scratch

// The eight numbers of a pack.
__device__ void widen(float (&to)[PACK], const uint4& pack) {
    const __half2* halves = (const __half2*)&pack;
    for (int i = 0; i < PACK / 2; i++) to[2 * i] = __low2float(halves[i]), to[2 * i + 1] = __high2float(halves[i]);
}

// d += a b, where a has 16 rows of 16 numbers and b 16 rows of 8. With g = lane / 4 and t = lane % 4, the lane has of a the columns
// 2t, 2t + 1 of row g (a[0]) and of row g + 8 (a[1]), and the columns 2t + 8, 2t + 9 of both (a[2], a[3]); of b the rows 2t, 2t + 1
// (b[0]) and 2t + 8, 2t + 9 (b[1]) of column g; of d the columns 2t, 2t + 1 of row g (d[0], d[1]) and of row g + 8 (d[2], d[3]).
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef LAB_CPU
    __shared__ __half2 of_a[WARPS][WARP][4], of_b[WARPS][WARP][2];
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    for (int i = 0; i < 4; i++) of_a[warp][lane][i] = *(const __half2*)&a[i];
    for (int i = 0; i < 2; i++) of_b[warp][lane][i] = *(const __half2*)&b[i];
    __syncwarp();
    for (int i = 0; i < 32; i++) {
        const int n = i / 8, k = i % 8;
        const float2 x = __half22float2(of_a[warp][lane / 4 * 4 + k % 4][n / 2 + k / 4 * 2]);
        const float2 y = __half22float2(of_b[warp][lane % 4 * 8 + n % 2 * 4 + k % 4][k / 4]);
        d[n] += x.x * y.x + x.y * y.y;
    }
    __syncwarp();
#else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// One of `parts` parts of 16 rows of weights. The lane has 8 neighbouring numbers of the rows g and g + 8 in each access, which serve two
// instructions: which number of a product is which does not matter, if it is the same one on both sides.
template <int PARTS>
struct Rows {
    static constexpr int QUADS = HIDDEN / PARTS / 32;
    uint4 of[2][QUADS];

    __device__ void load(const __half* first, int width, int part) {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 2 * QUADS; i++)
            of[i / QUADS][i % QUADS] = *(const uint4*)&first[(long long)(g + i / QUADS * 8) * width + (part * QUADS + i % QUADS) * 32 + 8 * t];
    }

    // Adds the products with the vectors of all sequences, `width` numbers apart: of rows g and g + 8 with the sequences 2t and 2t + 1.
    __device__ void multiply_with(float (&sums)[4], const __half* vectors, int width, int part, int batch) const {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            uint4 with = {};
            if (g < batch) with = *(const uint4*)&vectors[g * width + (part * QUADS + i) * 32 + 8 * t];
            multiply(sums, {of[0][i].x, of[1][i].x, of[0][i].y, of[1][i].y}, {with.x, with.y});
            multiply(sums, {of[0][i].z, of[1][i].z, of[0][i].w, of[1][i].w}, {with.z, with.w});
        }
    }
};

// Writes a warp's sums as a table of 16 rows and 8 sequences.
__device__ void write(float (*table)[MOST_BATCH], const float (&sums)[4]) {
    const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; i++) table[g + i / 2 * 8][2 * t + i % 2] = sums[i];
}

// Computes the RMSNorm of each sequence's x, one warp for a sequence.
__device__ void normalise(__half (*h)[HIDDEN + PACK], const __half* x, const __half* gain, float eps, int batch) {
    const int lane = threadIdx.x % WARP;
    for (int b = threadIdx.x / WARP; b < batch; b += blockDim.x / WARP) {
        uint4 packs[PACKS];
        float of_x[PACK], of_gain[PACK], squares = 0;
#pragma unroll
        for (int i = 0; i < PACKS; i++) packs[i] = *(const uint4*)&x[b * HIDDEN + (i * WARP + lane) * PACK];
#pragma unroll
        for (int i = 0; i < PACKS; i++) {
            widen(of_x, packs[i]);
            for (int n = 0; n < PACK; n++) squares += of_x[n] * of_x[n];
        }
        const float factor = rsqrtf(lab_warp_sum(squares) / HIDDEN + eps);
#pragma unroll
        for (int i = 0; i < PACKS; i++) {
            widen(of_x, packs[i]);
            widen(of_gain, *(const uint4*)&gain[(i * WARP + lane) * PACK]);
            for (int n = 0; n < PACK; n++) h[b][(i * WARP + lane) * PACK + n] = of_x[n] * factor * of_gain[n];
        }
    }
}

// A number of a head's result: the weighted sum of V, relative to the largest score, and the sum of the weights.
struct Part {
    float sum = 0, largest = -1e30f, weights = 0;
};

// Puts parts together; load(i, n) is number n of part i, whose largest score and weights come behind its sums.
template <typename Load>
__device__ Part joined(int parts, int n, Load load) {
    Part all;
#pragma unroll 4
    for (int i = 0; i < parts; i++) {
        const float other = load(i, HEAD), most = fmaxf(all.largest, other), own = exp2f(all.largest - most), factor = exp2f(other - most);
        all.weights = all.weights * own + load(i, HEAD + 1) * factor;
        all.sum = all.sum * own + load(i, n) * factor;
        all.largest = most;
    }
    return all;
}

// What LANES lanes found of the tokens that they share: each has eight numbers of the weighted sum of V. All scores are times log2 e.
struct Found {
    float sum[PACK] = {}, largest = -1e30f, weights = 0;

    // Adds a token, of which the lane has eight numbers of K and of V.
    __device__ void add(const float (&q)[PACK], const uint4& keys, const uint4& values, bool counts) {
        float key[PACK], value[PACK], score = 0;
        widen(key, keys);
        widen(value, values);
        for (int n = 0; n < PACK; n++) score += q[n] * key[n];
        for (int bits = LANES / 2; bits > 0; bits /= 2) score += __shfl_xor_sync(ALL, score, bits);
        if (!counts) score = -INFINITY;
        const float most = fmaxf(largest, score), shrink = exp2f(largest - most), weight = exp2f(score - most);
        largest = most, weights = weights * shrink + weight;
        for (int n = 0; n < PACK; n++) sum[n] = sum[n] * shrink + weight * value[n];
    }

    // Puts together what the warp's lanes found, and writes it.
    __device__ void write(float (&to)[HEAD + 2]) {
        float most = largest;
        for (int bits = LANES; bits < WARP; bits *= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, bits));
        const float factor = exp2f(largest - most);
        weights *= factor;
        for (int n = 0; n < PACK; n++) sum[n] *= factor;
        for (int bits = LANES; bits < WARP; bits *= 2) {
            weights += __shfl_xor_sync(ALL, weights, bits);
            for (int n = 0; n < PACK; n++) sum[n] += __shfl_xor_sync(ALL, sum[n], bits);
        }
        if (threadIdx.x % WARP >= LANES) return;
        for (int n = 0; n < PACK; n++) to[threadIdx.x % LANES * PACK + n] = sum[n];
        to[HEAD] = most, to[HEAD + 1] = weights;
    }
};

// The tokens of a head that a group of LANES lanes takes: the first of them, and every `step`th behind it.
struct Tokens {
    const __half *k, *v;
    int first, step, tokens;

    __device__ void load(uint4 (&keys)[AHEAD], uint4 (&values)[AHEAD], int from) const {
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            const long long at = (long long)min(from + i * step, tokens - 1) * HIDDEN + threadIdx.x % LANES * PACK;
            keys[i] = *(const uint4*)&k[at], values[i] = *(const uint4*)&v[at];
        }
    }
};

// Waits until all blocks of the cluster are here, and makes what they wrote visible. The cpu device has clusters of one block.
__device__ void cluster_barrier() {
#ifdef LAB_CPU
    __syncthreads();
#else
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// Loads from the shared memory of a block of the cluster, where `own` is in that of this block.
__device__ float load_of(const float* own, [[maybe_unused]] int block) {
#ifdef LAB_CPU
    return *own;
#else
    float x;
    unsigned at = (unsigned)__cvta_generic_to_shared(own);
    asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(block));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
#endif
}

// Rows of weights that the copy engine fetches into shared memory, past the loads of the threads. A barrier's phase ends when all bytes
// that it expects have arrived. The cpu device copies at once.
struct Fetched {
    unsigned long long* barrier;

    __device__ static unsigned shared(const void* at) { return (unsigned)__cvta_generic_to_shared(at); }
    __device__ void begin() const {
#ifndef LAB_CPU
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async.shared::cta;" ::"r"(shared(barrier)) : "memory");
#endif
    }
    __device__ void expect([[maybe_unused]] int rows) const {
#ifndef LAB_CPU
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(rows * HIDDEN * 2) : "memory");
#endif
    }
    __device__ void ask(__half* to, const __half* from) const {
#ifdef LAB_CPU
        for (int i = 0; i < HIDDEN; i++) to[i] = from[i];
#else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(to)), "l"(from),
                     "n"(HIDDEN * 2), "r"(shared(barrier)) : "memory");
#endif
    }
    __device__ void wait([[maybe_unused]] int phase) const {
#ifndef LAB_CPU
        for (unsigned done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(shared(barrier)), "r"(phase) : "memory");
#endif
        __syncthreads();
    }
};

extern "C" __global__ void __launch_bounds__(WARPS* WARP, 1) step(PARAMETERS) {
    extern __shared__ __align__(16) __half memory[];
    __shared__ unsigned long long arrived;
    __shared__ float tables[TILES][16][MOST_BATCH];
    constexpr int GROUPS = WARPS * WARP / LANES;
    __shared__ __align__(16) __half h[MOST_BATCH][HIDDEN + PACK];
    __shared__ float q_part[2][HEAD][MOST_BATCH], queries[MOST_BATCH][HEAD], found[WARPS][HEAD + 2], of_block[MOST_BATCH][HEAD + 2];
    const int rank = blockIdx.x, head = blockIdx.y, block = head * BLOCKS + rank, warp = threadIdx.x / WARP, tile = warp / 2;
    // Two warps for each tile of 16 of the head's rows.
    const int first = rank * (PARTS / BLOCKS) + warp % 2, last = (rank + 1) * (PARTS / BLOCKS);
    const __half* rows = w_q + (long long)(head * HEAD + tile * 16) * HIDDEN;
    Rows<PARTS> of;
    of.load(rows, HIDDEN, first);
    auto tokens_of = [&](int b) {
        const long long at = (long long)b * CACHE * HIDDEN + head * HEAD;
        return Tokens{k + at, v + at, rank * GROUPS + (int)threadIdx.x / LANES, GROUPS * BLOCKS, lengths[b]};
    };
    uint4 keys[AHEAD], values[AHEAD];
    const Tokens ahead = tokens_of(0);
    ahead.load(keys, values, ahead.first);
    // Warp 0 asks for the rows of gate and of up: 16 of each for a tile of ff.
    __half(*weights)[ROW] = (__half(*)[ROW])memory;
    const Fetched of_ff{&arrived};
    if (threadIdx.x == 0) of_ff.begin(), of_ff.expect(32 * PAIRS);
    __syncwarp();
    for (int row = threadIdx.x; row < 32 * PAIRS && warp == 0; row += WARP)
        of_ff.ask(weights[row], w_gate_up + ((long long)(row / 16 % 2) * INTER + (block * PAIRS + row / 32) * 16 + row % 16) * HIDDEN);
    normalise(h, x, gain, eps, batch);
    __syncthreads();
    float sums[4] = {};
    for (int part = first; part < last; part += 2) {
        if (part != first) of.load(rows, HIDDEN, part);
        of.multiply_with(sums, h[0], HIDDEN + PACK, part, batch);
    }
    write(&q_part[warp % 2][tile * 16], sums);
    cluster_barrier();
    for (int i = threadIdx.x; i < HEAD * batch; i += WARPS * WARP) {
        float sum = 0;
#pragma unroll
        for (int other = 0; other < BLOCKS; other++)
            for (int n = 0; n < 2; n++) sum += load_of(&q_part[n][i % HEAD][i / HEAD], other);
        queries[i / HEAD][i % HEAD] = sum * scale * 1.44269504f;
    }
    __syncthreads();

    for (int b = 0; b < batch; b++) {
        const Tokens own = tokens_of(b);
        float q[PACK];
        for (int n = 0; n < PACK; n++) q[n] = queries[b][threadIdx.x % LANES * PACK + n];
        Found all;
        // Whole warps take part in each round.
        for (int from = own.first; from - (int)threadIdx.x / LANES < own.tokens; from += AHEAD * own.step) {
            if (b > 0 || from != own.first) own.load(keys, values, from);
#pragma unroll
            for (int i = 0; i < AHEAD; i++) all.add(q, keys[i], values[i], from + i * own.step < own.tokens);
        }
        all.write(found[warp]);
        __syncthreads();
        if (threadIdx.x < HEAD) {
            const Part part = joined(WARPS, threadIdx.x, [&](int w, int i) { return found[w][i]; });
            of_block[b][threadIdx.x] = part.sum;
            if (threadIdx.x == 0) of_block[b][HEAD] = part.largest, of_block[b][HEAD + 1] = part.weights;
        }
        __syncthreads();
    }
    cluster_barrier();
    for (int b = rank; b < batch; b += BLOCKS) {
        if (threadIdx.x >= HEAD) break;
        const Part part = joined(BLOCKS, threadIdx.x, [&](int other, int i) { return load_of(&of_block[b][i], other); });
        scratch->context[b][head * HEAD + threadIdx.x] = __float2half(__fdividef(part.sum, part.weights));
    }
    cooperative_groups::this_grid().sync();

    // A quarter of a tile's products at a time.
    of_ff.wait(0);
    for (int i = warp; i < TILES; i += WARPS) {
        Rows<4> rows_of;
        rows_of.load(weights[i / 4 * 16], ROW, i % 4);
        float products[4] = {};
        rows_of.multiply_with(products, scratch->context[0], HIDDEN, i % 4, batch);
        write(tables[i], products);
    }
    __syncthreads();
    for (int n = threadIdx.x; n < PAIRS * 16 * batch; n += WARPS * WARP) {
        const int row = n % 16, pair = n / 16 % PAIRS, b = n / 16 / PAIRS, i = (block * PAIRS + pair) * 16 + row;
        float gate = 0, up = 0;
        for (int part = pair * 8; part < pair * 8 + 4; part++) gate += tables[part][row][b], up += tables[part + 4][row][b];
        const float value = __fdividef(gate, 1 + __expf(-gate)) * up;
        ff[b * INTER + i] = __float2half(value);
        if (i < HIDDEN) y[b * HIDDEN + i] = __float2half(__half2float(scratch->context[b][i]) + value);
    }
}

LAB_LAUNCHES(decode_graph) {
    launches.scratch_bytes = sizeof(Scratch);
    LabShape& launch = launches.add("step");
    launch.grid[0] = BLOCKS;
    launch.grid[1] = HEADS;
    launch.block[0] = WARPS * WARP;
    launch.shared_bytes = PAIRS * 32 * ROW * sizeof(__half);
    launch.cooperative = 1;
#ifndef LAB_CPU
    launch.cluster[0] = BLOCKS;
#endif
}
