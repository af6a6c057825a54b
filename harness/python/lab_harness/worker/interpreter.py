"""What a kernel can set in the interpreter and what would run its code in the worker's own calls: it is put back after each launch."""

import _signal
import _thread
import gc
import signal
import sys
import threading
import time

from .failures import at_line
from .private import BUILTINS as __builtins__

_current_frames, _get_ident, _count_threads = sys._current_frames, _thread.get_ident, _thread._count
_get_recursion_limit, _set_recursion_limit = sys.getrecursionlimit, sys.setrecursionlimit
_set_trace, _set_profile = sys.settrace, sys.setprofile
_get_switch_interval, _set_switch_interval = sys.getswitchinterval, sys.setswitchinterval
_gc_disable, _gc_callbacks, _get_count, _collect = gc.disable, gc.callbacks, gc.get_count, gc.collect
_monitoring = getattr(sys, "monitoring", None)
_sys, _sleep = sys, time.sleep
_install, _installed, _set_timer = _signal.signal, _signal.getsignal, _signal.setitimer
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_timer_code, _thread_code = threading.Timer.run.__code__, threading.Thread.run.__code__
_POOL = threading.__file__.rpartition("/")[0] + "/concurrent/futures/thread.py"

# No other thread gets the interpreter for this time, in seconds, unless the main thread waits: longer than the time between the end
# of a launch and the moment when its results are known.
_UNINTERRUPTED = 0.1
# How often a thread is looked at, and the seconds between two looks.
_LOOKS, _BETWEEN_LOOKS = 20, 1e-3
# New objects, and collections of newer objects, after which garbage is collected: as Python does it.
_YOUNG, _OLD = 700, 10
# Identifiers of tools that watch the interpreter (Python 3.12 and newer).
_TOOLS = 6

_changed_signals = set()


def _note_signal(number, handler):
    """Installs a handler, as `_signal.signal` does, and notes which."""
    _changed_signals.add(int(number))
    return _install(number, handler)


class Interpreter:
    """The settings of the interpreter as they are before a kernel is loaded."""

    def __init__(self, code_folders):
        """`code_folders` are those from which kernels import modules of their own."""
        self._folders = tuple(folder.rstrip("/") + "/" for folder in code_folders)
        self._recursion_limit, self._switch_interval = _get_recursion_limit(), _get_switch_interval()
        self._unraisable_hook, self._threads = sys.unraisablehook, _count_threads()
        self._handlers = {number: _installed(number) for number in signal.valid_signals()}
        self._monitoring = None
        if _monitoring is not None:
            self._monitoring = (_monitoring.get_tool, _monitoring.set_events, _monitoring.register_callback,
                                _monitoring.free_tool_id)
            self._events = [value for name, value in vars(_monitoring.events).items() if name.isupper() and value]
        # The handlers of signals run between any two instructions of the main thread.
        _signal.signal = signal.signal.__wrapped__ = _note_signal

    def restore(self):
        """Removes hooks that would run a kernel's code in the worker's own calls, or slow these down. Runs none of that code."""
        _set_trace(None)
        _set_profile(None)
        _set_switch_interval(_UNINTERRUPTED)
        _set_recursion_limit(self._recursion_limit)
        _gc_disable()
        _gc_callbacks.clear()
        _sys.unraisablehook = self._unraisable_hook
        if _changed_signals:
            # A signal that a timer goes on sending would end the process.
            for timer in _TIMERS:
                _set_timer(timer, 0)
        while _changed_signals:
            number = _changed_signals.pop()
            handler = self._handlers.get(number)
            if handler is not None and _installed(number) is not handler:
                _install(number, handler)
        if self._monitoring is not None:
            self._end_monitoring()

    def _end_monitoring(self):
        get_tool, set_events, register, free = self._monitoring
        for tool in range(_TOOLS):
            if get_tool(tool) is None:
                continue
            set_events(tool, 0)
            for event in self._events:
                try:
                    register(tool, event, None)
                except ValueError:
                    # Some events have no callback of their own.
                    pass
            free(tool)

    def go_on(self):
        """Lets other threads run, and collects garbage.

        Collections are never automatic: they run code of a kernel's objects, which could then see the inputs of the next launch
        before the clock starts. After a launch there are none that are new.
        """
        _set_switch_interval(self._switch_interval)
        young, middle, old = _get_count()
        if young > _YOUNG:
            _collect(2 if old > _OLD else 1 if middle > _OLD else 0)

    def thread_left(self, module, when):
        """A message about a thread that is executing a kernel's code, or a timer that waits to do so; None if there is none.

        A thread that is about to end, or to wait for more work, gets the time for it: the clock runs.
        """
        for _ in range(_LOOKS):
            if _count_threads() <= self._threads:
                return None
            found = self._thread_that_works(module, when)
            if found is None:
                return None
            _set_switch_interval(self._switch_interval)
            _sleep(_BETWEEN_LOOKS)
            _set_switch_interval(_UNINTERRUPTED)
        return found

    def _thread_that_works(self, module, when):
        own = _get_ident()
        for thread, frame in _current_frames().items():
            where = None if thread == own or frame is None else self._kernel_frame(frame, module)
            if where is None:
                continue
            code, line = where.f_code, where.f_lineno
            if code is _timer_code:
                return at_line(module.shown, 0, f"the kernel left a timer running {when}")
            text = f"the kernel left 1 thread running {when}, in {code.co_name}"
            if code.co_filename == module.path:
                return at_line(module.shown, line, text)
            return at_line(module.shown, 0, f"{text} ({code.co_filename.rpartition('/')[2]}:{line})")
        return None

    def _kernel_frame(self, frame, module):
        """The innermost frame of a thread that shows that it works for a kernel; None if the thread only waits for work."""
        if frame.f_code is _thread_code:
            # It calls a function that is not Python, which has no frame.
            return frame
        while frame is not None:
            file, name = frame.f_code.co_filename, frame.f_code.co_name
            # Code that `exec` has made has no file.
            is_kernels = file == module.path or file.startswith(self._folders) or (file[:1] == "<" and file[:7] != "<frozen")
            if is_kernels or frame.f_code is _timer_code or (file == _POOL and name == "run"):
                return frame
            frame = frame.f_back
        return None
