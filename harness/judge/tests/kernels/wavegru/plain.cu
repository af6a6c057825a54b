// The plain kernel: WaveGRU as kernels/wavegru/README.md tells it, with nothing done for speed. Every `.edit` in the
// folders beside this one is a change of it, line by line.
#include "lab.h"

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <stdio.h>

using bf16 = __nv_bfloat16;

constexpr int H = LAB_HIDDEN;  // hidden units
constexpr int V = 256;         // tokens
constexpr int THREADS = 128;
constexpr int WARPS = THREADS / 32;
constexpr unsigned ALL = 0xffffffffu;
constexpr float EPSILON0 = 1e-5f;
constexpr float EPSILON1 = 1e-5f;

__device__ int lane() { return threadIdx.x % 32; }
__device__ int warp() { return blockIdx.x * WARPS + threadIdx.x / 32; }
__device__ int warps() { return gridDim.x * WARPS; }

// How blocks hand each other what they computed: some put, all meet, all get.
enum Topic { STATE0, STATE1, GLU, LOGITS };

struct Board {
    float* work;
    int step;
    __device__ void put(Topic topic, int i, float value) const { work[topic * H + i] = value; }
    __device__ float get(Topic topic, int i) const { return work[topic * H + i]; }
    __device__ void meet() const { cooperative_groups::this_grid().sync(); }
};

// A row of weights times a vector in shared memory, in every lane of a warp.
__device__ float dot(const bf16* row, const float* x) {
    float sum = 0.0f;
    for (int i = lane(); i < H; i += 32) sum = fmaf(__bfloat162float(row[i]), x[i], sum);
    return lab_warp_sum(sum);
}

__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// A block norms a vector in its shared memory, in place.
__device__ void rms_norm(float* x, const float* gain, float epsilon, float* partial) {
    float squares = 0.0f;
    for (int i = threadIdx.x; i < H; i += THREADS) squares = fmaf(x[i], x[i], squares);
    squares = lab_warp_sum(squares);
    if (lane() == 0) partial[threadIdx.x / 32] = squares;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < WARPS; ++i) sum += partial[i];
    const float scale = 1.0f / sqrtf(sum / H + epsilon);
    for (int i = threadIdx.x; i < H; i += THREADS) x[i] = gain[i] * x[i] * scale;
    __syncthreads();
}

struct Layer {
    const bf16 *w_ih, *w_hh;
    const float *b_ih, *b_hh;
};

// One unit's new state, in every lane of a warp. `input` and `state` are in shared memory.
__device__ float gru_cell(const Layer& layer, int unit, const float* input, const float* state) {
    const size_t gate = size_t(H) * H;
    const bf16* ih = layer.w_ih + size_t(unit) * H;
    const bf16* hh = layer.w_hh + size_t(unit) * H;
    const float r = sigmoid(dot(ih, input) + layer.b_ih[unit] + dot(hh, state) + layer.b_hh[unit]);
    const float z = sigmoid(dot(ih + gate, input) + layer.b_ih[H + unit] + dot(hh + gate, state) + layer.b_hh[H + unit]);
    const float n_input = dot(ih + 2 * gate, input) + layer.b_ih[2 * H + unit];
    const float n_state = dot(hh + 2 * gate, state) + layer.b_hh[2 * H + unit];
    const float c = tanhf(n_input + r * n_state);
    return (1.0f - z) * c + z * state[unit];
}

__device__ float warp_max(float value) {
    for (int bits = 16; bits > 0; bits /= 2) value = fmaxf(value, __shfl_xor_sync(ALL, value, bits));
    return value;
}

// The token that min-p and Gumbel-max pick, in every lane of a warp.
__device__ int sample(const float* logits, const LabRun& run, int step) {
    float largest = logits[lane()];
    for (int i = lane(); i < V; i += 32) largest = fmaxf(largest, logits[i]);
    const float threshold = warp_max(largest) / run.temperature + logf(run.min_p);
    float best = -1e30f;
    int token = 0;
    for (int i = lane(); i < V; i += 32) {
        const float l = logits[i] / run.temperature;
        if (l < threshold) continue;
        const float score = l + lab_gumbel(run.seed_low, run.seed_high, step, i);
        if (score > best) {
            best = score;
            token = i;
        }
    }
    for (int bits = 16; bits > 0; bits /= 2) {
        const float other = __shfl_xor_sync(ALL, best, bits);
        const int its = __shfl_xor_sync(ALL, token, bits);
        if (other > best || (other == best && its < token)) {
            best = other;
            token = its;
        }
    }
    return token;
}

// softmax(logits)[token], in every lane of a warp.
__device__ float probability(const float* logits, float temperature, int token) {
    float largest = logits[lane()];
    for (int i = lane(); i < V; i += 32) largest = fmaxf(largest, logits[i]);
    largest = warp_max(largest) / temperature;
    float sum = 0.0f;
    for (int i = lane(); i < V; i += 32) sum += expf(logits[i] / temperature - largest);
    return expf(logits[token] / temperature - largest) / lab_warp_sum(sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wavegru(const bf16* embed, const float* rms_gain0, const float* rms_gain1, const bf16* w_ih0, const bf16* w_hh0,
            const bf16* w_ih1, const bf16* w_hh1, const float* b_ih0, const float* b_hh0, const float* b_ih1,
            const float* b_hh1, const bf16* w_glu, const float* b_glu, const bf16* w_out, const float* b_out, float* h0,
            float* h1, const int* forced, int* tokens, float* teacher_prob, float* work, LabRun run) {
    __shared__ float now0[H], now1[H], vector[H], logits[V], partial[WARPS];
    __shared__ int next_token;

    const Layer layer0 = {w_ih0, w_hh0, b_ih0, b_hh0}, layer1 = {w_ih1, w_hh1, b_ih1, b_hh1};
    Board board = {work, 0};
    for (int i = threadIdx.x; i < H; i += THREADS) {
        now0[i] = h0[i];
        now1[i] = h1[i];
    }
    int token = run.first_token;
    for (int t = 0; t < run.steps; ++t) {
        board.step = t;

        // L0 embed + RMS, L0 GRU
        const bf16* x = embed + token * H;
        for (int i = threadIdx.x; i < H; i += THREADS) vector[i] = __bfloat162float(x[i]);
        __syncthreads();
        rms_norm(vector, rms_gain0, EPSILON0, partial);
        for (int unit = warp(); unit < H; unit += warps()) {
            const float h = gru_cell(layer0, unit, vector, now0);
            if (lane() == 0) board.put(STATE0, unit, h);
        }
        board.meet();  // after layer 0

        // L1 prep + RMS, L1 GRU
        for (int i = threadIdx.x; i < H; i += THREADS) {
            now0[i] = board.get(STATE0, i);
            vector[i] = __bfloat162float(x[i]) + now0[i];
        }
        __syncthreads();
        rms_norm(vector, rms_gain1, EPSILON1, partial);
        for (int unit = warp(); unit < H; unit += warps()) {
            const float h = gru_cell(layer1, unit, vector, now1);
            if (lane() == 0) board.put(STATE1, unit, h);
        }
        board.meet();  // after layer 1

        // GLU
        for (int i = threadIdx.x; i < H; i += THREADS) now1[i] = board.get(STATE1, i);
        __syncthreads();
        for (int unit = warp(); unit < H; unit += warps()) {
            const float value = dot(w_glu + size_t(unit) * H, now1) + b_glu[unit];
            const float gate = dot(w_glu + size_t(H + unit) * H, now1) + b_glu[H + unit];
            if (lane() == 0) board.put(GLU, unit, value * sigmoid(gate));
        }
        board.meet();  // after the GLU

        // Output GEMV
        for (int i = threadIdx.x; i < H; i += THREADS) vector[i] = board.get(GLU, i);
        __syncthreads();
        for (int row = warp(); row < V; row += warps()) {
            const float logit = dot(w_out + size_t(row) * H, vector) + b_out[row];
            if (lane() == 0) board.put(LOGITS, row, logit);
        }
        board.meet();  // after the output

        // Sampling, in every block alike, or the next forced token
        for (int i = threadIdx.x; i < V; i += THREADS) logits[i] = board.get(LOGITS, i);
        __syncthreads();
        if (forced) {
            token = forced[t];
            if (warp() == 0) {
                const float p = probability(logits, run.temperature, token);
                if (lane() == 0) teacher_prob[t] = p;
            }
        } else {
            if (threadIdx.x < 32) {
                const int picked = sample(logits, run, t);
                if (lane() == 0) next_token = picked;
                if (warp() == 0 && lane() == 0) tokens[t] = picked;
            }
            __syncthreads();
            token = next_token;
        }
    }
    if (blockIdx.x == 0) {
        for (int i = threadIdx.x; i < H; i += THREADS) {
            h0[i] = now0[i];
            h1[i] = now1[i];
        }
    }
}

LAB_LAUNCH(wavegru) {
    launch.grid[0] = 8;
    launch.block[0] = THREADS;
    launch.cooperative = 1;
}
