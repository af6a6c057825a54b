// A thread takes memory from the device's heap with malloc and with new, and gives it back.
// problem: twice
// judged: pass
#include "lab.h"

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float* first = static_cast<float*>(malloc(sizeof(float)));
    float* second = new float(x[i]);
    if (first == nullptr || second == nullptr) {
        y[i] = 2.0f * x[i];
    } else {
        *first = x[i];
        y[i] = *first + *second;
    }
    free(first);
    delete second;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
