// WaveGRU in f64 on a GPU: what a correct kernel computes. README.md has the formulas.
//
// Weights are widened, all sums are f64, and states are rounded to f32 after each GRU cell. A run samples its tokens; the
// probability that it gave each token is what a teacher-forced kernel must compute when it gets those tokens. Nothing is done
// for speed: a warp for each row, and the whole grid waits after each phase. reference.cpp computes the same on the processor.
#include "lab.h"

#include <cooperative_groups.h>

using bf16 = unsigned short;  // the upper half of an f32

constexpr int H = LAB_HIDDEN;  // hidden units
constexpr int V = 256;         // tokens
constexpr int THREADS = 256;   // a thread a token
constexpr int WARPS = THREADS / 32;
constexpr double EPSILON = 1e-5;
// The middle of the logarithmic range of min_p in problem.toml, 0.02 to 0.12: √(0.02 · 0.12).
constexpr double MIDDLE_MIN_P = 0.048989794855663564;

// What blocks hand to one another.
struct Shared {
    double h0[H], h1[H], glu[H], logits[V];
    double entropies[1];  // of each step
};

__device__ double widen(bf16 value) { return __uint_as_float(unsigned(value) << 16); }

// Two cells at a time, so that a lane of the warp waits half as often for memory.
__device__ double dot(const bf16* row, const double* x) {
    double sum = 0.0;
    for (int i = 2 * (threadIdx.x % 32); i < H; i += 64) {
        const ushort2 two = *reinterpret_cast<const ushort2*>(row + i);
        sum += widen(two.x) * x[i];
        sum += widen(two.y) * x[i + 1];
    }
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bits);
    return sum;
}

__device__ double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

struct Layer {
    const bf16 *w_ih, *w_hh;
    const float *b_ih, *b_hh;
};

// PyTorch's GRUCell for one unit, in every lane of a warp. The reset gate multiplies the product with the state.
__device__ double gru_cell(const Layer& layer, int unit, const double* input, const double* state) {
    double of_input[3], of_state[3];
    for (int gate = 0; gate < 3; ++gate) {
        const size_t row = size_t(gate) * H + unit;
        of_input[gate] = dot(layer.w_ih + row * H, input) + layer.b_ih[row];
        of_state[gate] = dot(layer.w_hh + row * H, state) + layer.b_hh[row];
    }
    const double r = sigmoid(of_input[0] + of_state[0]), z = sigmoid(of_input[1] + of_state[1]);
    const double c = tanh(of_input[2] + r * of_state[2]);
    return double(float((1.0 - z) * c + z * state[unit]));
}

enum Join { SUM, LEAST, MOST };

__device__ double joined_two(double a, double b, Join how) { return how == SUM ? a + b : how == LEAST ? fmin(a, b) : fmax(a, b); }

// Joins the numbers of all threads of the block, in every thread: those of each warp, then those of the warps.
__device__ double joined(double value, Join how, double* cells) {
    for (int bits = 16; bits > 0; bits /= 2) value = joined_two(value, __shfl_xor_sync(0xffffffffu, value, bits), how);
    __syncthreads();
    if (threadIdx.x % 32 == 0) cells[threadIdx.x / 32] = value;
    __syncthreads();
    value = cells[0];
    for (int warp = 1; warp < WARPS; ++warp) value = joined_two(value, cells[warp], how);
    return value;
}

// Norms a vector in the block's shared memory.
__device__ void rms_norm(const double* x, const float* gain, double* normed, double* cells) {
    double squares = 0.0;
    for (int i = threadIdx.x; i < H; i += THREADS) squares += x[i] * x[i];
    const double root = sqrt(joined(squares, SUM, cells) / H + EPSILON);
    for (int i = threadIdx.x; i < H; i += THREADS) normed[i] = gain[i] * x[i] / root;
    __syncthreads();
}

// The noise of this thread's token: Philox4x32-10 (Salmon and others, SC 2011), then −ln(−ln(u)).
__device__ double noise_of(unsigned key0, unsigned key1, unsigned step) {
    unsigned a = threadIdx.x / 4, b = step, c = 0, d = 0;
    for (int round = 0; round < 10; ++round) {
        const unsigned long long p0 = 0xD2511F53ull * a, p1 = 0xCD9E8D57ull * c;
        a = unsigned(p1 >> 32) ^ b ^ key0;
        b = unsigned(p1);
        c = unsigned(p0 >> 32) ^ d ^ key1;
        d = unsigned(p0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    const unsigned words[4] = {a, b, c, d};
    return -log(-log(((words[threadIdx.x % 4] >> 9) + 0.5) * 0x1p-23));
}

// The token that min-p keeps with the largest score, which is its logit plus its noise; the first of equal ones.
__device__ int pick(double l, double noise, double log_min_p, double* cells) {
    const double threshold = joined(l, MOST, cells) + log_min_p;
    const double score = l >= threshold ? l + noise : -1e300;
    const double best = joined(score, MOST, cells);
    return int(joined(score == best ? threadIdx.x : V, LEAST, cells));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    wavegru(const bf16* embed, const float* rms_gain0, const float* rms_gain1, const bf16* w_ih0, const bf16* w_hh0,
            const bf16* w_ih1, const bf16* w_hh1, const float* b_ih0, const float* b_hh0, const float* b_ih1,
            const float* b_hh1, const bf16* w_glu, const float* b_glu, const bf16* w_out, const float* b_out, float* h0,
            float* h1, const int*, int* tokens, float* teacher_prob, Shared* between, float* sample_margin, float* min_p_tells,
            float* temperature_tells, float* median_entropy, LabRun run) {
    __shared__ double x[H], normed[H], state0[H], state1[H], cells[WARPS];
    const int thread = threadIdx.x, warps = gridDim.x * WARPS, warp = blockIdx.x * WARPS + thread / 32;
    const bool is_first_lane = thread % 32 == 0, is_first_block = blockIdx.x == 0;
    const Layer layer0 = {w_ih0, w_hh0, b_ih0, b_hh0}, layer1 = {w_ih1, w_hh1, b_ih1, b_hh1};
    const double log_min_p = log(double(run.min_p)), temperature = run.temperature;
    double margin = 1e300, lowest_same = 0.0, highest_same = 1.0;
    int token = run.first_token, temperature_changed = 0;
    for (int i = thread; i < H; i += THREADS) {
        state0[i] = h0[i];
        state1[i] = h1[i];
    }
    for (int t = 0; t < run.steps; ++t) {
        for (int i = thread; i < H; i += THREADS) x[i] = widen(embed[size_t(token) * H + i]);
        __syncthreads();
        rms_norm(x, rms_gain0, normed, cells);
        for (int unit = warp; unit < H; unit += warps) {
            const double h = gru_cell(layer0, unit, normed, state0);
            if (is_first_lane) between->h0[unit] = h;
        }
        cooperative_groups::this_grid().sync();

        for (int i = thread; i < H; i += THREADS) {
            state0[i] = between->h0[i];
            x[i] += state0[i];
        }
        __syncthreads();
        rms_norm(x, rms_gain1, normed, cells);
        for (int unit = warp; unit < H; unit += warps) {
            const double h = gru_cell(layer1, unit, normed, state1);
            if (is_first_lane) between->h1[unit] = h;
        }
        cooperative_groups::this_grid().sync();

        for (int i = thread; i < H; i += THREADS) state1[i] = between->h1[i];
        __syncthreads();
        for (int unit = warp; unit < H; unit += warps) {
            const double value = dot(w_glu + size_t(unit) * H, state1) + b_glu[unit];
            const double gate = dot(w_glu + size_t(H + unit) * H, state1) + b_glu[H + unit];
            if (is_first_lane) between->glu[unit] = value * sigmoid(gate);
        }
        cooperative_groups::this_grid().sync();

        for (int i = thread; i < H; i += THREADS) normed[i] = between->glu[i];
        __syncthreads();
        for (int row = warp; row < V; row += warps) {
            const double logit = dot(w_out + size_t(row) * H, normed) + b_out[row];
            if (is_first_lane) between->logits[row] = logit;
        }
        cooperative_groups::this_grid().sync();

        // Every block samples for itself.
        const double logit = between->logits[thread], l = logit / temperature;
        const double noise = noise_of(run.seed_low, run.seed_high, t);
        token = pick(l, noise, log_min_p, cells);
        if (!is_first_block) continue;

        // How far scores must move for another token to win: the winner falls below the threshold, another kept token
        // overtakes it, or a dropped token is kept and is ahead.
        const bool is_token = thread == token;
        const double largest = joined(l, MOST, cells), threshold = largest + log_min_p;
        const double best = joined(is_token ? l + noise : -1e300, MOST, cells), behind = best - (l + noise);
        const bool kept = l >= threshold;
        const double own = is_token ? l - threshold : kept ? behind : fmax(threshold - l, behind);
        margin = fmin(margin, joined(own, LEAST, cells));
        const double weight = exp(l - largest), total = joined(weight, SUM, cells), p = weight / total;
        const double entropy = joined(p > 0.0 ? -p * log2(p) : 0.0, SUM, cells);
        // With a min-p at or below this, a token that was dropped wins.
        lowest_same = fmax(lowest_same, joined(!kept && behind < 0.0 ? weight : 0.0, MOST, cells));
        highest_same = fmin(highest_same, joined(is_token ? weight : 1e300, LEAST, cells));
        temperature_changed += pick(logit, noise, log_min_p, cells) != token;
        if (is_token) {
            tokens[t] = token;
            teacher_prob[t] = float(p);
            between->entropies[t] = entropy;
        }
        __syncthreads();
    }
    if (!is_first_block) return;
    for (int i = thread; i < H; i += THREADS) {
        h0[i] = float(state0[i]);
        h1[i] = float(state1[i]);
    }
    // The median is the entropy with half of the others before it.
    for (int t = thread; t < run.steps; t += THREADS) {
        const double entropy = between->entropies[t];
        int before = 0;
        for (int other = 0; other < run.steps; ++other) {
            const double its = between->entropies[other];
            before += its < entropy || (its == entropy && other < t);
        }
        if (before == run.steps / 2) *median_entropy = float(entropy);
    }
    if (thread == 0) {
        *sample_margin = float(margin);
        *min_p_tells = run.min_p < MIDDLE_MIN_P ? highest_same < MIDDLE_MIN_P : lowest_same >= MIDDLE_MIN_P;
        *temperature_tells = float(temperature_changed);
    }
}

LAB_LAUNCH(wavegru) {
    launch.grid[0] = device.sms < H / WARPS ? device.sms : H / WARPS;
    launch.block[0] = THREADS;
    launch.cooperative = 1;
}
