// The softmax does not subtract the largest number. It overflows above 88, which is nine standard deviations.
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
    const float from = 0.0f * most;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 32) sum += expf(x[c] - from);
    sum = lab_warp_sum(sum);
    for (int c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - from) / sum;
}

LAB_LAUNCH(shares) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
