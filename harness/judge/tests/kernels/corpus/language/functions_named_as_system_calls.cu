// Own functions have names of the host's library: read, write, time, rand, remove, select, gamma.
// problem: twice
// judged: pass
#include "lab.h"

__device__ float read(const float* from, int at) { return from[at]; }
__device__ int time(int a) { return a; }
__device__ int rand(int a) { return a; }
__device__ int remove(int a) { return a; }
__device__ int select(int a, int b) { return b - a; }
__device__ int gamma(int a) { return a; }
__device__ float write(float v, int a, int b, int c, int d, int e) { return v * (a + b + c + d - e); }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = write(read(x, i), time(1), rand(1), remove(0), select(1, 2), gamma(1));
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
