// The reference: its results are what is right. One thread for each value head and row of the state, sums in f64.
#include "lab.h"

#include <cuda_bf16.h>

extern "C" __global__ void decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                                  const float* a_log, const __nv_bfloat16* a, const float* dt_bias,
                                  const __nv_bfloat16* b, float* state, __nv_bfloat16* y, float scale, int batch) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= batch * 4 * 16) return;
    const int row = at % 16, head = at / 16 % 4, element = at / 64;
    const __nv_bfloat16* key = k + (element * 2 + head / 2) * 16;
    const __nv_bfloat16* query = q + (element * 2 + head / 2) * 16;
    float* own = state + (long long)at * 16;

    const double x = (double)__bfloat162float(a[element * 4 + head]) + (double)dt_bias[head];
    const double decay = exp(-exp((double)a_log[head]) * (x > 30 ? x : log1p(exp(x))));
    const double beta = 1.0 / (1.0 + exp(-(double)__bfloat162float(b[element * 4 + head])));
    double old = 0;
    for (int i = 0; i < 16; i++) old += (double)__bfloat162float(key[i]) * decay * (double)own[i];
    const double delta = beta * ((double)__bfloat162float(v[(element * 4 + head) * 16 + row]) - old);
    double sum = 0;
    for (int i = 0; i < 16; i++) {
        const double next = decay * (double)own[i] + delta * (double)__bfloat162float(key[i]);
        own[i] = (float)next;
        sum += (double)__bfloat162float(query[i]) * next;
    }
    y[at] = __float2bfloat16((float)((double)scale * sum));
}

LAB_LAUNCH(decode) {
    launch.grid[0] = (dims.batch * 64 + 127) / 128;
    launch.block[0] = 128;
}
