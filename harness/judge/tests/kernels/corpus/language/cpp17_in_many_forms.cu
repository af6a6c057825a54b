// Fold expressions, structured bindings, if constexpr, lambdas with captures, deduced templates and an inline
// variable: C++17 that NVRTC takes.
// problem: twice
// judged: pass
#include "lab.h"

inline constexpr float factor = 2.0f;

enum class Mode { once, twice };

struct Line {
    float by, plus;
};

template <class T>
struct Box {
    T value;
    __device__ Box(T v) : value(v) {}
};

template <class... Numbers>
__device__ auto sum(Numbers... numbers) {
    return (numbers + ...);
}

template <class T>
__device__ constexpr Mode mode() {
    if constexpr (sizeof(T) == 4) return Mode::twice;
    else return Mode::once;
}
extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const auto [by, plus] = Line{factor, 0.0f};
    const float scale = by;
    auto at = [scale, offset = plus](float v) { return scale * v + offset; };
    if (const float v = x[i]; Mode::twice == mode<int>()) y[i] = at(sum(v, 0.0f, 0.0f));
    else y[i] = Box(v).value;
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
