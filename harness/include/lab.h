// What a kernel.cu may include, on the CUDA device and on the emulated one (LAB_CPU is defined there).
//
// The launch statement. A kernel says itself how it is launched, because kernel.cu is the only file
// that an experiment changes:
//
//   extern "C" __global__ void rmsnorm_f32(const float* x, const float* gain, float* y, int rows, int cols) { … }
//
//   LAB_LAUNCH(rmsnorm_f32) {
//       launch.grid[0] = dims.rows;
//       launch.block[0] = 256;
//   }
//
// The body runs once on the device, before the launch, with `dims` (LabDims: the problem's named
// dimensions), `device` (LabDevice) and `launch` (LabShape, all extents 1 to begin with).
#pragma once

#include "lab_problem.h"  // generated from the problem: struct LabDims

struct LabDevice {
    unsigned sms;               // streaming multiprocessors; what the cpu device pretends to have
    unsigned max_shared_bytes;  // what one block may ask for
    unsigned emulated;          // 1 on the cpu device
};

struct LabShape {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;  // dynamic shared memory
    unsigned cooperative;   // 1: all blocks resident at once, cooperative_groups::this_grid() may sync
};

#define LAB_LAUNCH(entry)                                                                              \
    __device__ void lab_shape_##entry(const LabDims& dims, const LabDevice& device, LabShape& launch); \
    extern "C" __global__ void lab_launch_##entry(LabDims dims, LabDevice device, LabShape* out) {     \
        LabShape launch = {{1, 1, 1}, {1, 1, 1}, 0, 0};                                                \
        lab_shape_##entry(dims, device, launch);                                                       \
        *out = launch;                                                                                 \
    }                                                                                                  \
    __device__ void lab_shape_##entry([[maybe_unused]] const LabDims& dims,                            \
                                      [[maybe_unused]] const LabDevice& device, LabShape& launch)
