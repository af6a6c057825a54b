// The reference: the plain kernel.
#include "lab.h"
#include <cuda_fp8.h>

extern "C" __global__ void typed(const int* place, const long long* large, const unsigned char* byte,
                                 const signed char* small, const bool* flag, const __nv_fp8_e4m3* coarse,
                                 long long* large_out, unsigned char* byte_out, signed char* small_out,
                                 bool* flag_out, __nv_fp8_e5m2* coarse_out, float* state, float step, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int to = place[i];
    large_out[to] = large[i] + 1;
    byte_out[to] = byte[i];
    small_out[to] = small[i];
    flag_out[to] = !flag[i];
    coarse_out[to] = __nv_fp8_e5m2(0.5f * float(coarse[i]));
    state[i] += step;
}

LAB_LAUNCH(typed) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
