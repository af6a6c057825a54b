// A struct ends with an array of length zero. That is GNU's own C++; NVRTC refuses it.
// problem: twice
// judged: no build
#include "lab.h"

struct Head {
    int length;
    float values[0];
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Head head;
    head.length = 2;
    y[i] = head.length * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
