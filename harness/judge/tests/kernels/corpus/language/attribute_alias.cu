// A function is an alias of another one.
// problem: twice
// judged: no build: NVRTC does nothing for the attribute alias
// judged on cuda: no build
#include "lab.h"
extern "C" __device__ float one(float v) { return 2.0f * v; }
extern "C" __device__ float other(float v) __attribute__((alias("one")));
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = other(x[i]);
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
