// Takes minus one away from a 64-bit word. CUDA has atomicSub for 32 bits only.
// problem: counts
// judged: no build
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicSub(reinterpret_cast<unsigned long long*>(wide + x[i]), ~0ull);
    atomicAdd(narrow + x[i], 1);
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
