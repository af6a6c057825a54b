// The same, plainly: a thread for each row of the state, and sums in f64.
#include "lab.h"
#include <cuda_bf16.h>

extern "C" __global__ void decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                                  const float* state, const float* a_log, const __nv_bfloat16* a, const float* dt_bias,
                                  const __nv_bfloat16* b, __nv_bfloat16* out, float* new_state, float scale, int, int) {
    const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    const size_t head = row / 128 % 8, batch = row / 1024, qk = (batch * 4 + head / 2) * 128;
    const double x = (double)__bfloat162float(a[batch * 8 + head]) + dt_bias[head];
    const double g = exp(-exp((double)a_log[head]) * log1p(exp(x)));
    const double beta = 1.0 / (1.0 + exp(-(double)__bfloat162float(b[batch * 8 + head])));
    double old = 0.0, sum = 0.0;
    for (int i = 0; i < 128; i++) old += (double)__bfloat162float(k[qk + i]) * g * state[row * 128 + i];
    const double delta = beta * ((double)__bfloat162float(v[row]) - old);
    for (int i = 0; i < 128; i++) {
        const double s = g * state[row * 128 + i] + delta * __bfloat162float(k[qk + i]);
        new_state[row * 128 + i] = (float)s;
        sum += __bfloat162float(q[qk + i]) * s;
    }
    out[row] = __float2bfloat16((float)(scale * sum));
}

LAB_LAUNCH(decode) {
    launch.grid[0] = (unsigned)(dims.B * 8 * 128 / 128);
    launch.block[0] = 128;
}
