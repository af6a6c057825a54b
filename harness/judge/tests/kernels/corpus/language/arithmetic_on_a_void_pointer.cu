// A step is added to a void pointer. g++ counts bytes, as GNU's own C++; NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const void* at = x;
    at = at + 4ll * i;
    y[i] = 2.0f * *static_cast<const float*>(at);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
