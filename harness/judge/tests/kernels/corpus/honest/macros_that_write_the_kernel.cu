// Macros with any number of arguments write the loop and the comparison.
// problem: tensor
// judged: pass
#include "lab.h"

#define LARGER(a, b) ((a) < (b) ? (b) : (a))
#define EACH_COLUMN(name, ...) \
    for (int name = lane; name < cols; name += 32) __VA_ARGS__
#define SHUFFLE(bits)                                                      \
    {                                                                      \
        const float other = __shfl_xor_sync(0xffffffffu, largest, (bits)); \
        largest = LARGER(largest, other);                                  \
    }

extern "C" __global__ void below_largest(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x, lane = threadIdx.x;
    x += row * cols;
    y += row * cols;
    float largest = x[0];
    EACH_COLUMN(c, { largest = LARGER(largest, x[c]); })
    SHUFFLE(16) SHUFFLE(8) SHUFFLE(4) SHUFFLE(2) SHUFFLE(1)
    EACH_COLUMN(c, { y[c] = x[c] - largest; })
}

LAB_LAUNCH(below_largest) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
