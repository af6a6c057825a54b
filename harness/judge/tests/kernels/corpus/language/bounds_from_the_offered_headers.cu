// The headers that lab offers give the limits, the fixed widths and infinity.
// problem: twice
// judged: pass
#include "lab.h"

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint32_t bits = __float_as_uint(x[i]);
    static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && INT64_MAX > 0 && sizeof(uint8_t) == 1);
    const float v = __uint_as_float(bits);
    y[i] = v <= FLT_MAX && v < INFINITY && DBL_MAX > 1e300 ? v + v : v * 2.0f;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
