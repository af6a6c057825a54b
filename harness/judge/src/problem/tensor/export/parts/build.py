@functools.lru_cache(maxsize=None)
def _lab_build(part):
    """Builds the extension with the kernel, or the one with the reference. PyTorch keeps what was built."""
    from torch.utils.cpp_extension import load_inline

    major, minor = torch.cuda.get_device_capability()
    architecture = f"{major}{minor}" + ("a" if major >= 9 else "")
    source = "\n".join([_LAB_HEADER, {"kernel": _LAB_KERNEL, "reference": _LAB_REFERENCE}[part], _LAB_LAUNCHING])
    flags = [
        "-O3",
        f"-gencode=arch=compute_{architecture},code=sm_{architecture}",
        # PyTorch switches the operators of half types off.
        "-U__CUDA_NO_HALF_OPERATORS__",
        "-U__CUDA_NO_HALF_CONVERSIONS__",
        "-U__CUDA_NO_HALF2_OPERATORS__",
        "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
        *_LAB_OPTIONS,
    ]
    digest = hashlib.sha256("\n".join([source, _LAB_BINDING, *flags]).encode()).hexdigest()[:12]
    # The sources include what they need, and PyTorch's headers take nvcc long.
    bare = {"no_implicit_headers": True} if "no_implicit_headers" in inspect.signature(load_inline).parameters else {}
    return load_inline(
        name=f"lab_{part}_{digest}",
        cpp_sources=[_LAB_BINDING],
        cuda_sources=[source],
        functions=["run"],
        extra_cuda_cflags=flags,
        with_cuda=True,
        **bare,
    )


def _lab_call(part, values):
    return _lab_build(part).run(*[values.get(name) for name in _LAB_PARAMETERS])
