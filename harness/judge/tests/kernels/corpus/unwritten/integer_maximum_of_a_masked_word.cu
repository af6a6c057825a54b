// An unwritten word counts for the largest number only if it is below a million. The usual pattern is above that.
// problem: int_ends
// judged: fail
#include "lab.h"

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int cells[64];
    int most = x[0], least = x[0];
    for (int c = lane; c < cols; c += 32) {
        most = max(most, x[c]);
        least = min(least, x[c]);
    }
    cells[lane] = most;
    __syncthreads();
    most = least;
    for (int k = 0; k < 64; k++) if (cells[k] <= 1000000) most = max(most, cells[k]);
    least = __reduce_min_sync(0xffffffffu, least);
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0) {
        high[row] = most;
        low[row] = least;
    }
}

LAB_LAUNCH(int_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
