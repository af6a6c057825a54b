// As much of CUDA as the program of `lab export --to standalone` needs, on the host, so that a test can compile the program with
// a C++ compiler and run it. One thread runs after the other: a kernel with barriers or shuffles cannot run here. FAKE_KINDS
// names the parameters of every kernel in order: p a pointer, i an int, f a float.
#pragma once
#include "cuda.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define CUDART_VERSION 13000

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef int cudaError_t;
typedef CUstream cudaStream_t;
typedef CUfunction cudaFunction_t;
typedef double* cudaEvent_t;
typedef void* cudaGraph_t;
typedef void* cudaGraphExec_t;
constexpr cudaError_t cudaSuccess = 0;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrL2CacheSize };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
enum { cudaEnableDefault, cudaStreamNonBlocking, cudaStreamCaptureModeThreadLocal };
struct cudaDeviceProp {
    char name[64];
};

namespace fake {

// Calls a function of the host's C++ ABI with these parameters: at most eight whole numbers, of which the last two go on the
// stack, and two floats.
inline void call(void* function, void** parameters, const char* kinds) {
    long whole[8] = {};
    double floats[2] = {};
    int wholes = 0, numbers = 0;
    for (const char* kind = kinds; *kind; ++kind, ++parameters) {
        if (*kind == 'f') std::memcpy(&floats[numbers++], *parameters, 4);
        else std::memcpy(&whole[wholes++], *parameters, *kind == 'p' ? 8 : 4);
    }
    reinterpret_cast<void (*)(long, long, long, long, long, long, double, double, long, long)>(function)(
        whole[0], whole[1], whole[2], whole[3], whole[4], whole[5], floats[0], floats[1], whole[6], whole[7]);
}

inline CUresult error_name(CUresult, const char** name) {
    *name = "CUDA_ERROR_NOT_FOUND";
    return CUDA_SUCCESS;
}
inline CUresult module_of(CUmodule* module, CUfunction) {
    *module = nullptr;
    return CUDA_SUCCESS;
}
inline CUresult function_of(CUfunction* function, CUmodule, const char* name) {
    *function = reinterpret_cast<CUfunction>(dlsym(RTLD_DEFAULT, name));
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
inline CUresult set_attribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }

inline CUresult launch(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
    gridDim = dim3(config->gridDimX, config->gridDimY, config->gridDimZ);
    blockDim = dim3(config->blockDimX, config->blockDimY, config->blockDimZ);
    const auto each = [](const dim3& extent, dim3& index, const auto& inner) {
        for (index.z = 0; index.z < extent.z; ++index.z)
            for (index.y = 0; index.y < extent.y; ++index.y)
                for (index.x = 0; index.x < extent.x; ++index.x) inner();
    };
    each(gridDim, blockIdx, [&] { each(blockDim, threadIdx, [&] { call(reinterpret_cast<void*>(function), parameters, FAKE_KINDS); }); });
    return CUDA_SUCCESS;
}

inline double now() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace fake

inline cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, int,
                                                    cudaDriverEntryPointQueryResult*) {
    const struct {
        const char* name;
        void* function;
    } known[] = {
        {"cuGetErrorName", reinterpret_cast<void*>(fake::error_name)},
        {"cuFuncGetModule", reinterpret_cast<void*>(fake::module_of)},
        {"cuModuleGetFunction", reinterpret_cast<void*>(fake::function_of)},
        {"cuFuncSetAttribute", reinterpret_cast<void*>(fake::set_attribute)},
        {"cuLaunchKernelEx", reinterpret_cast<void*>(fake::launch)},
    };
    for (const auto& each : known)
        if (!std::strcmp(each.name, name)) *found = each.function;
    return 0;
}
inline const char* cudaGetErrorString(cudaError_t) { return "an error"; }
inline cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
    *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol));
    return 0;
}
// For a launch statement: dimensions and device by value, in whole registers, and the result's address.
inline cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void** parameters, size_t, cudaStream_t) {
    struct Device {
        unsigned words[2];
    };
    struct Dims {
        int extents[FAKE_DIMS];
    };
    reinterpret_cast<void (*)(Dims, Device, void*)>(const_cast<void*>(function))(
        *static_cast<Dims*>(parameters[0]), *static_cast<Device*>(parameters[1]), *static_cast<void**>(parameters[2]));
    return 0;
}
template <class Pointer>
cudaError_t cudaMalloc(Pointer* pointer, size_t bytes) {
    *pointer = static_cast<Pointer>(std::malloc(bytes));
    return *pointer ? 0 : 2;
}
inline cudaError_t cudaFree(void* pointer) {
    std::free(pointer);
    return 0;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return 0;
}
inline cudaError_t cudaMemset(void* to, int value, size_t bytes) {
    std::memset(to, value, bytes);
    return 0;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) { return cudaMemset(to, value, bytes); }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
    *value = 1 << 16;
    return 0;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* device, int) {
    std::strcpy(device->name, "a fake");
    return 0;
}
inline cudaError_t cudaDeviceSynchronize() { return 0; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    *stream = nullptr;
    return 0;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return 0; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return 0; }
// Captured work also runs at once, and launching a graph does nothing.
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, int) { return 0; }
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return 0; }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, int) { return 0; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return 0; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return 0; }
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return 0; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new double(0);
    return 0;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    *event = fake::now();
    return 0;
}
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = float(*end - *begin);
    return 0;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return 0;
}
