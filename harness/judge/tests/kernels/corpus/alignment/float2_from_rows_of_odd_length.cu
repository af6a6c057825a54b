// Each row is loaded two numbers at a time. With an odd number of columns every second row begins at an address that
// is no multiple of 8.
// problem: tensor
// judged: crash
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    const float2* pairs = reinterpret_cast<const float2*>(x);
    float largest = x[cols - 1];
    for (int p = lane; p < cols / 2; p += 32) {
        const float2 v = pairs[p];
        largest = fmaxf(largest, fmaxf(v.x, v.y));
    }
    for (int bits = 16; bits > 0; bits /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
