// Attributes and builtins of gcc that NVRTC knows too.
// problem: twice
// judged: pass
#include "lab.h"

__attribute__((always_inline)) __device__ inline float doubled(float v) { return v + v; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (__builtin_expect(n < 0, 0)) __builtin_unreachable();
    int sum;
    const bool over = __builtin_add_overflow(i, 1, &sum);
    y[i] = !over && __builtin_constant_p(2) ? doubled(__builtin_bit_cast(float, __float_as_uint(x[i]))) : doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
