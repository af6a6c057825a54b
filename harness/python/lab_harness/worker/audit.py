"""Notes what a kernel opens that it has no business with: the reference, and the folder `.lab`.

Python calls an audit hook for each file, import and program that its own functions open. A hook cannot be removed. It
does not see what native code opens.
"""

import importlib
import os
import sys

from .private import BUILTINS as __builtins__

_REFERENCES = ("reference.py", "reference.cu")
_LAB_FOLDER = ".lab"
# The arguments of these events name files or programs.
_EVENTS = frozenset(["sys.addaudithook", "open", "import", "os.listdir", "os.scandir", "os.link", "os.symlink", "os.rename", "os.system",
                     "os.exec", "os.posix_spawn", "subprocess.Popen", "shutil.copyfile", "shutil.copytree",
                     "ctypes.dlopen"])
# Environment variables of the folders in which libraries keep their output. The folders may be below .lab.
_CACHES = ("TRITON_CACHE_DIR", "TRITON_HOME", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH", "CUPY_CACHE_DIR", "TMPDIR",
           "TORCH_EXTENSIONS_DIR", "XDG_CACHE_HOME", "MPLCONFIGDIR")

# Packages that add an audit hook when they are imported: torch.compile and other libraries import them for a kernel.
_WITH_HOOKS = ("filelock",)

# `os.fspath` is not Python code: nothing that a kernel sets changes it.
_fspath, _getcwd, _exact = os.fspath, os.getcwd, str.__str__


_NO_EXEC = ("a kernel must not replace its process by another program. Start a program beside it, as subprocess.run does, and wait for "
            "its end")


class Watch:
    """What kernels opened. It begins to note with `start`."""

    def __init__(self, process):
        self._process = process
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self._allowed = [package, sys.prefix, sys.base_prefix]
        self._allowed += [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
        self._allowed += [os.environ[name] for name in _CACHES if os.environ.get(name)]
        self._allowed = [_abspath(folder).rstrip("/") + "/" for folder in self._allowed]
        # Python looks through these for each import. The modules of a kernel are in a copy of the repository below .lab, and so may be
        # the folder that holds this package: a parent on standby has it on its search path, and PYTHONPATH does not name it here.
        searched = [os.path.dirname(package)] + os.environ.get("PYTHONPATH", "").split(":")
        self._searched = [_abspath(folder).rstrip("/") + "/" for folder in searched if folder]
        self._found = []
        self._is_noting = False

    def start(self):
        """Adds the hook to the interpreter."""
        for name in _WITH_HOOKS:
            try:
                importlib.import_module(name)
            except ImportError:
                pass
        sys.addaudithook(self._hook)
        self._is_noting = True

    def allow(self, path):
        """Lets kernels open this file, which the judge asked to load, and the files beside it."""
        self._allowed.append(_abspath(path).rpartition("/")[0] + "/")

    def found(self):
        """What was opened, as the end of a sentence; None if nothing was."""
        return self._found[0] if self._found else None

    def _hook(self, event, args):
        if event not in _EVENTS or not self._is_noting:
            return
        # The hook's own work must not be noted, nor can another exception be raised here: it would end the kernel's call.
        is_replacing = False
        try:
            if event == "sys.addaudithook":
                # It would run in the worker's own calls, where no time is taken.
                self._found.append("added an audit hook")
                return
            if event == "os.exec" and self._process.is_owner():
                is_replacing = True
                return
            if event == "import":
                if args and args[0] == "reference":
                    self._found.append("imported the module reference")
                return
            for text in _texts(args):
                for word in text.split() if event == "os.system" else [text]:
                    if self._is_forbidden(word):
                        self._found.append(f"opened {word}")
                        return
        except Exception:  # noqa: B902: an argument may be an object of the kernel with methods that raise
            return
        finally:
            if is_replacing:
                raise RuntimeError(_NO_EXEC)

    def _is_forbidden(self, path):
        parts = path.replace("'", "").replace('"', "").split("/")
        allowed = self._allowed
        if parts[-1] not in _REFERENCES:
            if _LAB_FOLDER not in parts:
                return False
            allowed = allowed + self._searched
        whole = _abspath(path)
        return not any(whole.startswith(folder) or whole + "/" == folder for folder in allowed)


def _abspath(path):
    """The path from the root on, without `.` and `..`."""
    parts = []
    for part in (path if path.startswith("/") else f"{_getcwd()}/{path}").split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/" + "/".join(parts)


def _texts(args):
    """The strings among the arguments of an event. A subclass of `str` may have other methods."""
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _texts(arg)
            continue
        try:
            path = _fspath(arg)
        except TypeError:
            continue
        yield _exact(path) if isinstance(path, str) else path.decode("utf-8", "surrogateescape")
