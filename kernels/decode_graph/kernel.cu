// One decode step in three launches: RMSNorm with the projection of the query, attention over the cache, and gate, up, SwiGLU with the last
// addition. Each block of the first launch computes the norm itself. A cluster of blocks computes a head of the attention: they read one
// another's shared memory, so no launch puts stretches together.
//
// The projections run on the tensor cores: 16 rows of weights times 8 vectors, one for each sequence. A warp loads its part of 16 rows,
// which does not depend on the launch before, and then multiplies.
#include "lab.h"
#include <cuda_fp16.h>
#include <cmath>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, HEADS = HIDDEN / HEAD, MOST_BATCH = 8;
constexpr int WARP = 32, WARPS = 8, PACK = 8, PACKS = HIDDEN / (WARP * PACK);
constexpr int LANES = HEAD / PACK, AHEAD = 4;     // lanes that share a token of a head, tokens at a time
constexpr unsigned ALL = 0xffffffffu;

// What one launch leaves for the next.
struct Scratch {
    float q[MOST_BATCH][HIDDEN];
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
    for (int n = 0; n < 32; n++) {
        const int i = n / 8, k = n % 8, lane = threadIdx.x % WARP;
        const unsigned x = __shfl_sync(ALL, a[i / 2 + k / 4 * 2], lane / 4 * 4 + k % 4);
        const unsigned y = __shfl_sync(ALL, b[k / 4], lane % 4 * 8 + i % 2 * 4 + k % 4);
        const float2 of_a = __half22float2((const __half2&)x), of_b = __half22float2((const __half2&)y);
        d[i] += of_a.x * of_b.x + of_a.y * of_b.y;
    }
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

    __device__ void load(const __half* first, int part) {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
        for (int i = 0; i < 2 * QUADS; i++)
            of[i / QUADS][i % QUADS] = *(const uint4*)&first[(long long)(g + i / QUADS * 8) * HIDDEN + (part * QUADS + i % QUADS) * 32 + 8 * t];
    }
    // Multiplies by the vectors of all sequences, `width` numbers apart. Writes a table of 16 rows and 8 sequences.
    __device__ void multiply_with(const __half* vectors, int width, int part, int batch, float (*y)[MOST_BATCH]) const {
        const int g = threadIdx.x % WARP / 4, t = threadIdx.x % 4;
        float sums[4] = {};  // of the rows g and g + 8 with the sequences 2t and 2t + 1
#pragma unroll
        for (int i = 0; i < QUADS; i++) {
            const uint4 b = g < batch ? *(const uint4*)&vectors[g * width + (part * QUADS + i) * 32 + 8 * t] : uint4{};
            multiply(sums, {of[0][i].x, of[1][i].x, of[0][i].y, of[1][i].y}, {b.x, b.y});
            multiply(sums, {of[0][i].z, of[1][i].z, of[0][i].w, of[1][i].w}, {b.z, b.w});
        }
        for (int i = 0; i < 4; i++) y[g + i / 2 * 8][2 * t + i % 2] = sums[i];
    }
};

// Computes the RMSNorm of each sequence's x, one warp for a sequence.
__device__ void normalise(__half (*h)[HIDDEN + PACK], const __half* x, const __half* gain, float eps, int batch) {
    const int lane = threadIdx.x % WARP;
    for (int b = threadIdx.x / WARP; b < batch; b += blockDim.x / WARP) {
        uint4 packs[PACKS];
        float of_x[PACK], of_gain[PACK], squares = 0;
        for (int i = 0; i < PACKS; i++) packs[i] = *(const uint4*)&x[b * HIDDEN + (i * WARP + lane) * PACK];
        for (int i = 0; i < PACKS; i++) {
            widen(of_x, packs[i]);
            for (int n = 0; n < PACK; n++) squares += of_x[n] * of_x[n];
        }
        const float factor = rsqrtf(lab_warp_sum(squares) / HIDDEN + eps);
        for (int i = 0; i < PACKS; i++) {
            widen(of_x, packs[i]), widen(of_gain, *(const uint4*)&gain[(i * WARP + lane) * PACK]);
            for (int n = 0; n < PACK; n++) h[b][(i * WARP + lane) * PACK + n] = of_x[n] * factor * of_gain[n];
        }
    }
}

// A block for 16 numbers of q of all sequences; its warps divide the products among themselves.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) query(PARAMETERS) {
    __shared__ __align__(16) __half h[MOST_BATCH][HIDDEN + PACK];
    __shared__ float tables[WARPS][16][MOST_BATCH];
    const int warp = threadIdx.x / WARP;
    Rows<WARPS> rows;
    rows.load(w_q + (long long)blockIdx.x * 16 * HIDDEN, warp);
    normalise(h, x, gain, eps, batch);
    __syncthreads();
    rows.multiply_with(h[0], HIDDEN + PACK, warp, batch, tables[warp]);
    __syncthreads();
    const int row = threadIdx.x % 16, b = threadIdx.x / 16;
    if (b >= batch) return;
    float sum = 0;
    for (int w = 0; w < WARPS; w++) sum += tables[w][row][b];
    scratch->q[b][blockIdx.x * 16 + row] = sum;
}

// A number of a head's result: the weighted sum of V, relative to the largest score, and the sum of the weights.
struct Part { float sum = 0, largest = -1e30f, weights = 0; };

// Puts parts together; load(i, n) is number n of part i, whose largest score and weights come behind its sums.
template <typename Load>
__device__ Part joined(int parts, int n, Load load) {
    Part all;
#pragma unroll 4
    for (int i = 0; i < parts; i++) {
        const float other = load(i, HEAD), most = fmaxf(all.largest, other), own = exp2f(all.largest - most), factor = exp2f(other - most);
        all.weights = all.weights * own + load(i, HEAD + 1) * factor;
        all.sum = all.sum * own + load(i, n) * factor, all.largest = most;
    }
    return all;
}

// What LANES lanes found of the tokens that they share: each has eight numbers of the weighted sum of V. All scores are times log2 e.
struct Found {
    float sum[PACK] = {}, largest = -1e30f, weights = 0;

    // Adds a token, of which the lane has eight numbers of K and of V.
    __device__ void add(const float (&q)[PACK], const uint4& keys, const uint4& values, bool counts) {
        float key[PACK], value[PACK], score = 0;
        widen(key, keys), widen(value, values);
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

#ifdef LAB_CPU
enum { MOST_BLOCKS = 1 };  // of a cluster
__device__ void cluster_barrier() { __syncthreads(); }
__device__ float load_of(const float* own, int) { return *own; }
#else
enum { MOST_BLOCKS = 8 };
// Waits until all blocks of the cluster are here, and makes what they wrote visible.
__device__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
// Loads from the shared memory of a block of the cluster, where `own` is in that of this block.
__device__ float load_of(const float* own, int block) {
    float x;
    unsigned at = (unsigned)__cvta_generic_to_shared(own);
    asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(block));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
#endif

// A cluster of blocks for each head and sequence. LANES lanes share a token; of their tokens they load AHEAD before they use the first. A
// block puts together what its warps found, and the first block what those of the cluster did.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) attention(PARAMETERS) {
    constexpr int GROUPS = WARPS * WARP / LANES;
    __shared__ float found[WARPS][HEAD + 2], of_block[HEAD + 2];
    const int head = blockIdx.y, b = blockIdx.z;
    const long long at = (long long)b * CACHE * HIDDEN + head * HEAD;
    k += at, v += at;
    // The group of lanes takes the token `first` and every `step`th behind it.
    const int first = blockIdx.x * GROUPS + threadIdx.x / LANES, step = GROUPS * gridDim.x, tokens = lengths[b];
    float q[PACK];
    for (int n = 0; n < PACK; n++) q[n] = scratch->q[b][head * HEAD + threadIdx.x % LANES * PACK + n] * scale * 1.44269504f;
    Found all;
    for (int from = first; from - first % GROUPS < tokens; from += AHEAD * step) {  // whole warps take part each time
        uint4 keys[AHEAD], values[AHEAD];
        for (int i = 0; i < AHEAD; i++) {
            const long long number = (long long)min(from + i * step, tokens - 1) * HIDDEN + threadIdx.x % LANES * PACK;
            keys[i] = *(const uint4*)&k[number], values[i] = *(const uint4*)&v[number];
        }
        for (int i = 0; i < AHEAD; i++) all.add(q, keys[i], values[i], from + i * step < tokens);
    }
    all.write(found[threadIdx.x / WARP]);
    __syncthreads();
    if (threadIdx.x < HEAD) {
        const Part part = joined(WARPS, threadIdx.x, [&](int warp, int i) { return found[warp][i]; });
        of_block[threadIdx.x] = part.sum;
        if (threadIdx.x == 0) of_block[HEAD] = part.largest, of_block[HEAD + 1] = part.weights;
    }
    cluster_barrier();
    if (blockIdx.x == 0 && threadIdx.x < HEAD) {
        const Part part = joined(gridDim.x, threadIdx.x, [&](int block, int i) { return load_of(&of_block[i], block); });
        scratch->context[b][head * HEAD + threadIdx.x] = __float2half(__fdividef(part.sum, part.weights));
    }
    cluster_barrier();      // no block may end while another one reads its memory
}

// A block for 16 numbers of ff of all sequences: half of its warps divide the products of gate among themselves, the others those of up.
extern "C" __global__ void __launch_bounds__(WARPS* WARP, 2) feed_forward(PARAMETERS) {
    __shared__ float tables[WARPS][16][MOST_BATCH];
    const int warp = threadIdx.x / WARP, part = warp % (WARPS / 2), which = warp / (WARPS / 2);
    Rows<WARPS / 2> rows;
    rows.load(w_gate_up + ((long long)which * INTER + blockIdx.x * 16) * HIDDEN, part);
    rows.multiply_with(scratch->context[0], HIDDEN, part, batch, tables[warp]);
    __syncthreads();
    const int row = threadIdx.x % 16, b = threadIdx.x / 16, i = blockIdx.x * 16 + row;
    if (b >= batch) return;
    float gate = 0, up = 0;
    for (int w = 0; w < WARPS / 2; w++) gate += tables[w][row][b], up += tables[WARPS / 2 + w][row][b];
    const float value = __fdividef(gate, 1 + __expf(-gate)) * up;
    ff[b * INTER + i] = __float2half(value);
    if (i < HIDDEN) y[b * HIDDEN + i] = __float2half(__half2float(scratch->context[b][i]) + value);
}

__device__ void add(LabLaunches& launches, const char* entry, int x, int y, int z) {
    LabShape& launch = launches.add(entry);
    launch.grid[0] = x, launch.grid[1] = y, launch.grid[2] = z, launch.block[0] = WARPS * WARP;
    if (y > 1) launch.cluster[0] = x;
}

LAB_LAUNCHES(decode_graph) {
    launches.scratch_bytes = sizeof(Scratch);
    // Blocks of a head's cluster: as many as keep all multiprocessors busy with two blocks each.
    int blocks = 1;
    while (blocks < MOST_BLOCKS && blocks * HEADS * dims.batch < device.sms) blocks *= 2;
    add(launches, "query", HIDDEN / 16, 1, 1);
    add(launches, "attention", blocks, HEADS, dims.batch);
    add(launches, "feed_forward", INTER / 16, 1, 1);
}
