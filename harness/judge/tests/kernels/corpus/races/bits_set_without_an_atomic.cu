// Each thread sets its own bit of a word with |=. Bits of other threads are lost.
// problem: twice
// judged: fail by races
// judged on cuda: fail
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    __shared__ unsigned done[4];
    const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x;
    if (lane < 4) done[lane] = 0;
    __syncthreads();
    done[lane % 4] |= 1u << (lane / 4);
    __syncthreads();
    if (i < n) y[i] = done[lane % 4] == 0xffffffffu ? 2.0f * x[i] : 0.0f;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
