// A struct asks the compiler for operator==. That is C++20.
// problem: twice
// judged: no build
#include "lab.h"

struct Place {
    int at;
    __device__ bool operator==(const Place&) const = default;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = Place{i} == Place{n} ? 0.0f : 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
