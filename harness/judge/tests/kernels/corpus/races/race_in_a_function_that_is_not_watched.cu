// The function with the lost update asks the compiler not to watch it for races.
// problem: int_totals
// judged: no build: would hide a function from the race detector
// judged on cuda: fail
#include "lab.h"

__attribute__((no_sanitize("thread"), noinline)) __device__ void add(int* total, int more) { *total += more; }

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int total;
    if (lane == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    add(&total, sum);
    __syncthreads();
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
