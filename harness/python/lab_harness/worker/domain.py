"""A Landlock domain around a process: it can neither trace a process outside of it nor read or write the memory of one.

The judge's process has the expected values, and so has that of a reference. They run with the same user's rights as the kernel, or as
root, whom nothing else stops. Linux denies a process in a domain every kind of tracing outside, `/proc/PID/mem` too, root or not. What
the process starts is in its domain. Files stay as they are: of these rights the domain takes only that of making block devices, because
it has to take one. https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os

# System calls, the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_FOR_THE_VERSION = 1
_PATH_BENEATH = 1
_MAKE_BLOCK, _REFER = 1 << 11, 1 << 13
_PR_SET_NO_NEW_PRIVS = 38
# An older one lets no file be moved to another folder, which Triton's cache needs.
_OLDEST_VERSION = 2


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("rights", ctypes.c_uint64), ("folder", ctypes.c_int32)]


# Whether this process is in a domain.
_is_in_one = False


def is_in_one():
    """Whether this process has entered a domain, or the process that forked it."""
    return _is_in_one


def enter():
    """Puts the calling thread, with the threads and processes that it starts, into a new domain. Returns whether Linux can do that."""
    global _is_in_one
    has_entered = _enter()
    _is_in_one = _is_in_one or has_entered
    return has_entered


def _enter():
    libc = ctypes.CDLL(None, use_errno=True)
    call = libc.syscall
    call.restype = ctypes.c_long
    if call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_FOR_THE_VERSION)) < _OLDEST_VERSION:
        return False
    handled = ctypes.c_uint64(_MAKE_BLOCK | _REFER)
    ruleset = call(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        may_move = _PathBeneath(_REFER, root)
        return (call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), ctypes.byref(may_move), ctypes.c_uint32(0)) == 0
                and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                and call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)
    finally:
        os.close(root)
        os.close(ruleset)
