// Dynamic shared memory begins with one number for the block, and vectors of four lie directly behind it.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    extern __shared__ float memory[];
    float& factor = memory[0];
    float* const cells = memory + 1;
    const int from = blockIdx.x * 128, lane = threadIdx.x;
    if (lane == 0) factor = 2.0f;
    for (int at = lane; at < 128; at += 32) cells[at] = from + at < n ? x[from + at] : 0.0f;
    __syncthreads();
    const float4 four = reinterpret_cast<const float4*>(cells)[lane];
    const float own[] = {four.x, four.y, four.z, four.w};
    for (int k = 0; k < 4; k++) {
        const int at = from + 4 * lane + k;
        if (at < n) y[at] = factor * own[k];
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 32;
    launch.shared_bytes = 4 * 129;
}
