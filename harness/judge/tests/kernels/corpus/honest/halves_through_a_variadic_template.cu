// A template of any number of halves scales them all at once; what is left over goes one by one.
// problem: halves
// judged: pass
#include "lab.h"

#include <cuda_fp16.h>

template <typename... Halves>
__device__ void scale(Halves&... halves) {
    ((halves = __hmul(halves, __float2half_rn(0.5f))), ...);
}

template <int... At>
struct Places {
    static __device__ void from_to(const __half* x, __half* y) {
        __half cells[sizeof...(At)] = {x[At]...};
        scale(cells[At]...);
        ((y[At] = cells[At]), ...);
    }
};

extern "C" __global__ void halve(const __half* x, __half* y, int n) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n) Places<0, 1, 2, 3>::from_to(x + i, y + i);
    else for (int at = i; at < n; ++at) Places<0>::from_to(x + at, y + at);
}

LAB_LAUNCH(halve) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 32;
}
