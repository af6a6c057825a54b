// A case names a range of numbers. That is GNU's own C++, which NVRTC does not know.
// problem: twice
// judged: no build
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    switch (i & 3) {
        case 0 ... 3: y[i] = 2.0f * x[i]; break;
        default: y[i] = 0.0f;
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
