# What `lab doctor` runs in the interpreter: it prints one line with what is there. No file of the current folder takes the name of
# a package.
import sys

sys.path[:] = [folder for folder in sys.path if folder]

import importlib
import json
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
print("\nlab-doctor: " + json.dumps(found), flush=True)
