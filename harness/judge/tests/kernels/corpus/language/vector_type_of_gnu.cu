// Four floats are added by GNU's vector_size. NVRTC ignores the attribute and then finds too many initial values.
// problem: twice
// judged: no build
// gap on cpu: pass
#include "lab.h"

typedef float Four __attribute__((vector_size(16)));
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Four v = {x[i], 0.0f, 0.0f, 0.0f};
    v = v + v;
    y[i] = v[0];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
