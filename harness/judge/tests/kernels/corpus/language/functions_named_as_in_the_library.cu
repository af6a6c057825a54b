// Own functions have names that a host library also has: lerp, hypot, clamp, min3, index, div, y0.
// problem: twice
// judged: pass
#include "lab.h"

__device__ float lerp(float from, float to, float part) { return from + (to - from) * part; }
__device__ float hypot(float a, float b, float c) { return a * a + b * b + c * c; }
__device__ float clamp(float v, float low, float high) { return fminf(fmaxf(v, low), high); }
__device__ float min3(float a, float b, float c) { return fminf(a, fminf(b, c)); }
__device__ int index(int from, int step) { return from + step; }
__device__ int div(int a, int b) { return a / b; }
__device__ int y0(int a) { return a; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    const int at = index(i, 0) + y0(1) - div(4, 4);
    y[at] = lerp(0.0f, 4.0f * v, 0.5f) + 0.0f * hypot(0.0f, 0.0f, 0.0f) + clamp(0.0f, -1.0f, 1.0f) + min3(1.0f, 0.0f, 2.0f);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
