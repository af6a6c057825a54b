// Which synchronisation does racecheck follow? Each kernel is one block of 256 threads. In most, warp 0 reads what warps 1 to 7 wrote, three
// times over. README.md has what was found.
#include <cstdio>
#include <cuda_runtime.h>
__device__ int sink;
__shared__ int data[256], other[256];
#define T const int thread = threadIdx.x, warp = thread / 32; (void)warp; int sum = 0;
#define READ for (int i = 32 + thread % 32; i < 256; i += 32) sum += data[i];
#define END if (sum == 12345) sink = sum;
__device__ void sync(int id, int n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ void arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
__device__ unsigned address(void* p) { return unsigned(__cvta_generic_to_shared(p)); }
__device__ void init(unsigned long long* b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(b)), "r"(n) : "memory"); }
__device__ void hit(unsigned long long* b) { asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(address(b)) : "memory"); }
__device__ void wait(unsigned long long* b, int parity) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}" ::"r"(address(b)), "r"(parity) : "memory");
}

__global__ void a_no_sync() { T for (int k = 0; k < 3; ++k) { if (warp) data[thread] = k; else { READ } } END }
__global__ void b_full_sync() { T for (int k = 0; k < 3; ++k) { if (warp) data[thread] = k; __syncthreads(); if (!warp) { READ } __syncthreads(); } END }
__global__ void c_full_sync_named() { T for (int k = 0; k < 3; ++k) { if (warp) data[thread] = k; sync(1, 256); if (!warp) { READ } sync(2, 256); } END }
__global__ void d_arrive_then_full() { T for (int k = 0; k < 3; ++k) { if (warp) { data[thread] = k; arrive(1, 256); } else { sync(1, 256); READ } __syncthreads(); } END }
__global__ void e_arrive_both_ways() { T for (int k = 0; k < 3; ++k) { if (warp) { if (k) sync(2, 256); data[thread] = k; arrive(1, 256); } else { sync(1, 256); READ if (k < 2) arrive(2, 256); } } END }
__global__ void f_arrive_then_write_elsewhere() { T for (int k = 0; k < 3; ++k) { if (warp) { data[thread] = k; arrive(1, 256); other[thread] = k; } else { sync(1, 256); READ } __syncthreads(); if (!warp) sum += other[32 + thread]; __syncthreads(); } END }
__global__ void g_arrive_then_partial_sync() { T for (int k = 0; k < 3; ++k) { if (warp) { data[thread] = k; arrive(1, 256); sync(3, 224); } else { sync(1, 256); READ } __syncthreads(); } END }
__global__ void h_partial_sync() { T for (int k = 0; k < 3; ++k) { if (warp >= 4) { data[thread] = k; sync(2, 128); sum += data[383 - thread]; sync(2, 128); } else other[thread] = k; } END }
__global__ void i_partial_sync_too_few() { T for (int k = 0; k < 3; ++k) { if (warp >= 4) { data[thread] = k; sync(2, 128); } else { READ } __syncthreads(); } END }
__global__ void j_mbarrier_all_lanes() { T __shared__ unsigned long long full; if (thread == 0) init(&full, 224); __syncthreads();
    for (int k = 0; k < 3; ++k) { if (warp) { data[thread] = k; hit(&full); } else { wait(&full, k & 1); READ } __syncthreads(); } END }
__global__ void k_mbarrier_one_lane() { T __shared__ unsigned long long full; if (thread == 0) init(&full, 7); __syncthreads();
    for (int k = 0; k < 3; ++k) { if (warp) { data[thread] = k; __syncwarp(); if (thread % 32 == 0) hit(&full); } else { wait(&full, k & 1); READ } __syncthreads(); } END }
__global__ void l_mbarrier_both_ways() { T __shared__ unsigned long long full, empty; if (thread == 0) init(&full, 224), init(&empty, 32); __syncthreads();
    for (int k = 0; k < 3; ++k) { if (warp) { if (k) wait(&empty, (k - 1) & 1); data[thread] = k; hit(&full); } else { wait(&full, k & 1); READ hit(&empty); } } END }
__global__ void m_mbarrier_too_few() { T __shared__ unsigned long long full; if (thread == 0) init(&full, 32); __syncthreads();
    for (int k = 0; k < 3; ++k) { if (warp == 1) { hit(&full); } if (warp) data[thread] = k; else { wait(&full, k & 1); READ } __syncthreads(); } END }
__global__ void n_syncwarp() { T for (int k = 0; k < 3; ++k) { data[thread] = k; __syncwarp(); sum += data[thread ^ 1]; __syncwarp(); } END }
__global__ void o_no_syncwarp() { T for (int k = 0; k < 3; ++k) { data[thread] = k; sum += data[thread ^ 1]; } END }
__global__ void p_flag_and_fence() { T __shared__ int flag; if (thread == 0) flag = 0; __syncthreads();
    if (warp) { data[thread] = 1; __threadfence_block(); atomicAdd(&flag, 1); } else { while (atomicAdd(&flag, 0) < 224) {} __threadfence_block(); READ } END }

__device__ void pause(int cycles) { long long t = clock64(); while (clock64() - t < cycles) {} }
__global__ void q_full_then_partial_of_others() { T for (int k = 0; k < 3; ++k) { data[thread] = k; __syncthreads(); if (warp >= 4) sync(2, 128); else { pause(20000); sum += data[255 - thread]; } __syncthreads(); } END }
__global__ void r_full_then_partial_late() { T for (int k = 0; k < 3; ++k) { data[thread] = k; __syncthreads(); if (warp >= 4) { pause(20000); sync(2, 128); } else sum += data[255 - thread]; __syncthreads(); } END }
__global__ void s_full_then_partial_own_read() { T for (int k = 0; k < 3; ++k) { data[thread] = k; __syncthreads(); if (warp >= 4) { sync(2, 128); sum += data[255 - thread]; } __syncthreads(); } END }
__global__ void t_full_then_mbarrier_of_others() { T __shared__ unsigned long long half; if (thread == 0) init(&half, 128); __syncthreads();
    for (int k = 0; k < 3; ++k) { data[thread] = k; __syncthreads(); if (warp >= 4) { hit(&half); wait(&half, k & 1); sum += data[255 - thread]; } else { pause(20000); sum += data[255 - thread]; } __syncthreads(); } END }
__global__ void u_arrive_once_read_after_write() { T if (warp) { data[thread] = 1; arrive(1, 256); } else { sync(1, 256); READ } END }
__global__ void v_arrive_once_write_after_read() { T if (warp) { sync(2, 256); data[thread] = 1; } else { READ arrive(2, 256); } END }
__global__ void w_full_then_arrive_of_others() { T for (int k = 0; k < 3; ++k) { data[thread] = k; __syncthreads(); if (warp == 7) arrive(3, 128); else if (warp >= 4) sync(3, 128); else { pause(20000); sum += data[255 - thread]; } __syncthreads(); } END }

int main() {
#define RUN(k) { k<<<1, 256>>>(); printf("%s %s\n", #k, cudaGetErrorString(cudaDeviceSynchronize())); fflush(stdout); }
    RUN(a_no_sync) RUN(b_full_sync) RUN(c_full_sync_named) RUN(d_arrive_then_full) RUN(e_arrive_both_ways) RUN(f_arrive_then_write_elsewhere)
    RUN(g_arrive_then_partial_sync) RUN(h_partial_sync) RUN(i_partial_sync_too_few) RUN(j_mbarrier_all_lanes) RUN(k_mbarrier_one_lane)
    RUN(l_mbarrier_both_ways) RUN(m_mbarrier_too_few) RUN(n_syncwarp) RUN(o_no_syncwarp) RUN(p_flag_and_fence)
    RUN(q_full_then_partial_of_others) RUN(r_full_then_partial_late) RUN(s_full_then_partial_own_read) RUN(t_full_then_mbarrier_of_others)
    RUN(u_arrive_once_read_after_write) RUN(v_arrive_once_write_after_read) RUN(w_full_then_arrive_of_others)
}
