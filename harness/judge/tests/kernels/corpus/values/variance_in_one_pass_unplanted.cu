// The same variance in one pass. The problem plants nothing, so no row of a small spread is drawn unless the judge
// does so by itself.
// problem: variance_unplanted
// judged: fail
#include "lab.h"

extern "C" __global__ void variance(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x;
    float sum = 0.0f, squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) {
        const float v = x[row * cols + c];
        sum += v;
        squares += v * v;
    }
    const float mean = lab_warp_sum(sum) / cols;
    squares = lab_warp_sum(squares) / cols;
    if (threadIdx.x == 0) y[row] = squares - mean * mean;
}

LAB_LAUNCH(variance) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
