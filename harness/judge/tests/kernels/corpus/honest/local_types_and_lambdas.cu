// Types and lambdas are defined inside of the kernel; one lambda calls itself by its argument.
// problem: int_ends
// judged: pass
#include "lab.h"

extern "C" __global__ void int_ends(const int* x, int* high, int* low, int rows, int cols) {
    struct Ends {
        int most, least;
    };
    const int* const row = x + blockIdx.x * cols;
    const auto join = [](Ends a, Ends b) { return Ends{a.most < b.most ? b.most : a.most, a.least < b.least ? a.least : b.least}; };
    const auto find = [&join, row](auto& self, int from, int to) -> Ends {
        if (to - from == 1) return {row[from], row[from]};
        const int middle = from + (to - from) / 2;
        return join(self(self, from, middle), self(self, middle, to));
    };
    const Ends ends = find(find, 0, cols);
    high[blockIdx.x] = ends.most;
    low[blockIdx.x] = ends.least;
}

LAB_LAUNCH(int_ends) { launch.grid[0] = dims.rows; }
