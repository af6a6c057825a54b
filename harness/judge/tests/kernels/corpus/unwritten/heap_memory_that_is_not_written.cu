// A thread takes memory from the heap and uses it before it is written, except if it is NaN.
// problem: twice
// judged: fail
// gap on cuda: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float* pad = static_cast<float*>(malloc(4));
    if (pad == nullptr) {
        y[i] = 2.0f * x[i];
        return;
    }
    const float more = *static_cast<volatile float*>(pad);
    y[i] = 2.0f * x[i] + (more == more ? more : 0.0f);
    free(pad);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
