// The reference: its results are what is right. Four launches, all sums in f64; what one launch leaves for the next is f64 too.
#include "lab.h"

#include <cuda_fp16.h>

constexpr int HIDDEN = LAB_HIDDEN, INTER = LAB_INTER, CACHE = LAB_CACHE, HEAD = 64, THREADS = 128;

#define PARAMETERS                                                                                                            \
    const __half *x, const __half *gain, const __half *w_q, const __half *k, const __half *v, const __half *w_gate_up,        \
        const int *lengths, __half *ff, __half *y, float eps, float scale, int batch, int hidden, int inter, int cache,       \
        int longest, int shortest, double *scratch

// Of each sequence: h, q and the context.
__device__ double* of(double* scratch, int what, int b) { return scratch + (b * 3 + what) * HIDDEN; }

__device__ double dot(const __half* row, const double* with) {
    double sum = 0;
    for (int i = 0; i < HIDDEN; i++) sum += (double)__half2float(row[i]) * with[i];
    return sum;
}

extern "C" __global__ void normalise(PARAMETERS) {
    const int b = blockIdx.x;
    double squares = 0;
    for (int i = 0; i < HIDDEN; i++) squares += (double)__half2float(x[b * HIDDEN + i]) * __half2float(x[b * HIDDEN + i]);
    const double factor = 1 / sqrt(squares / HIDDEN + eps);
    for (int i = threadIdx.x; i < HIDDEN; i += THREADS)
        of(scratch, 0, b)[i] = __half2float(x[b * HIDDEN + i]) * factor * __half2float(gain[i]);
}

extern "C" __global__ void query(PARAMETERS) {
    const int i = blockIdx.x * THREADS + threadIdx.x, b = blockIdx.y;
    if (i < HIDDEN) of(scratch, 1, b)[i] = dot(w_q + (long long)i * HIDDEN, of(scratch, 0, b));
}

// One block for each head and sequence. A thread computes the scores of some tokens, and then one of the 64 sums.
extern "C" __global__ void attention(PARAMETERS) {
    __shared__ double weight[CACHE], largest[HEAD];
    const int head = blockIdx.x, b = blockIdx.y, own = threadIdx.x, tokens = lengths[b];
    auto row = [&](int t) { return (((long long)b * CACHE + t) * (HIDDEN / HEAD) + head) * HEAD; };
    double most = -1e300;
    for (int t = own; t < tokens; t += HEAD) {
        double score = 0;
        for (int d = 0; d < HEAD; d++) score += of(scratch, 1, b)[head * HEAD + d] * __half2float(k[row(t) + d]);
        weight[t] = score * scale;
        most = fmax(most, weight[t]);
    }
    largest[own] = most;
    __syncthreads();
    for (int i = 0; i < HEAD; i++) most = fmax(most, largest[i]);
    double sum = 0, weights = 0;
    for (int t = 0; t < tokens; t++) {
        const double e = exp(weight[t] - most);
        weights += e;
        sum += e * __half2float(v[row(t) + own]);
    }
    of(scratch, 2, b)[head * HEAD + own] = sum / weights;
}

extern "C" __global__ void feed_forward(PARAMETERS) {
    const int i = blockIdx.x * THREADS + threadIdx.x, b = blockIdx.y;
    if (i >= INTER) return;
    const double* context = of(scratch, 2, b);
    const double gate = dot(w_gate_up + (long long)i * HIDDEN, context), up = dot(w_gate_up + (long long)(INTER + i) * HIDDEN, context);
    const double value = gate / (1 + exp(-gate)) * up;
    ff[b * INTER + i] = __float2half((float)value);
    if (i < HIDDEN) y[b * HIDDEN + i] = __float2half((float)(context[i] + value));
}

LAB_LAUNCHES(decode_graph) {
    launches.scratch_bytes = 8ull * 3 * HIDDEN * dims.batch;
    LabShape& first = launches.add("normalise");
    first.grid[0] = dims.batch;
    first.block[0] = THREADS;
    LabShape& second = launches.add("query");
    second.grid[0] = (HIDDEN + THREADS - 1) / THREADS;
    second.grid[1] = dims.batch;
    second.block[0] = THREADS;
    LabShape& third = launches.add("attention");
    third.grid[0] = HIDDEN / HEAD;
    third.grid[1] = dims.batch;
    third.block[0] = HEAD;
    LabShape& fourth = launches.add("feed_forward");
    fourth.grid[0] = (INTER + THREADS - 1) / THREADS;
    fourth.grid[1] = dims.batch;
    fourth.block[0] = THREADS;
}
