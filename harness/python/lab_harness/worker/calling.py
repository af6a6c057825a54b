"""Calls of a kernel's function: finds each argument by the name of its parameter, and checks how the call ended."""

import inspect
import types

from . import dtypes
from .failures import Build, Crash, Lab, at_line, blame, explain, explain_briefly, type_name
from .private import BUILTINS as __builtins__
from .sources import line_of_name

_signature, _exact = inspect.signature, str.__str__
_Parameter, _Function = inspect.Parameter, types.FunctionType
_new = object.__new__


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


class Entry:
    """A function that launches call, and what was known of it when its source had been executed.

    To ask an object of the kernel again, for each launch, would run the kernel's code where no time is taken.
    """

    def __init__(self, name, function, module):
        self.name, self.function, self._module = name, function, module
        # Name, kind, and whether it may be left out, of each parameter; else why they are not known.
        self.parameters = self.failure = None
        try:
            parameters = list(_signature(function).parameters.values())
            self.parameters = [(_exact(p.name), p.kind, p.default is not _Parameter.empty) for p in parameters]
        except (TypeError, ValueError) as error:
            self.failure = at_line(module.shown, self.line, f"the parameters of {name} cannot be read: {explain_briefly(error)}")
        except BaseException as error:  # noqa: B902: a callable object may have its own code for them
            self.failure = explain(error, module.path, module.is_cpu)

    @property
    def line(self):
        """The line where the source defines it; 0 if it is unknown."""
        function = self.function
        if type(function) is _Function and function.__code__.co_filename == self._module.path:
            return function.__code__.co_firstlineno
        return line_of_name(self._module.text, self.name)

    def bind(self, parameters, values):
        """The positional and the named arguments of a call. Raises Build if the function's parameters do not fit."""
        if self.failure is not None:
            raise Build(self.failure)
        given = {parameter["name"]: value for parameter, value in zip(parameters, values)}
        positional, named, takes_rest = [], {}, False
        for name, kind, is_optional in self.parameters:
            if kind is _Parameter.VAR_KEYWORD:
                takes_rest = True
            elif kind is _Parameter.VAR_POSITIONAL:
                self._refuse(f"{self.name} takes *{name}, and arguments are given by name: write "
                             f"{definition(self.name, parameters)}")
            elif name in given:
                value = given.pop(name)
                if kind is _Parameter.POSITIONAL_ONLY:
                    positional.append(value)
                else:
                    named[name] = value
            elif not is_optional:
                self._refuse(f"{self.name} has the parameter {name}, which the problem does not have. The problem has: "
                             f"{described(parameters)}")
        if takes_rest:
            named.update(given)
        return positional, named

    def _refuse(self, text):
        raise Build(at_line(self._module.shown, self.line, text))


class Call:
    """One call of a kernel's function, as a launch states it."""

    def __init__(self, module, entry, launch, memory, device, process, interpreter):
        self.module, self.entry = module, entry.name
        self._entry, self._process, self._device, self._interpreter = entry, process, device, interpreter
        self._parameters, self._args = launch["parameters"], launch["args"]
        # Address, length, and whether it is an input, of each argument that is a buffer; else None.
        self._places = [_place(arg, parameter, memory) for arg, parameter in zip(self._args, self._parameters)]
        self._positional = self._named = None
        # What the problem names of each output, and the output itself.
        self._outputs = []
        # What the function of a peer has returned.
        self._results = None

    @property
    def kind(self):
        """What decides which code a call compiles: two calls of one kind compile once."""
        shapes = tuple((p["name"], p["dtype"], tuple(p.get("shape") or ()), tuple(p.get("strides") or ()))
                       for p in self._parameters)
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
        call = _new(Call)
        call.__dict__.update(self.__dict__)
        call._positional, call._named = self._entry.bind(self._parameters, values)
        call._outputs = [(parameter["name"], value) for parameter, value, place in zip(self._parameters, values, self._places)
                         if place is not None and not place[2]]
        return call

    def _value(self, arg, parameter, place, address_of):
        if place is not None:
            address, _, is_input = place
            view = self._device.tensor if self.module.uses_torch else self._device.view
            _, offset = _buffer(arg)
            return view(address_of(address) + offset, parameter["dtype"], parameter["shape"], is_input,
                        parameter.get("strides"))
        try:
            return dtypes.scalar(parameter["dtype"], bytes(arg["Value"]))
        except ValueError as error:
            raise Lab(f"the parameter {parameter['name']}: {error}") from None

    def run(self):
        """Calls the function. Raises Crash if it raises, returns something although it is no peer, or leaves a thread that works."""
        try:
            result = self._entry.function(*self._positional, **self._named)
        except BaseException as error:  # noqa: B902: also SystemExit and KeyboardInterrupt are the kernel's
            self._process.end_a_copy()
            self._interpreter.restore()
            raise blame(Crash, error, self.module.path, self.module.is_cpu) from None
        self._process.end_a_copy()
        self._interpreter.restore()
        left = self._interpreter.thread_left(self.module, "after its launch")
        if left is not None:
            raise Crash(left)
        if self.module.is_peer:
            self._results = result
        elif result is not None:
            text = (f"{self.entry} returned a value of type {type_name(type(result))}: it must write into "
                    "its outputs and return None")
            raise Crash(at_line(self.module.shown, self._entry.line, text))

    def store(self):
        """Copies what a peer has returned to the outputs, once the time is taken: libraries return their results."""
        results, self._results = self._results, None
        if results is None:
            return
        if type(results) is not tuple:
            results = (results,)
        wanted = ", ".join(name for name, _ in self._outputs)
        if len(results) != len(self._outputs):
            self._refuse(f"{len(results)} value{'s' * (len(results) != 1)}, and the outputs are: {wanted}")
        for (name, output), result in zip(self._outputs, results):
            found = [getattr(result, what, None) for what in ("shape", "dtype")]
            if found != [output.shape, output.dtype]:
                # NumPy calls None equal to float64.
                is_array = found[0] is not None and found[1] is not None
                kind = f"{tuple(found[0])} of {found[1]}" if is_array else type_name(type(result)).replace("builtins.", "")
                self._refuse(f"{kind} for {name}, which is {tuple(output.shape)} of {output.dtype}")
            output[...] = result

    def _refuse(self, what):
        text = f"{self.entry} returned {what}: a peer returns its outputs in the problem's order, or writes into them"
        raise Crash(at_line(self.module.shown, self._entry.line, text))

    def let_go(self):
        """Drops the arguments, while the clock runs: what a kernel has attached to them may run now."""
        self._positional = self._named = None
        self._outputs = []


def _place(arg, parameter, memory):
    """Address, length, and whether it is an input, of an argument that is a buffer; else None."""
    if "Value" in arg:
        return None
    number, offset = _buffer(arg)
    buffer, shape = memory.place(number), parameter.get("shape")
    if shape is None:
        raise Lab(f"the parameter {parameter['name']} is a buffer without a shape")
    strides = parameter.get("strides")
    expected = dtypes.span(shape, strides) * dtypes.SIZES.get(parameter["dtype"], 0)
    if expected != buffer.length and (strides is None or offset + expected > buffer.length):
        raise Lab(f"{parameter['name']}: a shape of {expected} bytes on a buffer of {buffer.length}")
    return buffer.address, buffer.length, parameter.get("is_input", False)


def _buffer(arg):
    """The number of an argument's buffer, and the bytes before what the argument points to."""
    return arg["Part"] if "Part" in arg else (arg["Buffer"], 0)
