// A block of statements in brackets is a value. That is GNU's own C++, which NVRTC does not know.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = ({
        const float v = x[i];
        v + v;
    });
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
