// __func__ within a lambda has another text.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto f = [](int) { return sizeof(__func__); };
    if (i < n) y[i] = (f(0) == sizeof("operator()") ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
