// Nested and inline namespaces, alias templates, a variable template and names that are not used.
// problem: twice
// judged: pass
#include "lab.h"

namespace lab_own::numbers {
template <class T>
using Value = T;
inline namespace first {
template <class T>
constexpr T factor = T(2);
}
}  // namespace lab_own::numbers
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    [[maybe_unused]] constexpr int unused = 0;
    using namespace lab_own::numbers;
    Value<float> v = x[i];
    y[i] = v * factor<Value<float>>;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
