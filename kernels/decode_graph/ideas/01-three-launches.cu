// One decode step in three launches: RMSNorm with the projection of the query, attention over the cache, and gate, up, SwiGLU with the last
// addition. Each block of the first launch computes the norm itself. A cluster of blocks computes a head of the attention: they read one
// another's shared memory, so no launch puts stretches together. Vectors between launches are f32 in the scratch buffer.
#include "lab.h"

#include <cuda_fp16.h>

#include <cmath>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, HEADS = HIDDEN / HEAD, MOST_BATCH = 8;
constexpr int WARP = 32, WARPS = 8, PACK = 8, PACKS = HIDDEN / (WARP * PACK);
constexpr int LANES = HEAD / PACK, AHEAD = 4;     // lanes that share a token of a head, tokens at a time
constexpr unsigned ALL = 0xffffffffu;

// What one launch leaves for the next.
struct Scratch {
    float q[MOST_BATCH][HIDDEN], context[MOST_BATCH][HIDDEN];
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

// A row of weights: each lane has PACKS packs of it. All loads are on the way at once.
__device__ void load_row(uint4 (&row)[PACKS], const __half* from) {
#pragma unroll
    for (int i = 0; i < PACKS; i++) row[i] = *(const uint4*)&from[(i * WARP + threadIdx.x % WARP) * PACK];
}

// Adds up the products of a row with each sequence's vector. Each lane gets the sums.
__device__ void multiply(float (&sums)[MOST_BATCH], const uint4 (&row)[PACKS], const float (*with)[HIDDEN], int batch) {
#pragma unroll
    for (int i = 0; i < PACKS; i++) {
        float weights[PACK];
        widen(weights, row[i]);
#pragma unroll
        for (int b = 0; b < MOST_BATCH; b++)
            for (int n = 0; n < PACK && b < batch; n++) sums[b] += weights[n] * with[b][(i * WARP + threadIdx.x % WARP) * PACK + n];
    }
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++) sums[b] = lab_warp_sum(sums[b]);
}

// Computes the RMSNorm of each sequence's x, one warp for a sequence.
__device__ void normalise(float (*h)[HIDDEN], const __half* x, const __half* gain, float eps, int batch) {
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

// One warp for each number of q.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) query(PARAMETERS) {
    __shared__ __align__(16) float h[MOST_BATCH][HIDDEN];
    const int i = blockIdx.x * WARPS + threadIdx.x / WARP;
    uint4 row[PACKS];
    load_row(row, w_q + (long long)i * HIDDEN);
    normalise(h, x, gain, eps, batch);
    __syncthreads();
    float sums[MOST_BATCH] = {};
    multiply(sums, row, h, batch);
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++)
        if (threadIdx.x % WARP == b && b < batch) scratch->q[b][i] = sums[b];
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

// A cluster of blocks for each head and sequence. LANES lanes share a token; of their tokens they load AHEAD before they use the first. A
// block puts together what its warps found, and the first block what those of the cluster did.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) attention(PARAMETERS) {
    constexpr int GROUPS = WARPS * WARP / LANES;
    __shared__ float found[WARPS][HEAD + 2], of_block[HEAD + 2];
    const int head = blockIdx.y, b = blockIdx.z;
    const long long at = (long long)b * CACHE * HIDDEN + head * HEAD;
    const Tokens own{k + at, v + at, (int)(blockIdx.x * GROUPS + threadIdx.x / LANES), (int)(GROUPS * gridDim.x), lengths[b]};
    float q[PACK];
    for (int n = 0; n < PACK; n++) q[n] = scratch->q[b][head * HEAD + threadIdx.x % LANES * PACK + n] * scale * 1.44269504f;
    Found all;
    // Whole warps take part in each round.
    for (int from = own.first; from - own.first % GROUPS < own.tokens; from += AHEAD * own.step) {
        uint4 keys[AHEAD], values[AHEAD];
        own.load(keys, values, from);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) all.add(q, keys[i], values[i], from + i * own.step < own.tokens);
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
        scratch->context[b][head * HEAD + threadIdx.x] = __fdividef(part.sum, part.weights);
    }
    cluster_barrier();      // no block may end while another one reads its memory
}

// One warp for each number of ff: a row of gate and a row of up.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) feed_forward(PARAMETERS) {
    const int i = blockIdx.x * WARPS + threadIdx.x / WARP;
    uint4 of_gate[PACKS], of_up[PACKS];
    load_row(of_gate, w_gate_up + (long long)i * HIDDEN);
    load_row(of_up, w_gate_up + (long long)(INTER + i) * HIDDEN);
    float gate[MOST_BATCH] = {}, up[MOST_BATCH] = {};
    multiply(gate, of_gate, scratch->context, batch);
    multiply(up, of_up, scratch->context, batch);
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++) {
        if (threadIdx.x % WARP != b || b >= batch) continue;
        const float value = gate[b] / (1 + __expf(-gate[b])) * up[b];
        ff[b * INTER + i] = __float2half(value);
        if (i < HIDDEN) y[b * HIDDEN + i] = __float2half(scratch->context[b][i] + value);
    }
}

__device__ void add(LabLaunches& launches, const char* entry, int x, int y, int z, int threads) {
    LabShape& launch = launches.add(entry);
    launch.grid[0] = x, launch.grid[1] = y, launch.grid[2] = z;
    launch.block[0] = threads;
#ifndef LAB_CPU
    if (y > 1) launch.cluster[0] = x;
#endif
}

LAB_LAUNCHES(decode_graph) {
    launches.scratch_bytes = sizeof(Scratch);
    // Blocks of a head's cluster: as many as keep all multiprocessors busy with two blocks each.
    int blocks = 1;
#ifndef LAB_CPU
    while (blocks < 8 && blocks * HEADS * dims.batch < device.sms) blocks *= 2;
#endif
    add(launches, "query", HIDDEN / WARPS, 1, 1, WARPS * WARP);
    add(launches, "attention", blocks, HEADS, dims.batch, WARPS * WARP);
    add(launches, "feed_forward", INTER / WARPS, 1, 1, WARPS * WARP);
}
