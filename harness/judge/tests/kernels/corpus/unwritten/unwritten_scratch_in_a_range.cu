// The second kernel adds cells of the scratch buffer that the first did not write, except where they are out of
// range.
// problem: two_pass
// judged: fail
#include "lab.h"

constexpr int WIDTH = 128;

extern "C" __global__ void partial(const float* x, float*, int, int cols, float* scratch) {
    const int parts = (cols + WIDTH - 1) / WIDTH, padded = (parts + 3) / 4 * 4;
    const int column = blockIdx.x * WIDTH + threadIdx.x;
    __shared__ float warps[WIDTH / 32];
    float sum = column < cols ? x[blockIdx.y * cols + column] : 0.0f;
    sum = lab_warp_sum(sum);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) scratch[blockIdx.y * padded + blockIdx.x] = warps[0] + warps[1] + warps[2] + warps[3];
}

extern "C" __global__ void total(const float*, float* y, int, int cols, const float* scratch) {
    const int parts = (cols + WIDTH - 1) / WIDTH, padded = (parts + 3) / 4 * 4;
    float sum = 0.0f;
    for (int part = threadIdx.x; part < padded; part += 32) {
        const float v = scratch[blockIdx.x * padded + part];
        if (v > -1e30f && v < 1e30f) sum += v;
    }
    sum = lab_warp_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

LAB_LAUNCHES(row_sums) {
    const unsigned parts = (dims.cols + WIDTH - 1) / WIDTH, padded = (parts + 3) / 4 * 4;
    launches.scratch_bytes = 4ull * padded * dims.rows;
    LabShape& first = launches.add("partial");
    first.grid[0] = parts;
    first.grid[1] = dims.rows;
    first.block[0] = WIDTH;
    LabShape& second = launches.add("total");
    second.grid[0] = dims.rows;
    second.block[0] = 32;
}
