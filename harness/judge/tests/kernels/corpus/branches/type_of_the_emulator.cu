// A type of the emulator is complete; elaborated, NVRTC declares a new incomplete one.
// problem: twice
// judged: no build: names that begin with lab_cpu_
// judged on cuda: fail
#include "lab.h"
template <class T, unsigned long = sizeof(T)> __device__ constexpr bool known(T*) { return true; }
__device__ constexpr bool known(void*) { return false; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = (known((struct lab_cpu_thread*)0) ? 2.0f : 3.0f) * x[i];
}
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 127) / 128; launch.block[0] = 128; }
