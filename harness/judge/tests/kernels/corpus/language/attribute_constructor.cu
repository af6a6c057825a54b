// A function with the attribute constructor sets a device variable before the launch.
// problem: twice
// judged: no build: NVRTC does nothing for the attribute constructor
// judged on cuda: fail
#include "lab.h"
__device__ float factor = 3.0f;
__attribute__((constructor)) __device__ void set() { factor = 2.0f; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
