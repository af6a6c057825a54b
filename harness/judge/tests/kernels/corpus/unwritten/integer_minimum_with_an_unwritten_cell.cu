// The smallest whole number is found by min over 33 cells, of which 32 are written.
// problem: int_ends
// judged: fail
#include "lab.h"

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int cells[33];
    int most = x[0], least = x[0];
    for (int c = lane; c < cols; c += 32) {
        most = max(most, x[c]);
        least = min(least, x[c]);
    }
    cells[lane] = least;
    __syncthreads();
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0) {
        for (int k = 0; k < 33; k++) least = min(least, cells[k]);
        high[row] = most;
        low[row] = least;
    }
}

LAB_LAUNCH(int_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
