"""What a parent on standby lets Triton do ahead. Triton compiles for a GPU that is not there."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

from . import judge

# Afterwards a compilation has nothing to set up, and neither threads nor settings stay.
CHECK = """import os
before = dict(os.environ)
from lab_harness import triton_warm_up
import triton.compiler.compiler as compiler
import triton.runtime.cache as cache
key = getattr(compiler, "triton_key", None) or cache.triton_key
assert key.cache_info().currsize == 0, "the key is known before"
triton_warm_up.warm_up()
assert key.cache_info().currsize == 1, "Triton's files were not hashed"
assert os.environ == before, "the environment was changed"
print(len(os.listdir("/proc/self/task")))
"""


@unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
class TritonWarmUp(unittest.TestCase):
    def test_a_compilation_ahead_leaves_no_thread_no_file_and_no_setting(self):
        with tempfile.TemporaryDirectory(prefix="lab-test-") as folder:
            environment = {**os.environ, "PYTHONPATH": judge.PACKAGE, "TMPDIR": folder, "HOME": folder}
            environment.pop("TRITON_CACHE_DIR", None)
            done = subprocess.run([sys.executable, "-c", CHECK], env=environment, capture_output=True, text=True,
                                  timeout=judge.PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)
            self.assertEqual(os.listdir(folder), [])
