// Two warps store to two bit-fields of one word. Each stores the whole word, so that one store may be lost.
// problem: twice
// judged: fail by races
// gap on cuda: pass
#include "lab.h"

struct Factors {
    unsigned first : 16;
    unsigned second : 16;
};

extern "C" __global__ void twice(const float* x, float* y, int n) {
    __shared__ Factors factors;
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x == 0) factors = Factors{0, 0};
    __syncthreads();
    if (threadIdx.x == 0) factors.first = 1;
    if (threadIdx.x == 32) factors.second = 1;
    __syncthreads();
    if (i < n) y[i] = float(factors.first + factors.second) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 63) / 64;
    launch.block[0] = 64;
}
