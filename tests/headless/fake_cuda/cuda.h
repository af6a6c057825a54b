// The part of CUDA's driver API that an export uses, on the host. See cuda_runtime.h.
#pragma once
#include <cstddef>
#include <cstdint>

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_NOT_FOUND = 500 };
typedef struct FakeModule* CUmodule;
typedef struct FakeFunction* CUfunction;
typedef struct FakeStream* CUstream;
typedef std::uint64_t cuuint64_t;

enum CUfunction_attribute {
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
};
enum CUlaunchAttributeID { CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
struct CUlaunchAttribute {
    CUlaunchAttributeID id;
    struct {
        int cooperative;
        struct { unsigned x, y, z; } clusterDim;
    } value;
};
struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute* attrs;
    unsigned numAttrs;
};

enum CUtensorMapDataType {
    CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT16, CU_TENSOR_MAP_DATA_TYPE_UINT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64, CU_TENSOR_MAP_DATA_TYPE_INT32, CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
};
enum CUtensorMapInterleave {};
enum CUtensorMapSwizzle {};
enum CUtensorMapL2promotion {};
enum CUtensorMapFloatOOBfill {
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
};
struct CUtensorMap {
    std::uint64_t opaque[16];
};

// Only their types are used: an export asks the driver for its functions by name.
CUresult cuGetErrorName(CUresult, const char**);
CUresult cuFuncGetModule(CUmodule*, CUfunction);
CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char*);
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int);
CUresult cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**);
CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, unsigned, void*, const cuuint64_t*, const cuuint64_t*,
                                const unsigned*, const unsigned*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
