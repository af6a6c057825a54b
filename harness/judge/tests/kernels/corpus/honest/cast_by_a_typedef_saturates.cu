// A cast by a typedef of int saturates on a GPU.
// problem: twice
// judged: pass
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    typedef int whole; const float big = n > 0 ? 3e9f : 0.0f;
    const whole k = (whole)big;
    if (i < n) y[i] = (k == 2147483647 ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
