// The same in a problem that plants nothing.
// problem: wide_totals_unplanted
// judged: fail
#include "lab.h"

extern "C" __global__ void wide_totals(const int* x, long long* y, int rows, int cols) {
    const int row = blockIdx.x;
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 32) sum += x[row * cols + c];
    sum = __reduce_add_sync(0xffffffffu, sum);
    if (threadIdx.x == 0) y[row] = sum;
}

LAB_LAUNCH(wide_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
