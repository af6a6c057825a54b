// All threads store the same number in a volatile word, where it is not there yet.
// problem: int_totals
// device: cpu (racecheck finds a race where threads read and store a volatile word)
// judged: pass
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int total;
    __shared__ volatile int is_any;
    if (threadIdx.x == 0) total = is_any = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    if (!is_any) is_any = 1;
    atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = is_any ? total : 0;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
