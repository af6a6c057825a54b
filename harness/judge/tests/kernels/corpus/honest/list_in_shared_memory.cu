// Every thread puts a node of its own in front of a list, by an exchange of the list's head. One thread walks the list.
// problem: int_totals
// judged: pass
#include "lab.h"

struct Node {
    int value;
    Node* next;
};

extern "C" __global__ void int_totals(const int* x, int* y, int rows, int cols) {
    __shared__ Node nodes[96];
    __shared__ unsigned long long head;
    if (threadIdx.x == 0) head = 0;
    __syncthreads();
    Node& own = nodes[threadIdx.x];
    own.value = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) own.value += x[blockIdx.x * cols + c];
    own.next = reinterpret_cast<Node*>(atomicExch(&head, reinterpret_cast<unsigned long long>(&own)));
    __syncthreads();
    if (threadIdx.x != 0) return;
    int total = 0;
    for (const Node* node = reinterpret_cast<Node*>(head); node; node = node->next) total += node->value;
    y[blockIdx.x] = total;
}

LAB_LAUNCH(int_totals) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 96;
}
