// Types and lambdas are defined inside of the kernel; one of them returns another one.
// problem: int_ends
// judged: pass
#include "lab.h"

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    struct Ends {
        int most, least;
    };
    const int* const row = x + blockIdx.x * cols;
    const auto join = [](Ends a, Ends b) { return Ends{a.most < b.most ? b.most : a.most, a.least < b.least ? a.least : b.least}; };
    const auto of = [row](int at) { return [row, at]() { return Ends{row[at], row[at]}; }; };
    Ends ends = of(0)();
    for (int c = 1; c < cols; ++c) ends = join(ends, of(c)());
    high[blockIdx.x] = ends.most;
    low[blockIdx.x] = ends.least;
}

LAB_LAUNCH(int_ends) { launch.grid[0] = dims.rows; }
