// The largest number of a row is that of its two halves, found by the same function.
// problem: tensor
// judged: pass
#include "lab.h"

__device__ float largest_of(const float* from, int count) {
    if (count == 1) return *from;
    const int half = count / 2;
    return fmaxf(largest_of(from, half), largest_of(from + half, count - half));
}

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    if (lane > 1) return;
    const float largest = largest_of(x, cols);
    for (int c = lane; c < cols; c += 2) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
