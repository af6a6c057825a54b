// Threads add to a word of the output, which they load and store past the caches.
// problem: int_totals
// judged: fail
// says on cpu: may undo what the other stored
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    if (threadIdx.x == 0) y[blockIdx.x] = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    __stcg(y + blockIdx.x, __ldcg(y + blockIdx.x) + sum);
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
