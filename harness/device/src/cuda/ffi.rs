//! The functions of the CUDA driver, which are looked up by name in libcuda at their first call,
//! and its error codes.
//!
//! cudarc declares these functions too, but with the enum `CUresult` as their result. The enum
//! holds the codes of one version of CUDA. A newer driver may return another code, and an enum
//! value that is none of its variants is undefined behaviour. So the functions are declared here,
//! with a 32-bit integer as their result. Only types and constants come from cudarc; the program
//! passes its enums to the driver and never receives one.
#![allow(non_upper_case_globals, unsafe_code)]

use crate::api::with_causes;
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphExec, CUlaunchConfig, CUlimit, CUmemAccessDesc,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemGenericAllocationHandle, CUmodule,
    CUresult, CUstream, CUstreamCaptureMode, CUtensorMap, CUuuid,
};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::{LazyLock, OnceLock};

/// The driver's library. The error is the loader's message: the library is not installed, or it
/// cannot be loaded.
pub fn library() -> &'static Result<Library, String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let load = || {
        // SAFETY: loading a library runs its initialisers. Those of NVIDIA's driver may run at any
        // time, on any thread. A user who puts another file under this name into the loader's path
        // chooses to run that file's code.
        let open = |name| unsafe { Library::new(name) }.map_err(|error| loader_message(&error));
        // What is wrong with the usual name is worth more than that the other is missing too.
        open("libcuda.so.1").or_else(|why| open("libcuda.so").map_err(|_| why))
    };
    LIBRARY.get_or_init(load)
}

/// What the loader says, such as
/// `libcuda.so.1: cannot open shared object file: No such file or directory`.
pub fn loader_message(error: &libloading::Error) -> String {
    let text = with_causes(error);
    text.strip_prefix("dlopen failed: ")
        .unwrap_or(&text)
        .to_owned()
}

/// Declares functions with parameters of these types that return an error code. A function that the
/// driver does not have, because it is too old or missing, returns [`CUDA_ERROR_NOT_SUPPORTED`].
///
/// To call one is unsafe. NVIDIA documents what each function requires: pointers are valid for what
/// it reads and writes, handles are live, and memory that a copy uses lives until the stream has
/// been waited for.
macro_rules! functions {
    ($($name:ident($($type:ty),*);)*) => {
        $(pub static $name: LazyLock<unsafe extern "C" fn($($type),*) -> Code> = LazyLock::new(|| {
            unsafe extern "C" fn missing($(_: $type),*) -> Code {
                CUDA_ERROR_NOT_SUPPORTED
            }
            type Function = unsafe extern "C" fn($($type),*) -> Code;
            // SAFETY: cuda.h declares the function of this name with these parameters. Its result
            // is a C enum, which has the size of an int here. The pointer stays valid, because the
            // library is never unloaded.
            let find = |library: &Library| unsafe { library.get::<Function>(stringify!($name)).map(|found| *found) };
            let found = library().as_ref().ok().and_then(|library| find(library).ok());
            found.unwrap_or(missing)
        });)*
    };
}

functions! {
    cuCtxResetPersistingL2Cache();
    cuCtxSetCurrent(CUcontext);
    cuCtxSetLimit(CUlimit, usize);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDriverGetVersion(*mut c_int);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventDestroy_v2(CUevent);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuEventRecord(CUevent, CUstream);
    cuEventRecordWithFlags(CUevent, CUstream, c_uint);
    cuEventSynchronize(CUevent);
    cuFuncGetName(*mut *const c_char, CUfunction);
    cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize);
    cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuGraphDestroy(CUgraph);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuInit(c_uint);
    cuLaunchCooperativeKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void);
    cuLaunchKernelEx(*const CUlaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    cuLaunchKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
    cuMemAddressFree(CUdeviceptr, usize);
    cuMemAddressReserve(*mut CUdeviceptr, usize, usize, CUdeviceptr, c_ulonglong);
    cuMemAllocHost_v2(*mut *mut c_void, usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemCreate(*mut CUmemGenericAllocationHandle, usize, *const CUmemAllocationProp, c_ulonglong);
    cuMemExportToShareableHandle(*mut c_void, CUmemGenericAllocationHandle, CUmemAllocationHandleType, c_ulonglong);
    cuMemFree_v2(CUdeviceptr);
    cuMemFreeHost(*mut c_void);
    cuMemHostGetDevicePointer_v2(*mut CUdeviceptr, *mut c_void, c_uint);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemImportFromShareableHandle(*mut CUmemGenericAllocationHandle, *mut c_void, CUmemAllocationHandleType);
    cuMemMap(CUdeviceptr, usize, usize, CUmemGenericAllocationHandle, c_ulonglong);
    cuMemRelease(CUmemGenericAllocationHandle);
    cuMemSetAccess(CUdeviceptr, usize, *const CUmemAccessDesc, usize);
    cuMemUnmap(CUdeviceptr, usize);
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemsetD32Async(CUdeviceptr, c_uint, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuModuleEnumerateFunctions(*mut CUfunction, c_uint, CUmodule);
    cuModuleGetFunctionCount(*mut c_uint, CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuModuleLoadData(*mut CUmodule, *const c_void);
    cuModuleUnload(CUmodule);
    cuOccupancyMaxActiveClusters(*mut c_int, CUfunction, *const CUlaunchConfig);
    cuTensorMapEncodeTiled(*mut CUtensorMap, c_uint, c_uint, *mut c_void, *const u64, *const u64, *const u32, *const u32, c_uint, c_uint, c_uint, c_uint);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
    cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuStreamSynchronize(CUstream);
}

/// What a function of the driver returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Code(pub u32);

// Those that a function's result is compared with.
pub const CUDA_SUCCESS: Code = Code(CUresult::CUDA_SUCCESS as u32);
pub const CUDA_ERROR_INVALID_VALUE: Code = Code(CUresult::CUDA_ERROR_INVALID_VALUE as u32);
pub const CUDA_ERROR_NO_DEVICE: Code = Code(CUresult::CUDA_ERROR_NO_DEVICE as u32);
pub const CUDA_ERROR_NOT_FOUND: Code = Code(CUresult::CUDA_ERROR_NOT_FOUND as u32);
pub const CUDA_ERROR_NOT_SUPPORTED: Code = Code(CUresult::CUDA_ERROR_NOT_SUPPORTED as u32);
pub const CUDA_ERROR_OUT_OF_MEMORY: Code = Code(CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_cuda_h() {
        assert_eq!(
            (
                CUDA_SUCCESS,
                CUDA_ERROR_OUT_OF_MEMORY,
                CUDA_ERROR_NOT_SUPPORTED
            ),
            (Code(0), Code(2), Code(801))
        );
    }

    #[test]
    fn a_function_that_the_driver_lacks_returns_an_error_code() {
        functions! { cuNoDriverHasThisFunction(c_int); }
        // SAFETY: no library has a function of this name, so none is called.
        let code = unsafe { cuNoDriverHasThisFunction(0) };
        assert_eq!(code, CUDA_ERROR_NOT_SUPPORTED);
    }
}
