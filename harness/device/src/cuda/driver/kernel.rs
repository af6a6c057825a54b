//! One kernel of a loaded module: its function handle, and what the driver knows about it.

use super::refusal::KernelAttributes;
use crate::api::Result;
use crate::cuda::devices::version;
use crate::cuda::ffi;
use cudarc::driver::sys::{CUfunction, CUfunction_attribute as Attribute, CUmodule};
use std::ffi::{CStr, c_int};

/// Dynamic and static shared memory, in bytes, that a launch may use without opting in.
const SHARED_BYTES_WITHOUT_OPT_IN: u32 = 48 * 1024;

pub struct Kernel {
    pub function: CUfunction,
    pub attributes: KernelAttributes,
}

impl Kernel {
    /// Reads the attributes, which also loads the kernel's code, so that no launch spends time on
    /// it.
    ///
    /// # Safety
    /// `function` came from the driver, and its module stays loaded as long as the methods of the
    /// kernel are called.
    pub unsafe fn new(function: CUfunction, name: &str) -> Result<Kernel> {
        let read = |attribute| -> Result<u32> {
            let mut value = 0;
            // SAFETY: `value` is a live integer to write to. The caller promises that the
            // function's module is loaded.
            unsafe { ffi::cuFuncGetAttribute(&mut value, attribute, function) }
                .check(&format!("read the attributes of {name}"))?;
            Ok(value as u32)
        };
        let attributes = KernelAttributes {
            name: name.to_owned(),
            registers: read(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            threads: read(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            static_shared_bytes: read(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            required_cluster: required_cluster(&read),
            // SAFETY: the caller promises that the function's module is loaded.
            parameters: unsafe { parameters(function) },
        };
        Ok(Kernel {
            function,
            attributes,
        })
    }

    /// Opts in to more shared memory than every launch may use, where this much needs it.
    pub fn allow_shared(&self, shared_bytes: u32) -> Result {
        let total = shared_bytes.saturating_add(self.attributes.static_shared_bytes);
        if total <= SHARED_BYTES_WITHOUT_OPT_IN {
            return Ok(());
        }
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: `Kernel::new` was promised that the module stays loaded.
        unsafe { ffi::cuFuncSetAttribute(self.function, attribute, shared_bytes as c_int) }.check(
            &format!(
                "give {} {shared_bytes} bytes of shared memory",
                self.attributes.name
            ),
        )
    }

    /// Opts in to clusters of more blocks than every device allows.
    pub fn allow_large_clusters(&self) -> Result {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        // SAFETY: `Kernel::new` was promised that the module stays loaded.
        unsafe { ffi::cuFuncSetAttribute(self.function, attribute, 1) }.check(&format!(
            "allow clusters of more than 8 blocks for {}",
            self.attributes.name
        ))
    }

    /// Returns how many blocks of this many threads are resident on one multiprocessor at once.
    pub fn resident_blocks(&self, threads: u32, shared_bytes: u32) -> Result<u32> {
        self.allow_shared(shared_bytes)?;
        let mut blocks = 0;
        // SAFETY: `blocks` is a live integer to write to. `Kernel::new` was promised that the
        // module stays loaded.
        unsafe {
            ffi::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                threads as c_int,
                shared_bytes as usize,
            )
        }
        .check(&format!(
            "compute how many blocks of {} fit",
            self.attributes.name
        ))?;
        Ok(blocks as u32)
    }
}

/// The extents of `__cluster_dims__`. `None` where the source has none, or the driver does not know
/// clusters.
fn required_cluster(read: &dyn Fn(Attribute) -> Result<u32>) -> Option<[u32; 3]> {
    let x = read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH).ok()?;
    let y = read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT).ok()?;
    let z = read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH).ok()?;
    Some([x, y.max(1), z.max(1)]).filter(|cluster| x > 0 && *cluster != [1; 3])
}

/// The names of a module's kernels. Empty where the driver supports less than CUDA 12.4 and cannot
/// tell them.
///
/// # Safety
/// The module is loaded.
pub unsafe fn names(module: CUmodule) -> Vec<String> {
    let mut count = 0;
    // SAFETY: `count` is a live integer to write to, and the caller promises that the module is
    // loaded.
    if unsafe { ffi::cuModuleGetFunctionCount(&mut count, module) } != ffi::CUDA_SUCCESS {
        return Vec::new();
    }
    let mut functions = vec![std::ptr::null_mut(); count as usize];
    // SAFETY: the driver writes `count` handles at most.
    if unsafe { ffi::cuModuleEnumerateFunctions(functions.as_mut_ptr(), count, module) }
        != ffi::CUDA_SUCCESS
    {
        return Vec::new();
    }
    let name = |function: CUfunction| {
        let mut name = std::ptr::null();
        // SAFETY: `name` is a live pointer to write to, and the driver returned the function just
        // now.
        let code = unsafe { ffi::cuFuncGetName(&mut name, function) };
        if code != ffi::CUDA_SUCCESS || name.is_null() {
            return None;
        }
        // SAFETY: the driver's names end with a NUL and live as long as the module.
        Some(
            unsafe { CStr::from_ptr(name) }
                .to_string_lossy()
                .into_owned(),
        )
    };
    functions.into_iter().filter_map(name).collect()
}

/// The sizes of a kernel's parameters in bytes. `None` where the driver supports less than CUDA
/// 12.4 and cannot tell them.
///
/// # Safety
/// The function's module is loaded.
unsafe fn parameters(function: CUfunction) -> Option<Vec<usize>> {
    if version().ok()? < (12, 4) {
        return None;
    }
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: `offset` and `size` are live integers to write to. The caller promises that the
        // module is loaded.
        match unsafe { ffi::cuFuncGetParamInfo(function, sizes.len(), &mut offset, &mut size) } {
            ffi::CUDA_SUCCESS => sizes.push(size),
            // The driver returns this for an index behind the last parameter.
            ffi::CUDA_ERROR_INVALID_VALUE => return Some(sizes),
            // The driver does not have the function, or the context is broken, which the launch
            // reports.
            _ => return None,
        }
    }
}
