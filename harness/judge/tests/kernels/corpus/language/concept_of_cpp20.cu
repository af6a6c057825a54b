// A concept says which types the helper takes. NVRTC builds C++17, which has no concepts.
// problem: twice
// judged: no build
#include "lab.h"

template <class T>
concept FourBytes = sizeof(T) == 4;

template <FourBytes T>
__device__ T doubled(T v) {
    return v + v;
}
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = doubled(x[i]);
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
