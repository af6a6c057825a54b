// The plain kernel of this problem: a warp a row.
#include "lab.h"

extern "C" __global__ void row_ends(const float* x, float* high, float* low, float* share, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    share += row * cols;
    float largest = x[0];
    float smallest = x[0];
    for (int c = lane; c < cols; c += 32) {
        largest = fmaxf(largest, x[c]);
        smallest = fminf(smallest, x[c]);
    }
    for (int bits = 16; bits > 0; bits /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, bits));
        smallest = fminf(smallest, __shfl_xor_sync(0xffffffffu, smallest, bits));
    }
    const float from = largest;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += expf(x[c] - from);
    sum = lab_warp_sum(sum);
    for (int c = lane; c < cols; c += 32) share[c] = expf(x[c] - from) / sum;
    if (lane == 0) {
        high[row] = largest;
        low[row] = smallest;
    }
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
