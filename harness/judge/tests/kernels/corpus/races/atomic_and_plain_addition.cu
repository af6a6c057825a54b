// Half of the threads count with an atomic, the others without one.
// problem: counts
// judged: fail
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(reinterpret_cast<unsigned long long*>(wide + x[i]), 1ull);
    if (i % 2 == 0) atomicAdd(narrow + x[i], 1);
    else narrow[x[i]] += 1;
}

LAB_LAUNCH(counts) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
