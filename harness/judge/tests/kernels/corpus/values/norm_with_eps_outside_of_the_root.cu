// eps is added to the root, not to what is under it. That shows only where the spread is small.
// problem: norm
// judged: fail
#include "lab.h"

extern "C" __global__ void normalize(const float* x, float* y, float eps, int rows, int cols) {
    const int row = blockIdx.x;
    x += row * cols;
    y += row * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[c];
    const float mean = lab_warp_sum(sum) / cols;
    float squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
    const float spread = lab_warp_sum(squares) / cols;
    const float factor = 1.0f / (sqrtf(spread) + eps);
    for (int c = threadIdx.x; c < cols; c += 32) y[c] = (x[c] - mean) * factor;
}

LAB_LAUNCH(normalize) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
