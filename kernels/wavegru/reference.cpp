// WaveGRU on the processor, for the cpu device: what a correct kernel computes. README.md has the formulas.
//
// Weights are widened, all sums are f64, and states are rounded to f32 after each GRU cell. A run samples its tokens; the
// probability that it gave each token is what a teacher-forced kernel must compute when it gets those tokens. reference.cu
// computes the same on a GPU and shares no code with this file.
#include "lab.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace {

constexpr int H = LAB_HIDDEN;  // hidden units
constexpr int V = 256;         // tokens
constexpr double EPSILON = 1e-5;
// The middle of the logarithmic range of min_p in problem.toml, 0.02 to 0.12.
const double MIDDLE_MIN_P = std::sqrt(0.02 * 0.12);

using bf16 = std::uint16_t;  // the upper half of an f32
using Vector = std::vector<double>;

// Eight lanes, whatever the processor has, so that every machine adds in the same order.
typedef double Doubles __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(32)));
typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint16_t Halves __attribute__((vector_size(16)));

double widen(bf16 value) {
    const std::uint32_t word = std::uint32_t(value) << 16;
    float wide;
    std::memcpy(&wide, &word, sizeof wide);
    return wide;
}

double dot(const bf16* row, const Vector& x) {
    Doubles sum = {};
    for (int i = 0; i < H; i += 8) {
        Halves narrow;
        std::memcpy(&narrow, row + i, sizeof narrow);
        const Words words = __builtin_convertvector(narrow, Words) << 16;
        Floats wide;
        std::memcpy(&wide, &words, sizeof wide);
        Doubles values;
        std::memcpy(&values, &x[i], sizeof values);
        sum += __builtin_convertvector(wide, Doubles) * values;
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

struct Layer {
    const bf16 *w_ih, *w_hh;
    const float *b_ih, *b_hh;
};

// PyTorch's GRUCell for one unit. The reset gate multiplies the product with the state, not the state.
double gru_cell(const Layer& layer, int unit, const Vector& input, const Vector& state) {
    double of_input[3], of_state[3];
    for (int gate = 0; gate < 3; ++gate) {
        const std::size_t row = std::size_t(gate) * H + unit;
        of_input[gate] = dot(layer.w_ih + row * H, input) + layer.b_ih[row];
        of_state[gate] = dot(layer.w_hh + row * H, state) + layer.b_hh[row];
    }
    const double r = sigmoid(of_input[0] + of_state[0]), z = sigmoid(of_input[1] + of_state[1]);
    const double c = std::tanh(of_input[2] + r * of_state[2]);
    return float((1.0 - z) * c + z * state[unit]);
}

void rms_norm(const Vector& x, const float* gain, Vector& normed) {
    double squares = 0.0;
    for (double value : x) squares += value * value;
    const double root = std::sqrt(squares / H + EPSILON);
    for (int i = 0; i < H; ++i) normed[i] = gain[i] * x[i] / root;
}

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
std::array<std::uint32_t, 4> philox(std::uint32_t quad, std::uint32_t step, std::uint32_t key0, std::uint32_t key1) {
    std::uint32_t a = quad, b = step, c = 0, d = 0;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t(0xD2511F53u) * a, p1 = std::uint64_t(0xCD9E8D57u) * c;
        a = std::uint32_t(p1 >> 32) ^ b ^ key0;
        b = std::uint32_t(p1);
        c = std::uint32_t(p0 >> 32) ^ d ^ key1;
        d = std::uint32_t(p0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return {a, b, c, d};
}

// The token of each step, and how near the run came to another result.
struct Sampler {
    const LabRun& run;
    int* tokens;
    float* teacher_prob;
    double margin = std::numeric_limits<double>::infinity();
    double same_min_p[2] = {0.0, 1.0};  // no min-p in this interval, open at its lower end, changes a token
    int temperature_changed = 0;
    std::vector<double> entropies;

    // The token that min-p keeps with the largest score, which is its logit plus its noise.
    static int pick(const Vector& l, double log_min_p, const Vector& noise) {
        const double threshold = *std::max_element(l.begin(), l.end()) + log_min_p;
        int token = -1;
        for (int i = 0; i < V; ++i) {
            if (l[i] >= threshold && (token < 0 || l[i] + noise[i] > l[token] + noise[token])) token = i;
        }
        return token;
    }

    int operator()(const Vector& logits, int step) {
        Vector noise(V), l(V), weights(V);
        for (int i = 0; i < V; ++i) {
            const std::uint32_t word = philox(i / 4, step, run.seed_low, run.seed_high)[i % 4];
            noise[i] = -std::log(-std::log(((word >> 9) + 0.5) * 0x1p-23));
            l[i] = logits[i] / run.temperature;
        }
        const double log_min_p = std::log(double(run.min_p));
        const double largest = *std::max_element(l.begin(), l.end()), threshold = largest + log_min_p;
        const int token = pick(l, log_min_p, noise);
        const double best = l[token] + noise[token];

        // The margin is how far scores must move for another token to win: the winner falls below the threshold, another
        // kept token overtakes it, or a dropped token is kept and is ahead.
        double total = 0.0, lowest = 0.0;
        for (int i = 0; i < V; ++i) {
            const bool kept = l[i] >= threshold;
            const double behind = best - (l[i] + noise[i]);
            margin = std::min(margin, i == token ? l[i] - threshold : kept ? behind : std::max(threshold - l[i], behind));
            weights[i] = std::exp(l[i] - largest);
            total += weights[i];
            // With a min-p at or below this, a token that was dropped wins.
            if (!kept && behind < 0.0) lowest = std::max(lowest, weights[i]);
        }
        double entropy = 0.0;
        for (double weight : weights) {
            if (weight > 0.0) entropy -= weight / total * std::log2(weight / total);
        }
        entropies.push_back(entropy);
        same_min_p[0] = std::max(same_min_p[0], lowest);
        same_min_p[1] = std::min(same_min_p[1], weights[token]);
        temperature_changed += pick(logits, log_min_p, noise) != token;
        tokens[step] = token;
        teacher_prob[step] = float(weights[token] / total);
        return token;
    }

    bool min_p_tells() const {
        return run.min_p < MIDDLE_MIN_P ? same_min_p[1] < MIDDLE_MIN_P : same_min_p[0] >= MIDDLE_MIN_P;
    }
};

// All threads wait for one another. A phase takes microseconds, so a thread looks for a while before it yields.
class Barrier {
public:
    explicit Barrier(int threads) : threads_(threads) {}
    void wait() {
        const int phase = phase_.load();
        if (arrived_.fetch_add(1) + 1 == threads_) {
            arrived_.store(0);
            phase_.store(phase + 1);
            return;
        }
        for (int looks = 0; phase_.load() == phase; ++looks) {
            if (looks > 2000) std::this_thread::yield();
        }
    }

private:
    const int threads_;
    std::atomic<int> arrived_{0}, phase_{0};
};

}  // namespace

extern "C" __global__ void wavegru(const bf16* embed, const float* rms_gain0, const float* rms_gain1, const bf16* w_ih0,
                                   const bf16* w_hh0, const bf16* w_ih1, const bf16* w_hh1, const float* b_ih0,
                                   const float* b_hh0, const float* b_ih1, const float* b_hh1, const bf16* w_glu,
                                   const float* b_glu, const bf16* w_out, const float* b_out, float* h0, float* h1, const int*,
                                   int* tokens, float* teacher_prob, unsigned char*, float* sample_margin, float* min_p_tells,
                                   float* temperature_tells, float* median_entropy, LabRun run) {
    const Layer layer0 = {w_ih0, w_hh0, b_ih0, b_hh0}, layer1 = {w_ih1, w_hh1, b_ih1, b_hh1};
    const int threads = std::clamp(int(std::thread::hardware_concurrency()), 1, H / 16);
    Barrier barrier(threads);
    // What a step hands from thread to thread. Two states in turn, because a cell needs the old state of all units.
    Vector states0[2] = {Vector(h0, h0 + H), Vector(H)}, states1[2] = {Vector(h1, h1 + H), Vector(H)};
    Vector glu(H), logits(V);
    Sampler sampler = {run, tokens, teacher_prob};
    int token = run.first_token;

    const auto work = [&](int member) {
        const int first = H * member / threads, last = H * (member + 1) / threads;
        Vector x(H), normed(H), sum(H);
        for (int t = 0; t < run.steps; ++t) {
            const Vector &old0 = states0[t % 2], &old1 = states1[t % 2];
            Vector &new0 = states0[(t + 1) % 2], &new1 = states1[(t + 1) % 2];
            for (int i = 0; i < H; ++i) x[i] = widen(embed[std::size_t(token) * H + i]);
            rms_norm(x, rms_gain0, normed);
            for (int unit = first; unit < last; ++unit) new0[unit] = gru_cell(layer0, unit, normed, old0);
            barrier.wait();
            for (int i = 0; i < H; ++i) sum[i] = x[i] + new0[i];
            rms_norm(sum, rms_gain1, normed);
            for (int unit = first; unit < last; ++unit) new1[unit] = gru_cell(layer1, unit, normed, old1);
            barrier.wait();
            for (int unit = first; unit < last; ++unit) {
                const double value = dot(w_glu + std::size_t(unit) * H, new1) + b_glu[unit];
                const double gate = dot(w_glu + std::size_t(H + unit) * H, new1) + b_glu[H + unit];
                glu[unit] = value * sigmoid(gate);
            }
            barrier.wait();
            for (int row = V * member / threads; row < V * (member + 1) / threads; ++row) {
                logits[row] = dot(w_out + std::size_t(row) * H, glu) + b_out[row];
            }
            barrier.wait();
            if (member == 0) token = sampler(logits, t);
            barrier.wait();
        }
    };
    std::vector<std::thread> others;
    for (int member = 1; member < threads; ++member) others.emplace_back(work, member);
    work(0);
    for (std::thread& other : others) other.join();

    std::copy_n(states0[run.steps % 2].begin(), H, h0);
    std::copy_n(states1[run.steps % 2].begin(), H, h1);
    std::sort(sampler.entropies.begin(), sampler.entropies.end());
    *sample_margin = float(sampler.margin);
    *min_p_tells = sampler.min_p_tells();
    *temperature_tells = float(sampler.temperature_changed);
    *median_entropy = float(sampler.entropies[run.steps / 2]);
}

LAB_LAUNCH(wavegru) {
    launch.grid[0] = 1;
    launch.block[0] = 1;
}
