// A cast to int of a cast to a typedef of a negative number.
// problem: twice
// judged: pass
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    typedef float real;
    const int k = (int)(real)-1.5f;
    if (i < n) y[i] = (k == -1 ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
