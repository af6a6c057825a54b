// The DPX functions of a GPU compute maxima and minima of sums. The range of the values holds no overflow.
// problem: to_int
// judged: pass
#include "lab.h"

extern "C" __global__ void to_int(const float* x, int* whole, long long* positive, int n) {
    for (int i = threadIdx.x; i < n; i += 64) {
        const int v = __float2int_rz(x[i]);
        const int half = v / 2;
        whole[i] = __vimax3_s32(v, half < v ? half : v, v);
        const int capped = __vimin_s32_relu(v, 2147483647);
        positive[i] = x[i] >= 2147483648.0f ? (long long)__float2uint_rz(x[i]) : __viaddmax_s32(capped, 0, 0);
    }
}

LAB_LAUNCH(to_int) { launch.block[0] = 64; }
