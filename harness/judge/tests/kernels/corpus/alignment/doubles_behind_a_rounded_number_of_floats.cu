// Dynamic shared memory holds the floats of a row, and doubles at the next multiple of 8 behind them.
// problem: two_pass
// judged: pass
#include "lab.h"

__host__ __device__ constexpr int rounded(int bytes) { return (bytes + 7) / 8 * 8; }

extern "C" __global__ void row_sums(const float* x, float* y, int rows, int cols) {
    extern __shared__ __align__(16) unsigned char bytes[];
    float* cells = reinterpret_cast<float*>(bytes);
    double* sums = reinterpret_cast<double*>(bytes + rounded(4 * cols));
    const int row = blockIdx.x, lane = threadIdx.x;
    for (int c = lane; c < cols; c += 32) cells[c] = x[row * cols + c];
    __syncthreads();
    double sum = 0.0;
    for (int c = lane; c < cols; c += 32) sum += cells[c];
    sums[lane] = sum;
    __syncthreads();
    if (lane == 0) {
        double all = 0.0;
        for (int k = 0; k < 32; k++) all += sums[k];
        y[row] = float(all);
    }
}

LAB_LAUNCH(row_sums) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
    launch.shared_bytes = rounded(4 * dims.cols) + 8 * 32;
}
