"""The packages that the loaded sources use, and their versions."""

import platform
import sys

# Parts of the packages that are named, and the worker's own needs.
_PARTS = frozenset({"lab_harness", "numpy", "ml_dtypes"})


def of_packages():
    """Pairs of name and version: Python, NumPy, and every package that was imported and says its version."""
    stdlib = getattr(sys, "stdlib_module_names", frozenset())
    found = {"python": platform.python_version()}
    for name, module in list(sys.modules.items()):
        version = getattr(module, "__version__", None)
        is_package = "." not in name and not name.startswith("_") and name not in stdlib
        if is_package and type(version) is str and (name == "numpy" or name not in _PARTS):
            # The version stands as a word of a line.
            found[name] = "".join(version.split())
    cuda = getattr(getattr(sys.modules.get("torch"), "version", None), "cuda", None)
    if type(cuda) is str:
        found["cuda"] = cuda
    return sorted(found.items())
