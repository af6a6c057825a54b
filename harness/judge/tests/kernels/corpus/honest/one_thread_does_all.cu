// One thread of one block does all the work, in reverse order.
// problem: two_pass
// judged: pass
#include "lab.h"

extern "C" __global__ void row_sums(const float* x, float* y, int rows, int cols) {
    for (int row = rows; row-- > 0;) {
        double sum = 0.0, lost = 0.0;
        for (int c = cols; c-- > 0;) {
            const double next = double(x[row * cols + c]) - lost, bigger = sum + next;
            lost = (bigger - sum) - next;
            sum = bigger;
        }
        y[row] = static_cast<float>(sum);
    }
}

LAB_LAUNCH(row_sums) {}
