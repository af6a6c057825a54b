// The reference: its results are what is right. A thread for each row of the state, one sum after the other, in f64.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int D = 128;  // cells of k and of v
constexpr int QK_HEADS = 4, HEADS = 8;

__device__ double wide(__nv_bfloat16 v) { return (double)__bfloat162float(v); }

extern "C" __global__ void gdn_decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const float* state,
                                      const float* A_log, const __nv_bfloat16* a, const float* dt_bias, const __nv_bfloat16* b,
                                      __nv_bfloat16* output, float* new_state, float scale, int batch) {
    const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    const long long of_head = row / D, element = of_head / HEADS;
    const int head = (int)(of_head % HEADS);
    const __nv_bfloat16* key = k + (element * QK_HEADS + head / (HEADS / QK_HEADS)) * D;
    const __nv_bfloat16* query = q + (element * QK_HEADS + head / (HEADS / QK_HEADS)) * D;
    const float* from = state + row * D;
    float* to = new_state + row * D;

    const double x = wide(a[of_head]) + dt_bias[head];
    const double softplus = x > 40 ? x : log1p(exp(x));
    const double g = exp(-exp((double)A_log[head]) * softplus);
    const double beta = 1 / (1 + exp(-wide(b[of_head])));
    double old = 0;
    for (int i = 0; i < D; i++) old += wide(key[i]) * (g * from[i]);
    const double delta = beta * (wide(v[row]) - old);
    double sum = 0;
    for (int i = 0; i < D; i++) {
        const double cell = g * from[i] + delta * wide(key[i]);
        to[i] = (float)cell;
        sum += wide(query[i]) * cell;
    }
    output[row] = __float2bfloat16((float)((scale == 0 ? 1 / sqrt((double)D) : scale) * sum));
}

LAB_LAUNCH(gdn_decode) {
    launch.grid[0] = dims.batch * HEADS;
    launch.block[0] = D;
}
