"""What `torch.compile` has compiled for the functions of a module, across a reload.

PyTorch keeps what it has compiled with the code of a function. It also puts names of its own among the globals of the
module, and checks before a compiled function runs that the globals, as an object, are those that it knows. So a source is
compiled to code once, and each reload executes the code in the same dictionary, which holds these names only. Compiled
functions hold no values of earlier launches. Without this each turn would compile again, and PyTorch gives up after 8 times.
Works on names only, without an import of PyTorch.
"""

import builtins
import re
import sys
import types

from .private import BUILTINS as __builtins__

_modules, _Function, _Module = sys.modules, types.FunctionType, types.ModuleType
_all_builtins, _module_of = vars(builtins), vars(type)["__module__"].__get__
_COMPILED = re.compile(r"__(compiled_fn|import|builtins_dict|resume_at)_\w+").fullmatch


def _is_of_dynamo(name, value):
    """Whether Dynamo makes such a value under such a name. A kernel could hide results behind any other."""
    if "torch._dynamo" not in _modules:
        return False
    if name.startswith("__import_"):
        return type(value) is _Module
    if name.startswith("__builtins_dict_"):
        return value is _all_builtins
    module = _module_of(type(value))
    return type(value) is _Function or (type(module) is str and module.partition(".")[0] == "torch")


def empty(namespace):
    """Removes all globals, except those that compiled functions need."""
    kept = {name: value for name, value in namespace.items()
            if type(name) is str and _COMPILED(name) and _is_of_dynamo(name, value)}
    namespace.clear()
    namespace.update(kept)
