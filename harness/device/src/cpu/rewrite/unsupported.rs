//! The names of constructs that the cpu device cannot run, and what to do about them.

use super::super::headers::is_known;

/// Why a user's source cannot have a name that is the cpu device's own.
pub fn own_name(word: &str) -> Option<&'static str> {
    let is_own = word.trim_start_matches('_').starts_with("lab_cpu_");
    is_own.then_some("names that begin with lab_cpu_ are the cpu device's own: choose another")
}

/// Returns why the cpu device cannot run a construct with this name. `None` where it can.
pub fn unsupported(word: &str) -> Option<&'static str> {
    const TENSOR: &str =
        "tensor cores cannot run on the cpu device (guard them with #ifndef LAB_CPU)";
    const BULK: &str = "bulk and asynchronous copies cannot run on the cpu device (guard them with #ifndef LAB_CPU)";
    const CLUSTER: &str =
        "thread block clusters cannot run on the cpu device (guard them with #ifndef LAB_CPU)";
    const MAP: &str =
        "tensor maps (TMA) cannot be used on the cpu device (guard them with #ifndef LAB_CPU)";
    const TEXTURE: &str =
        "textures and surfaces cannot be used on the cpu device (guard them with #ifndef LAB_CPU)";
    Some(match word {
        "__builtin_constant_p" => {
            "the cpu device builds a kernel several times, and __builtin_constant_p may answer otherwise in each"
        }
        "wmma" | "mma_sync" | "load_matrix_sync" | "store_matrix_sync" | "fill_fragment" => TENSOR,
        "memcpy_async" | "cp_async_bulk" | "__pipeline_memcpy_async" | "memcpy_async_tx" => BULK,
        "this_cluster" | "cluster_group" => CLUSTER,
        "CUtensorMap" | "cuTensorMapEncodeTiled" | "cp_async_bulk_tensor" | "LabTensorMap" => MAP,
        "cudaTextureObject_t" | "cudaSurfaceObject_t" => TEXTURE,
        "tex1Dfetch" | "tex1D" | "tex2D" | "tex3D" | "surf2Dread" | "surf2Dwrite" => TEXTURE,
        _ => return None,
    })
}

/// Returns why a header of the toolkit is of no use on the cpu device: it holds only such
/// constructs. `None` for any other header.
pub fn unsupported_header(name: &str) -> Option<&'static str> {
    Some(match name {
        "mma.h" | "crt/mma.h" => {
            "tensor cores (mma.h) cannot run on the cpu device (guard the include with #ifndef LAB_CPU)"
        }
        "cuda/ptx" => {
            "inline PTX (cuda/ptx) cannot run on the cpu device (guard the include with #ifndef LAB_CPU)"
        }
        "cuda/barrier"
        | "cuda/pipeline"
        | "cuda_pipeline.h"
        | "cuda_awbarrier.h"
        | "cooperative_groups/memcpy_async.h" => {
            "asynchronous copies and barriers cannot run on the cpu device (guard the include with #ifndef LAB_CPU)"
        }
        name if ["cute/", "cutlass/"]
            .iter()
            .any(|folder| name.starts_with(folder)) =>
        {
            "CUTLASS and CuTe cannot be compiled for the cpu device (guard the include with #ifndef LAB_CPU)"
        }
        name if is_known(name) => return None,
        "cub/cub.cuh" => {
            "NVRTC refuses cub/cub.cuh: include the header of what you use, as <cub/block/block_reduce.cuh>"
        }
        name if name.starts_with("cub/") => {
            "of CUB, the cpu device has the reductions, scans, exchanges, loads and stores of warps and blocks: guard other includes with #ifndef LAB_CPU"
        }
        name if name.starts_with("thrust/") => {
            "Thrust cannot be compiled for the cpu device (guard the include with #ifndef LAB_CPU)"
        }
        _ => return None,
    })
}
