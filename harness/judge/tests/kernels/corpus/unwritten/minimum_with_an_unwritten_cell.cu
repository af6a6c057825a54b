// The smallest number of a row goes through shared memory, and fminf also reads the cell behind it, which no thread
// writes.
// problem: row_ends
// judged: fail
#include "lab.h"

extern "C" __global__ void row_ends(const float* x, float* high, float* low, float* share, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    share += row * cols;
    float largest = x[0], smallest = x[0];
    for (int c = 0; c < cols; c++) {
        largest = fmaxf(largest, x[c]);
        smallest = fminf(smallest, x[c]);
    }
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) sum += expf(x[c] - largest);
    sum = lab_warp_sum(sum);
    for (int c = lane; c < cols; c += 32) share[c] = expf(x[c] - largest) / sum;
    __shared__ float ends[2];
    if (lane == 0) ends[0] = smallest;
    __syncthreads();
    if (lane == 0) {
        high[row] = largest;
        low[row] = fminf(ends[0], ends[1]);
    }
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
