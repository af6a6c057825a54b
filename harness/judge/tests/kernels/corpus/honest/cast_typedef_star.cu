// A cast to int of a cast to a typedef of what a pointer points to.
// problem: twice
// judged: pass
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    typedef unsigned char byte; const int v[1] = {258}; const int* p = v;
    const int k = (int)(byte)*p;
    if (i < n) y[i] = (float)k * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
