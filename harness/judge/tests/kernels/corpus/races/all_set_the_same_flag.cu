// Every thread that finds an odd number stores the same value to one flag, between two barriers.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int odd;
    __shared__ int total;
    if (lane == 0) odd = total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = lane; c < cols; c += 128) {
        sum += x[c];
        if (x[c] & 1) odd = 1;
    }
    __syncthreads();
    if (odd || sum != 0) atomicAdd(&total, sum);
    __syncthreads();
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
