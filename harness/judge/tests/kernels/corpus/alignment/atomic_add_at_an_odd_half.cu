// An atomic adds to a count that lies two bytes behind a multiple of 4 in shared memory.
// problem: counts
// judged: crash
#include "lab.h"

extern "C" __global__ void counts(const int* x, long long* wide, int* narrow, int n) {
    __shared__ alignas(16) unsigned short halves[34];
    int* counted = reinterpret_cast<int*>(halves + 1);
    for (int k = threadIdx.x; k < 34; k += blockDim.x) halves[k] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(counted + x[i], 1);
    __syncthreads();
    if (threadIdx.x < 16) {
        narrow[threadIdx.x] += counted[threadIdx.x];
        wide[threadIdx.x] += counted[threadIdx.x];
    }
}

LAB_LAUNCH(counts) { launch.block[0] = 128; }
