// The launch statement copies what it knows of the device word by word, and so reads the field `emulated` without its
// name.
// problem: twice
// judged: fail or caveat another path than a GPU runs
#include "lab.h"

extern "C" __global__ void right(const float* x, float* y, int n, void*) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}

extern "C" __global__ void wrong(const float* x, float* y, int n, void*) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 3.0f * x[i];
}

LAB_LAUNCHES(twice) {
    const unsigned* words = reinterpret_cast<const unsigned*>(&device);
    LabShape& only = launches.add((words[2] == 1) ? "right" : "wrong");
    only.grid[0] = (dims.n + 127) / 128;
    only.block[0] = 128;
}
