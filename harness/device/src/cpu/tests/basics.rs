//! A kernel builds, launches and computes the right values in every order.

use super::*;

const SOURCE: &str = r#"
#include <cuda_runtime.h>
#include "lab.h"

extern "C" __global__ void twice(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

// Sums each block's 256 values in shared memory.
extern "C" __global__ void __launch_bounds__(256) block_sum(const float* __restrict__ in, float* out, int) {
    __shared__ float partial[256];
    const int t = threadIdx.x;
    partial[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = partial[0];
}

LAB_LAUNCH(block_sum) {
    launch.grid[0] = dims.n / 256;
    launch.block[0] = 256;
    launch.shared_bytes = device.sms;
}
"#;

#[test]
fn vectors_and_block_sums() {
    let mut bench = Bench::new(SOURCE);
    let input: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    for order in ORDERS {
        let twice: Vec<f32> = bench
            .run("twice", &shape(5, 224), &input, 1024, order)
            .unwrap();
        assert!(twice.iter().zip(&input).all(|(out, x)| *out == 2.0 * x));
        let sums: Vec<f32> = bench
            .run("block_sum", &shape(4, 256), &input, 4, order)
            .unwrap();
        let expected: Vec<f32> = input.chunks(256).map(|chunk| chunk.iter().sum()).collect();
        assert_eq!(sums, expected);
    }
}

#[test]
fn a_launch_statement_runs_on_the_device() {
    let mut bench = Bench::new(SOURCE);
    let entry = bench
        .device
        .entry(bench.module, "lab_launch_block_sum")
        .unwrap()
        .unwrap();
    // A LabShape of lab.h.
    let out = bench.device.alloc(1912).unwrap();
    let device: Vec<u8> = [16u32, 232448]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let args = [
        2048i32.to_le_bytes().to_vec(),
        device,
        out.to_le_bytes().to_vec(),
    ];
    bench
        .device
        .launch(entry, &shape(1, 1), &args, ExecutionOrder::Forward)
        .unwrap();
    let mut answer = [0u32; 8];
    bench
        .device
        .download(out, bytemuck::cast_slice_mut(&mut answer))
        .unwrap();
    assert_eq!(answer, [8, 1, 1, 256, 1, 1, 16, 0]);
    assert_eq!(
        bench
            .device
            .entry(bench.module, "lab_launch_twice")
            .unwrap(),
        None
    );
}
