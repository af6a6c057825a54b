// A row passes through one buffer, 128 columns a round. A barrier stands behind the store, but none before the next
// store.
// problem: int_totals
// judged: fail
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int cells[128];
    int total = 0;
    for (int from = 0; from < cols; from += 128) {
        cells[lane] = from + lane < cols ? x[from + lane] : 0;
        __syncthreads();
        if (lane == 0) for (int k = 0; k < 128; k++) total += cells[k];
    }
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
