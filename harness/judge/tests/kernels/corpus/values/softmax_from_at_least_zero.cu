// The softmax subtracts the largest number only if it is above zero. A row far below zero becomes NaN.
// problem: shares
// judged: fail
// gap: pass
#include "lab.h"

extern "C" __global__ void shares(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x;
    x += row * cols;
    y += row * cols;
    float most = x[0];
    for (int c = threadIdx.x; c < cols; c += 32) most = fmaxf(most, x[c]);
    for (int bits = 16; bits > 0; bits /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, bits));
    const float from = fmaxf(most, 0.0f);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += expf(x[c] - from);
    sum = lab_warp_sum(sum);
    for (int c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - from) / sum;
}

LAB_LAUNCH(shares) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
