// The sign bit is counted. That of -0 is set too.
// problem: negatives
// judged: fail
#include "lab.h"

extern "C" __global__ void negatives(const float* x, int* y, int rows, int cols) {
    const int row = blockIdx.x;
    int count = 0;
    for (int c = threadIdx.x; c < cols; c += 32) count += __float_as_uint(x[row * cols + c]) >> 31;
    count = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x == 0) y[row] = count;
}

LAB_LAUNCH(negatives) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
