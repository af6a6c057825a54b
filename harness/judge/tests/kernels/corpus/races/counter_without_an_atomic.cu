// Threads count in global memory with ++. Counts of other threads are lost: the results show it where two cores lose some, else the races do.
// problem: counts
// judged: fail
// judged on cuda: fail
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    wide[x[i]]++;
    narrow[x[i]]++;
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
