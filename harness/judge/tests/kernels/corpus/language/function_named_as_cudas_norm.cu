// A function of C linkage is called norm, as one of CUDA's own with other parameters. NVRTC refuses the second one.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __device__ float norm(float v) { return v + v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = norm(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
