// Two buffers are used in turn, but three rounds are needed before a barrier stands between two uses of a buffer.
// problem: int_totals
// judged: fail
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int cells[2][128];
    int total = 0, round = 0;
    for (int from = 0; from < cols; from += 128, round++) {
        cells[round % 2][lane] = from + lane < cols ? x[from + lane] : 0;
        if (round % 3 != 2) __syncthreads();
        if (lane == 0) for (int k = 0; k < 128; k++) total += cells[round % 2][k];
    }
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
