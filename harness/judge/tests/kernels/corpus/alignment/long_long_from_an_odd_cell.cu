// A thread loads two numbers as one 64-bit word, from an odd cell. Its address is no multiple of 8.
// problem: twice
// judged: crash
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = 2.0f * x[0];
    const int from = 1 + 2 * i;
    if (from + 2 <= n) {
        const unsigned long long both = *reinterpret_cast<const unsigned long long*>(x + from);
        y[from] = 2.0f * __uint_as_float(unsigned(both));
        y[from + 1] = 2.0f * __uint_as_float(unsigned(both >> 32));
    } else if (from < n) {
        y[from] = 2.0f * x[from];
    }
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n / 2 + 1 + 127) / 128;
    launch.block[0] = 128;
}
