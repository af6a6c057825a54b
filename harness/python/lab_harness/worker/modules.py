"""The source files that the judge asks to load: each is executed as a module, and again for each reload."""

import builtins
import difflib
import io
import sys
import tokenize
import types

from .calling import Entry, definition, described
from .compiled import empty
from .devices.triton_interpreter import read_tf32
from .devices.triton_kernels import is_kernel, tune_nothing
from .failures import Build, Lab, at_line, blame, is_in, type_name
from .private import BUILTINS as __builtins__
from .sources import imported_packages

_ModuleType, _modules = types.ModuleType, sys.modules
_FunctionType, _close_matches = types.FunctionType, difflib.get_close_matches
_detect_encoding, _BytesIO = tokenize.detect_encoding, io.BytesIO
# What a kernel gets: not the worker's own.
_kernels_builtins = vars(builtins)

# The packages whose functions take PyTorch tensors.
_TORCH = {"torch", "triton"}

# How often torch.compile compiles a function, and whether it fails where it would compile no more.
_RECOMPILATIONS = {"recompile_limit": 1 << 12, "accumulated_recompile_limit": 1 << 16, "fail_on_recompile_limit_hit": True}

# How files begin that are no UTF-8.
_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Module:
    """A source file and the module that executing it made."""

    def __init__(self, path, name, is_cpu, functions):
        self.path, self.shown, self.is_cpu = path, path.rpartition("/")[2], is_cpu
        # The functions for entries of other names, which only a peer has.
        self._functions = functions
        self.is_peer = bool(functions)
        # The name in sys.modules. Two files of one name in one worker have different ones.
        self._name = name
        self._module = _ModuleType(name)
        # The globals of the functions: the same dictionary as long as the worker lives, see `empty`.
        self.namespace = self._module.__dict__
        self._code = None
        # The functions that launches call, by name.
        self._entries = {}
        # Whether the memory of the device that its globals may hold was overwritten.
        self.is_wiped = False
        # Whether its functions get PyTorch tensors on the cpu device, and not NumPy arrays.
        self.uses_torch = False
        try:
            with open(path, "rb") as file:
                self._source = file.read()
        except OSError as error:
            raise Lab(f"{path} cannot be read: {error}") from None

    @property
    def text(self):
        """The source as text."""
        encoding, _ = _detect_encoding(_BytesIO(self._source).readline)
        return self._source.decode(encoding, "replace")

    def empty(self):
        """Removes what earlier launches left in the globals."""
        empty(self.namespace)

    def execute(self, process, interpreter):
        """Executes the source. Raises Build with the text of an exception."""
        self.namespace.update({"__name__": self._name, "__file__": self.path, "__doc__": None, "__package__": None,
                               "__loader__": None, "__spec__": None, "__builtins__": _kernels_builtins})
        _modules[self._name] = self._module
        try:
            if self._code is None:
                self._code = self._compiled()
            exec(self._code, self.namespace)
            if self.is_cpu:
                tune_nothing(self.namespace)
                read_tf32()
            _compile_each_shape()
            self._entries = {name: self._entry(name) for name in self._entries}
        except Build:
            raise
        except BaseException as error:  # noqa: B902: also SystemExit and KeyboardInterrupt are the kernel's
            _modules.pop(self._name, None)
            raise blame(Build, error, self.path, self.is_cpu) from None
        finally:
            process.end_a_copy()
            interpreter.restore()
            left = interpreter.thread_left(self, "after it was loaded")
            interpreter.go_on()
        if left is not None:
            raise Build(left)

    def _compiled(self):
        """The code of the source. Raises Build for bytes that are no text of Python."""
        for mark, name in _MARKS.items():
            if self._source.startswith(mark):
                raise Build(at_line(self.shown, 1, f"the file is {name}: save it as UTF-8, which Python reads"))
        try:
            _detect_encoding(_BytesIO(self._source).readline)
        except SyntaxError as error:
            raise Build(at_line(self.shown, _line_of_cookie(self._source), f"{error.msg or error}: Python cannot read the file. "
                                "Save it as UTF-8, and remove the line `coding:`")) from None
        return compile(self._source, self.path, "exec", dont_inherit=True)

    def _entry(self, name):
        found = self.namespace.get(name)
        return Entry(name, found, self) if callable(found) and not is_kernel(found) else None

    def name_of(self, entry):
        """The name of the function that an entry calls: that of the entry, unless the judge named another."""
        return self._functions.get(entry, entry)

    def entry(self, entry):
        """The function that this entry calls, as it was right after the source was executed; None if the module has no function of
        its name."""
        name = self.name_of(entry)
        if name not in self._entries:
            self._entries[name] = self._entry(name)
        return self._entries[name]

    def require(self, entry, parameters):
        """The function that this entry calls. Raises Build with what the source must define."""
        known = self.entry(entry)
        if known is not None:
            return known
        entry = self.name_of(entry)
        found = self.namespace.get(entry)
        if is_kernel(found):
            text = (f"{entry} is a Triton kernel, and lab calls a Python function, which states the grid. Rename the "
                    f"kernel, and define `{definition(entry, parameters)}` with `kernel[grid](…)` in it")
            raise Build(at_line(self.shown, 0, text))
        line, there = self._nearest(entry) if found is None else (0, "")
        what = "there is no function" if found is None else f"{type_name(type(found)).replace('builtins.', '')} is no function:"
        text = (f"{what} {entry}{there}: {self.shown} must define `{definition(entry, parameters)}`, which writes into its "
                f"outputs and returns None. The parameters are: {described(parameters)}")
        raise Build(at_line(self.shown, line, text))

    def _nearest(self, entry):
        """The line of the function of this source whose name is most like this one, and words that name it; else 0 and no words."""
        own = {name: value.__code__.co_firstlineno for name, value in self.namespace.items()
               if type(value) is _FunctionType and value.__code__.co_filename == self.path}
        near = _close_matches(entry, own, 1) or (list(own) if len(own) == 1 else [])
        return (own[near[0]], f" (line {own[near[0]]} defines {near[0]})") if near else (0, "")


def _compile_each_shape():
    """Lets torch.compile compile each shape. After eight it would run the function as it is and only log that: the time would be
    that of the eager function."""
    config = _modules.get("torch._dynamo.config")
    for name, most in _RECOMPILATIONS.items():
        if hasattr(config, name):
            setattr(config, name, most)


def _line_of_cookie(source):
    """The line, of the first two, that says how the source is encoded."""
    return 2 if b"coding" not in source.partition(b"\n")[0] and b"coding" in source else 1


class Modules:
    """The modules of a worker, by the judge's numbers."""

    def __init__(self, process, interpreter, watch, is_cpu):
        self._process, self._interpreter, self._watch, self._is_cpu = process, interpreter, watch, is_cpu
        self._modules = []

    def load(self, path, functions=()):
        """Executes a file and returns its number. `functions` are pairs: an entry, and the function that it calls."""
        number = len(self._modules)
        self._watch.allow(path)
        # A file of the user's own may have the name of a package that it imports.
        stem = "peer" if functions else path.rpartition("/")[2].partition(".")[0]
        module = Module(path, stem if number == 0 else f"{stem}_{number}", self._is_cpu, dict(functions))
        before = _modules.keys() & _TORCH
        module.execute(self._process, self._interpreter)
        # Modules of the kernel's own import for it.
        used = (imported_packages(module.text) | (_modules.keys() - before)) & _TORCH
        module.uses_torch = self._is_cpu and bool(used)
        self._modules.append(module)
        return number

    def packages(self):
        """The packages that the sources import."""
        return set().union(*[imported_packages(module.text) for module in self._modules])

    def where(self, error):
        """The module whose code was being executed when an exception was raised; None if none was."""
        return next((module for module in self._modules if is_in(error, module.path)), None)

    def get(self, number):
        """The module with this number. Raises Lab if it does not exist."""
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
        module.execute(self._process, self._interpreter)
        module.is_wiped = False
        device.use_compiled(compiled, module.namespace)
