"""The source files that the judge asks to load: each is executed as a module, and again for each reload."""

import difflib
import os
import sys
import types

from .calling import definition, described, line_of
from .compiled import empty
from .devices.triton_kernels import is_kernel
from .failures import Build, Lab, at_line, explain

# Bound here, so that a kernel that patches `builtins` does not change how the next module is loaded.
_open, _compile, _exec = open, compile, exec
_ModuleType, _FunctionType, _modules, _basename = types.ModuleType, types.FunctionType, sys.modules, os.path.basename
_close_matches = difflib.get_close_matches


class Module:
    """A source file and the module that executing it made."""

    def __init__(self, path, name, is_cpu):
        self.path, self.shown, self.is_cpu = path, _basename(path), is_cpu
        # The name in sys.modules. Two files of one name in one worker have different ones.
        self._name = name
        self._module = _ModuleType(name)
        # The globals of the functions: the same dictionary as long as the worker lives, see `empty`.
        self.namespace = self._module.__dict__
        self._code = None
        # Whether the memory of the device that its globals may hold was overwritten.
        self.is_wiped = False
        try:
            with _open(path, "rb") as file:
                self._source = file.read()
        except OSError as error:
            raise Lab(f"{path} cannot be read: {error}") from None

    def empty(self):
        """Removes what earlier launches left in the globals."""
        empty(self.namespace)

    def execute(self, process):
        """Executes the source. Raises Build with the text of an exception."""
        self.namespace.update({"__name__": self._name, "__file__": self.path, "__doc__": None, "__package__": None,
                               "__loader__": None, "__spec__": None})
        _modules[self._name] = self._module
        try:
            if self._code is None:
                self._code = _compile(self._source, self.path, "exec", dont_inherit=True)
            _exec(self._code, self.namespace)
        except BaseException as error:  # noqa: B902: also SystemExit and KeyboardInterrupt are the kernel's
            process.end_a_copy()
            _modules.pop(self._name, None)
            raise Build(explain(error, self.path, self.is_cpu)) from None
        process.end_a_copy()

    def function(self, entry):
        """The function of this name; None if the module has none, or something else under the name."""
        found = self.namespace.get(entry)
        return found if callable(found) else None

    def require(self, entry, parameters):
        """The function of this name. Raises Build with what the source must define."""
        found = self.namespace.get(entry)
        if is_kernel(found):
            text = (f"{entry} is a Triton kernel, and lab calls a Python function, which states the grid. Rename the "
                    f"kernel, and define `{definition(entry, parameters)}` with `kernel[grid](…)` in it")
            raise Build(at_line(self.shown, 0, text))
        if callable(found):
            return found
        line, there = self._nearest(entry) if found is None else (0, "")
        what = "there is no function" if found is None else f"{type(found).__name__} is no function:"
        text = (f"{what} {entry}{there}: {self.shown} must define `{definition(entry, parameters)}`, which writes into its "
                f"outputs and returns None. The parameters are: {described(parameters)}")
        raise Build(at_line(self.shown, line, text))

    def _nearest(self, entry):
        """The line of the function of this source whose name is most like this one, and words that name it; else 0 and no words."""
        own = {name: line_of(value) for name, value in self.namespace.items()
               if type(value) is _FunctionType and value.__code__.co_filename == self.path}
        near = _close_matches(entry, own, 1) or (list(own) if len(own) == 1 else [])
        return (own[near[0]], f" (line {own[near[0]]} defines {near[0]})") if near else (0, "")


class Modules:
    """The modules of a worker, by the judge's numbers."""

    def __init__(self, process, watch, is_cpu):
        self._process, self._watch, self._is_cpu, self._modules = process, watch, is_cpu, []

    def load(self, path):
        """Executes a file and returns its number."""
        number = len(self._modules)
        self._watch.allow(path)
        stem = _basename(path).partition(".")[0]
        module = Module(path, stem if number == 0 else f"{stem}_{number}", self._is_cpu)
        module.execute(self._process)
        self._modules.append(module)
        return number

    def get(self, number):
        """The module with this number. Raises Lab if there is none."""
        if not 0 <= number < len(self._modules):
            raise Lab(f"no module {number}")
        return self._modules[number]

    def reload(self, number, device):
        """Executes a module's source anew, so that its globals hold nothing of earlier launches.

        What modules hold on the device is wiped. So each other module is executed anew when it is used next.
        """
        module = self.get(number)
        self._execute_again(module, device, device.wipe)
        if device.wipe is not None:
            for other in self._modules:
                other.is_wiped = other is not module

    def use(self, number, device):
        """The module with this number, for a launch."""
        module = self.get(number)
        if module.is_wiped:
            self._execute_again(module, device, None)
        return module

    def _execute_again(self, module, device, between):
        compiled = device.compiled(module.namespace)
        module.empty()
        if between is not None:
            between()
        module.execute(self._process)
        module.is_wiped = False
        device.use_compiled(compiled, module.namespace)
