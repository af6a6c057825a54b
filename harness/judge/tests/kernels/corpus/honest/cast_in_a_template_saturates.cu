// A cast to a template parameter saturates on a GPU.
// problem: twice
// judged: pass
#include "lab.h"
template <class T> __device__ T to(float v) { return static_cast<T>(v); }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float big = n > 0 ? 3e9f : 0.0f;
    if (i < n) y[i] = (to<int>(big) == 2147483647 ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
