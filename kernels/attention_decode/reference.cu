// The reference: its results are what is right. One block per sequence and query head. It reads the tokens twice: first for the
// largest score, then for the sums. A thread computes the scores of some tokens and then one of the 128 sums, all in f64.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int HEADS = 64, KV_HEADS = 8, WIDTH = 128, PAGE = 16;

extern "C" __global__ void attention_decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* table,
                                            const int* lengths, __nv_bfloat16* y, float scale, int batch, int length, int shortest) {
    __shared__ double query[WIDTH], shared[WIDTH];
    const int head = blockIdx.x, b = blockIdx.y, own = threadIdx.x, tokens = lengths[b];
    const int pages = (length + PAGE - 1) / PAGE;
    auto row = [&](int t) {
        const long long page = (long long)b * pages + table[(long long)b * pages + t / PAGE];
        return ((page * PAGE + t % PAGE) * KV_HEADS + head / (HEADS / KV_HEADS)) * WIDTH;
    };
    auto score = [&](int t) {
        const __nv_bfloat16* key = k + row(t);
        double sum = 0;
        for (int d = 0; d < WIDTH; d++) sum += query[d] * __bfloat162float(key[d]);
        return sum * scale;
    };
    query[own] = __bfloat162float(q[((long long)b * HEADS + head) * WIDTH + own]);
    __syncthreads();

    double largest = -1e300;
    for (int t = own; t < tokens; t += WIDTH) largest = fmax(largest, score(t));
    shared[own] = largest;
    __syncthreads();
    for (int i = 0; i < WIDTH; i++) largest = fmax(largest, shared[i]);

    double sum = 0, weights = 0;
    for (int from = 0; from < tokens; from += WIDTH) {
        __syncthreads();
        if (from + own < tokens) shared[own] = exp(score(from + own) - largest);
        __syncthreads();
        for (int t = from; t < from + WIDTH && t < tokens; t++) {
            sum += shared[t - from] * __bfloat162float(v[row(t) + own]);
            weights += shared[t - from];
        }
    }
    y[((long long)b * HEADS + head) * WIDTH + own] = __float2bfloat16((float)(sum / weights));
}

LAB_LAUNCH(attention_decode) {
    launch.grid[0] = HEADS;
    launch.grid[1] = dims.batch;
    launch.block[0] = WIDTH;
}
