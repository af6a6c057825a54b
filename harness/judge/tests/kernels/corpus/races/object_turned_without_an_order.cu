// Each thread makes another object of the shared one by a virtual function, and nothing orders them.
// problem: int_totals
// judged: fail
// judged on cuda: fail
#include "lab.h"

#include <new>

struct State {
    __device__ virtual void next(void* room) = 0;
    __device__ virtual int at() const = 0;
};
struct Even : State {
    __device__ void next(void* room) override;
    __device__ int at() const override { return 0; }
};
struct Odd : State {
    __device__ void next(void* room) override { new (room) Even; }
    __device__ int at() const override { return 1; }
};
__device__ void Even::next(void* room) { new (room) Odd; }

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ alignas(8) unsigned char room[16];
    __shared__ int total;
    State* const state = reinterpret_cast<State*>(room);
    if (threadIdx.x == 0) total = 0, new (room) Even;
    __syncthreads();
    int sum = 0;
    for (int c = threadIdx.x; c < cols; c += 64) sum += x[blockIdx.x * cols + c];
    atomicAdd(&total, sum);
    state->next(room);
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total + state->at();
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 64;
}
