"""Sources that do not load, functions that do not fit, and exceptions: each is shown at its line."""

import importlib.util
import os
import sys
import tempfile
import unittest

from .worker_case import X, WorkerCase


class Loading(WorkerCase):
    def test_a_syntax_error_is_shown_at_its_line_and_column(self):
        text = self.fails("Build", self.worker.load, "x = 1\ndef f(:\n    pass\n")
        self.assertTrue(text.startswith("kernel.py:2:7: error: SyntaxError: invalid syntax\n"), text)
        self.assertNotIn("/", text.partition("\n")[0])

    def test_an_exception_while_the_source_is_loaded_is_shown_at_its_line(self):
        text = self.fails("Build", self.worker.load, "import math\n\ndef g():\n    return missing\n\ny = g()\n")
        self.assertTrue(text.startswith("kernel.py:4: error: NameError: name 'missing' is not defined\nTraceback"), text)
        self.assertIn('File "kernel.py", line 6, in <module>', text)
        self.assertNotIn("lab_harness", text, "the worker's own frames are left out")

    def test_the_deepest_line_of_the_source_is_shown_not_that_of_a_library(self):
        text = self.fails("Build", self.worker.load, "import json\nx = json.loads('{')\n")
        self.assertTrue(text.startswith("kernel.py:2: error: json.decoder.JSONDecodeError: "), text)

    def test_the_judge_names_the_function_of_an_entry_and_the_source_stays_as_it_is(self):
        source = "def other(x, y):\n    f(x, y)\ndef f(x, y):\n    y[...] = x\ndef wrong(z, y):\n    pass\ndef given(x, y):\n    return x + 0\ndef named(x, y):\n    return 'y'\n"
        functions = [["f", "other"], ["g", "missing"], ["h", "wrong"], ["i", "given"], ["j", "named"]]
        self.load(source + "assert __name__ == 'peer'\n", "numpy.py", functions=functions)
        self.assertEqual(self.launch(), X, "`other` calls the function that has the entry's name")
        self.assertEqual(self.worker.call("MissingEntry", module=self.module, entry="g"), "missing")
        text = self.fails("Build", self.launch, "g")
        self.assertTrue(text.startswith("numpy.py: error: there is no function missing: numpy.py must define `def missing(x, y):`"), text)
        text = self.fails("Build", self.launch, "h")
        self.assertTrue(text.startswith("numpy.py:5: error: wrong has the parameter z"), text)
        self.assertEqual(self.launch("i"), X, "what a peer returns is its output")
        text = self.fails("Crash", self.launch, "j")
        self.assertTrue(text.startswith("numpy.py:9: error: named returned str for y, which is"), text)

    def test_a_module_that_is_missing_is_named(self):
        text = self.fails("Build", self.worker.load, "import no_such_module_here\n")
        self.assertTrue(text.startswith("kernel.py:1: error: ModuleNotFoundError: No module named 'no_such"), text)
        self.assertIn(f"{sys.executable} has no such module", text.partition("\n")[0])

    @unittest.skipUnless(importlib.util.find_spec("triton"), "this Python has no Triton")
    def test_a_triton_kernel_says_what_it_needs(self):
        self.load("""import triton
import triton.language as tl
@triton.jit
def copy(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at))
def f(x, y):
    copy[(1,)](x, y, BLOCK=4)
@triton.jit
def direct(x, y):
    pass
""")
        self.assertIn("define `def direct(x, y):` with `kernel[grid](…)` in it", self.fails("Build", self.launch, "direct"))

    def test_a_module_that_is_missing_says_what_to_do(self):
        text = self.fails("Build", self.worker.load, "import no_such.part\n").partition("\n")[0]
        self.assertIn("-m pip install no_such`", text)
        self.assertIn("in `extra` under [watch] of lab.toml", text)
        text = self.fails("Build", self.worker.load, "import numpy.no_such\n").partition("\n")[0]
        self.assertIn("has numpy without it: another version of numpy may have it", text)
        self.assertNotIn("pip", text)

    def load_bytes(self, content):
        """The failure of a source of these bytes."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "kernel.py")
        with open(path, "wb") as file:
            file.write(content)
        return self.fails("Build", self.worker.call, "Load", image=path)

    def test_a_file_that_is_no_utf_8_says_so(self):
        source = "def f(x, y):\n    pass\n"
        self.assertEqual(self.load_bytes(source.encode("utf-16")),
                         "kernel.py:1: error: the file is UTF-16: save it as UTF-8, which Python reads")
        text = self.load_bytes(b"# a comment\n# -*- coding: no-such-thing -*-\n" + source.encode())
        self.assertTrue(text.startswith("kernel.py:2: error: unknown encoding: no-such-thing: "), text)
        self.assertIn("Save it as UTF-8", text)
        text = self.load_bytes(b"x = 1\ny = '\xff'\n")
        self.assertTrue(text.startswith("kernel.py:"), text)
        self.assertIn("utf-8", text)

    def test_an_exit_while_the_source_is_loaded_is_an_error_of_the_source(self):
        text = self.fails("Build", self.worker.load, "import sys\nsys.exit(3)\n")
        self.assertTrue(text.startswith("kernel.py:2: error: SystemExit: 3: a kernel must not end its process"), text)

    def test_bytes_that_are_no_source_are_an_error(self):
        self.assertIn("null bytes", self.fails("Build", self.worker.load, "x = 1\0\n"))

    def test_the_source_is_no_main_program_and_its_folder_is_not_searched(self):
        self.load("import sys\nassert __name__ == 'kernel' and __file__.endswith('/kernel.py')\n"
                  "assert sys.modules['kernel'].__dict__ is globals()\n"
                  "def f(x, y):\n    import os\n    assert os.getcwd() == '/'\n    y[...] = x\n")
        self.assertEqual(self.launch(), X)


class Calling(WorkerCase):
    def test_arguments_are_found_by_their_names(self):
        self.load("def f(y, x):\n    y[...] = x\n"
                  "def only(x, /, *, y, scale=1.0):\n    y[...] = x * scale\n"
                  "def rest(y, **rest):\n    assert list(rest) == ['x']\n    y[...] = rest['x']\n")
        for entry in ("f", "only", "rest"):
            self.assertEqual(self.launch(entry), X, entry)

    def test_a_parameter_that_the_problem_lacks_is_named_with_those_that_it_has(self):
        self.load("import math\n\ndef f(x, y, alpha):\n    pass\n")
        text = self.fails("Build", self.launch)
        self.assertEqual(text, "kernel.py:3: error: f has the parameter alpha, which the problem does not have. The problem "
                               "has: x (f32, 4), y (f32, 4)")

    def test_arguments_without_names_are_refused(self):
        self.load("def f(*tensors):\n    pass\n")
        self.assertIn("kernel.py:1: error: f takes *tensors, and arguments are given by name: write def f(x, y):",
                      self.fails("Build", self.launch))

    def test_a_missing_function_is_described(self):
        self.load("def g(x, y):\n    pass\nh = 3\n")
        self.assertEqual(self.fails("Build", self.launch, "f"),
                         "kernel.py:1: error: there is no function f (line 1 defines g): kernel.py must define `def f(x, y):`, "
                         "which writes into its outputs and returns None. The parameters are: x (f32, 4), y (f32, 4)")
        self.assertIn("int is no function: h", self.fails("Build", self.launch, "h"))

    def test_an_object_that_is_called_has_the_line_where_the_source_makes_it(self):
        self.load("""class Adds:
    def __init__(self, *values):
        pass
    def __call__(self, x, y, alpha):
        pass

import functools
if True:
    adds = Adds()
partly = functools.partial(lambda x, y, z, beta: None, z=1)
class Returns:
    def __new__(cls, x, y):
        return 3
@property
def unreadable(self):
    pass
""")
        self.assertIn("kernel.py:9: error: adds has the parameter alpha", self.fails("Build", self.launch, "adds"))
        self.assertIn("kernel.py:10: error: partly has the parameter beta", self.fails("Build", self.launch, "partly"))
        self.assertIn("kernel.py:1: error: Adds takes *values", self.fails("Build", self.launch, "Adds"))
        self.assertIn("kernel.py:11: error: Returns returned a value of type builtins.int", self.fails("Crash", self.launch, "Returns"))
        self.assertIn("property is no function: unreadable", self.fails("Build", self.launch, "unreadable"))

    def test_an_exception_without_a_text_keeps_its_line(self):
        self.load("""class Mute(Exception):
    def __str__(self):
        raise ZeroDivisionError
    __repr__ = __str__
def f(x, y):
    y[...] = x
    raise Mute
def loud(x, y):
    raise SystemExit(Mute())
""")
        text = self.fails("Crash", self.launch)
        self.assertTrue(text.startswith("kernel.py:7: error: kernel.Mute, whose text cannot be made (builtins.ZeroDivisionError)\n"),
                        text)
        self.assertIn("kernel.py:9: error: ", self.fails("Crash", self.launch, "loud"))

    def test_exceptions_of_a_kernels_objects_are_the_kernels(self):
        self.load("""class Kind(type):
    def __getattribute__(cls, name):
        raise KeyboardInterrupt
class Odd(metaclass=Kind):
    def __del__(self):
        raise ValueError
def f(x, y):
    y[...] = x
    return object.__new__(Odd)
class Key(str):
    __hash__ = str.__hash__
    def __eq__(self, other):
        raise KeyboardInterrupt
def ok(x, y):
    y[...] = x
def named(x, y):
    globals()[Key("late")] = globals().pop("other", None)
    y[...] = x
""")
        self.assertIn("kernel.py:7: error: f returned a value of type kernel.Odd", self.fails("Crash", self.launch))
        self.launch("named")
        text = self.fails("Crash", self.launch, "late")
        self.assertTrue(text.startswith("kernel.py:13: error: KeyboardInterrupt"), text)
        self.assertEqual(self.launch("ok"), X)

    def test_a_value_that_is_returned_is_an_error(self):
        self.load("def f(x, y):\n    return x + 1\n")
        self.assertEqual(self.fails("Crash", self.launch),
                         "kernel.py:1: error: f returned a value of type numpy.ndarray: it must write into its outputs and "
                         "return None")

    def test_an_exception_in_a_launch_is_shown_at_its_line_and_the_worker_goes_on(self):
        self.load("def g(x):\n    raise ValueError('no\\nway')\n\ndef f(x, y):\n    g(x)\n\ndef ok(x, y):\n    y[...] = x\n")
        text = self.fails("Crash", self.launch)
        self.assertTrue(text.startswith("kernel.py:2: error: ValueError: no\nTraceback (most recent call last):\n  File "
                                        "\"kernel.py\", line 5, in f\n"), text)
        self.assertEqual(self.launch("ok"), X)

    def test_every_exception_is_caught_and_described(self):
        self.load("""import sys
def leaves(x, y):
    sys.exit("done")
def stops(x, y):
    raise KeyboardInterrupt
def recurses(x, y):
    recurses(x, y)
def swallows(x, y):
    return (yield)
class Odd(Exception):
    def __str__(self):
        raise RuntimeError
def odd(x, y):
    raise Odd
def grows(x, y):
    import numpy
    numpy.empty(1 << 57)
def writes_input(x, y):
    x[0] = 1
def lowers(x, y):
    sys.setrecursionlimit(60)
    y[...] = x
""")
        expected = {"leaves": "kernel.py:3: error: SystemExit: 'done': a kernel must not end its process",
                    "stops": "kernel.py:5: error: KeyboardInterrupt", "recurses": "kernel.py:7: error: RecursionError: ",
                    "swallows": "swallows returned a value of type builtins.generator", "odd": "error: ",
                    "grows": "MemoryError", "writes_input": "kernel.py:19: error: ValueError: assignment destination is read-only"}
        for entry, words in expected.items():
            with self.subTest(entry):
                text = self.fails("Crash", self.launch, entry)
                self.assertIn(words, text)
                self.assertLess(len(text), 40_000)
        for _ in range(2):
            self.assertEqual(self.launch("lowers"), X)


if __name__ == "__main__":
    unittest.main()
