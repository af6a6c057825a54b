// The gated delta rule, one token. A warp computes one row of the state: each lane has four cells of it.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int D = 128;  // cells of k and of v
constexpr int QK_HEADS = 4, HEADS = 8;
constexpr int WARP = 32, WARPS = 8;

// Four neighbouring numbers in one access.
__device__ inline float4 four(const __nv_bfloat16* from) {
    const uint2 bits = *reinterpret_cast<const uint2*>(from);
    return make_float4(__uint_as_float(bits.x << 16), __uint_as_float(bits.x & 0xffff0000u), __uint_as_float(bits.y << 16),
                       __uint_as_float(bits.y & 0xffff0000u));
}

__device__ inline float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

extern "C" __global__ void __launch_bounds__(WARP* WARPS)
    gdn_decode(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const float* state, const float* A_log,
               const __nv_bfloat16* a, const float* dt_bias, const __nv_bfloat16* b, __nv_bfloat16* output, float* new_state,
               float scale, int batch) {
    const int lane = threadIdx.x % WARP;
    const long long row = blockIdx.x * (long long)WARPS + threadIdx.x / WARP;
    const long long of_head = row / D, element = of_head / HEADS;
    const int head = (int)(of_head % HEADS);
    const long long qk = (element * QK_HEADS + head / (HEADS / QK_HEADS)) * D + 4 * lane;

    const float x = __bfloat162float(a[of_head]) + dt_bias[head];
    const float softplus = x > 20.0f ? x : log1pf(expf(x));
    const float g = expf(-expf(A_log[head]) * softplus);
    const float beta = 1.0f / (1.0f + expf(-__bfloat162float(b[of_head])));

    const float4 kk = four(k + qk), qq = four(q + qk);
    float4 s = reinterpret_cast<const float4*>(state)[row * (D / 4) + lane];
    s = make_float4(g * s.x, g * s.y, g * s.z, g * s.w);
    const float delta = beta * (__bfloat162float(v[row]) - lab_warp_sum(dot(kk, s)));
    s = make_float4(s.x + delta * kk.x, s.y + delta * kk.y, s.z + delta * kk.z, s.w + delta * kk.w);
    reinterpret_cast<float4*>(new_state)[row * (D / 4) + lane] = s;
    const float sum = lab_warp_sum(dot(qq, s));
    if (lane == 0) output[row] = __float2bfloat16((scale == 0.0f ? 0.088388347648318447f : scale) * sum);
}

LAB_LAUNCH(gdn_decode) {
    launch.grid[0] = dims.batch * HEADS * D / WARPS;
    launch.block[0] = WARP * WARPS;
}
