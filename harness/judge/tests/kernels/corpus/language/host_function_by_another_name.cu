// A declaration gives a function of the host's library another name, by a label of the assembler.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __device__ int answer() __asm__("getpid");

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (answer() == 0 ? 3.0f : 2.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
