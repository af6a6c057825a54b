// Two macros paste the name LAB_CPU together, and the code uses its value, not a condition of the preprocessor. On a
// GPU the text is another one.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    constexpr bool emulated = sizeof(TEXT(PASTE(LAB, _CPU))) == 2;
    y[i] = (emulated ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
