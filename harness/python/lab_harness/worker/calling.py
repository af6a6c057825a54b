"""Calls of a kernel's function: finds each argument by the name of its parameter, and checks how the call ended."""

import copy
import gc
import inspect
import sys
import threading

from . import dtypes
from .failures import Build, Crash, Lab, at_line, explain

_signature, _unwrap = inspect.signature, inspect.unwrap
_Parameter = inspect.Parameter
_copy = copy.copy
_current_frames, _get_ident, _threads, _Timer = sys._current_frames, threading.get_ident, threading.enumerate, threading.Timer
_recursion_limit = sys.getrecursionlimit()
_gc_disable, _gc_enable, _gc_callbacks = gc.disable, gc.enable, gc.callbacks
_set_recursion_limit, _set_trace, _set_profile = sys.setrecursionlimit, sys.settrace, sys.setprofile


def stop_collections():
    """Collects no garbage from now on, and forgets the callbacks of collections."""
    _gc_disable()
    _gc_callbacks.clear()


def go_on_collecting():
    """Collects garbage again."""
    _gc_enable()


def described(parameters):
    """The parameters as a message lists them: `a (f32), x (f32, 4 × 8)`."""
    def one(parameter):
        shape = parameter.get("shape")
        extents = " × ".join(str(extent) for extent in shape) if shape is not None else ""
        kind = parameter["dtype"] + (f", {extents}" if shape else ", one cell" if shape is not None else "")
        return f"{parameter['name']} ({kind})"
    return ", ".join(one(parameter) for parameter in parameters)


def definition(entry, parameters):
    """The first line of the function that a problem needs."""
    return f"def {entry}({', '.join(parameter['name'] for parameter in parameters)}):"


def bind(module, function, entry, parameters, values):
    """Returns the positional and the named arguments of a call. Raises Build if the function's parameters do not fit."""
    name, line = module.shown, line_of(function)
    try:
        wanted = list(_signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise Build(at_line(name, line, f"the parameters of {entry} cannot be read: {error}")) from None
    except BaseException as error:  # noqa: B902: a callable object may have its own code for them
        raise Build(explain(error, module.path)) from None
    given = {parameter["name"]: value for parameter, value in zip(parameters, values)}
    positional, named, takes_rest = [], {}, False
    for parameter in wanted:
        if parameter.kind is _Parameter.VAR_KEYWORD:
            takes_rest = True
        elif parameter.kind is _Parameter.VAR_POSITIONAL:
            text = f"{entry} takes *{parameter.name}, and arguments are given by name: write {definition(entry, parameters)}"
            raise Build(at_line(name, line, text))
        elif parameter.name in given:
            value = given.pop(parameter.name)
            if parameter.kind is _Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[parameter.name] = value
        elif parameter.default is _Parameter.empty:
            text = (f"{entry} has the parameter {parameter.name}, which the problem does not have. The problem has: "
                    f"{described(parameters)}")
            raise Build(at_line(name, line, text))
    if takes_rest:
        named.update(given)
    return positional, named


def line_of(function):
    """The line of a function's `def`; 0 if it is unknown."""
    try:
        return _unwrap(function).__code__.co_firstlineno
    except (AttributeError, ValueError):
        return 0


def expect_no_thread(module):
    """Raises Crash if a thread is executing the source of this module, or a timer waits to do so: a launch is over when it returns."""
    own = _get_ident()
    for thread, frame in _current_frames().items():
        while frame is not None and thread != own:
            if frame.f_code.co_filename == module.path:
                text = f"the kernel left 1 thread running after its launch, in {frame.f_code.co_name}"
                raise Crash(at_line(module.shown, frame.f_lineno, text))
            frame = frame.f_back
    if any(isinstance(thread, _Timer) and thread.is_alive() for thread in _threads()):
        raise Crash(at_line(module.shown, 0, "the kernel left a timer running after its launch"))


class Call:
    """One call of a kernel's function, as a launch states it."""

    def __init__(self, module, function, launch, memory, device, process):
        self.module, self.entry = module, module.name_of(launch["entry"])
        self._function, self._process, self._device = function, process, device
        self._parameters, self._args = launch["parameters"], launch["args"]
        # Address, length, and whether it is an input, of each argument that is a buffer; else None.
        self._places = [_place(arg, parameter, memory) for arg, parameter in zip(self._args, self._parameters)]
        self._positional = self._named = None

    @property
    def kind(self):
        """What decides which code a call compiles: two calls of one kind compile once."""
        shapes = tuple((p["name"], p["dtype"], tuple(p.get("shape") or ())) for p in self._parameters)
        return self.module.path, self.entry, shapes

    @property
    def buffers(self):
        """Address and length of each buffer."""
        return list({place[:2]: None for place in self._places if place is not None})

    @property
    def outputs(self):
        """Address and length of each buffer that the call may write."""
        return [place[:2] for place in self._places if place is not None and not place[2]]

    def at(self, address_of):
        """This call, with its buffers where `address_of` has put them. Raises Build if the function's parameters do not fit."""
        values = [self._value(*item, address_of) for item in zip(self._args, self._parameters, self._places)]
        call = _copy(self)
        call._positional, call._named = bind(self.module, self._function, self.entry, self._parameters, values)
        return call

    def _value(self, arg, parameter, place, address_of):
        if place is not None:
            address, _, is_input = place
            return self._device.view(address_of(address), parameter["dtype"], parameter["shape"], is_input)
        try:
            return dtypes.scalar(parameter["dtype"], bytes(arg["Value"]))
        except ValueError as error:
            raise Lab(f"the parameter {parameter['name']}: {error}") from None

    def run(self):
        """Calls the function. Raises Crash if it raises, returns something, or opened what it must not."""
        try:
            result = self._function(*self._positional, **self._named)
        except BaseException as error:  # noqa: B902: also SystemExit and KeyboardInterrupt are the kernel's
            self._restore()
            raise Crash(explain(error, self.module.path, self.module.is_cpu)) from None
        self._restore()
        if result is not None:
            kind = type(result)
            text = (f"{self.entry} returned a value of type {kind.__module__}.{kind.__qualname__}: it must write into "
                    "its outputs and return None")
            raise Crash(at_line(self.module.shown, line_of(self._function), text))

    def _restore(self):
        """Takes back what a kernel can set in the interpreter and what would slow down or stop the worker."""
        self._process.end_a_copy()
        _set_trace(None)
        _set_profile(None)
        _set_recursion_limit(_recursion_limit)
        _gc_disable()
        _gc_callbacks.clear()


def _place(arg, parameter, memory):
    """Address, length, and whether it is an input, of an argument that is a buffer; else None."""
    if "Buffer" not in arg:
        return None
    buffer, shape = memory.get(arg["Buffer"]), parameter.get("shape")
    if shape is None:
        raise Lab(f"the parameter {parameter['name']} is a buffer without a shape")
    expected = dtypes.cells(shape) * dtypes.SIZES.get(parameter["dtype"], 0)
    if expected != buffer.length:
        raise Lab(f"{parameter['name']}: a shape of {expected} bytes on a buffer of {buffer.length}")
    return buffer.address, buffer.length, buffer.is_sealed
