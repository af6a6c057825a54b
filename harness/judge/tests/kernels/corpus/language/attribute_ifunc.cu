// A function is resolved by the loader.
// problem: twice
// judged: no build: NVRTC does nothing for the attribute ifunc
// device: cpu (NVRTC builds it with a warning, and nothing says what the call without a target does)
#include "lab.h"
extern "C" {
__device__ float f2(float v) { return 2.0f * v; }
__device__ float (*resolve())(float) { return f2; }
__device__ float f(float) __attribute__((ifunc("resolve")));
}
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = f(x[i]);
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
