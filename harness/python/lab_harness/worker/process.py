"""The worker's process: its socket, its parent, its folder, its output."""

import ctypes
import os
import resource
import signal
import socket
import sys
import types

from .private import BUILTINS as __builtins__

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_PACKAGE = __name__.partition(".")[0]
_hidden = []

_libc = ctypes.CDLL(None, use_errno=True)
_flush_c_output = _libc.fflush
_flush_c_output.argtypes = [ctypes.c_void_p]
_prctl = _libc.prctl
# Bound here, so that a kernel that patches `os` or `sys` does not change the worker.
_getpid, _getppid, _exit, _write = os.getpid, os.getppid, os._exit, os.write


def take_socket():
    """Returns the socket that is stdin. Stdin becomes /dev/null, and so does what a kernel reads from it."""
    number = os.dup(0)
    os.set_inheritable(number, False)
    try:
        connection = socket.socket(fileno=number)
        connection.getsockname()
    except OSError:
        os.close(number)
        raise
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    connection.setblocking(True)
    return connection


def live_no_longer_than_the_parent():
    """Asks Linux to kill this process when its parent ends, and to give it what its children leave behind."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # What a kernel starts stays below this process, so that the judge finds it.
    _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    # Without Python's own handler, which raises KeyboardInterrupt at any line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def parent_is(parent):
    """Returns whether this process id is the parent's. The parent may have ended before this process asked Linux for a signal."""
    return _getppid() == parent


def leave_the_start_folder():
    """Makes / the current folder, and takes the start folder off the search path: it may hold a reference.py."""
    try:
        start = os.getcwd()
    except OSError:
        start = ""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path[:] = [folder for folder in sys.path if folder and (folder != start or folder == own)]
    os.chdir("/")
    for name in ("PWD", "OLDPWD"):
        os.environ.pop(name, None)


def let_idle_threads_sleep():
    """Call it before NumPy or PyTorch is imported: their threads would compute on for 0.1 s after each call, in the hope of another.

    The judge waits for that after each launch, because a thread that computes then may still write. What the user has set stays.
    """
    # The logarithm of OpenBLAS's wait in ticks of the clock; 4 is the least. OpenMP's wait.
    for name, value in (("OPENBLAS_THREAD_TIMEOUT", "4"), ("OMP_WAIT_POLICY", "PASSIVE")):
        os.environ.setdefault(name, value)


def hide_package():
    """Takes the modules of this package out of `sys.modules`: a kernel that imports one gets another copy of it."""
    for name in list(sys.modules):
        if name.partition(".")[0] == _PACKAGE:
            _hidden.append(sys.modules.pop(name))
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    if spec is not None and spec.name.partition(".")[0] == _PACKAGE:
        _hidden.append(sys.modules["__main__"])
        sys.modules["__main__"] = types.ModuleType("__main__")


class Output:
    """The standard output and error, which are pipes to the judge."""

    def __init__(self):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and hasattr(stream, "reconfigure"):
                stream.reconfigure(line_buffering=True, errors="backslashreplace")
        self._flushes = [stream.flush for stream in (sys.__stdout__, sys.__stderr__) if stream is not None]

    def flush(self):
        """Sends what was printed. A stream that a kernel closed has nothing left to send."""
        for flush in self._flushes:
            try:
                flush()
            except (OSError, ValueError):
                pass
        _flush_c_output(None)


class Identity:
    """The process that may answer the judge."""

    def __init__(self):
        self._owner = _getpid()

    def end_a_copy(self):
        """Ends this process at once, if it is a copy that a kernel made by fork: only the worker answers."""
        if not self.is_owner():
            complain("a copy of this process that the kernel made by fork has returned from the kernel and was ended. What it wrote "
                     "is lost: it has memory of its own")
            _exit(0)

    def is_owner(self):
        """Whether this process is no copy."""
        return _getpid() == self._owner


def complain(text):
    """Writes a line to stderr, whatever a kernel has done to `sys.stderr`."""
    try:
        _write(2, f"lab_harness.worker: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass
