// One step of a gated delta rule, as a model with linear attention decodes it: a warp for each row of the state.
//
//   g = exp(-exp(a_log) · softplus(a + dt_bias)), beta = σ(b)
//   S' = g · S + beta · (v - k · (g · S)) ⊗ k, out = scale · q · S'
#include "lab.h"
#include <cuda_bf16.h>

constexpr int K = 128;  // cells of a row: four for each lane
constexpr int ROWS = 128;
constexpr int HEADS = 8, QK_HEADS = 4;
constexpr int WARPS = 8;

__device__ inline float4 four(const __nv_bfloat16* from) {
    return make_float4(__bfloat162float(from[0]), __bfloat162float(from[1]), __bfloat162float(from[2]),
                       __bfloat162float(from[3]));
}

__device__ inline float sum_of_warp(float x) {
    for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const float* state, const float* a_log,
           const __nv_bfloat16* a, const float* dt_bias, const __nv_bfloat16* b, __nv_bfloat16* out, float* new_state,
           float scale, int, int) {
    const int lane = threadIdx.x % 32;
    const size_t row = blockIdx.x * (size_t)WARPS + threadIdx.x / 32;
    const int head = row / ROWS % HEADS;
    const size_t batch = row / (ROWS * HEADS), of_head = batch * HEADS + head;
    const size_t qk = (batch * QK_HEADS + head / 2) * K + 4 * lane;
    const float x = __bfloat162float(a[of_head]) + dt_bias[head];
    const float softplus = x > 20.0f ? x : log1pf(expf(x));
    const float g = expf(-expf(a_log[head]) * softplus);
    const float beta = 1.0f / (1.0f + expf(-__bfloat162float(b[of_head])));
    float4 s = reinterpret_cast<const float4*>(state)[row * 32 + lane];
    const float4 kk = four(k + qk), qq = four(q + qk);
    s = make_float4(g * s.x, g * s.y, g * s.z, g * s.w);
    const float old = sum_of_warp(kk.x * s.x + kk.y * s.y + kk.z * s.z + kk.w * s.w);
    const float delta = beta * (__bfloat162float(v[row]) - old);
    s = make_float4(s.x + delta * kk.x, s.y + delta * kk.y, s.z + delta * kk.z, s.w + delta * kk.w);
    reinterpret_cast<float4*>(new_state)[row * 32 + lane] = s;
    const float sum = sum_of_warp(qq.x * s.x + qq.y * s.y + qq.z * s.z + qq.w * s.w);
    if (lane == 0) out[row] = __float2bfloat16(scale * sum);
}

LAB_LAUNCH(decode) {
    launch.grid[0] = (unsigned)(dims.B * HEADS * ROWS / WARPS);
    launch.block[0] = 32 * WARPS;
}
