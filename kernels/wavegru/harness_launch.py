"""What both devices of the harness need for a launch: errors, the launch statement, and arguments for ctypes."""

import ctypes

import numpy as np


class DeviceError(Exception):
    """The device cannot be used: something is missing on this machine. The kernel is not at fault."""


class BuildError(Exception):
    """The kernel does not build. The text is the compiler's log."""


class LaunchError(Exception):
    """A launch failed."""


def pointers_to(arguments):
    """The arguments of a kernel as CUDA takes them: an array of pointers, each to the value of one parameter.

    An integer is a device address (8 bytes). Bytes are a struct that the kernel gets by value.
    """
    values = [
        ctypes.c_uint64(argument) if isinstance(argument, int) else ctypes.create_string_buffer(argument, len(argument))
        for argument in arguments
    ]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    pointers.values = values  # they must live as long as the pointers
    return pointers


def launch_shape(kernel, dims):
    """Asks the kernel's launch statement, LAB_LAUNCH in kernel.cu: grid (3), block (3), shared_bytes, cooperative.

    The statement is a kernel of one thread. It gets `dims` (LabDims), the device (LabDevice: multiprocessors, shared
    memory, emulated) and the address of a LabShape, which it fills; lab.h has the structs.
    """
    device = kernel.device
    about = np.array([device.sms, device.max_shared_bytes, device.emulated], dtype=np.uint32).tobytes()
    answer = device.allocate(64 << 10)  # more than a LabShape
    kernel.run_launch_statement([dims, about, answer.address])
    shape = answer.read()[: 15 * 4].view(np.uint32).tolist()
    cluster, maps = shape[8:11], shape[12]
    if cluster != [1, 1, 1] or maps:
        raise LaunchError("harness.py launches neither clusters nor tensor maps: judge this kernel with lab")
    return shape[:8]
