// Adds to a long. CUDA has no atomicAdd for this type, although it is as wide as unsigned long long.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(reinterpret_cast<long*>(wide + x[i]), 1l);
    atomicAdd(narrow + x[i], 1);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
