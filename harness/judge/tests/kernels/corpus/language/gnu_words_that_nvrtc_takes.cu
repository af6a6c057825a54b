// Attributes and builtins of gcc that NVRTC knows too.
// problem: twice
// judged: pass
#include "lab.h"

__attribute__((always_inline)) __device__ inline float doubled(float v) { return v + v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (__builtin_expect(n < 0, 0)) __builtin_unreachable();
    y[i] = doubled(__builtin_bit_cast(float, __float_as_uint(x[i])));
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
