// A function is chosen at run time, by a virtual function and by a table of functions.
// problem: twice
// judged: pass
#include "lab.h"

struct Factor {
    __device__ virtual float of(float v) const = 0;
};

struct Double : Factor {
    __device__ float of(float v) const override { return v + v; }
};

typedef float (*Change)(float);
__device__ float plus(float v) { return v; }
__device__ float minus(float v) { return -(-v); }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Double own;
    const Factor& factor = own;
    const Change change[2] = {plus, minus};
    y[i] = change[i & 1](factor.of(x[i]));
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
