// One decode step in five launches, one for each operation: RMSNorm, the projection of the query, attention over the cache in stretches,
// their sum, and gate, up, SwiGLU and the last addition together. Vectors between launches are f32 in the scratch buffer.
#include "lab.h"

#include <cuda_fp16.h>

#include <cmath>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, HEADS = HIDDEN / HEAD, MOST_BATCH = 8;
constexpr int WARP = 32, WARPS = 4, PACK = 8, LANES = HEAD / PACK;      // lanes that share a token's row of a head
constexpr int STRETCH = 128;                                            // tokens of a block
constexpr int STRETCHES = (CACHE + STRETCH - 1) / STRETCH;
constexpr unsigned ALL = 0xffffffffu;

// What one launch leaves for the next.
struct Part {
    float sum[HEAD];
    float largest, weights;
};
struct Scratch {
    float h[MOST_BATCH][HIDDEN], q[MOST_BATCH][HIDDEN], context[MOST_BATCH][HIDDEN];
    Part parts[MOST_BATCH][HEADS][STRETCHES];
};

#define PARAMETERS                                                                                                            \
    const __half *x, const __half *gain, const __half *w_q, const __half *k, const __half *v, const __half *w_gate_up,        \
        const int *lengths, __half *ff, __half *y, float eps, float scale, int batch, int hidden, int inter, int cache,       \
        int longest, int shortest, Scratch *scratch

// Eight numbers that are loaded in one access.
__device__ void load(float (&to)[PACK], const __half* from) {
    const uint4 pack = *(const uint4*)from;
    const __half2* halves = (const __half2*)&pack;
    for (int i = 0; i < PACK / 2; i++) to[2 * i] = __low2float(halves[i]), to[2 * i + 1] = __high2float(halves[i]);
}

// Adds the products of a row of weights with each sequence's vector. The whole warp computes a row; each lane gets the sums.
__device__ void multiply(float (&sums)[MOST_BATCH], const __half* row, const float (*with)[HIDDEN], int batch) {
    const int lane = threadIdx.x % WARP;
    for (int i = lane * PACK; i < HIDDEN; i += WARP * PACK) {
        float weights[PACK];
        load(weights, row + i);
#pragma unroll
        for (int b = 0; b < MOST_BATCH; b++)
            for (int n = 0; n < PACK && b < batch; n++) sums[b] += weights[n] * with[b][i + n];
    }
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++) sums[b] = lab_warp_sum(sums[b]);
}

// One block for each sequence.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) normalise(PARAMETERS) {
    __shared__ float partial[WARPS];
    const int b = blockIdx.x;
    float squares = 0;
    for (int i = threadIdx.x; i < HIDDEN; i += WARPS * WARP) squares += __half2float(x[b * HIDDEN + i]) * __half2float(x[b * HIDDEN + i]);
    squares = lab_warp_sum(squares);
    if (threadIdx.x % WARP == 0) partial[threadIdx.x / WARP] = squares;
    __syncthreads();
    squares = 0;
    for (int w = 0; w < WARPS; w++) squares += partial[w];
    const float factor = rsqrtf(squares / HIDDEN + eps);
    for (int i = threadIdx.x; i < HIDDEN; i += WARPS * WARP)
        scratch->h[b][i] = __half2float(x[b * HIDDEN + i]) * factor * __half2float(gain[i]);
}

// One warp for each number of q.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) query(PARAMETERS) {
    const int i = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (i >= HIDDEN) return;
    float sums[MOST_BATCH] = {};
    multiply(sums, w_q + (long long)i * HIDDEN, scratch->h, batch);
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++)
        if (threadIdx.x % WARP == b && b < batch) scratch->q[b][i] = sums[b];
}

// One block for each stretch of tokens, head and sequence. LANES lanes share a token, and each such group keeps what it found: the largest
// score, and relative to it the weights' sum and the weighted sum of V.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) attention(PARAMETERS) {
    constexpr int GROUPS = WARPS * WARP / LANES;
    __shared__ Part found[GROUPS];
    const int head = blockIdx.y, b = blockIdx.z, group = threadIdx.x / LANES, d = threadIdx.x % LANES * PACK;
    const int end = min((int)(blockIdx.x + 1) * STRETCH, lengths[b]);
    float q[PACK], sum[PACK] = {}, largest = -INFINITY, weights = 0;
    for (int n = 0; n < PACK; n++) q[n] = scratch->q[b][head * HEAD + d + n] * scale;
    for (int from = blockIdx.x * STRETCH; from < end; from += GROUPS) {
        const int t = from + group;
        const long long at = (((long long)b * CACHE + min(t, end - 1)) * HEADS + head) * HEAD + d;
        float key[PACK], value[PACK], score = 0;
        load(key, k + at);
        load(value, v + at);
        for (int n = 0; n < PACK; n++) score += q[n] * key[n];
        for (int bits = LANES / 2; bits > 0; bits /= 2) score += __shfl_xor_sync(ALL, score, bits);
        if (t >= end) score = -INFINITY;
        const float most = fmaxf(fmaxf(largest, score), -1e30f), shrink = __expf(largest - most), weight = __expf(score - most);
        largest = most;
        weights = weights * shrink + weight;
        for (int n = 0; n < PACK; n++) sum[n] = sum[n] * shrink + weight * value[n];
    }
    for (int n = 0; n < PACK; n++) found[group].sum[d + n] = sum[n];
    if (d == 0) found[group].largest = largest, found[group].weights = weights;
    __syncthreads();
    if (threadIdx.x >= HEAD) return;
    Part part = {};
    part.largest = -1e30f;
    float total = 0;
    for (int g = 0; g < GROUPS; g++) part.largest = fmaxf(part.largest, found[g].largest);
    for (int g = 0; g < GROUPS; g++) {
        const float factor = __expf(found[g].largest - part.largest);
        part.weights += factor * found[g].weights;
        total += factor * found[g].sum[threadIdx.x];
    }
    Part& to = scratch->parts[b][head][blockIdx.x];
    to.sum[threadIdx.x] = total;
    if (threadIdx.x == 0) to.largest = part.largest, to.weights = part.weights;
}

// One block for each head and sequence: puts the stretches together. One behind the end of a sequence has weights of 0.
extern "C" __global__ void __launch_bounds__(HEAD) together(PARAMETERS) {
    const int head = blockIdx.x, b = blockIdx.y;
    const Part* parts = scratch->parts[b][head];
    float largest = -INFINITY, weights = 0, sum = 0;
    for (int s = 0; s < STRETCHES; s++) largest = fmaxf(largest, parts[s].largest);
    for (int s = 0; s < STRETCHES; s++) {
        const float factor = __expf(parts[s].largest - largest);
        weights += factor * parts[s].weights;
        sum += factor * parts[s].sum[threadIdx.x];
    }
    scratch->context[b][head * HEAD + threadIdx.x] = sum / weights;
}

// One warp for each number of ff: a row of gate and a row of up.
extern "C" __global__ void __launch_bounds__(WARPS* WARP) feed_forward(PARAMETERS) {
    const int i = blockIdx.x * WARPS + threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (i >= INTER) return;
    float gate[MOST_BATCH] = {}, up[MOST_BATCH] = {};
    multiply(gate, w_gate_up + (long long)i * HIDDEN, scratch->context, batch);
    multiply(up, w_gate_up + (long long)(INTER + i) * HIDDEN, scratch->context, batch);
#pragma unroll
    for (int b = 0; b < MOST_BATCH; b++) {
        if (lane != b || b >= batch) continue;
        const float value = gate[b] / (1 + __expf(-gate[b])) * up[b];
        ff[b * INTER + i] = __float2half(value);
        if (i < HIDDEN) y[b * HIDDEN + i] = __float2half(scratch->context[b][i] + value);
    }
}

__device__ void add(LabLaunches& launches, const char* entry, int x, int y, int z, int threads) {
    LabShape& launch = launches.add(entry);
    launch.grid[0] = x, launch.grid[1] = y, launch.grid[2] = z;
    launch.block[0] = threads;
}

LAB_LAUNCHES(decode_graph) {
    launches.scratch_bytes = sizeof(Scratch);
    add(launches, "normalise", dims.batch, 1, 1, WARPS * WARP);
    add(launches, "query", (HIDDEN + WARPS - 1) / WARPS, 1, 1, WARPS * WARP);
    add(launches, "attention", STRETCHES, HEADS, dims.batch, WARPS * WARP);
    add(launches, "together", HEADS, dims.batch, 1, HEAD);
    add(launches, "feed_forward", (INTER + WARPS - 1) / WARPS, 1, 1, WARPS * WARP);
}
