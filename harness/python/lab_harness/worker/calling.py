"""Calls of a kernel's function: finds each argument by the name of its parameter, and checks how the call ended."""

import inspect
import sys

from . import dtypes
from .failures import Build, Crash, Lab, at_line, explain

_signature, _unwrap = inspect.signature, inspect.unwrap
_Parameter = inspect.Parameter
_recursion_limit = sys.getrecursionlimit()
_set_recursion_limit, _set_trace, _set_profile = sys.setrecursionlimit, sys.settrace, sys.setprofile


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
        wanted = _signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise Build(at_line(name, line, f"the parameters of {entry} cannot be read: {error}")) from None
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


class Call:
    """One call of a kernel's function, with its arguments."""

    def __init__(self, module, entry, function, arguments, process):
        self._module, self._entry, self._function = module, entry, function
        self._positional, self._named = arguments
        self._process = process

    @property
    def entry(self):
        """The name of the function."""
        return self._entry

    @property
    def module(self):
        """The module that holds the function."""
        return self._module

    def run(self):
        """Calls the function. Raises Crash if it raises, returns something, or opened what it must not."""
        try:
            result = self._function(*self._positional, **self._named)
        except BaseException as error:  # noqa: B902: also SystemExit and KeyboardInterrupt are the kernel's
            self._restore()
            raise Crash(explain(error, self._module.path)) from None
        self._restore()
        if result is not None:
            kind = type(result)
            text = (f"{self._entry} returned a value of type {kind.__module__}.{kind.__qualname__}: it must write into "
                    "its outputs and return None")
            raise Crash(at_line(self._module.shown, line_of(self._function), text))

    def _restore(self):
        """Takes back what a kernel can set in the interpreter and what would slow down or stop the worker."""
        self._process.end_a_copy()
        _set_trace(None)
        _set_profile(None)
        _set_recursion_limit(_recursion_limit)


def values_of(launch, parameters, view):
    """The arguments of a launch in the order of its parameters. `view` makes a tensor of a buffer and a parameter."""
    values = []
    for arg, parameter in zip(launch["args"], parameters):
        if "Buffer" in arg:
            if parameter.get("shape") is None:
                raise Lab(f"the parameter {parameter['name']} is a buffer without a shape")
            values.append(view(arg["Buffer"], parameter))
        else:
            try:
                values.append(dtypes.scalar(parameter["dtype"], bytes(arg["Value"])))
            except ValueError as error:
                raise Lab(f"the parameter {parameter['name']}: {error}") from None
    return values
