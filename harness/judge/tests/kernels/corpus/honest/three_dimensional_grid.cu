// A grid of 2 x 3 x 5 blocks goes over a flat range of numbers in strides.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    const unsigned step = threads * gridDim.x * gridDim.y * gridDim.z;
    for (unsigned i = block * threads + thread; i < static_cast<unsigned>(n); i += step) y[i] = 2.0f * x[i];
}

LAB_LAUNCH(twice) {
    const unsigned grid[] = {2, 3, 5}, block[] = {4, 3, 2};
    for (int d = 0; d < 3; ++d) {
        launch.grid[d] = grid[d];
        launch.block[d] = block[d];
    }
}
