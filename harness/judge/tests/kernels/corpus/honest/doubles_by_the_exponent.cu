// Twice a number by its bits: one more in the exponent, a shift for a denormal, and nothing for an infinity or a NaN.
// problem: twice
// judged: pass
#include "lab.h"

constexpr unsigned sign = 1u << 31, exponent = 255u << 23, one = 1u << 23;

__device__ __noinline__ unsigned twice_of(unsigned bits) {
    switch (bits & exponent) {
        case exponent: return bits;
        case 0: return (bits & sign) | (bits << 1 & ~sign);
        case exponent - one: return (bits & sign) | exponent;
        default: return bits + one;
    }
}

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < static_cast<unsigned>(n)) y[i] = __uint_as_float(twice_of(__float_as_uint(x[i])));
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 95) / 96;
    launch.block[0] = 96;
}
