"""The CUDA driver API by ctypes.

Memory, streams, events and graphs of the worker go this way and not through PyTorch, so that a kernel that patches
`torch.cuda` changes neither a measured time nor what the judge reads.
"""

import ctypes

from ..failures import Crash, Lab
from ..private import BUILTINS as __builtins__

_byref, _pointer = ctypes.byref, ctypes.POINTER
_c_int, _c_uint, _c_size, _c_u64, _c_void = (ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_uint64,
                                             ctypes.c_void_p)


class Access(ctypes.Structure):
    """A CUmemAccessDesc: who may use a mapped range, and how."""

    _fields_ = [("location_type", _c_int), ("location", _c_int), ("flags", _c_int)]


_SIGNATURES = {
    "cuInit": [_c_uint],
    "cuDriverGetVersion": [_pointer(_c_int)],
    "cuDeviceGet": [_pointer(_c_int), _c_int],
    "cuDeviceGetCount": [_pointer(_c_int)],
    "cuDeviceGetName": [ctypes.c_char_p, _c_int, _c_int],
    "cuDeviceGetAttribute": [_pointer(_c_int), _c_int, _c_int],
    "cuDeviceGetUuid_v2": [ctypes.c_char_p, _c_int],
    "cuDevicePrimaryCtxRetain": [_pointer(_c_void), _c_int],
    "cuCtxSetCurrent": [_c_void],
    "cuCtxSynchronize": [],
    "cuCtxSetLimit": [_c_int, _c_size],
    "cuCtxResetPersistingL2Cache": [],
    "cuMemGetInfo_v2": [_pointer(_c_size), _pointer(_c_size)],
    "cuMemAlloc_v2": [_pointer(_c_u64), _c_size],
    "cuMemFree_v2": [_c_u64],
    "cuMemImportFromShareableHandle": [_pointer(_c_u64), _c_void, _c_int],
    "cuMemAddressReserve": [_pointer(_c_u64), _c_size, _c_size, _c_u64, _c_u64],
    "cuMemMap": [_c_u64, _c_size, _c_size, _c_u64, _c_u64],
    "cuMemSetAccess": [_c_u64, _c_size, _pointer(Access), _c_size],
    "cuMemUnmap": [_c_u64, _c_size],
    "cuMemAddressFree": [_c_u64, _c_size],
    "cuMemRelease": [_c_u64],
    "cuMemAllocHost_v2": [_pointer(_c_void), _c_size],
    "cuMemHostGetDevicePointer_v2": [_pointer(_c_u64), _c_void, _c_uint],
    "cuMemcpyHtoDAsync_v2": [_c_u64, _c_void, _c_size, _c_void],
    "cuMemcpyDtoHAsync_v2": [_c_void, _c_u64, _c_size, _c_void],
    "cuMemcpyDtoDAsync_v2": [_c_u64, _c_u64, _c_size, _c_void],
    "cuMemsetD32Async": [_c_u64, _c_uint, _c_size, _c_void],
    "cuStreamCreate": [_pointer(_c_void), _c_uint],
    "cuStreamSynchronize": [_c_void],
    "cuStreamBeginCapture_v2": [_c_void, _c_int],
    "cuStreamEndCapture": [_c_void, _pointer(_c_void)],
    "cuEventCreate": [_pointer(_c_void), _c_uint],
    "cuEventRecord": [_c_void, _c_void],
    "cuEventSynchronize": [_c_void],
    "cuEventRecordWithFlags": [_c_void, _c_void, _c_uint],
    "cuEventElapsedTime": [_pointer(ctypes.c_float), _c_void, _c_void],
    "cuGraphInstantiateWithFlags": [_pointer(_c_void), _c_void, _c_u64],
    "cuGraphGetNodes": [_c_void, _c_void, _pointer(_c_size)],
    "cuGraphLaunch": [_c_void, _c_void],
    "cuGraphExecDestroy": [_c_void],
    "cuGraphDestroy": [_c_void],
    "cuModuleLoadData": [_pointer(_c_void), ctypes.c_char_p],
    "cuModuleGetFunction": [_pointer(_c_void), _c_void, ctypes.c_char_p],
    "cuFuncSetAttribute": [_c_void, _c_int, _c_int],
    "cuFuncGetAttribute": [_pointer(_c_int), _c_int, _c_void],
    "cuLaunchKernel": [_c_void] + 7 * [_c_uint] + [_c_void, _pointer(_c_void), _c_void],
}

OUT_OF_MEMORY = 2
_NOT_SUPPORTED, _INVALID_VALUE = 801, 1
# Errors that a kernel causes: its code, its accesses, its launch.
_OF_THE_KERNEL = {
    1: "the driver refused a value", 700: "the kernel read or wrote an address that is not its own",
    701: "a launch asks for more registers or shared memory than there are", 702: "the launch took too long",
    710: "an assertion of the kernel failed", 713: "page-locked memory was registered twice",
    714: "the hardware found a stack error", 715: "the kernel executed an illegal instruction",
    716: "the kernel read or wrote a misaligned address", 717: "the kernel used an address in the wrong space",
    718: "the kernel jumped to an invalid address", 719: "the launch failed",
}


class Driver:
    """The functions of libcuda.so.1. Each raises Crash or Lab if it fails, except those whose names end in `_code`."""

    def __init__(self):
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Lab(f"the NVIDIA driver is not here: {error}. Set device = \"cpu\" in lab.toml, or install it.") from None
        self._functions = {}
        for name, types in _SIGNATURES.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                raise Lab(f"the NVIDIA driver is too old: it has no {name}. Install a newer one.") from None
            function.argtypes, function.restype = types, _c_int
            self._functions[name] = function
        self._name, self._text = library.cuGetErrorName, library.cuGetErrorString
        for function in (self._name, self._text):
            function.argtypes = [_c_int, _pointer(ctypes.c_char_p)]

    def code(self, function, *args):
        """Calls a function of the driver and returns its code."""
        return self._functions[function](*args)

    def call(self, function, *args, action):
        """Calls a function of the driver. `action` completes "could not …" in the error."""
        code = self._functions[function](*args)
        if code:
            self.fail(code, action)

    def fail(self, code, action):
        """Raises the error that a code is: Crash where a kernel causes it, else Lab."""
        words = []
        for describe in (self._name, self._text):
            text = ctypes.c_char_p()
            if describe(code, _byref(text)) == 0 and text.value:
                words.append(text.value.decode("utf-8", "replace"))
        named = ": ".join(words) or f"error {code}"
        meaning = _OF_THE_KERNEL.get(code) if code != _INVALID_VALUE else None
        if meaning is not None:
            raise Crash(f"could not {action}: {meaning} [{named}]")
        raise Lab(f"could not {action} [{named}]")

    def ask(self, kind, function, *args, action):
        """Calls a function whose first parameter is a pointer to its result, of this ctypes type. Returns the result."""
        result = kind()
        self.call(function, _byref(result), *args, action=action)
        return result.value

    def let_go_of_kept_lines(self):
        """Lets the L2 cache replace the lines that a kernel asked it to keep. Old devices keep none."""
        code = self.code("cuCtxResetPersistingL2Cache")
        if code not in (0, _NOT_SUPPORTED, _INVALID_VALUE):
            self.fail(code, "let go of the lines that are kept in the L2 cache")
