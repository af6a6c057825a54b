// Twice a number by the sine and the cosine of one angle: 2x·(sin² + cos²). The host's compiler computes both by one call.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float angle = 0.1f * i;
    const float s = sinf(angle), c = cosf(angle);
    float s2, c2;
    sincosf(angle, &s2, &c2);
    y[i] = fabsf(s * s2 + c * c2 - 1.0f) < 1e-5f ? 2.0f * x[i] : 0.0f;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
