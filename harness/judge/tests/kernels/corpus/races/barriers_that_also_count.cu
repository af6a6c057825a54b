// __syncthreads_or and __syncthreads_count are barriers as well. No other one stands here.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int sums[128];
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
    sums[lane] = sum;
    const int threads = __syncthreads_count(1);
    for (int step = threads / 2; step > 0; step /= 2) {
        const int other = lane < step ? sums[lane + step] : 0;
        if (__syncthreads_or(lane < step) && lane < step) sums[lane] += other;
        __syncthreads_and(1);
    }
    if (lane == 0) y[row] = sums[0];
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
