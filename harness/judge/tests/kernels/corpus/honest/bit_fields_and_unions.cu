// A float's sign, exponent and fraction are bit-fields of a union. The exponent grows by one.
// problem: twice
// judged: pass
#include "lab.h"

union Parts {
    float number;
    struct {
        unsigned fraction : 23, exponent : 8, sign : 1;
    } bits;
};
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Parts v;
    v.number = x[i];
    if (v.bits.exponent == 0 || v.bits.exponent == 255) v.number += v.number;
    else v.bits.exponent++;
    y[i] = v.number;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
