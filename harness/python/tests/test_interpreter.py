"""A kernel's code runs while it is loaded and while the clock runs, and at no other time."""

import struct
import sys
import unittest

from .judge import floats
from .worker_case import POISONS, X, WorkerCase

UNWRITTEN = struct.pack("<4I", *[POISONS[0]] * 4)

# Notes calls from the worker's functions, between loading and launching or between two launches.
NOTES = """import builtins, gc, numpy, signal, sys, threading, time, weakref
noted = []
inside = False
# The worker's functions that load a source, those while the clock runs, and what collects garbage right after a launch.
ALLOWED = {"execute", "run", "go_on"}
def note(*args):
    frame, names = sys._getframe(1), []
    while frame is not None:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    if not inside and not ALLOWED & set(names):
        noted.append(names)
def f(x, y):
    global inside
    inside = True
    if noted:
        raise RuntimeError(f"called by {noted}")
    y[...] = x
    set_again()
    inside = False
def set_again():
    pass
"""


class Outside(WorkerCase):
    def expect_silence(self, source):
        """Loads the notes and a source that lets `note` be called, and expects that nothing calls it before or between launches."""
        self.load(NOTES + source)
        for _ in range(3):
            self.assertEqual(self.launch(), X)
        self.worker.call("Reload", module=self.module)
        self.assertEqual(self.launch(), X)

    def test_a_function_that_profiles_or_traces_runs_in_no_call_of_the_worker(self):
        for name in ("setprofile", "settrace"):
            with self.subTest(name):
                # The function itself is called when its own function returns.
                self.start()
                self.load(NOTES + f"""
def watch(frame, event, arg):
    if frame.f_globals.get("__name__") != __name__:
        note()
    return watch
sys.{name}(watch)
def set_again():
    sys.{name}(watch)
""")
                for _ in range(3):
                    self.assertEqual(self.launch(), X)

    def test_a_handler_of_a_signal_runs_in_no_call_of_the_worker(self):
        self.expect_silence("""
def set_again():
    signal.signal(signal.SIGALRM, note)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-3)
    signal.signal.__wrapped__(signal.SIGUSR1, note)
    import _signal
    _signal.signal(signal.SIGUSR2, note)
    assert [signal.getsignal(n) for n in (signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)] == [note] * 3
set_again()
""")

    def test_a_collection_runs_nothing_before_a_launch(self):
        self.expect_silence("""
class Cycle:
    def __init__(self):
        self.me = self
    def __del__(self):
        note()
def set_again():
    gc.enable()
    gc.set_threshold(1)
    gc.callbacks.append(note)
set_again()
""")

    def test_the_signature_of_an_object_is_asked_for_once(self):
        self.load("""import inspect
asked = []
class Entry:
    @property
    def __signature__(self):
        asked.append(1)
        return inspect.signature(lambda x, y: None)
    @property
    def __code__(self):
        asked.append(1)
    @property
    def __wrapped__(self):
        asked.append(1)
        raise AttributeError
    def __eq__(self, other):
        asked.append(1)
    def __hash__(self):
        asked.append(1)
        return 0
    def __bool__(self):
        asked.append(1)
        return False
    def __call__(self, x, y):
        y[...] = len(asked)
f = Entry()
""")
        self.worker.call("MissingEntry", module=self.module, entry="f")
        first = self.launch()
        for _ in range(2):
            self.assertEqual(self.launch(), first)

    def test_what_is_attached_to_an_argument_runs_while_the_clock_runs(self):
        self.load("""import time, weakref
def f(x, y):
    kept = y.base
    def later(_):
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            pass
        kept.view("f4")[:4] = x_again
    x_again = x.copy()
    references.append(weakref.ref(y, later))
references = []
""")
        self.worker.call("Fill", fills=[[self.y, POISONS[0]]], how="Waits")
        seconds = self.worker.make(self.spec())[0]
        self.assertEqual(self.worker.read(self.y), X)
        self.assertGreater(seconds, 0.2)

    def test_a_thread_that_begins_to_work_when_the_launch_is_over_is_found(self):
        for target in ("wait", "exec('def g():\\n  wait()', globals()) or g", "pool"):
            with self.subTest(target):
                self.start()
                self.load(f"""import sys, threading, concurrent.futures, time
import numpy as np
main = threading.get_ident()
sys.setswitchinterval(1e-6)
pool = concurrent.futures.ThreadPoolExecutor(1)
def wait():
    while True:
        frame, names = sys._current_frames()[main], []
        while frame is not None:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        if not set(names) & {{"f", "run", "restore", "thread_left"}}:
            break
    todo.pop()()
todo = []
def f(x, y):
    todo.append(lambda: y.__setitem__(..., x))
    if "{target}" == "pool":
        pool.submit(np.linalg.svd, np.random.rand(700, 700))
    else:
        threading.Thread(target={target if target != "pool" else "None"}).start()
""")
                text = self.fails("Crash", self.launch)
                self.assertIn("the kernel left 1 thread running after its launch, in ", text)

    def test_a_pool_of_threads_that_waits_for_work_is_allowed(self):
        self.load("""import concurrent.futures
pool = concurrent.futures.ThreadPoolExecutor(4)
def half(x, y, at):
    y[at] = x[at]
def f(x, y):
    list(pool.map(lambda at: half(x, y, at), (slice(0, 2), slice(2, 4))))
""")
        for _ in range(20):
            self.assertEqual(self.launch(), X)
        self.worker.call("Reload", module=self.module)
        self.assertEqual(self.launch(), X)

    def test_a_thread_that_loading_has_started_is_found(self):
        text = self.fails("Build", self.worker.load, "import threading\nwoken = threading.Event()\ndef poll():\n    woken.wait()\n"
                                                     "threading.Thread(target=poll, daemon=True).start()\n")
        self.assertEqual(text, "kernel.py:4: error: the kernel left 1 thread running after it was loaded, in poll")

    @unittest.skipUnless(hasattr(sys, "monitoring"), "this Python has no sys.monitoring")
    def test_a_tool_that_monitors_runs_in_no_call_of_the_worker(self):
        self.expect_silence("""
def set_again():
    sys.monitoring.use_tool_id(3, "watch")
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, lambda code, at: note())
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
""")


class Patched(WorkerCase):
    def test_functions_of_builtins_are_the_workers_own(self):
        self.load("""import builtins
def f(x, y):
    y[...] = x
    nothing = lambda *args, **named: None
    for name in ("enumerate", "zip", "list", "len", "isinstance", "range", "min", "max", "next", "memoryview", "bytes", "type",
                 "callable", "iter", "sorted", "getattr", "vars", "tuple", "dict", "set", "any", "all", "int", "str", "open",
                 "compile", "exec", "__import__", "__build_class__", "super", "print", "hasattr", "bytearray"):
        setattr(builtins, name, nothing)
""")
        self.assertEqual(self.launch(), X)
        self.worker.call("Write", floats(1, 1, 1, 1), buffers=[self.y], are_inputs=False)
        self.assertEqual(self.worker.read(self.y), floats(1, 1, 1, 1))

    def test_a_kernel_has_the_builtins_of_python_and_not_the_workers(self):
        self.load("""import builtins
assert __builtins__ is vars(builtins)
def f(x, y):
    __builtins__["len"] = lambda _: 7
    y[...] = len(x)
""")
        self.assertEqual(self.launch(), floats(7, 7, 7, 7))
        self.assertEqual(len(self.worker.read(self.y)), 16)

    def test_modules_of_the_package_are_not_the_workers_own(self):
        self.load("""import sys
found = [name for name in sys.modules if name.startswith("lab_harness")]
assert not found, found
import lab_harness.worker.memory as memory
import lab_harness.worker.server as server
memory.Memory.read = memory.Memory.place = lambda self, *args: b""
server.Worker._read = lambda self, fields, body: b""
assert not hasattr(sys.modules["__main__"], "process")
def f(x, y):
    y[...] = x
""")
        self.assertEqual(self.launch(), X)

    def test_functions_under_those_that_the_worker_calls_are_patched_in_vain(self):
        self.load("""import copy, ctypes, os, posixpath, threading
nothing = lambda *args, **named: None
for place, names in ((ctypes, "_string_at _memmove _cast"), (posixpath, "join normpath abspath basename dirname"),
                     (os, "fspath fsdecode getcwd urandom"), (copy, "copy _reconstruct"),
                     (threading, "_active enumerate current_thread get_ident")):
    for name in names.split():
        setattr(place, name, nothing)
def f(x, y):
    y[...] = x
""")
        for _ in range(2):
            self.assertEqual(self.launch(), X)
            self.worker.call("Reload", module=self.module)


if __name__ == "__main__":
    unittest.main()
