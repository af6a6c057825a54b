// The threads of a block add to a plain word, each while it holds a lock. A thread that does not get the lock asks again.
// problem: int_totals
// judged: pass
#include "lab.h"

class Lock {
    int held;

public:
    __device__ void reset() { held = 0; }

    template <class F>
    __device__ void with(F&& work) {
        for (bool is_done = false; !is_done;) {
            if (atomicCAS(&held, 0, 1) != 0) continue;
            __threadfence_block();
            work();
            __threadfence_block();
            atomicExch(&held, 0);
            is_done = true;
        }
    }
};

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ Lock lock;
    __shared__ int total;
    if (threadIdx.x == 0) lock.reset(), total = 0;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    lock.with([&] { total += sum; });
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
