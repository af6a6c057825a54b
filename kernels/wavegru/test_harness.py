"""Tests of harness_reference.py and of the harness's parts. Run: python3 -m unittest discover -s kernels/wavegru

They need NumPy, and a C++ compiler for those of the emulated device. Where PyTorch is installed, its own layers are
compared too.
"""

import contextlib
import io
import math
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

import harness
import harness_cpu
import harness_reference as reference
from harness_launch import ENTRY, PROBLEM_HEADER, BuildError, Buffer, LaunchError, unwritten_or_not_finite

INCLUDE = harness.LAB / "harness" / "device" / "include"
PROBLEM = {
    "hidden": 64, "weight_seed": 1, "margin": 1e-4, "temperature": [0.7, 1.4], "min_p": [0.02, 0.12], "first_token": [0, 255],
    "limits": {"teacher_prob_max_diff": 2e-5, "teacher_prob_mean_diff": 2.5e-6, "h0_max_diff": 1e-5, "h1_max_diff": 1.5e-5,
               "teacher_score_diff": 1e-4},
}  # fmt: skip


def host(values):
    return np.asarray(values)


class RandomNumbersTest(unittest.TestCase):
    def test_the_published_known_answers_of_philox(self):
        # `philox4x32 10` in Random123's kat_vectors: counter, key, answer.
        ones = 0xFFFF_FFFF
        known = [
            ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
            ([ones] * 4, ones << 32 | ones, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
            ([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], 0x299F31D0_A4093822,
             [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
        ]  # fmt: skip
        for counter, seed, answer in known:
            self.assertEqual(reference.philox([counter], seed)[0].tolist(), answer)

    def test_noise_has_the_mean_and_the_variance_of_a_gumbel_distribution(self):
        noise = reference.gumbel(0x0123_4567_89AB_CDEF, 400)
        self.assertAlmostEqual(noise.mean(), 0.577_216, delta=0.02)
        self.assertAlmostEqual(noise.var(), math.pi**2 / 6, delta=0.05)

    def test_bf16_is_rounded_to_the_nearest_and_ties_to_even(self):
        bits = np.array([0x3F80_0000, 0x3F80_7FFF, 0x3F80_8000, 0x3F80_8001, 0x3F81_8000], dtype=np.uint32)
        rounded = reference.to_bf16(bits.view(np.float32))
        self.assertEqual(rounded.tolist(), [0x3F80, 0x3F80, 0x3F80, 0x3F81, 0x3F82])
        self.assertEqual(reference.widen(rounded)[0], 1.0)


class RunTest(unittest.TestCase):
    def test_parameters_fill_their_ranges_and_no_temperature_is_near_one(self):
        runs = [reference.draw_run({**PROBLEM, "hidden": 4}, 1, seed) for seed in range(600)]
        self.assertTrue(all(0.7 <= run.temperature <= 1.4001 and abs(run.temperature - 1) > 0.0499 for run in runs))
        middle = reference.min_p_at([0.02, 0.12], 0.5)
        self.assertTrue(all((run.min_p < middle) == (run.seed % 2 == 0) for run in runs))
        self.assertGreater(len({run.first_token for run in runs}), 200)

    def test_the_cell_is_pytorchs_own(self):
        if reference.xp is np:
            self.skipTest("PyTorch is not installed")
        torch = reference.xp
        torch.manual_seed(1)
        cell = torch.nn.GRUCell(8, 8, dtype=torch.float64)
        cell.requires_grad_(False)
        w = {"w_ih0": cell.weight_ih, "w_hh0": cell.weight_hh, "b_ih0": cell.bias_ih, "b_hh0": cell.bias_hh}
        x, h = torch.randn(3, 8, dtype=torch.float64), torch.randn(3, 8, dtype=torch.float64)
        difference = (cell(x, h) - reference.gru_cell(w, 0, x, h)).abs().max().item()
        self.assertLess(difference, 1e-7)
        norm = torch.nn.functional.rms_norm(x, (8,), h[0], eps=1e-5)
        self.assertLess((norm - reference.rms_norm(x, h[0])).abs().max().item(), 1e-12)

    def test_min_p_drops_what_would_have_won_and_the_margin_says_by_how_much(self):
        # Token 3 is the likeliest. Token 9 is a little below the threshold, all others are far below.
        logits = np.full((400, 256), -20.0)
        logits[:, 3], logits[:, 9] = 0.0, math.log(0.05) - 1e-3
        noise = reference.gumbel(77, 400)
        picked = host(reference.pick(reference.xp.asarray(logits), math.log(0.05), reference.xp.asarray(noise)))
        self.assertTrue((picked == 3).all())
        run = reference.Run(77, 400, 0, 1.0, 0.05, np.zeros(1, np.float32), np.zeros(1, np.float32))
        result = reference.result(run, picked, logits, noise, run.h0, run.h1)
        self.assertAlmostEqual(result.margin, 1e-3, delta=1e-6)
        self.assertAlmostEqual(result.same_min_p[0], 0.05 * math.exp(-1e-3), delta=1e-9)

    def test_runs_in_company_are_what_they_are_alone(self):
        model = reference.Model(reference.draw_weights(64, 3))
        runs = [reference.draw_run(PROBLEM, 10, seed) for seed in (20, 21, 22)]
        together, alone = model.run(runs), model.run(runs[1:2])
        self.assertEqual(together[1].tokens.tolist(), alone[0].tokens.tolist())
        self.assertLess(np.abs(together[1].teacher_prob - alone[0].teacher_prob).max(), 1e-9)
        self.assertNotEqual(together[0].tokens.tolist(), together[1].tokens.tolist())

    def test_drawn_runs_have_the_margin_and_tell_a_kernel_that_ignores_a_parameter(self):
        model = reference.Model(reference.draw_weights(64, 3))
        drawn = reference.draw_runs(PROBLEM, model, 24, 4, reference.runs_of_seed(5))
        for slot, (run, result) in enumerate(drawn):
            self.assertEqual(run.seed % 2, slot % 2)
            self.assertGreaterEqual(result.margin, 1e-4)
            self.assertTrue(result.tells(run, PROBLEM))


class GatesTest(unittest.TestCase):
    def setUp(self):
        model = reference.Model(reference.draw_weights(64, 3))
        self.run_ = reference.draw_run(PROBLEM, 10, 21)
        self.expected = model.run([self.run_])[0]

    def comparison(self, taught, **changed):
        right = {
            "tokens": self.expected.tokens.copy(), "teacher_prob": self.expected.teacher_prob.astype(np.float32),
            "h0": self.expected.h0.copy(), "h1": self.expected.h1.copy(), "broken": [],
        }  # fmt: skip
        for name, (cell, value) in changed.items():
            right[name][cell] = value
        comparison = harness.Comparison(PROBLEM, 10)
        comparison.add_taught(self.expected, right) if taught else comparison.add_sampled(self.run_, self.expected, right, "")
        return comparison

    def test_what_is_right_passes(self):
        self.assertTrue(self.comparison(taught=False).passes())
        self.assertTrue(self.comparison(taught=True).passes())

    def test_one_wrong_value_fails(self):
        wrong = [
            (False, {"tokens": (4, 256)}),
            (False, {"h0": (63, self.expected.h0[63] + 2e-5)}),
            (False, {"h1": (0, math.nan)}),
            (True, {"teacher_prob": (9, math.nan)}),
            (True, {"teacher_prob": (9, self.expected.teacher_prob[9] * 1.0002)}),
            (True, {"teacher_prob": (0, 0.0)}),
            (True, {"h1": (5, math.inf)}),
        ]
        for taught, changed in wrong:
            with self.subTest(changed=changed):
                comparison = self.comparison(taught, **changed)
                self.assertFalse(comparison.passes())
                harness.report._state.update(correctness=None, failed=[])
                with contextlib.redirect_stdout(io.StringIO()):
                    comparison.print()
                self.assertTrue(harness.report._state["failed"], "a gate says so")

    def test_unwritten_cells_and_nan_are_named(self):
        values = np.zeros(4, dtype=np.float32)
        values.view(np.uint32)[2] = 0xFFC0_FFEE
        values[3] = math.inf
        self.assertEqual(
            list(unwritten_or_not_finite("h1", values)),
            ["h1[2] was never written (1 of 4 cells were not)", "h1[3] is inf"],
        )


class MemoryTest(unittest.TestCase):
    def setUp(self):
        self.device = mock.Mock(allocate=harness_cpu.Memory)

    def test_a_store_outside_is_found_on_both_sides(self):
        for at in (-8192, -1, 16, 20_000):
            with self.subTest(at=at):
                buffer = Buffer(self.device, "h0", 16)
                buffer.write(np.zeros(4, dtype=np.float32))
                self.assertEqual(buffer.read(np.float32)[1], [])
                buffer.memory.bytes[buffer.address - buffer.memory.address + at] ^= 1
                (gate, sentence), *rest = buffer.read(np.float32)[1]
                self.assertEqual((gate, rest), ("out_of_bounds", []))
                self.assertEqual(sentence, f"the kernel wrote outside h0: at byte {at} from its beginning")
                self.assertEqual(buffer.read(np.float32)[1], [], "the zones are restored")

    def test_a_changed_input_is_found(self):
        buffer = Buffer(self.device, "embed", 16)
        buffer.write(np.arange(4, dtype=np.float32), is_input=True)
        buffer.memory.bytes[buffer.address - buffer.memory.address + 5] ^= 1
        self.assertEqual(
            buffer.read(np.float32)[1], [("inputs_changed", "the kernel changed its input embed: first at byte 5")]
        )


KERNEL = """\
#include "lab.h"
extern "C" __global__ void wavegru(int* out) {
    __shared__ int before[64], last;
    extern __shared__ __align__(16) int given[];
    const int i = threadIdx.x;
    before[i] = i;
    given[i] = i;
    BODY
}
LAB_LAUNCH(wavegru) {
    launch.grid[0] = 2;
    launch.block[0] = 64;
    launch.shared_bytes = 256;
    launch.cooperative = 1;
}
"""


class EmulatedDeviceTest(unittest.TestCase):
    """Kernels on the processor. A launch has two blocks of 64 threads."""

    def launch(self, body, order="forward"):
        device = harness_cpu.Device(INCLUDE)
        with TemporaryDirectory() as folder:
            source = Path(folder) / "kernel.cu"
            source.write_text(KERNEL.replace("BODY", body))
            kernel = device.build(source, ENTRY, {"LAB_HIDDEN": 256}, PROBLEM_HEADER)
            out = device.allocate(4 * 128)
            kernel.launch(bytes(12), [out.address], order)
            return out.read().view(np.int32)

    def test_threads_meet_in_warps_blocks_and_the_grid(self):
        body = """
            __syncthreads();
            const int mirrored = before[63 - i] + given[63 - i];                        // 2 · (63 - i)
            const int neighbour = __shfl_xor_sync(0xffffffffu, mirrored, 1);            // of thread i ^ 1
            const float sum = lab_warp_sum(1.0f);
            out[blockIdx.x * 64 + i] = neighbour + int(sum);
            lab_grid_barrier(reinterpret_cast<unsigned*>(out) + 128);
            if (blockIdx.x == 0) out[i] += out[64 + i];
        """
        # The barrier's word lies behind the 128 numbers: in the 256 bytes that an allocation is aligned by.
        for order in ("forward", "reverse"):
            threads = np.arange(64)
            one = 2 * (63 - (threads ^ 1)) + 32
            with mock.patch.object(harness_cpu, "Memory", WithRoom):
                self.assertEqual(self.launch(body, order)[:128].tolist(), [*(2 * one), *one])

    def test_threads_that_never_meet_end_the_launch(self):
        with self.assertRaisesRegex(LaunchError, r"kernel.cu:8: waits at __sync\w+\(\) for threads that never come"):
            self.launch("if (i == 5) __syncwarp(3u << 5); __syncthreads();")

    def test_an_assertion_ends_the_launch(self):
        with self.assertRaisesRegex(LaunchError, r"kernel.cu:8: assertion failed: i < 40 \(block \d, thread 40\)"):
            self.launch("assert(i < 40);")

    def test_shared_memory_that_nobody_wrote_is_no_zero(self):
        self.assertTrue((self.launch("out[blockIdx.x * 64 + i] = last;") == -1).all())

    def test_an_error_names_its_line(self):
        with self.assertRaisesRegex(BuildError, r"kernel.cu:8:.*error"):
            self.launch("int x = ;")


class WithRoom(harness_cpu.Memory):
    """Memory with room behind its end."""

    def __init__(self, nbytes):
        super().__init__(nbytes + 256)


if __name__ == "__main__":
    unittest.main()
