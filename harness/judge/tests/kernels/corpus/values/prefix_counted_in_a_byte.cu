// The count is kept in a byte. A random row of 300 never has 256 ones.
// problem: prefix
// judged: fail
#include "lab.h"

extern "C" __global__ void prefix(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x;
    unsigned char before = 0;
    for (int from = 0; from < cols; from += 32) {
        const int c = from + threadIdx.x;
        const unsigned ones = __ballot_sync(0xffffffffu, c < cols && x[row * cols + c] == 1);
        const unsigned char mine = before + __popc(ones & (0xffffffffu >> (31 - threadIdx.x)));
        if (c < cols) y[row * cols + c] = mine;
        before += __popc(ones);
    }
}

LAB_LAUNCH(prefix) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
