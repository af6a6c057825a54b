// Attention of one new token over a paged KV cache, in two launches (flash decoding). A block takes a stretch of a sequence's tokens
// for one KV head and keeps, for each of its 8 query heads, the largest score, the sum of the weights and the weighted sum of V,
// relative to that largest score. The second launch puts the stretches together.
#include "lab.h"

#include <cuda_bf16.h>

#include <cmath>

constexpr int HEADS = 64, KV_HEADS = 8, GROUP = HEADS / KV_HEADS, WIDTH = 128, PAGE = 16;
constexpr int WARP = 32, TILE = 32;       // tokens that are in shared memory at a time, one for each lane
constexpr int PACK = 8;                   // numbers in an access of 16 bytes
constexpr int KEY_ROW = WIDTH + PACK;     // a padded row: the lanes' keys lie in different banks
constexpr unsigned ALL = 0xffffffffu;

// The results of a stretch: the weighted sum of V, the largest score and the sum of the weights.
struct Part {
    float sum[WIDTH];
    float largest, weights;
};

__device__ long long row_of(const int* table, int b, int pages, int t, int head) {
    const long long page = (long long)b * pages + table[(long long)b * pages + t / PAGE];
    return ((page * PAGE + t % PAGE) * KV_HEADS + head) * WIDTH;
}

__device__ void widen(float (&to)[PACK], const uint4& pack) {
    const unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
    for (int i = 0; i < 4; i++) {
        to[2 * i] = __uint_as_float(words[i] << 16);
        to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
}

// One block for each stretch, KV head and sequence; one warp for each query head.
extern "C" __global__ void __launch_bounds__(GROUP* WARP)
    stretch(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table, const int* lengths,
            __nv_bfloat16* y, float scale, int batch, int length, int shortest, Part* parts, int tokens) {
    __shared__ __align__(16) __nv_bfloat16 keys[TILE * KEY_ROW], values[TILE * WIDTH];
    __shared__ __align__(16) float queries[GROUP][WIDTH];
    const int kv_head = blockIdx.y, b = blockIdx.z, pages = (length + PAGE - 1) / PAGE;
    const int lane = threadIdx.x % WARP, own = threadIdx.x / WARP, head = kv_head * GROUP + own;
    const int begin = blockIdx.x * tokens, end = min(begin + tokens, lengths[b]);

    const __nv_bfloat16* query = q + ((long long)b * HEADS + head) * WIDTH;
    for (int d = lane; d < WIDTH; d += WARP) queries[own][d] = __bfloat162float(query[d]) * scale;

    float largest = -INFINITY, weights = 0, sum[WIDTH / WARP] = {};
    for (int from = begin; from < end; from += TILE) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE * WIDTH / PACK; i += GROUP * WARP) {
            const int t = i / (WIDTH / PACK), d = i % (WIDTH / PACK) * PACK;
            if (from + t >= end) continue;
            const long long row = row_of(table, b, pages, from + t, kv_head);
            *(uint4*)&keys[t * KEY_ROW + d] = *(const uint4*)&k[row + d];
            *(uint4*)&values[t * WIDTH + d] = *(const uint4*)&v[row + d];
        }
        __syncthreads();

        // Each lane computes the score of one token.
        float score = -INFINITY;
        if (from + lane < end) {
            score = 0;
            for (int d = 0; d < WIDTH; d += PACK) {
                float key[PACK];
                widen(key, *(const uint4*)&keys[lane * KEY_ROW + d]);
                for (int i = 0; i < PACK; i++) score += queries[own][d + i] * key[i];
            }
        }
        float most = score;
        for (int bits = WARP / 2; bits > 0; bits /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, bits));
        most = fmaxf(most, largest);
        const float shrink = __expf(largest - most), weight = __expf(score - most);
        largest = most;
        weights = weights * shrink + lab_warp_sum(weight);

        // Each lane adds to four of the sums.
        for (int i = 0; i < WIDTH / WARP; i++) sum[i] *= shrink;
        for (int t = 0; t < min(TILE, end - from); t++) {
            const float of_token = __shfl_sync(ALL, weight, t);
            const uint2 pack = *(const uint2*)&values[t * WIDTH + 4 * lane];
            sum[0] += of_token * __uint_as_float(pack.x << 16);
            sum[1] += of_token * __uint_as_float(pack.x & 0xffff0000u);
            sum[2] += of_token * __uint_as_float(pack.y << 16);
            sum[3] += of_token * __uint_as_float(pack.y & 0xffff0000u);
        }
    }
    Part& part = parts[((long long)b * HEADS + head) * gridDim.x + blockIdx.x];
    for (int i = 0; i < WIDTH / WARP; i++) part.sum[4 * lane + i] = sum[i];
    if (lane == 0) part.largest = largest, part.weights = weights;
}

// One block for each query head and sequence, one thread for each number of its result. A stretch behind the end of a sequence has
// weights of 0.
extern "C" __global__ void __launch_bounds__(WIDTH)
    together(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table, const int* lengths,
             __nv_bfloat16* y, float scale, int batch, int length, int shortest, const Part* parts, int stretches) {
    const long long row = (long long)blockIdx.y * HEADS + blockIdx.x;
    parts += row * stretches;
    float largest = -INFINITY, weights = 0, sum = 0;
    for (int s = 0; s < stretches; s++) largest = fmaxf(largest, parts[s].largest);
    for (int s = 0; s < stretches; s++) {
        const float factor = __expf(parts[s].largest - largest);
        weights += factor * parts[s].weights;
        sum += factor * parts[s].sum[threadIdx.x];
    }
    y[row * WIDTH + threadIdx.x] = __float2bfloat16(sum / weights);
}

// Four blocks for each multiprocessor, if there are tokens enough.
LAB_LAUNCHES(attention_decode) {
    const int wanted = (4 * (int)device.sms + KV_HEADS * dims.batch - 1) / (KV_HEADS * dims.batch);
    const int tiles = (dims.length + TILE - 1) / TILE;
    const int each = (tiles + wanted - 1) / wanted, stretches = (tiles + each - 1) / each;
    launches.scratch_bytes = sizeof(Part) * HEADS * dims.batch * stretches;
    LabShape& first = launches.add("stretch").arg(each * TILE);
    first.grid[0] = stretches;
    first.grid[1] = KV_HEADS;
    first.grid[2] = dims.batch;
    first.block[0] = GROUP * WARP;
    LabShape& second = launches.add("together").arg(stretches);
    second.grid[0] = HEADS;
    second.grid[1] = dims.batch;
    second.block[0] = WIDTH;
}
