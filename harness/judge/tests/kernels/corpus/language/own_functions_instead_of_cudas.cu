// Own functions hypotf and max take the place of CUDA's. NVRTC allows it.
// problem: twice
// judged: pass
#include "lab.h"

__device__ float hypotf(float a, float b) { return a * a + b * b; }
__device__ float max(float a, float b) { return a < b ? b : a; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = hypotf(0.0f, 1.0f) * max(x[i] + x[i], 2.0f * x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
