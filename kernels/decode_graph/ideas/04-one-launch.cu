// One decode step in one cooperative launch: RMSNorm with the projection of the query, attention over the cache, and gate, up, SwiGLU with
// the last addition, with a barrier of the whole grid between them.
//
// Nothing that comes from memory depends on what is computed. So each block asks for all of it at the beginning: the copy engine fetches
// its rows of the first projection and of gate and up, 160 KiB, into shared memory, and the threads load their first tokens into
// registers. Memory is busy all the time, and what follows a barrier finds its data there.
//
// The projections run on the tensor cores: 16 rows of weights times 8 vectors, one for each sequence.
#include "lab.h"

#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <cmath>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, HEADS = HIDDEN / HEAD, MOST_BATCH = 8;
constexpr int WARP = 32, WARPS = 16, PACK = 8, PACKS = HIDDEN / (WARP * PACK), LANES = HEAD / PACK, AHEAD = 4, MOST_PARTS = 8;
constexpr int ROW = HIDDEN + PACK;      // in shared memory rows are padded: 8 rows at the same place lie in different banks
constexpr int PAIRS = 2;                // tiles of 16 rows of gate, and of up, that a block has in shared memory
constexpr unsigned ALL = 0xffffffffu;

// What the blocks leave for one another: q, and what was found of each head in parts of its tokens: sums, largest score, weights.
struct Scratch {
    float q[MOST_BATCH][HIDDEN], parts[MOST_BATCH][HEADS][MOST_PARTS][HEAD + 2];
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

extern "C" __global__ void __launch_bounds__(WARPS* WARP, 1) step(PARAMETERS, int parts) {
    extern __shared__ __align__(16) __half memory[];
    __shared__ __align__(16) __half vectors[MOST_BATCH][ROW];       // h, then the context
    __shared__ unsigned long long arrived[2];
    __shared__ float tables[WARPS][16][MOST_BATCH], found[WARPS][HEAD + 2];
    __half(*rows)[ROW] = (__half(*)[ROW])memory;
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP, row = threadIdx.x % 16, column = threadIdx.x / 16 % 8;
    auto grid = cooperative_groups::this_grid();

    // What memory must give. Warp 0 asks for a tile of 16 rows of the first projection, if there is one for this block, and for its tiles
    // of gate and up; then all load the first tokens.
    const bool has_q = blockIdx.x < HIDDEN / 16;
    const int units = HEADS * batch * parts;
    const Fetched of_q{&arrived[0]}, of_ff{&arrived[1]};
    auto ask_round = [&](int round) {
        auto tile = [&](int pair) { return (round * PAIRS + pair) * (int)gridDim.x + (int)blockIdx.x; };
        int pairs = 0;
        while (pairs < PAIRS && tile(pairs) < INTER / 16) pairs++;
        if (lane == 0) of_ff.expect(32 * pairs);
        __syncwarp();
        for (int i = 0; i < pairs; i++)
            of_ff.ask(rows[16 + 32 * i + lane], w_gate_up + ((long long)(lane / 16) * INTER + tile(i) * 16 + lane % 16) * HIDDEN);
    };
    if (threadIdx.x == 0) of_q.begin(), of_ff.begin(), of_q.expect(has_q ? 16 : 0);
    if (warp == 0) {
        __syncwarp();
        if (has_q && lane < 16) of_q.ask(rows[lane], w_q + ((long long)blockIdx.x * 16 + lane) * HIDDEN);
        ask_round(0);
    }
    if (has_q) normalise(vectors, x, gain, eps, batch);
    uint4 keys[AHEAD], values[AHEAD];
    auto tokens_of = [&](int unit) {
        const int part = unit % parts, head = unit / parts % HEADS, b = unit / parts / HEADS, groups = WARPS * WARP / LANES;
        const long long at = (long long)b * CACHE * HIDDEN + head * HEAD;
        return Tokens{k + at, v + at, part * groups + (int)threadIdx.x / LANES, groups * parts, lengths[b]};
    };
    if (blockIdx.x < units) {
        const Tokens own = tokens_of(blockIdx.x);
        own.load(keys, values, own.first);
    }
    __syncthreads();

    if (has_q) {
        of_q.wait(0);
        if (warp < 8) {
            Rows<8> of;
            of.load(rows[0], ROW, warp);
            float sums[4] = {};
            of.multiply_with(sums, vectors[0], ROW, warp, batch);
            write(tables[warp], sums);
        }
        __syncthreads();
        float sum = 0;
        for (int w = 0; w < 8; w++) sum += tables[w][row][column];
        if (threadIdx.x < 16 * batch) scratch->q[column][blockIdx.x * 16 + row] = sum;
    }
    grid.sync();

    // The heads, each divided into parts. LANES lanes share a token; of their tokens they load AHEAD before they use the first.
    for (int unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const int part = unit % parts, head = unit / parts % HEADS, b = unit / parts / HEADS;
        const Tokens own = tokens_of(unit);
        float q[PACK];
        for (int n = 0; n < PACK; n++) q[n] = scratch->q[b][head * HEAD + threadIdx.x % LANES * PACK + n] * scale * 1.44269504f;
        Found all;
        // Whole warps take part in each round.
        for (int from = own.first; from - (int)threadIdx.x / LANES < own.tokens; from += AHEAD * own.step) {
            if (unit != blockIdx.x || from != own.first) own.load(keys, values, from);
#pragma unroll
            for (int i = 0; i < AHEAD; i++) all.add(q, keys[i], values[i], from + i * own.step < own.tokens);
        }
        all.write(found[warp]);
        __syncthreads();
        if (threadIdx.x < HEAD) {
            const Part both = joined(WARPS, threadIdx.x, [&](int w, int i) { return found[w][i]; });
            float* to = scratch->parts[b][head][part];
            to[threadIdx.x] = both.sum;
            if (threadIdx.x == 0) to[HEAD] = both.largest, to[HEAD + 1] = both.weights;
        }
        __syncthreads();
    }
    grid.sync();

    for (int i = threadIdx.x; i < batch * HIDDEN; i += WARPS * WARP) {
        const float(*of)[HEAD + 2] = scratch->parts[i / HIDDEN][i % HIDDEN / HEAD];
        const Part part = joined(parts, i % HEAD, [&](int p, int n) { return of[p][n]; });
        vectors[i / HIDDEN][i % HIDDEN] = __float2half(__fdividef(part.sum, part.weights));
    }
    // Four warps for each tile: they divide its products among themselves.
    for (int round = 0; round * PAIRS * gridDim.x < INTER / 16; round++) {
        if (round > 0 && warp == 0) ask_round(round);
        of_ff.wait(round % 2);
        const int tile = (round * PAIRS + threadIdx.x / 128) * gridDim.x + blockIdx.x, i = tile * 16 + row;
        if (warp < PAIRS * 8) {
            Rows<4> of;
            of.load(rows[16 + warp / 4 * 16], ROW, warp % 4);
            float sums[4] = {};
            of.multiply_with(sums, vectors[0], ROW, warp % 4, batch);
            write(tables[warp], sums);
        }
        __syncthreads();
        if (threadIdx.x / 128 >= PAIRS || tile >= INTER / 16 || column >= batch) continue;
        float gate = 0, up = 0;
        for (int w = warp / 4 * 8; w < warp / 4 * 8 + 4; w++) gate += tables[w][row][column], up += tables[w + 4][row][column];
        const float value = __fdividef(gate, 1 + __expf(-gate)) * up;
        ff[column * INTER + i] = __float2half(value);
        if (i < HIDDEN) y[column * HIDDEN + i] = __float2half(__half2float(vectors[column][i]) + value);
    }
}

LAB_LAUNCHES(decode_graph) {
    const int blocks = min((int)device.sms, INTER / 16);      // at least HIDDEN / 16
    int parts = 1;
    while (2 * parts <= MOST_PARTS && 2 * parts * HEADS * dims.batch <= blocks) parts *= 2;
    launches.scratch_bytes = sizeof(Scratch);
    LabShape& launch = launches.add("step").arg(parts);
    launch.grid[0] = blocks;
    launch.block[0] = WARPS * WARP;
    launch.shared_bytes = (16 + PAIRS * 32) * ROW * sizeof(__half);
    launch.cooperative = 1;
}
