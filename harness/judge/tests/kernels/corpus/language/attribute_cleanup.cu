// The result is written by a cleanup function.
// problem: twice
// judged: no build: NVRTC does nothing for the attribute cleanup
// judged on cuda: fail
#include "lab.h"
__device__ void done(float** p) { if (*p) **p *= 2.0f; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float* place __attribute__((cleanup(done))) = i < n ? y + i : nullptr;
    if (i < n) y[i] = x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
