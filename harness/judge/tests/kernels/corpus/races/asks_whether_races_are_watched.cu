// The kernel asks for a macro of the race detector, and uses an atomic only if it finds it.
// problem: int_totals
// judged: fail by races
// judged on cuda: fail
#include "lab.h"

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    __shared__ int total;
    if (lane == 0) total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = lane; c < cols; c += 128) sum += x[c];
#ifdef LAB_CPU_RACES
    atomicAdd(&total, sum);
#else
    total += sum;
#endif
    __syncthreads();
    if (lane == 0) y[row] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 128;
}
