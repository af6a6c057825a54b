// Casts of many kinds: function style, C style to typedefs, nested, of expressions.
// problem: twice
// judged: pass
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    typedef unsigned char byte; using ull = unsigned long long;
    const ull k = ull(i) + (ull)(byte)(i + 300) + (unsigned)(char)(-1) % 7u + (long long)(double)(float)i; const auto z = (int)(x[0] > 0 ? 1 : 0) + int(2.9f) + (int)-1.5f + (short)sizeof(int);
    if (i < n) y[i] = (k + z > 0 ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
