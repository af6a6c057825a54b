"""Where Python searches for the modules of the user's sources."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def module_folders():
    """The folders of PYTHONPATH, beside that of this package: kernels import modules of their own from there."""
    named = os.environ.get("PYTHONPATH", "").split(":")
    return [os.path.abspath(folder) for folder in named if folder and folder != _PACKAGE]


def search(folders):
    """Searches these folders after Python's own library and before other packages, in place of those of PYTHONPATH.

    Python itself searches them first, and a `ctypes.py` beside a kernel would take the place of Python's.
    """
    before = module_folders() + folders
    others = [folder for folder in sys.path if folder and os.path.abspath(folder) not in before]
    packages = (at for at, folder in enumerate(others) if folder.endswith(("site-packages", "dist-packages")))
    at = next(packages, len(others))
    sys.path[:] = others[:at] + folders + others[at:]
