// Verifies a kernel and times it in turns with the incumbent. What it prints: docs/your-own-harness.md.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

using Kernel = void (*)(const float*, float*, int);

constexpr int N = 1000;
constexpr int BLOCKS = 12;
constexpr int LAUNCHES = 4;  // of a turn

static Kernel load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? (Kernel)dlsym(library, "prefix_sum") : nullptr;
}

static std::vector<float> drawn() {
    std::mt19937 random(std::random_device{}());
    std::uniform_real_distribution<float> unit(0, 1);
    std::vector<float> x(N);
    for (float& cell : x) cell = unit(random);
    return x;
}

// The largest error beside the sum in double precision.
static double error_of(Kernel kernel) {
    std::vector<float> x = drawn(), y(N, NAN);
    kernel(x.data(), y.data(), N);
    double sum = 0, worst = 0;
    for (int i = 0; i < N; i++) {
        sum += x[i];
        double error = std::fabs(y[i] - sum) / sum;
        worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    return worst;
}

static double seconds(Kernel kernel, const std::vector<float>& x, std::vector<float>& y) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < LAUNCHES; i++) kernel(x.data(), y.data(), N);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / LAUNCHES;
}

int main() {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    Kernel candidate = load("build/candidate.so");
    Kernel incumbent = getenv("LAB_INCUMBENT") ? load("build/incumbent.so") : nullptr;
    if (!candidate) {
        puts("build: failed");
        printf("kernel.cpp:1: error: %s\n", dlerror());
        return 1;
    }
    puts("device: this processor");
    puts("stage: verify");
    double error = error_of(candidate);
    printf("y_error: %g limit=1e-6\n", error);
    if (!(error <= 1e-6)) {
        puts("correctness: fail");
        return 1;
    }
    puts("stage: measure");
    std::vector<float> y(N);
    std::vector<double> own;
    for (int block = 0; block < BLOCKS; block++) {
        std::vector<float> x = drawn();
        if (!incumbent) {
            own.push_back(seconds(candidate, x, y));
            continue;
        }
        double turns[4];
        for (int turn = 0; turn < 4; turn++) {
            bool is_old = turn == 0 || turn == 3;
            turns[turn] = seconds(is_old ? incumbent : candidate, x, y);
            if (!is_old) own.push_back(turns[turn]);
        }
        printf("turns: %.9f %.9f %.9f %.9f\n", turns[0], turns[1], turns[2], turns[3]);
    }
    std::sort(own.begin(), own.end());
    double median = own[own.size() / 2];
    puts("correctness: pass");
    printf("throughput_sps: %.6g\nkernel_us: %.6g\n", N / median, median * 1e6);
}
