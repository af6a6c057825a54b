// Every lane takes one of three functions of a table, which all give the larger of two numbers.
// problem: tensor
// judged: pass
#include "lab.h"

typedef float (*Join)(float, float);
__device__ float by_function(float a, float b) { return fmaxf(a, b); }
__device__ float by_comparison(float a, float b) { return a > b ? a : b; }
__device__ float by_minimum(float a, float b) { return -fminf(-a, -b); }
__device__ Join const joins[3] = {by_function, by_comparison, by_minimum};

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    const Join join = joins[lane % 3];
    float largest = x[0];
    for (int c = lane; c < cols; c += 32) largest = (*join)(largest, x[c]);
    for (int bits = 16; bits > 0; bits /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, bits);
        largest = joins[bits % 3](largest, other);
    }
    for (int c = lane; c < cols; c += 32) y[c] = x[c] - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
