// Counts by compare and swap of a signed 64-bit word. CUDA has atomicCAS for unsigned long long only.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long seen = wide[0] * 0, before;
    do {
        before = seen;
        seen = atomicCAS(wide + x[i], before, before + 1);
    } while (seen != before);
    atomicAdd(narrow + x[i], 1);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
