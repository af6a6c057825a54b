"""The requests of a worker on the cpu device."""

import os
import struct
import subprocess
import sys
import unittest

from . import judge
from .judge import Worker, floats, tensor, value
from .worker_case import POISONS, X, WorkerCase

AXPY = """import numpy as np

def axpy(a, x, y, n):
    assert type(a) is float and type(n) is int and not x.flags.writeable and y.flags.writeable
    np.multiply(x, a, out=y)
    y += 1
"""
COPY = "def f(x, y):\n    y[...] = x\n"


class Requests(WorkerCase):
    def test_a_launch_writes_its_output(self):
        worker = self.worker
        module = worker.load(AXPY)
        self.assertIsNone(worker.call("MissingEntry", module=module, entry="axpy"))
        self.assertEqual(worker.call("MissingEntry", module=module, entry="gemm"), "gemm")
        given = [{"name": name, "dtype": "f32", "shape": [3]} for name in ("x", "y")]
        for entry, words in [("gemm", "kernel.py:3: error: there is no function gemm (line 3 defines axpy)"),
                             ("axpy", "kernel.py:3: error: axpy has the parameter a, which the problem does not have")]:
            with self.assertRaises(judge.Refused) as refused:
                worker.call("MissingEntry", module=module, entry=entry, parameters=given)
            self.assertEqual(refused.exception.kind, "Build")
            self.assertIn(words, refused.exception.text)
        given += [{"name": "a", "dtype": "f32"}, {"name": "n", "dtype": "i32"}]
        self.assertIsNone(worker.call("MissingEntry", module=module, entry="axpy", parameters=given))
        x, y = worker.input("x", floats(1, 2, 3)), worker.buffer("y", 12)
        reply = worker.launch(module, "axpy", value("a", "f32", floats(2)),
                              tensor("x", "f32", [3], x, is_input=True), tensor("y", "f32", [3], y), value("n", "i32", struct.pack("<i", 3)))
        self.assertGreater(reply["seconds"], 0)
        self.assertEqual(reply["launched"], {"kernels": [], "is_list": False, "scratch_bytes": 0, "zeroed": False})
        self.assertEqual(worker.read(y), floats(3, 5, 7))
        info = worker.opened["info"]
        self.assertRegex(info["name"], r"^cpu \(emulated, NumPy \d+\.\d+\.\d+, Python 3\.\d+\)$")
        self.assertTrue(info["emulated"])
        self.assertIn("None", worker.opened["sandbox"])

    def test_a_worker_that_is_a_process_of_its_own_ends_with_the_connection(self):
        self.worker = Worker()
        self.addCleanup(self.worker.kill)
        self.load(COPY)
        self.assertEqual(self.launch(), X)
        self.assertEqual(self.worker.close(), 0)

    def test_the_versions_are_those_of_the_packages_that_the_sources_import(self):
        folder = os.path.join(self.worker.folder, "packages")
        os.mkdir(folder)
        for name, text in (("used_here", "class Text(str):\n    pass\n__version__ = Text('1.2 \\n.3')\nimport used_there\n"),
                           ("used_there", "__version__ = '4'\n"), ("unwilling", "def __getattr__(name):\n    raise ValueError\n"),
                           ("late", "__version__ = '5'\n"), ("unversioned", "__version__ = (1, 2)\n")):
            with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
                file.write(text)
        self.load(f"import sys\nsys.path.append({folder!r})\nimport used_here, unwilling, unversioned, json\n"
                  "def f(x, y):\n    from late import __version__\n    y[...] = x\n")
        self.launch()
        names = dict(self.worker.call("Versions"))
        self.assertEqual(list(names), ["late", "numpy", "python", "used_here"])
        self.assertEqual((names["used_here"], names["late"]), ("1.2.3", "5"))

    def test_a_replay_runs_all_launches(self):
        self.load(COPY)
        flush, other = self.worker.buffer("flush", 64), self.worker.buffer("z", 16)
        for submission in ("plain", "graph"):
            self.worker.call("Fill", fills=[[self.y, POISONS[1]], [other, POISONS[1]]], how="Waits")
            self.assertEqual(self.worker.read(other), struct.pack("<4I", *[POISONS[1]] * 4))
            launches = [self.spec(), self.spec(y=other)]
            replayed = self.worker.replay(launches, [flush, POISONS[0]], submission)
            self.assertGreater(replayed["seconds"], 0)
            self.assertEqual((self.worker.read(self.y), self.worker.read(other)), (X, X))

    def test_buffers_of_odd_sizes_and_of_none_are_filled_read_and_freed(self):
        for size in (0, 1, 3, 5, 4099):
            buffer = self.worker.buffer("b", size)
            self.worker.call("Fill", fills=[[buffer, 0x04030201]], how="Waits")
            self.assertEqual(self.worker.read(buffer), (b"\1\2\3\4" * (size // 4 + 1))[:size])
            self.worker.call("Fill", fills=[[buffer, 0]], how="FlushesCache")
            self.worker.call("Write", self.worker.read(buffer), buffers=[buffer], are_inputs=True)
            self.assertEqual(self.worker.read(buffer), bytes(size))
            self.worker.call("Free", buffer=buffer)
            self.assertEqual(self.fails("Lab", self.worker.read, buffer), f"no buffer {buffer}")

    def test_what_the_judge_must_not_ask_is_refused_and_the_worker_goes_on(self):
        self.load(COPY)
        self.assertIn("holds 16", self.fails("Lab", self.worker.call, "Write", b"four", buffers=[self.y], are_inputs=False))
        self.assertEqual(self.fails("Lab", self.worker.call, "Reload", module=7), "no module 7")
        self.assertIn("no request Dance", self.fails("Lab", self.worker.call, "Dance"))
        self.assertIn("cannot be read", self.fails("Lab", self.worker.call, "Load", image="/nowhere/kernel.py"))
        unnamed = dict(self.spec(), parameters=[])
        self.assertIn("different versions", self.fails("Lab", self.worker.make, unnamed))
        wrong = judge.launch(self.module, "f", tensor("x", "f32", [3], self.x), tensor("y", "f32", [4], self.y))
        self.assertIn("12 bytes on a buffer of 16", self.fails("Lab", self.worker.make, wrong))
        self.assertIn("already", self.fails("Lab", self.worker.call, "Open", target="cpu", parent=None, under_tool=False,
                                            sandbox=None))
        self.assertEqual(self.launch(), X)

    def test_tensors_of_each_type_view_their_buffers(self):
        types = {"f64": ("float64", 8), "f32": ("float32", 4), "f16": ("float16", 2), "bf16": ("bfloat16", 2),
                 "f8e4m3": ("float8_e4m3fn", 1), "f8e5m2": ("float8_e5m2", 1), "i8": ("int8", 1), "u8": ("uint8", 1),
                 "i16": ("int16", 2), "u16": ("uint16", 2), "i32": ("int32", 4), "u32": ("uint32", 4), "i64": ("int64", 8),
                 "u64": ("uint64", 8), "bool": ("bool", 1)}
        source = "def f(x, y):\n    assert x.shape == (2, 3), x.shape\n    y[...] = x\n\ndef g(x):\n    raise TypeError(x.dtype)\n"
        module = self.worker.load(source)
        for word, (name, size) in types.items():
            with self.subTest(word):
                content = bytes(i % 2 for i in range(6 * size))
                x, y = self.worker.input("x", content), self.worker.buffer("y", len(content))
                self.worker.launch(module, "f", tensor("x", word, [2, 3], x), tensor("y", word, [2, 3], y))
                self.assertEqual(self.worker.read(y), content)
                text = self.fails("Crash", self.worker.launch, module, "g", tensor("x", word, [2, 3], x))
                self.assertIn(f"kernel.py:6: error: TypeError: {name}\n", text)

    def test_views_of_a_buffer_have_strides(self):
        source = ("def f(x, y):\n    assert x.shape == (2, 2) and x.strides == (16, 8), (x.shape, x.strides)\n"
                  "    assert not x.flags.writeable\n    y[...] = x\n")
        module = self.worker.load(source)
        x, y = self.worker.input("x", floats(*range(8))), self.worker.buffer("y", 32)
        part = lambda name, buffer, offset=4: ({"name": name, "dtype": "f32", "shape": [2, 2], "strides": [4, 2],  # noqa: E731
                                                "is_input": name == "x"}, {"Part": [buffer, offset]})
        before = self.worker.read(y)
        self.worker.launch(module, "f", part("x", x), part("y", y))
        written = [floats(float(i)) if i % 2 else before[4 * i:4 * i + 4] for i in range(8)]
        self.assertEqual(self.worker.read(y), b"".join(written))
        beyond = judge.launch(module, "f", part("y", y, offset=8))
        self.assertIn("28 bytes on a buffer of 32", self.fails("Lab", self.worker.make, beyond))

    def test_scalars_of_each_type_are_python_numbers(self):
        module = self.worker.load("def f(s):\n    raise ValueError(repr(s))\n")
        cells = {"f32": (floats(1.5), "1.5"), "f64": (struct.pack("<d", 0.1), "0.1"), "f16": (b"\x00\x3e", "1.5"),
                 "bf16": (b"\xc0\x3f", "1.5"), "i8": (b"\xff", "-1"), "u8": (b"\xff", "255"), "bool": (b"\1", "True"),
                 "u16": (b"\xff\xff", "65535"), "u64": (b"\xff" * 8, str(2**64 - 1)), "u32": (b"\xff" * 4, str(2**32 - 1)),
                 "i32": (struct.pack("<i", -7), "-7"), "i64": (struct.pack("<q", 1 << 40), str(1 << 40))}
        for word, (content, shown) in cells.items():
            with self.subTest(word):
                text = self.fails("Crash", self.worker.launch, module, "f", value("s", word, content))
                self.assertIn(f"error: ValueError: {shown}\n", text)

    def test_a_device_that_is_not_there_is_named(self):
        for target, words in (("npu", "there is no device npu"), ("cuda:x", "there is no device cuda:x")):
            with self.assertRaises(judge.Refused) as refused:
                Worker(target, standby=self.standby.path)
            self.assertEqual(refused.exception.kind, "Lab")
            self.assertIn(words, refused.exception.text)

    def test_a_worker_of_another_parent_serves_nobody(self):
        # The connection's first request names the parent; this one is not the worker's.
        with self.assertRaises(judge.Ended):
            Worker(parent=os.getppid())

    def test_a_worker_without_a_socket_says_who_starts_it(self):
        done = judge.subprocess.run([judge.sys.executable, "-m", "lab_harness.worker"], stdin=judge.subprocess.DEVNULL,
                                    env=dict(os.environ, PYTHONPATH=judge.PACKAGE), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is started by lab, not by hand", done.stderr)


class WithoutNumPy(unittest.TestCase):
    def test_a_missing_numpy_is_one_line_and_no_traceback(self):
        code = "import sys; sys.modules['numpy'] = None; from lab_harness.worker.devices import open_device; open_device('cpu')"
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 1)
        self.assertRegex(ended.stderr, r"\A.*numpy.*\n\Z")


if __name__ == "__main__":
    unittest.main()
