// A thread goes over its row by Duff's device: a switch jumps into the middle of a loop.
// problem: tensor
// judged: pass
#include "lab.h"

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    if (threadIdx.x != 0)
        return;
    const float* from = x;
    float largest = *from;
    int rounds = (cols + 7) / 8;
    switch (cols % 8) {
        case 0: do { largest = fmaxf(largest, *from++);
        case 7:      largest = fmaxf(largest, *from++);
        case 6:      largest = fmaxf(largest, *from++);
        case 5:      largest = fmaxf(largest, *from++);
        case 4:      largest = fmaxf(largest, *from++);
        case 3:      largest = fmaxf(largest, *from++);
        case 2:      largest = fmaxf(largest, *from++);
        case 1:      largest = fmaxf(largest, *from++);
                } while (--rounds > 0);
    }
    while (from-- != x) y[from - x] = *from - largest;
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
