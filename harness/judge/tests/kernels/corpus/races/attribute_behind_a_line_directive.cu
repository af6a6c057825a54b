// A lost update in a function whose attribute #line hides.
// problem: int_totals
// judged: no build: would hide a function from the race detector
// judged on cuda: fail
#include "lab.h"
#line 1 "<k>"
__attribute__((no_sanitize("thread"), noinline)) __device__ inline void add(int* p, int v) { *p += v; }
#line 9 "kernel.cu"
extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    add(&s, sum);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = s;
}
LAB_LAUNCH(int_totals) { launch.grid[0] = dims.rows; launch.block[0] = 64; }
