// Types and limits come from cuda/std, which is CUDA's own library.
// problem: twice
// judged: pass
#include "lab.h"

#include <cuda/std/array>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

extern "C" __global__ void twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    static_assert(cuda::std::is_same_v<decltype(x[i] + x[i]), float>);
    cuda::std::array<float, 2> v{x[i], x[i]};
    y[i] = v[0] <= cuda::std::numeric_limits<float>::max() ? v[0] + v[1] : 2.0f * v[0];
}

LAB_LAUNCH(twice) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
