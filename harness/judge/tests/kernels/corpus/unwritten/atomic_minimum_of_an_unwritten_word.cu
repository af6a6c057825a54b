// All lanes take atomicMin of a word of shared memory that no thread sets before. Only a very large word does no
// harm.
// problem: int_ends
// judged: fail
#include "lab.h"

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int least, most;
    if (lane == 0) most = x[0];
    __syncthreads();
    for (int c = lane; c < cols; c += 32) {
        atomicMin(&least, x[c]);
        atomicMax(&most, x[c]);
    }
    __syncthreads();
    if (lane == 0) {
        high[row] = most;
        low[row] = least;
    }
}

LAB_LAUNCH(int_ends) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
