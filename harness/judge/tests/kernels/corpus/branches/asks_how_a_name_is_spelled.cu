// The text of threadIdx behind all macros has another length where threadIdx is a macro. On a GPU the factor is
// another one.
// problem: twice
// judged: fail or caveat another path than a GPU runs
// gap on cpu: pass
#include "lab.h"

#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    constexpr bool macro = sizeof(TEXT(threadIdx)) != sizeof("threadIdx");
    y[i] = (macro ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
