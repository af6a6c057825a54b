"""What a launch must not do on the cpu device, and what the worker finds: stores, cheats, files, processes."""

import importlib.util
import os
import socket
import struct
import tempfile
import time
import unittest

from . import judge
from .judge import floats
from .worker_case import POISONS, X, WorkerCase

UNWRITTEN = struct.pack("<4I", *[POISONS[0]] * 4)


class Stores(WorkerCase):
    def test_a_thread_that_runs_on_after_its_launch_is_an_error(self):
        self.load("""import threading
def joined(x, y):
    def write():
        y[...] = x
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
def timed(x, y):
    timer = threading.Timer(3600, lambda: None)
    timer.daemon = True
    timer.start()
def f(x, y):
    started = threading.Event()
    def wait():
        started.set()
        threading.Event().wait()
    threading.Thread(target=wait, daemon=True).start()
    started.wait()
""")
        self.assertEqual(self.launch("joined"), X)
        self.assertEqual(self.fails("Crash", self.launch, "timed"),
                         "kernel.py: error: the kernel left a timer running after its launch")
        text = self.fails("Crash", self.launch)
        # The thread may still be in its first line.
        self.assertRegex(text, r"^kernel.py:1[67]: error: the kernel left 1 thread running after its launch, in wait$")

    def test_what_is_not_written_holds_its_poison(self):
        self.load("def f(x, y):\n    y[:2] = x[:2]\n")
        self.assertEqual(self.launch(), X[:8] + UNWRITTEN[8:])

    def test_an_output_that_is_replaced_is_not_written(self):
        self.load("def f(x, y):\n    y = x + 1\n")
        self.assertEqual(self.launch(), UNWRITTEN)


class Reloading(WorkerCase):
    def test_a_module_forgets_its_globals(self):
        self.load("calls = 0\ndef f(x, y):\n    global calls\n    calls += 1\n    y[...] = calls\n")
        self.assertEqual([self.launch(), self.launch()], [floats(1, 1, 1, 1), floats(2, 2, 2, 2)])
        self.worker.call("Reload", module=self.module)
        self.assertEqual(self.launch(), floats(1, 1, 1, 1))

    def test_two_modules_live_in_one_worker(self):
        self.load("v = 1\ndef f(x, y):\n    y[...] = v\n")
        candidate = self.module
        incumbent = self.worker.load("v = 2\ndef f(x, y):\n    y[...] = v\n")
        for module, expected in ((candidate, 1), (incumbent, 2), (candidate, 1)):
            self.module = module
            self.assertEqual(self.launch(), floats(*[expected] * 4))
            self.worker.call("Reload", module=candidate)


    @unittest.skipUnless(importlib.util.find_spec("torch"), "this Python has no PyTorch")
    def test_what_pytorch_has_compiled_stays_compiled(self):
        self.load("""import torch
from torch._dynamo.utils import counters
scale = 2.0
state = []
def helper(x):
    return x * scale
@torch.compile(backend="eager")
def formula(x):
    wide = helper(x)
    torch._dynamo.graph_break()
    return wide * torch.ones(1) * scale
def f(x, y):
    state.append(1)
    y[...] = formula(x.clone())
    y[0], y[1] = counters["stats"]["unique_graphs"], len(state)
""")
        first = self.launch()
        graphs = struct.unpack("<4f", first)[0]
        self.assertGreater(graphs, 0)
        for _ in range(10):
            self.worker.call("Reload", module=self.module)
            self.assertEqual(self.launch(), floats(graphs, 1, 12, 16), "no graph is compiled, and the globals are new")


class Processes(WorkerCase):
    def test_what_a_kernel_prints_goes_to_the_pipes_at_once(self):
        self.load("""import os, sys
def f(x, y):
    print("correctness: pass")
    print("to stderr", file=sys.stderr)
    sys.stdout.write("no line break")
    y[...] = x
def ends(x, y):
    print("last words")
    os._exit(3)
""")
        self.assertEqual(self.launch(), X)
        self.assertEqual(self.ends(self.launch, "ends"), 3)
        self.worker.kill()
        self.assertEqual(self.worker.printed["stdout"], b"correctness: pass\nno line breaklast words\n")
        self.assertEqual(self.worker.printed["stderr"], b"to stderr\n")

    def test_stdin_is_empty(self):
        self.load("import sys\ndef f(x, y):\n    assert sys.stdin.read() == ''\n    y[...] = x\n")
        self.assertEqual(self.launch(), X)

    def test_a_copy_of_the_process_answers_nothing(self):
        self.load("import os\ndef f(x, y):\n    if os.fork():\n        os.wait()\n        y[...] = x\n"
                  "def raises(x, y):\n    if not os.fork():\n        raise ValueError\n    os.wait()\n    y[...] = x\n")
        for entry in ("f", "raises", "f"):
            self.assertEqual(self.launch(entry), X)
        self.assertEqual(self.worker.close(), 0)

    def test_a_copy_that_returns_from_the_kernel_is_told_of(self):
        self.load("import os\ndef f(x, y):\n    child = os.fork()\n    y[...] = x\n    if child:\n        os.waitpid(child, 0)\n")
        self.assertEqual(self.launch(), X)
        self.worker.kill()
        self.assertIn(b"a copy of this process that the kernel made by fork has returned", self.worker.printed["stderr"])

    def test_a_kernel_does_not_replace_its_process(self):
        self.load("import os, subprocess\ndef f(x, y):\n    os.execv('/bin/true', ['true'])\n"
                  "def runs(x, y):\n    assert subprocess.run(['/bin/true']).returncode == 0\n    y[...] = x\n"
                  "def forks(x, y):\n    if os.fork() == 0:\n        os.execv('/bin/true', ['true'])\n    os.wait()\n    y[...] = x\n")
        text = self.fails("Crash", self.launch)
        self.assertTrue(text.startswith("kernel.py:3: error: RuntimeError: a kernel must not replace its process by another"), text)
        for entry in ("runs", "forks"):
            self.assertEqual(self.launch(entry), X)

    def test_a_copy_of_the_process_has_memory_of_its_own(self):
        self.load("import os\ndef f(x, y):\n    if os.fork() == 0:\n        y[...] = x\n        os._exit(0)\n    os.wait()\n")
        self.assertEqual(self.launch(), UNWRITTEN)

    def test_a_kernel_that_closes_every_descriptor_ends_the_worker(self):
        self.load("import os\ndef f(x, y):\n    os.closerange(3, 4096)\n")
        self.assertNotEqual(self.ends(self.launch), 0)

    def test_a_kernel_that_patches_what_the_worker_uses_changes_nothing(self):
        self.load("""import builtins, ctypes, inspect, json, mmap, os, socket, struct, sys, threading, time, traceback
import numpy, signal
nothing = lambda *args, **named: None
for place, names in ((json, "dumps loads"), (json.JSONDecoder, "decode raw_decode"), (json.JSONEncoder, "encode iterencode"),
                     (struct, "pack unpack Struct"), (socket.socket, "recv recv_into send sendall"), (time, "perf_counter time"),
                     (numpy, "frombuffer array_equal empty ones zeros dtype"), (ctypes, "string_at memmove addressof byref"),
                     (os, "getpid write _exit"), (inspect, "signature"), (traceback, "format_exc TracebackException"),
                     (mmap, "mmap"), (builtins, "compile exec open sorted"), (numpy.lib.stride_tricks, "as_strided")):
    for name in names.split():
        setattr(place, name, nothing)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def f(x, y):
    sys.settrace(nothing)
    sys.stdout = sys.stderr = None
    y[...] = x
def changes(x, y):
    y[...] = x
    x.base
    raise ValueError("told")
""")
        for _ in range(2):
            self.assertEqual(self.launch(), X)
            self.assertIn("kernel.py:19: error: ValueError: told", self.fails("Crash", self.launch, "changes"))
            self.worker.call("Reload", module=self.module)
            replayed = self.worker.replay([self.spec()])
        self.assertGreater(replayed["seconds"], 0)
        other = self.worker.buffer("other", 4099)
        self.assertEqual(len(self.worker.read(other)), 4099)

    def test_the_worker_ends_with_the_judge(self):
        self.load("def f(x, y):\n    pass\n")
        self.assertEqual(self.worker.close(), 0)


class Files(WorkerCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("reference.py", "reference.cu", "other.txt"):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write("secret = 1\n")
        os.mkdir(os.path.join(self.folder, ".lab"))

    def opens(self, body):
        """The text of the crash of a kernel with this body, in which F is the folder."""
        self.load(f"import os, sys\nF = {self.folder!r}\ndef f(x, y):\n    y[...] = x\n    {body}\n")
        text = self.fails("Crash", self.launch)
        self.assertIn("which only the judge may read", text)
        self.fails("Crash", self.launch)
        return text

    def test_a_kernel_that_opens_the_reference_is_told_of(self):
        for body in ("open(F + '/reference.py').read()", "os.open(F + '/reference.cu', os.O_RDONLY)",
                     "import numpy; numpy.fromfile(F + '/reference.cu', 'u1')",
                     "import pathlib; pathlib.Path(F, 'reference.py').read_text()",
                     "sys.path.append(F); import reference", "os.listdir(F + '/.lab')",
                     "os.symlink(F + '/reference.py', F + '/link')",
                     "import mmap; d = os.open(F + '/reference.py', os.O_RDONLY); mmap.mmap(d, 0, prot=mmap.PROT_READ)",
                     "import subprocess; subprocess.run(['cat', F + '/reference.py'], stdout=-3)",
                     "os.system('cat ' + F + '/reference.py > /dev/null')"):
            with self.subTest(body):
                self.start()
                self.assertIn("kernel.py: error: the kernel ", self.opens(body))

    def test_what_is_opened_while_the_source_is_loaded_is_told_at_the_first_launch(self):
        self.load(f"open({self.folder + '/reference.py'!r}).close()\ndef f(x, y):\n    y[...] = x\n")
        self.assertIn(f"opened {self.folder}/reference.py", self.fails("Crash", self.launch))

    def test_a_full_disk_is_no_fault_of_a_kernel(self):
        # A library of the kernel writes, as Triton writes what it has compiled.
        self.load("def f(x, y):\n    y[...] = x\n    open('/dev/full', 'w', buffering=1).write('x\\n')\n")
        text = self.fails("Lab", self.launch)
        self.assertIn("the disk is full: make room on it, then judge again\nkernel.py:3: error: OSError: [Errno 28]", text)

    def test_other_files_and_the_kernel_itself_may_be_opened(self):
        self.load(f"""import inspect
def f(x, y):
    open({self.folder + '/other.txt'!r}).close()
    assert "def f" in inspect.getsource(f)
    y[...] = x
""")
        self.assertEqual(self.launch(), X)

    def test_modules_of_the_search_path_may_lie_below_the_labs_folder_and_the_reference_may_not(self):
        copy = os.path.join(self.folder, ".lab", "tree")
        os.mkdir(copy)
        for name, text in (("tiles.py", "SIZE = 4\n"), ("reference.py", "secret = 1\n")):
            with open(os.path.join(copy, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.start(environment={"PYTHONPATH": f"{judge.PACKAGE}:{copy}"})
        self.load("import tiles\ndef f(x, y):\n    assert tiles.SIZE == 4\n    y[...] = x\n")
        self.assertEqual(self.launch(), X)
        self.assertIn("opened", self.opens(f"open({copy + '/reference.py'!r}).close()"))

    def test_a_reference_may_open_itself(self):
        self.module = self.worker.load("def f(x, y):\n    open(__file__).close()\n    y[...] = x\n", name="reference.py")
        self.x, self.y = self.worker.input("x", X), self.worker.buffer("y", 16)
        self.assertEqual(self.launch(), X)


class Packages(WorkerCase):
    def test_a_module_beside_the_kernel_takes_no_name_of_pythons_own_library(self):
        with tempfile.TemporaryDirectory(prefix="lab-test-") as folder:
            for name in ("ctypes", "json", "inspect", "selectors"):
                with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
                    file.write("raise ImportError('this is not the module of Python')\n")
            with open(os.path.join(folder, "tiles.py"), "w", encoding="utf-8") as file:
                file.write("SIZE = 4\n")
            self.worker.kill()
            self.worker = judge.Worker(environment={"PYTHONPATH": f"{judge.PACKAGE}:{folder}"})
            self.addCleanup(self.worker.kill)
            self.load("import ctypes, tiles\ndef f(x, y):\n    assert tiles.SIZE == ctypes.sizeof(ctypes.c_int)\n    y[...] = x\n")
            self.assertEqual(self.launch(), X)

    def test_a_package_that_adds_an_audit_hook_when_it_is_imported_may_be_imported(self):
        with tempfile.TemporaryDirectory(prefix="lab-test-") as folder:
            with open(os.path.join(folder, "filelock.py"), "w", encoding="utf-8") as file:
                file.write("import sys\nsys.addaudithook(lambda event, args: None)\n")
            self.worker.kill()
            self.worker = judge.Worker(environment={"PYTHONPATH": f"{judge.PACKAGE}:{folder}"})
            self.addCleanup(self.worker.kill)
            self.load("def f(x, y):\n    import filelock\n    y[...] = x\n")
            self.assertEqual(self.launch(), X)


if __name__ == "__main__":
    unittest.main()
