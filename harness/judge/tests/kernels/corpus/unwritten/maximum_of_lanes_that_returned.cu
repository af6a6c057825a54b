// Lanes without a column return, and the others take fmaxf with what a shuffle brings from them. What it brings is
// undefined.
// problem: tensor
// judged: fail
// gap on cuda: pass
// gap on cpu: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    if (lane >= cols || (lane & 1)) return;
    float largest = x[0];
    for (int c = 0; c < cols; c++) largest = fmaxf(largest, x[c]);
    largest = fmaxf(largest, __shfl_xor_sync(0x55555555u & __activemask(), largest, 1));
    for (int c = lane; c < cols; c += 32) {
        y[c] = x[c] - largest;
        if (c + 1 < cols) y[c + 1] = x[c + 1] - largest;
    }
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
