//! The functions of the CUDA driver, which are looked up by name in libcuda at their first call,
//! and its error codes.
//!
//! cudarc declares these functions too, but with the enum `CUresult` as their result. The enum
//! holds the codes of one version of CUDA. A newer driver may return another code, and an enum
//! value that is none of its variants is undefined behaviour. So the functions are declared here,
//! with a 32-bit integer as their result. Only types and constants come from cudarc; the program
//! passes its enums to the driver and never receives one.
#![allow(non_snake_case, unsafe_code, clippy::too_many_arguments)]

use crate::api::with_causes;
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphExec, CUlaunchConfig, CUlimit, CUmodule, CUresult,
    CUstream, CUstreamCaptureMode, CUtensorMap, CUuuid,
};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

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

/// Declares functions with these parameters that return an error code. A function that the driver
/// does not have, because it is too old or missing, returns [`CUDA_ERROR_NOT_SUPPORTED`].
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*);)*) => {
        $(/// # Safety
        /// As NVIDIA documents this function of the driver: pointers are valid for what it reads
        /// and writes, handles are live, and memory that a copy uses lives until the stream has
        /// been waited for.
        pub unsafe fn $name($($arg: $type),*) -> u32 {
            type Function = unsafe extern "C" fn($($type),*) -> u32;
            static FOUND: OnceLock<Option<Function>> = OnceLock::new();
            let find = || {
                // SAFETY: cuda.h declares the function of this name with these parameters. Its
                // result is a C enum, which has the size of an int here. The pointer stays valid,
                // because the library is never unloaded.
                unsafe { library().as_ref().ok()?.get::<Function>(stringify!($name)).ok().map(|symbol| *symbol) }
            };
            match FOUND.get_or_init(find) {
                // SAFETY: the caller promises what the function requires; see `# Safety` above.
                Some(function) => unsafe { function($($arg),*) },
                None => CUDA_ERROR_NOT_SUPPORTED,
            }
        })*
    };
}

functions! {
    cuCtxResetPersistingL2Cache();
    cuCtxSetCurrent(a: CUcontext);
    cuCtxSetLimit(a: CUlimit, b: usize);
    cuDeviceGet(a: *mut CUdevice, b: c_int);
    cuDeviceGetAttribute(a: *mut c_int, b: CUdevice_attribute, c: CUdevice);
    cuDeviceGetCount(a: *mut c_int);
    cuDeviceGetName(a: *mut c_char, b: c_int, c: CUdevice);
    cuDeviceGetUuid_v2(a: *mut CUuuid, b: CUdevice);
    cuDevicePrimaryCtxRelease_v2(a: CUdevice);
    cuDevicePrimaryCtxRetain(a: *mut CUcontext, b: CUdevice);
    cuDriverGetVersion(a: *mut c_int);
    cuEventCreate(a: *mut CUevent, b: c_uint);
    cuEventDestroy_v2(a: CUevent);
    cuEventElapsedTime(a: *mut f32, b: CUevent, c: CUevent);
    cuEventRecord(a: CUevent, b: CUstream);
    cuEventRecordWithFlags(a: CUevent, b: CUstream, c: c_uint);
    cuEventSynchronize(a: CUevent);
    cuFuncGetName(a: *mut *const c_char, b: CUfunction);
    cuFuncGetAttribute(a: *mut c_int, b: CUfunction_attribute, c: CUfunction);
    cuFuncGetParamInfo(a: CUfunction, b: usize, c: *mut usize, d: *mut usize);
    cuFuncSetAttribute(a: CUfunction, b: CUfunction_attribute, c: c_int);
    cuGetErrorName(a: u32, b: *mut *const c_char);
    cuGetErrorString(a: u32, b: *mut *const c_char);
    cuGraphDestroy(a: CUgraph);
    cuGraphExecDestroy(a: CUgraphExec);
    cuGraphInstantiateWithFlags(a: *mut CUgraphExec, b: CUgraph, c: c_ulonglong);
    cuGraphLaunch(a: CUgraphExec, b: CUstream);
    cuInit(a: c_uint);
    cuLaunchCooperativeKernel(a: CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint, i: CUstream, j: *mut *mut c_void);
    cuLaunchKernelEx(a: *const CUlaunchConfig, b: CUfunction, c: *mut *mut c_void, d: *mut *mut c_void);
    cuLaunchKernel(a: CUfunction, b: c_uint, c: c_uint, d: c_uint, e: c_uint, f: c_uint, g: c_uint, h: c_uint, i: CUstream, j: *mut *mut c_void, k: *mut *mut c_void);
    cuMemAllocHost_v2(a: *mut *mut c_void, b: usize);
    cuMemAlloc_v2(a: *mut CUdeviceptr, b: usize);
    cuMemFree_v2(a: CUdeviceptr);
    cuMemFreeHost(a: *mut c_void);
    cuMemHostGetDevicePointer_v2(a: *mut CUdeviceptr, b: *mut c_void, c: c_uint);
    cuMemGetInfo_v2(a: *mut usize, b: *mut usize);
    cuMemcpyDtoHAsync_v2(a: *mut c_void, b: CUdeviceptr, c: usize, d: CUstream);
    cuMemcpyHtoDAsync_v2(a: CUdeviceptr, b: *const c_void, c: usize, d: CUstream);
    cuMemsetD32Async(a: CUdeviceptr, b: c_uint, c: usize, d: CUstream);
    cuModuleEnumerateFunctions(a: *mut CUfunction, b: c_uint, c: CUmodule);
    cuModuleGetFunctionCount(a: *mut c_uint, b: CUmodule);
    cuModuleGetFunction(a: *mut CUfunction, b: CUmodule, c: *const c_char);
    cuModuleLoadData(a: *mut CUmodule, b: *const c_void);
    cuModuleUnload(a: CUmodule);
    cuOccupancyMaxActiveClusters(a: *mut c_int, b: CUfunction, c: *const CUlaunchConfig);
    cuTensorMapEncodeTiled(a: *mut CUtensorMap, b: c_uint, c: c_uint, d: *mut c_void, e: *const u64, f: *const u64, g: *const u32, h: *const u32, i: c_uint, j: c_uint, k: c_uint, l: c_uint);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(a: *mut c_int, b: CUfunction, c: c_int, d: usize);
    cuStreamBeginCapture_v2(a: CUstream, b: CUstreamCaptureMode);
    cuStreamCreate(a: *mut CUstream, b: c_uint);
    cuStreamEndCapture(a: CUstream, b: *mut CUgraph);
    cuStreamSynchronize(a: CUstream);
}

/// Declares error codes as integers, with the values that cuda.h gives them.
macro_rules! codes {
    ($($name:ident),* $(,)?) => {
        $(pub const $name: u32 = CUresult::$name as u32;)*
    };
}

codes! {
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
    CUDA_ERROR_CONTAINED,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUDA_ERROR_DEINITIALIZED,
    CUDA_ERROR_DEVICE_UNAVAILABLE,
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_INITIALIZED,
    CUDA_ERROR_NOT_PERMITTED,
    CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_OPERATING_SYSTEM,
    CUDA_ERROR_OUT_OF_MEMORY,
    CUDA_ERROR_STUB_LIBRARY,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CUDA_ERROR_SYSTEM_NOT_READY,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUDA_SUCCESS,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_cuda_h() {
        assert_eq!(
            (
                CUDA_SUCCESS,
                CUDA_ERROR_OUT_OF_MEMORY,
                CUDA_ERROR_ILLEGAL_ADDRESS
            ),
            (0, 2, 700)
        );
    }

    #[test]
    fn a_function_that_the_driver_lacks_returns_an_error_code() {
        functions! { cuNoDriverHasThisFunction(a: c_int); }
        // SAFETY: no library has a function of this name, so none is called.
        let code = unsafe { cuNoDriverHasThisFunction(0) };
        assert_eq!(code, CUDA_ERROR_NOT_SUPPORTED);
    }
}
