"""Which memory a kernel can read: that of its own process, and of no other one."""

import os
import subprocess
import sys
import unittest

from . import judge
from .worker_case import WorkerCase

READS = """import os

def reads(process):
    try:
        with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "r+b") as memory:
            memory.seek(int(maps.readline().split("-")[0], 16))
            return len(memory.read(4)) == 4
    except OSError:
        return False

def f(x, y):
    child = os.fork()
    if child == 0:
        os._exit(reads(JUDGE) + 2 * reads(OTHER))
    y[0], y[1] = reads(JUDGE), reads(OTHER)
    y[2], y[3] = reads(os.getpid()), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def has_domains():
    """Whether Linux has Landlock domains."""
    ask = "import sys; from lab_harness.worker import domain; sys.exit(not domain.enter())"
    return subprocess.run([sys.executable, "-c", ask], env=dict(os.environ, PYTHONPATH=judge.PACKAGE)).returncode == 0


class Without(unittest.TestCase):
    def test_a_worker_says_that_linux_has_no_domains(self):
        ask = ("from lab_harness.worker import domain, server; import types; domain._OLDEST_VERSION = 99; domain.enter(); "
               "device = types.SimpleNamespace(info=dict, has_graphs=False, shares_memory=False); "
               "print(server.Worker.opened(types.SimpleNamespace(_device=device), {'sandbox': []})['sandbox'])")
        done = subprocess.run([sys.executable, "-c", ask], env=dict(os.environ, PYTHONPATH=judge.PACKAGE), capture_output=True, text=True)
        self.assertIn("can also read and write the memory of the judge", done.stdout, done.stderr)


@unittest.skipUnless(has_domains(), "this Linux has no Landlock domains")
class Domains(WorkerCase):
    def read_by_the_kernel(self, other):
        """What the kernel reads: the judge, another process, its own, and both by a process that it forks."""
        self.load(READS.replace("JUDGE", str(os.getpid())).replace("OTHER", str(other)))
        return self.launch()

    def test_a_kernel_reads_no_memory_of_the_judge_and_of_another_worker(self):
        other = judge.Worker(standby=self.standby.path)
        self.addCleanup(other.kill)
        self.assertEqual(self.read_by_the_kernel(other.process.process), judge.floats(0, 0, 1, 0))

    def test_nor_does_one_that_no_standby_has_forked(self):
        self.worker = judge.Worker()
        self.addCleanup(self.worker.kill)
        self.assertEqual(self.read_by_the_kernel(self.standby.process.pid), judge.floats(0, 0, 1, 0))

    def test_a_process_in_a_domain_moves_files_between_folders(self):
        self.load("import os, tempfile\ndef f(x, y):\n    a, b = tempfile.mkdtemp(), tempfile.mkdtemp()\n"
                  "    open(a + '/file', 'w').close()\n    os.replace(a + '/file', b + '/moved')\n    y[...] = len(os.listdir(b))\n"
                  "    os.remove(b + '/moved')\n    os.rmdir(a)\n    os.rmdir(b)\n")
        self.assertEqual(self.launch(), judge.floats(1, 1, 1, 1))


if __name__ == "__main__":
    unittest.main()
