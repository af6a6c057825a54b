"""What is compiled ahead of a worker. Triton compiles for a GPU that is not there; without Triton nothing is compiled."""

import importlib.util
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

from . import judge
from .test_standby import Run

KERNEL = """import os
import triton
import triton.language as tl
{before}
@triton.jit
def double_row(x, y, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < cols
    tl.store(y + at, 2 * tl.load(x + at, mask=inside), mask=inside)

def double(y, x, cols):
    {first}
    double_row[(1,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
"""
COMPILE = """import json, sys
from lab_harness import compile_ahead
sys.exit(compile_ahead.run(json.load(sys.stdin)))
"""


def call(cols):
    """The call of `double` for so many columns."""
    tensors = [{"name": name, "dtype": "f16", "shape": [cols]} for name in "xy"]
    return {"entry": "double", "parameters": [*tensors, {"name": "cols", "dtype": "i32", "value": list(struct.pack("<i", cols))}]}


class CompileAhead(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lab-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def compile(self, before="", first="pass", columns=(64, 128, 1000)):
        """Compiles a kernel for calls with so many columns. Returns the number of images in Triton's cache folder, and the exit code."""
        path, cache = os.path.join(self.folder, "kernel.py"), os.path.join(self.folder, "cache")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL.format(before=before, first=first))
        environment = {**os.environ, "PYTHONPATH": judge.PACKAGE, "TRITON_CACHE_DIR": cache}
        request = json.dumps({"path": path, "sm": 90, "calls": [call(cols) for cols in columns]})
        done = subprocess.run([sys.executable, "-c", COMPILE], input=request, env=environment, capture_output=True, text=True,
                              timeout=judge.PATIENCE, check=False)
        images = [name for _, _, names in os.walk(cache) for name in names if name.endswith(".cubin")]
        return len(images), done.returncode

    @unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
    def test_each_shape_is_compiled_and_nothing_is_launched(self):
        self.assertEqual(self.compile(), (3, 0))

    @unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
    def test_a_call_that_needs_values_fails_and_the_others_are_compiled(self):
        # The sum of a tensor without memory is no number.
        self.assertEqual(self.compile(first="if cols == 128 and x.sum().item() > 0: return"), (2, 0))

    @unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
    def test_a_source_that_opens_the_reference_compiles_nothing_more(self):
        with tempfile.TemporaryDirectory(prefix="lab-test-") as folder:
            reference = os.path.join(folder, "reference.py")
            with open(reference, "w", encoding="utf-8") as file:
                file.write("# the answer\n")
            for opens in (f"open({reference!r}).read()", "import reference", "sys.addaudithook(print)"):
                before = f"import sys\ntry:\n    {opens}\nexcept Exception:\n    pass"
                self.assertEqual(self.compile(before=before), (0, 1), opens)

    @unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
    def test_a_source_that_needs_a_device_compiles_nothing(self):
        self.assertEqual(self.compile(before="import torch\ntorch.zeros(1, device='cuda')"), (0, 1))


@unittest.skipUnless(judge.has_numpy(), "this Python has no NumPy or no ml_dtypes")
class OnStandby(unittest.TestCase):
    def test_a_request_to_compile_that_fails_leaves_the_standby_as_it_was(self):
        started = judge.Standby()
        self.addCleanup(started.end)
        for _ in range(2):
            run = Run(started.path, request={"run": "compile", "path": "/nowhere/kernel.py", "sm": 90, "calls": [call(64)]})
            self.addCleanup(run.close)
            self.assertIn("started", run.heard())
            self.assertNotEqual(run.heard()["ended"].get("code"), 0)
        worker = Run(started.path)
        self.addCleanup(worker.close)
        self.assertIn("started", worker.heard())
        worker.open()
