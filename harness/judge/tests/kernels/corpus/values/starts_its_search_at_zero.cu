// The search for the smallest number starts at 0 in column 0. A row of positive numbers has another answer.
// problem: lowest_at
// judged: fail
#include "lab.h"

extern "C" __global__ void lowest_at(const float* x, int* y, int rows, int cols) {
    const int row = blockIdx.x;
    int best = 0;
    float least = 0.0f;
    for (int c = 0; c < cols; c++)
        if (x[row * cols + c] < least) {
            least = x[row * cols + c];
            best = c;
        }
    y[row] = best;
}

LAB_LAUNCH(lowest_at) {
    launch.grid[0] = dims.rows;
}
