// An unwritten cell is brought into a range by fminf and fmaxf before it counts for the smallest number. A NaN
// becomes 1e30 and does no harm; any other number may.
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
    __shared__ float ends[33];
    ends[lane] = smallest;
    __syncthreads();
    float least = smallest;
    for (int k = 0; k < 33; k++) least = fminf(least, fmaxf(fminf(ends[k], 1e30f), -1e30f));
    if (lane == 0) {
        high[row] = largest;
        low[row] = least;
    }
}

LAB_LAUNCH(row_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
