"""The packages that the loaded sources import, and their versions."""

import ctypes
import os
import platform
import sys

from .private import BUILTINS as __builtins__

_modules, _exact = sys.modules, str.__str__
_stdlib = getattr(sys, "stdlib_module_names", frozenset())
_PYTHON = platform.python_version()
# Libraries of NVIDIA that frameworks call, and the newest major version that is looked for.
_LIBRARIES, _NEWEST = ("cublas", "cudnn"), 24
_MODE = getattr(os, "RTLD_NOLOAD", None)


def of_packages(names):
    """Pairs of name and version: Python, and each of these packages that is loaded and says its version."""
    found = {"python": _PYTHON}
    for name in names:
        if name in _stdlib or name.startswith("_"):
            continue
        version = _version(name)
        if version:
            found[name] = version
    cuda = getattr(getattr(_modules.get("torch"), "version", None), "cuda", None)
    if "torch" in found and isinstance(cuda, str):
        found["cuda"] = _exact(cuda)
    for name in _LIBRARIES:
        version = _library(name)
        if version:
            found[name] = version
    return sorted(found.items())


def _library(name):
    """The version of a library that this process has loaded already; None if it has none."""
    for major in range(_NEWEST, 0, -1) if _MODE is not None else ():
        try:
            of = getattr(ctypes.CDLL(f"lib{name}.so.{major}", mode=_MODE), f"{name}GetProperty")
            parts = [ctypes.c_int() for _ in range(3)]
            if not any(of(kind, ctypes.byref(part)) for kind, part in enumerate(parts)):
                return ".".join(str(part.value) for part in parts)
        except (OSError, AttributeError):
            continue
    return None


def _version(name):
    """The version that a loaded package says, as a word of a line; None if it says none."""
    try:
        # That of PyTorch is of a class of its own.
        version = getattr(_modules.get(name), "__version__", None)
        return "".join(_exact(version).split()) if isinstance(version, str) else None
    except Exception:  # noqa: B902: a module may have its own code for its attributes
        return None
