// Adds to a size_t, which is an unsigned long. CUDA has no atomicAdd for this type.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(reinterpret_cast<size_t*>(wide + x[i]), size_t(1));
    atomicAdd(narrow + x[i], 1);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
