// g++ and NVRTC write a function's type in other ways: a blank stands before * for NVRTC. The factor depends on it.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

template <class T>
__device__ constexpr int letters() {
    return int(sizeof(__PRETTY_FUNCTION__));
}

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    constexpr int blank = letters<float*>() - letters<float>();
    y[i] = (blank == 1 ? 2.0f : 3.0f) * x[i];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
