// CUDA's conversion functions take the nearest integer, and 0 for NaN.
// problem: to_int
// judged: pass
#include "lab.h"

extern "C" __global__ void to_int(const float* x, int* whole, long long* positive, int n) {
    for (int i = threadIdx.x; i < n; i += 64) {
        whole[i] = __float2int_rz(x[i]);
        positive[i] = __float2uint_rz(x[i]);
    }
}

LAB_LAUNCH(to_int) { launch.block[0] = 64; }
