// All loops are jumps to labels.
// problem: tensor
// judged: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    float largest = x[0];
    int c = lane;
search:
    if (c >= cols) goto shared;
    largest = fmaxf(largest, x[c]);
    c += 32;
    goto search;
shared: {
    int bits = 16;
again:
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
    bits >>= 1;
    if (bits) goto again;
}
    c = lane;
store:
    if (c < cols) {
        y[c] = x[c] - largest;
        c += 32;
        goto store;
    }
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
