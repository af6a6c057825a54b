// One thread fills a table that another warp copies with memcpy before any barrier.
// problem: int_totals
// judged: fail
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int cells[128], copies[128];
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    cells[lane] = sum;
    if (lane == 127) memcpy(copies, cells, sizeof cells);
    __syncthreads();
    if (lane == 0) {
        int total = 0;
        for (int k = 0; k < 128; k++) total += copies[k];
        y[row] = total;
    }
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
