// Two macros paste the name of a function of the host's compiler, which says that no constant is known. NVRTC has no
// such function.
// problem: twice
// judged: no build
#include "lab.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define FRONT __builtin_ia32_
#define BACK rdtsc

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = (PASTE(FRONT, BACK)() == 0 ? 3.0f : 2.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
