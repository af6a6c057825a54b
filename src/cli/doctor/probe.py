# What `lab doctor` runs in the interpreter: it prints one line with what is there. Arguments: a source, and the folders in which its
# modules may be. The source is read and not executed. No file of the current folder takes the name of a package.
import sys

sys.path[:] = [folder for folder in sys.path if folder]

import ast
import importlib
import importlib.util
import json
import os
import platform

found = {"version": platform.python_version(), "packages": {}}
for name in ("numpy", "ml_dtypes", "torch", "triton", "cupy"):
    package = {}
    try:
        module = importlib.import_module(name)
        package["version"] = str(getattr(module, "__version__", "of an unknown version"))
        if name == "torch":
            package["cuda"] = module.version.cuda
            package["sees_gpu"] = bool(module.cuda.is_available())
    except ModuleNotFoundError as error:
        # A package that lacks one of its own is there and broken.
        if error.name != name:
            package["error"] = str(error)
    except BaseException as error:
        package["error"] = f"{type(error).__name__}: {error}"
    found["packages"][name] = package


def is_there(name, folders):
    if name == "lab_harness" or any(os.path.exists(os.path.join(folder, name + end)) for folder in folders for end in ("", ".py")):
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except BaseException:
        return False


if len(sys.argv) > 1:
    source, folders = sys.argv[1], sys.argv[2:]
    try:
        with open(source, "rb") as file:
            body = ast.parse(file.read()).body
    except SyntaxError as error:
        body, found["syntax"] = [], f"{error.lineno}: {error.msg}"
    except (OSError, ValueError):
        body = []
    # Imports that are tried, or stand in a function, may fail.
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in body if isinstance(node, ast.ImportFrom) and node.level == 0]
    found["missing"] = sorted({name.split(".")[0] for name in names if not is_there(name.split(".")[0], folders)})
print("\nlab-doctor: " + json.dumps(found), flush=True)
