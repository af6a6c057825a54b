// A lambda that captures by value stores to a shared array, of which it makes no copy.
// problem: int_totals
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int sums[64];
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    auto put = [=] { sums[threadIdx.x] = sum; };
    put();
    __syncthreads();
    if (threadIdx.x > 0) return;
    int total = 0;
    for (int k = 0; k < 64; k++) total += sums[k];
    y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
