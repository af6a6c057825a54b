"""A CUDA device: buffers are memory of the driver, and a kernel gets PyTorch tensors that view them."""

import ctypes
import gc
import importlib.util
import platform
import sys

from .. import dtypes
from ..failures import Crash, Failure, Lab
from ..private import BUILTINS as __builtins__
from . import triton_kernels
from .digester import Digester
from .libcuda import OUT_OF_MEMORY, Access, Driver
from .windows import Window

# The driver hands out memory in pages of this many bytes.
PAGE = 2 << 20
# Tensors of PyTorch of this many bytes do not keep their content when their module is loaded anew.
_KEPT_BYTES = 64 << 10
_POISON = 0x7FA5_7FA5

# Attributes of a device.
_SMS, _L2_BYTES, _MAJOR, _MINOR, _SHARED_BYTES = 16, 38, 75, 76, 97
_EXCHANGES_DESCRIPTORS = 103
# CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
_DESCRIPTOR, _ON_DEVICE, _READ_AND_WRITE = 1, 1, 3
_PERSISTING_L2_CACHE_SIZE = 6

_c_int, _c_size, _c_u64, _c_void = ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p
_byref, _Character = ctypes.byref, ctypes.c_char
_collect, _freeze = gc.collect, gc.freeze
# Wipes after which further collections skip the living objects. Not after each wipe: a cycle that is alive then would never be freed.
_FROZEN_WIPES = 2


def import_torch():
    """Imports PyTorch. Raises Lab if it is missing or has no CUDA."""
    try:
        import torch
    except ImportError as error:
        text = (f"a Python kernel on a CUDA device gets PyTorch tensors, and {sys.executable} has no PyTorch ({error}). "
                f"Install it (`{sys.executable} -m pip install torch`), or set device = \"cpu\" in lab.toml.")
        raise Lab(text) from None
    except Exception as error:  # noqa: B902: an installation that is broken fails in many ways
        raise Lab(f"PyTorch of {sys.executable} cannot be imported: {type(error).__name__}: {error}") from None
    if not torch.backends.cuda.is_built():
        raise Lab(f"PyTorch {torch.__version__} of {sys.executable} is built without CUDA. Install one with CUDA, or set "
                  "device = \"cpu\" in lab.toml.")
    return torch


def is_usable():
    """Whether PyTorch is here and finds a CUDA device."""
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        return import_torch().cuda.is_available()
    except Lab:
        return False


class _Allocation:
    """Memory of the driver, as PyTorch takes it without a copy."""

    def __init__(self, address, length):
        self.__cuda_array_interface__ = {"shape": (length,), "typestr": "|u1", "data": (address, False), "version": 3}


class Block:
    """Memory of the judge's own worker, mapped at an address of this process."""

    def __init__(self, handle, length):
        self.handle, self.length, self.base = handle, length, None


class CudaDevice:
    """A CUDA device with its primary context, which PyTorch uses too."""

    # What decides how fast a kernel is, whether or not its source imports it.
    packages = frozenset({"numpy", "torch", "triton", "cupy"})
    has_graphs = True

    def __init__(self, ordinal):
        self._driver = driver = Driver()
        driver.call("cuInit", 0, action="start CUDA")
        count = driver.ask(_c_int, "cuDeviceGetCount", action="count the CUDA devices")
        if ordinal >= count:
            raise Lab(f"there is no device cuda:{ordinal}: {count} CUDA devices are visible. CUDA_VISIBLE_DEVICES may hide "
                      "others.")
        self._torch = torch = import_torch()
        self._device = device = driver.ask(_c_int, "cuDeviceGet", ordinal, action=f"find cuda:{ordinal}")
        self._context = driver.ask(_c_void, "cuDevicePrimaryCtxRetain", device, action=f"open cuda:{ordinal}")
        driver.call("cuCtxSetCurrent", self._context, action="make the device current")
        try:
            torch.cuda.init()
            torch.cuda.set_device(ordinal)
        except (RuntimeError, AssertionError) as error:
            raise Lab(f"PyTorch {torch.__version__} cannot use cuda:{ordinal}: {error}") from None
        # A blocking stream: it waits for the legacy default stream, so that work there counts to the measured time.
        self._stream = driver.ask(_c_void, "cuStreamCreate", 0, action="create a stream")
        own = torch.cuda.ExternalStream(self._stream, device=ordinal)
        self._own = {"stream_id": own.stream_id, "device_index": own.device_index, "device_type": own.device_type}
        self._set_stream, self._set_device = torch._C._cuda_setStream, torch._C._cuda_setDevice
        self._reserved, self._empty_cache = torch.cuda.memory_reserved, torch.cuda.empty_cache
        self._snapshot, self._as_tensor, self._empty = torch.cuda.memory_snapshot, torch.as_tensor, torch.empty
        # The methods as they are in C++: a kernel may set those of torch.Tensor, and modes that see each call.
        base = getattr(torch._C, "TensorBase", None) or torch._C._TensorBase
        self._part, self._reshaped, self._strided = base.__getitem__, base.view, base.as_strided
        self._without_modes = torch._C.DisableTorchFunction, torch._C._DisableTorchDispatch
        self._types = {word: getattr(torch, name) for word, name in dtypes.NAMES.items() if hasattr(torch, name)}
        self._ordinal, self._place = ordinal, torch.device("cuda", ordinal)
        # No part of the L2 cache is set aside for lines that a kernel asks to keep. Old devices refuse the limit.
        driver.code("cuCtxSetLimit", _PERSISTING_L2_CACHE_SIZE, 0)
        self._info = self._describe(device)
        exchanges = driver.ask(_c_int, "cuDeviceGetAttribute", _EXCHANGES_DESCRIPTORS, device, action="read the device's limits")
        # Whether it maps memory of the judge's own worker.
        self.shares_memory = bool(exchanges)
        self._digester = self._load_digester()
        # Bytes of each allocation, and a tensor of them all.
        self._tensors = {}
        # Views of them, by address, type and shape.
        self._views = {}
        self._wipes = 0
        self._window = Window(self)
        self.use_own_stream()
        # What is there now lives as long as the worker: collections look at what a kernel makes only.
        gc.freeze()

    @property
    def driver(self):
        """The CUDA driver."""
        return self._driver

    @property
    def stream(self):
        """The stream on which everything runs."""
        return self._stream

    @property
    def digester(self):
        """The lab's own kernels; None where the driver cannot compile them."""
        return self._digester

    def _load_digester(self):
        try:
            return Digester(self._driver, self._stream, self._info["sms"], self._info["max_shared_bytes"])
        except Failure:
            # A container may lack the driver's compiler. Memory is then compared on the host.
            return None

    def _describe(self, device):
        driver, torch = self._driver, self._torch

        def attribute(number):
            return driver.ask(_c_int, "cuDeviceGetAttribute", number, device, action="read the device's limits")

        name, uuid = ctypes.create_string_buffer(256), ctypes.create_string_buffer(16)
        driver.call("cuDeviceGetName", name, 256, device, action="ask for the device's name")
        driver.call("cuDeviceGetUuid_v2", uuid, device, action="ask for the device's identifier")
        free, total = _c_size(), _c_size()
        driver.code("cuMemGetInfo_v2", _byref(free), _byref(total))
        version = driver.ask(_c_int, "cuDriverGetVersion", action="ask for the driver's version")
        digits = uuid.raw.hex()
        groups = [digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
        return {"name": name.value.decode("utf-8", "replace"), "emulated": False, "sms": attribute(_SMS),
                "arch": f"sm_{attribute(_MAJOR)}{attribute(_MINOR)}", "max_shared_bytes": attribute(_SHARED_BYTES),
                "l2_bytes": attribute(_L2_BYTES), "memory_bytes": total.value, "uuid": "GPU-" + "-".join(groups),
                "driver": f"CUDA {version // 1000}.{version % 1000 // 10}{_driver_file()}; PyTorch {torch.__version__}"
                          f"{_triton_version()}, Python {platform.python_version()}"}

    def info(self):
        """The device as the judge's DeviceInfo."""
        return self._info

    def use_own_stream(self):
        """Makes the worker's context and stream current again, whatever a kernel has made current."""
        self._driver.call("cuCtxSetCurrent", self._context, action="make the device current")
        self._set_device(self._ordinal)
        self._set_stream(**self._own)

    def wait(self, action):
        """Waits for the stream."""
        self._driver.call("cuStreamSynchronize", self._stream, action=action)

    def allocate(self, length):
        """Allocates memory in whole pages, and returns its address. Raises Crash if a kernel holds the memory."""
        length = -(-max(length, 1) // PAGE) * PAGE
        address = _c_u64()
        code = self._driver.code("cuMemAlloc_v2", _byref(address), length)
        if code == OUT_OF_MEMORY:
            _collect()
            self._empty_cache()
            code = self._driver.code("cuMemAlloc_v2", _byref(address), length)
        if code == OUT_OF_MEMORY and self._reserved(self._ordinal) > length:
            raise Crash(f"the kernel holds {self._reserved(self._ordinal) >> 20} MiB of device memory after its launch, and "
                        f"{length >> 20} MiB for the next buffer cannot be had")
        if code:
            self._driver.fail(code, f"get {length >> 20} MiB of device memory")
        self._tensors[address.value] = (length, self._as_tensor(_Allocation(address.value, length), device=self._place))
        return address.value

    def free(self, base):
        """Frees an allocation."""
        self._forget(base)
        self._driver.call("cuMemFree_v2", base, action="free device memory")

    def _forget(self, base):
        length, _ = self._tensors.pop(base)
        self._views = {named: view for named, view in self._views.items() if not base <= named[0] < base + length}

    def map(self, descriptor, length):
        """Maps so many bytes of the judge's own worker, and returns the Block. The caller keeps the descriptor."""
        handle = self._driver.ask(_c_u64, "cuMemImportFromShareableHandle", descriptor, _DESCRIPTOR,
                                  action="take over device memory of the judge")
        block = Block(handle, length)
        self._map_at_new_address(block)
        return block

    def _map_at_new_address(self, block):
        driver, length = self._driver, block.length
        block.base = base = driver.ask(_c_u64, "cuMemAddressReserve", length, PAGE, 0, 0, action="reserve addresses")
        driver.call("cuMemMap", base, length, 0, block.handle, 0, action="map device memory")
        access = Access(_ON_DEVICE, self._device, _READ_AND_WRITE)
        driver.call("cuMemSetAccess", base, length, _byref(access), 1, action="open mapped device memory")
        self._tensors[base] = (length, self._as_tensor(_Allocation(base, length), device=self._place))

    def map_elsewhere(self, blocks):
        """Gives these blocks other addresses. What lay at the earlier ones is not there any more."""
        earlier = [(block.base, block.length) for block in blocks]
        for (base, length), block in zip(earlier, blocks):
            self._forget(base)
            self._driver.call("cuMemUnmap", base, length, action="end a mapping of device memory")
            self._map_at_new_address(block)
        # Not before: a block could get the address that it had.
        for base, length in earlier:
            self._driver.call("cuMemAddressFree", base, length, action="give addresses back")

    def unmap(self, block):
        """Ends the mapping of a Block."""
        self._forget(block.base)
        self._driver.call("cuMemUnmap", block.base, block.length, action="end a mapping of device memory")
        self._driver.call("cuMemAddressFree", block.base, block.length, action="give addresses back")
        self._driver.call("cuMemRelease", block.handle, action="let go of device memory")

    def upload(self, address, content):
        """Writes bytes to memory."""
        if len(content):
            self._driver.call("cuMemcpyHtoDAsync_v2", address, bytes(content), len(content), self._stream,
                              action=f"copy {len(content)} bytes to the device")
            self.wait("copy to the device")

    def download(self, address, length):
        """Returns bytes of memory."""
        content = bytearray(length)
        if length:
            target = (_Character * length).from_buffer(content)
            self._driver.call("cuMemcpyDtoHAsync_v2", target, address, length, self._stream,
                              action=f"copy {length} bytes from the device")
            self.wait("copy from the device")
        return content

    def copy(self, target, source, length):
        """Copies memory of the device. What follows on the stream waits for the copy."""
        self._driver.call("cuMemcpyDtoDAsync_v2", target, source, length, self._stream, action="copy device memory")

    def fill(self, address, length, pattern):
        """Fills memory with a repeated 32-bit pattern. `length` is a multiple of 4."""
        action = f"fill {length} bytes of device memory"
        self._driver.call("cuMemsetD32Async", address, pattern, length // 4, self._stream, action=action)
        self.wait(action)

    def flush_cache(self, address, length, pattern):
        """As `fill`. Nothing else is in the L2 cache afterwards, if the memory is larger than the cache."""
        self._driver.let_go_of_kept_lines()
        self.fill(address, length, pattern)

    def digests(self, ranges, key):
        """The digest of each range under a key; None where the driver cannot compile the lab's kernels."""
        return None if self._digester is None else self._digester.digests(ranges, key)

    def scrub(self):
        """Wipes the shared memory of the multiprocessors."""
        if self._digester is not None:
            self._digester.scrub()
        self.wait("wipe shared memory")

    def wipe(self):
        """Overwrites memory of PyTorch: free memory, and tensors that have outlived their modules.

        Small tensors keep their content: they may be constants of compiled functions.
        """
        _collect()
        if self._wipes < _FROZEN_WIPES:
            # What a first compilation has made lives on. Each later collection would look at all of it.
            _freeze()
        self._wipes += 1
        self.use_own_stream()
        for segment in self._snapshot():
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "inactive" or block["size"] >= _KEPT_BYTES:
                    self._driver.call("cuMemsetD32Async", address, _POISON, block["size"] // 4, self._stream,
                                      action="wipe memory that PyTorch keeps")
                address += block["size"]
        self.wait("wipe memory that PyTorch keeps")
        self._window.reloaded()

    def view(self, address, word, shape, is_input, strides=None):
        """A PyTorch tensor of this memory, with strides in elements if it is a part of a tensor."""
        kind = self._types.get(word)
        if kind is None:
            raise Lab(f"a tensor is of type {word}, which PyTorch {self._torch.__version__} does not have")
        without_functions, without_dispatch = self._without_modes
        with without_functions(), without_dispatch():
            if dtypes.cells(shape) == 0:
                return self._empty(shape, dtype=kind, device=self._place)
            span = dtypes.span(shape, strides)
            named = address, word, span
            known = self._views.get(named)
            if known is None:
                known = self._views[named] = self._view(address, span * dtypes.SIZES[word], kind)
            # A new object, so that a kernel changes no other call's.
            return self._reshaped(known, shape) if strides is None else self._strided(known, shape, strides)

    def _view(self, address, length, kind):
        for base, (allocated, tensor) in self._tensors.items():
            if base <= address < base + allocated:
                return self._reshaped(self._part(tensor, slice(address - base, address - base + length)), kind)
        raise Lab(f"no buffer lies at {address:#x}")

    def run(self, calls, flush, as_graph):
        """Runs the calls one after the other. Returns the seconds, and why they did not run as a graph."""
        seconds, uncaptured = self._window.run(calls, flush, as_graph)
        for call in calls:
            call.let_go()
        return seconds, uncaptured

    def resources(self, calls):
        """What a single call's Triton kernels use of the device."""
        return triton_kernels.resources(calls[0].module.namespace) if len(calls) == 1 else []

    def compiled(self, namespace):
        """What the Triton kernels among these globals have compiled, for `use_compiled`."""
        return triton_kernels.kernels(namespace)

    def use_compiled(self, compiled, namespace):
        """Lets a module that was executed anew use its earlier compiled code."""
        triton_kernels.use_compiled(compiled, namespace)


def _driver_file():
    try:
        with open("/sys/module/nvidia/version", encoding="ascii") as file:
            return f", driver {file.read().strip()}"
    except OSError:
        return ""


def _triton_version():
    try:
        import triton
    except Exception:  # noqa: B902: not every PyTorch brings Triton, and a broken one is the kernel's problem
        return ""
    return f", Triton {triton.__version__}"
