// A thread loads four numbers at once only where their address is a multiple of 16, and one at a time elsewhere.
// problem: tensor
// judged: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    float largest = x[0];
    if (reinterpret_cast<unsigned long long>(x) % 16 == 0 && cols % 4 == 0) {
        for (int q = lane; q < cols / 4; q += 32) {
            const float4 v = reinterpret_cast<const float4*>(x)[q];
            largest = fmaxf(largest, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        }
    } else {
        for (int c = lane; c < cols; c += 32) largest = fmaxf(largest, x[c]);
    }
    for (int bits = 16; bits > 0; bits /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
