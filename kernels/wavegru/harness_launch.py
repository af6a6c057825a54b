"""The buffers of the kernel between guard zones, a launch on either device, and what a launch did wrong by itself.

A device (harness_cpu.py, harness_cuda.py) builds a kernel, allocates memory and launches; this file knows the parameters.
"""

import ctypes
import secrets

import numpy as np

ENTRY = "wavegru"  # the name of the kernel

# The header that kernel.cu gets beside lab.h: the arguments of its launch statement, and its own last argument.
PROBLEM_HEADER = """\
#pragma once
struct LabDims { int hidden; int steps; int teacher; };
struct LabRun { int steps; int first_token; unsigned seed_low, seed_high; float temperature; float min_p; };
"""

WORK_BYTES = 8 << 20  # of the kernel's scratch memory, zeros before every launch
FRONT, BACK = 64 << 10, 256 << 10  # bytes of the guard zones before and behind each buffer
POISON = 0xFFC0_FFEE  # what unwritten cells hold: NaN as a float, no token as an int

# ---- Errors --------------------------------------------------------------------------------------------------------


class DeviceError(Exception):
    """The device cannot be used: something is missing on this machine. The kernel is not at fault."""


class BuildError(Exception):
    """The kernel does not build. The text is the compiler's log."""


class LaunchError(Exception):
    """A launch failed."""


# ---- For ctypes ----------------------------------------------------------------------------------------------------


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
    memory) and the address of a LabShape, which it fills; lab.h has the structs.
    """
    device = kernel.device
    about = np.array([device.sms, device.max_shared_bytes], dtype=np.uint32).tobytes()
    answer = device.allocate(64 << 10)  # more than a LabShape
    kernel.run_launch_statement([dims, about, answer.address])
    shape = answer.read()[: 15 * 4].view(np.uint32).tolist()
    cluster, maps = shape[8:11], shape[12]
    if cluster != [1, 1, 1] or maps:
        raise LaunchError("harness.py launches neither clusters nor tensor maps: judge this kernel with lab")
    return shape[:8]


# ---- Memory: buffers between guard zones ---------------------------------------------------------------------------


class Buffer:
    """A buffer of the kernel. Before and behind it lies random noise, which no launch may change."""

    def __init__(self, device, name, nbytes):
        self.name, self.nbytes = name, nbytes
        self.memory = device.allocate(FRONT + nbytes + BACK)
        self.noise = np.frombuffer(secrets.token_bytes(FRONT + BACK), dtype=np.uint8)
        self.memory.write(self.noise[:FRONT])
        self.memory.write(self.noise[FRONT:], FRONT + nbytes)
        self.address = self.memory.address + FRONT
        self.input = None  # the bytes that a launch must leave as they are; None for an output

    def write(self, array, is_input=False):
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self.memory.write(content, FRONT)
        self.input = content.copy() if is_input else None

    def read(self, dtype):
        """Returns the content, and a sentence for each rule that a launch broke in this buffer."""
        everything = self.memory.read()
        content = everything[FRONT : FRONT + self.nbytes]
        broken = []
        around = np.concatenate([everything[:FRONT], everything[FRONT + self.nbytes :]])
        wrong = np.flatnonzero(around != self.noise)
        if wrong.size:
            at = int(wrong[0]) - FRONT if wrong[0] < FRONT else int(wrong[0]) - FRONT + self.nbytes
            broken.append(("out_of_bounds", f"the kernel wrote outside {self.name}: at byte {at} from its beginning"))
            self.memory.write(self.noise[:FRONT])
            self.memory.write(self.noise[FRONT:], FRONT + self.nbytes)
        if self.input is not None and not np.array_equal(content, self.input):
            at = int(np.flatnonzero(content != self.input)[0])
            broken.append(("inputs_changed", f"the kernel changed its input {self.name}: first at byte {at}"))
            self.memory.write(self.input, FRONT)
        return content.view(dtype), broken


class Launcher:
    """The buffers of a model, and the two kinds of launch. The parameters of the kernel are in the order of README.md."""

    def __init__(self, device, weights, hidden, steps):
        self.hidden, self.steps = hidden, steps
        self.weights = [Buffer(device, name, values.nbytes) for name, values in weights.items()]
        for buffer, values in zip(self.weights, weights.values()):
            buffer.write(values, is_input=True)
        self.h0, self.h1 = Buffer(device, "h0", 4 * hidden), Buffer(device, "h1", 4 * hidden)
        self.forced, self.tokens = Buffer(device, "forced", 4 * steps), Buffer(device, "tokens", 4 * steps)
        self.teacher_prob = Buffer(device, "teacher_prob", 4 * steps)
        self.work = Buffer(device, "work", WORK_BYTES)

    def launch(self, kernel, run, forced=None, order="forward"):
        """Launches once. Without `forced` the kernel samples; with tokens it is teacher-forced.

        What a buffer holds before depends on this launch alone. Returns the outputs by name, among them `seconds`, and
        `broken`: a (gate, sentence) for each rule that the launch broke.
        """
        self.h0.write(run.h0)
        self.h1.write(run.h1)
        poison = np.full(self.steps, POISON, dtype=np.uint32)
        self.forced.write(poison if forced is None else forced, is_input=forced is not None)
        self.tokens.write(poison)
        self.teacher_prob.write(poison)
        self.work.write(np.zeros(WORK_BYTES, dtype=np.uint8))

        dims = np.array([self.hidden, self.steps, forced is not None], dtype=np.int32).tobytes()
        lab_run = np.array([run.steps, run.first_token], dtype=np.int32).tobytes()
        lab_run += np.array([run.seed & 0xFFFF_FFFF, run.seed >> 32], dtype=np.uint32).tobytes()
        lab_run += np.array([run.temperature, run.min_p], dtype=np.float32).tobytes()
        arguments = [buffer.address for buffer in self.weights]
        arguments += [self.h0.address, self.h1.address, 0 if forced is None else self.forced.address]
        arguments += [self.tokens.address, self.teacher_prob.address, self.work.address, lab_run]
        seconds = kernel.launch(dims, arguments, order)

        outputs, broken = {"seconds": seconds}, []
        types = {"h0": np.float32, "h1": np.float32, "tokens": np.int32, "teacher_prob": np.float32}
        others = [*self.weights, self.forced, self.work]
        for buffer in [self.h0, self.h1, self.tokens, self.teacher_prob, *others]:
            content, rules = buffer.read(types.get(buffer.name, np.uint8))
            broken += rules
            if buffer.name in types:
                outputs[buffer.name] = content
        written = ["h0", "h1", "tokens" if forced is None else "teacher_prob"]
        for name in written:
            broken += [("", sentence) for sentence in unwritten_or_not_finite(name, outputs[name])]
        return {**outputs, "broken": broken}


def unwritten_or_not_finite(name, values):
    """Sentences about cells that still hold poison, and about NaN and infinity."""
    unwritten = np.flatnonzero(values.view(np.uint32) == POISON)
    if unwritten.size:
        yield f"{name}[{unwritten[0]}] was never written ({unwritten.size} of {values.size} cells were not)"
    wrong = [] if values.dtype == np.int32 else np.flatnonzero(~np.isfinite(values) & (values.view(np.uint32) != POISON))
    if len(wrong):
        yield f"{name}[{wrong[0]}] is {float(values[wrong[0]])}"
