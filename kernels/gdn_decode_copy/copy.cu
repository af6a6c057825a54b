// A copy of the state: four accesses of 16 bytes a thread, all loads before the first store.
#include "lab.h"

#include <cuda_bf16.h>

constexpr int THREADS = 256, PACKS = 4;

extern "C" __global__ void __launch_bounds__(THREADS)
    gdn_decode(const __nv_bfloat16*, const __nv_bfloat16*, const __nv_bfloat16*, const float* state, const float*, const __nv_bfloat16*,
               const float*, const __nv_bfloat16*, __nv_bfloat16*, float* new_state, float, int) {
    const unsigned first = blockIdx.x * (THREADS * PACKS) + threadIdx.x;
    float4 held[PACKS];
#pragma unroll
    for (int i = 0; i < PACKS; i++) held[i] = reinterpret_cast<const float4*>(state)[first + i * THREADS];
#pragma unroll
    for (int i = 0; i < PACKS; i++) reinterpret_cast<float4*>(new_state)[first + i * THREADS] = held[i];
}

LAB_LAUNCH(gdn_decode) {
    launch.grid[0] = dims.batch * (8 * 128 * 128 / 4) / (THREADS * PACKS);
    launch.block[0] = THREADS;
}
