"""What the functions print, as lab reads it. Run: python3 -m unittest discover -s harness/python/tests -t harness/python"""

import contextlib
import io
import math
import unittest
from unittest import mock

from lab_harness import compare, report, turns


def printed(call):
    """The lines that the call prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call()
    return out.getvalue().splitlines()


class ReportTest(unittest.TestCase):
    def setUp(self):
        report._state.update(correctness=None, failed=[])

    def test_a_run_that_passes(self):
        def run():
            report.device("Test GPU", uuid="GPU-1")
            report.stage("verify")
            report.progress(3, 10)
            self.assertTrue(report.gate("y_error", 2.1e-06, limit=3e-05, at="step 731"))
            report.stage("measure")
            report.throughput(42013.5, low=41890, high=42102)
            report.kernel_us(23.8)
            report.workload(rows=3, T="f32", kernel_us=4.1)
            with self.assertRaises(SystemExit) as ended:
                report.finish()
            self.assertEqual(ended.exception.code, 0)

        self.assertEqual(
            printed(run),
            [
                "device: Test GPU",
                "device_uuid: GPU-1",
                "stage: verify",
                "progress: 3/10",
                "y_error: 2.1e-06 limit=3e-05 at=step~731",
                "stage: measure",
                "throughput_sps: 42013.5 low=41890 high=42102",
                "kernel_us: 23.8",
                "workload: rows=3 T=f32 kernel_us=4.1",
                "correctness: pass",
                "stage: done",
            ],
        )

    def test_a_figure_says_what_it_is_of_several_workloads(self):
        def run():
            report.throughput(42013.5, aggregate="worst", workloads=3)
            report.measure("speed_ratio", 1.02, low=1.01, high=1.03, aggregate="geometric", workloads=3)
            report.turns([1, 1, 1, 1], aggregate="arithmetic", workloads=2)

        self.assertEqual(
            printed(run),
            [
                "throughput_sps: 42013.5 aggregate=worst workloads=3",
                "speed_ratio: 1.02 low=1.01 high=1.03 aggregate=geometric workloads=3",
                "turns: 1 1 1 1 aggregate=arithmetic workloads=2",
            ],
        )

    def test_a_gate_that_fails_fails_the_run(self):
        for value in (2, math.nan, math.inf):
            with self.subTest(value=value):
                report._state.update(correctness=None, failed=[])
                lines = printed(lambda: self.assertFalse(report.gate("y_error", value, limit=1)))
                self.assertEqual(len(lines), 1)
                with self.assertRaises(SystemExit) as ended:
                    lines = printed(report.finish)
                self.assertEqual(ended.exception.code, 1)
        # Whoever says pass beside a failed gate does not exit with 0 either.
        printed(lambda: report.correctness(True))
        with self.assertRaises(SystemExit) as ended:
            printed(report.finish)
        self.assertEqual(ended.exception.code, 1)

    def test_what_lab_could_not_read_is_refused(self):
        refused = [
            lambda: report.line("Y_error", 1),
            lambda: report.line("y error", 1),
            lambda: report.line("caveat", "  "),
            lambda: report.line("see", "//example.org"),
            lambda: report.caveat("x" * 70_000),
            lambda: report.stage("compile"),
            lambda: report.fault("kernel", "it is wrong"),
            lambda: report.progress(11, 10),
            lambda: report.gate("y", 1, limit=math.nan),
            lambda: report.gate("y", 1, limit=2, at="a=b"),
            lambda: report.throughput(1, low=0.5),
            lambda: report.throughput(math.inf),
            lambda: report.throughput(1, low=0.5, high=math.inf),
            lambda: report.turns([0.1, 0.2, 0.3]),
            lambda: report.turns([0.1, 0.2, 0.3, 0.0]),
            lambda: report.turns([]),
            lambda: report.turns([1, 1, 1, 1], workload={}),
            lambda: report.turns([1, 1, 1, 1], workload={"rows": "a=b"}),
            lambda: report.turns([1, 1, 1, 1], workload={"rows": 3}, aggregate="worst", workloads=2),
            lambda: report.kernel_us(1, aggregate="median", workloads=2),
            lambda: report.kernel_us(1, aggregate="worst", workloads=1),
            lambda: report.kernel_us(1, aggregate="worst"),
            lambda: report.kernel_us(1, workloads=2),
            lambda: report.workload(),
            lambda: report.workload(T="f 32="),
        ]
        for number, call in enumerate(refused):
            with self.subTest(number=number):
                with self.assertRaises(ValueError):
                    self.assertEqual(printed(call), [])

    def test_a_line_break_does_not_begin_another_result_line(self):
        self.assertEqual(
            printed(lambda: report.caveat("warm\ncorrectness: pass\r\n\tx")), ["caveat: warm correctness: pass x"]
        )

    def test_a_long_series_keeps_its_largest_cells(self):
        cells = [0.0] * 10_000
        cells[7_777], cells[42] = 5.0, math.nan
        line = printed(lambda: report.gate("y_error", 5, limit=9, series=cells))[1]
        key, rest = line.split(": ")
        values, count = rest.split(" ")
        self.assertEqual((key, count, len(values.split(","))), ("y_error_series", "cells=10000", 512))
        self.assertEqual((values.count("5"), values.count("nan")), (1, 1))
        short = printed(lambda: report.gate("y_error", 5, limit=9, series=[1, 2]))[1]
        self.assertEqual(short, "y_error_series: 1,2 cells=2")


class CompareTest(unittest.TestCase):
    def setUp(self):
        report._state.update(correctness=None, failed=[])

    def test_the_error_is_in_units_of_what_is_allowed(self):
        self.assertAlmostEqual(compare.error(1.001, 1.0, atol=0.001, rtol=0.001), 0.5)
        self.assertEqual(compare.error(3.0, 3.0, atol=0, rtol=0), 0)
        self.assertEqual(compare.error(3.0, 3.1, atol=0, rtol=0), math.inf)

    def test_what_is_not_finite_must_be_the_same(self):
        nan, inf = math.nan, math.inf
        right = [(nan, nan), (inf, inf), (-inf, -inf)]
        wrong = [(nan, 1.0), (1.0, nan), (inf, -inf), (inf, 1.0), (1.0, inf), (nan, inf)]
        for got, expected in right:
            self.assertEqual(compare.error(got, expected, 1, 1), 0, (got, expected))
        for got, expected in wrong:
            self.assertEqual(compare.error(got, expected, 1, 1), math.inf, (got, expected))

    def test_the_first_wrong_cell_is_named(self):
        lines = printed(lambda: compare.gate("y_error", [1, 2, 9, 99], [1, 2, 3, 4], atol=0.5, rtol=0))
        self.assertEqual(lines[0], "y_error: 190 limit=1 at=cell~3")
        self.assertEqual(lines[2], "first_failure: y_error: cell 2 is 9, expected 3")
        with self.assertRaises(ValueError):
            compare.gate("y_error", [1, 2], [1, 2, 3], atol=0, rtol=0)


class TurnsTest(unittest.TestCase):
    def test_both_turns_of_a_pair_have_the_same_inputs(self):
        calls = []
        kernels = {name: (lambda given, name=name: calls.append((name, given))) for name in "AB"}
        lines = printed(lambda: turns.abba(kernels["A"], kernels["B"], inputs="xyz", blocks=3, clock=clock))
        self.assertEqual("".join(name for name, _ in calls), "ABBA" * 3)
        self.assertEqual("".join(given for _, given in calls), "xxyyzzxxyyzz")
        self.assertEqual(lines, ["turns: 0.5 0.5 0.5 0.5"] * 3)

    def test_turns_name_their_trial_and_workload(self):
        nothing = lambda _: None
        shape = {"rows": 3, "T": "f 32"}
        lines = printed(lambda: turns.abba(nothing, nothing, blocks=3, clock=clock, trial=2, workload=shape))
        self.assertEqual(lines, ["turns: 0.5 0.5 0.5 0.5 trial=2 workload=rows=3~T=f~32"] * 3)

    def test_without_a_clock_wall_time_counts(self):
        times = iter([0.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 6.0] * 3)
        with mock.patch("time.perf_counter", lambda: next(times)):
            lines = printed(lambda: turns.abba(lambda _: None, lambda _: None, blocks=3))
        self.assertEqual(lines, ["turns: 2 1 1 2"] * 3)

    def test_too_few_blocks_and_no_inputs_are_refused(self):
        nothing = lambda _: None
        for wrong in ({"blocks": 2}, {"inputs": []}):
            with self.assertRaises(ValueError):
                turns.abba(nothing, nothing, **wrong)


def clock(function, given):
    function(given)
    return 0.5


if __name__ == "__main__":
    unittest.main()
