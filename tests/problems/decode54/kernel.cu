// One decode step: a block computes one value head of one element of the batch, a thread one row of its state.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int QK_HEADS = 2;
constexpr int V_HEADS = 4;
constexpr int D = 16;

__device__ float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

extern "C" __global__ void decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v,
                                  const float* a_log, const __nv_bfloat16* a, const float* dt_bias,
                                  const __nv_bfloat16* b, float* state, __nv_bfloat16* y, float scale, int batch) {
    const int element = blockIdx.x / V_HEADS, head = blockIdx.x % V_HEADS, row = threadIdx.x;
    if (element >= batch) return;
    const int of_head = element * V_HEADS + head;
    const int shared_head = element * QK_HEADS + head / (V_HEADS / QK_HEADS);
    const float gate = softplus(__bfloat162float(a[of_head]) + dt_bias[head]);
    const float decay = expf(-expf(a_log[head]) * gate);
    const float beta = 1.0f / (1.0f + expf(-__bfloat162float(b[of_head])));

    float* own = state + ((long long)of_head * D + row) * D;
    float old = 0;
    for (int i = 0; i < D; i++) old += __bfloat162float(k[shared_head * D + i]) * decay * own[i];
    const float delta = beta * (__bfloat162float(v[of_head * D + row]) - old);
    float sum = 0;
    for (int i = 0; i < D; i++) {
        const float next = decay * own[i] + delta * __bfloat162float(k[shared_head * D + i]);
        own[i] = next;
        sum += __bfloat162float(q[shared_head * D + i]) * next;
    }
    y[of_head * D + row] = __float2bfloat16(scale * sum);
}

LAB_LAUNCH(decode) {
    launch.grid[0] = dims.batch * V_HEADS;
    launch.block[0] = D;
}
