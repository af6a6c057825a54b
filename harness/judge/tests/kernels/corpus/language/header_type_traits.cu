// A helper asks <type_traits>, which lab offers on every device, whether a type is float.
// problem: twice
// judged: pass
#include "lab.h"

#include <type_traits>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    static_assert(std::is_same<decltype(2.0f * x[i]), float>::value);
    y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
