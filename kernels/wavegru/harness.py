#!/usr/bin/env python3
"""Checks and times kernel.cu against harness_reference.py, all in Python:

    python3 harness.py > run.log                 this folder's kernel, on a GPU if there is one
    python3 harness.py FOLDER --device cpu       another folder's problem.toml and kernel.cu, on the processor
    python3 harness.py --ncu                     the kernel under NVIDIA Nsight Compute
    python3 harness.py --compare-dump FOLDER     harness_reference.py against `lab harness --dump FOLDER`

Read main() first, then from top to bottom. A run has five stages:

    build      NVRTC, or the host's C++ compiler (harness_cuda.py, harness_cpu.py)
    reference  draws the inputs of several runs and computes what must come of them (harness_reference.py)
    verify     launches the kernel on them (harness_launch.py) and compares: tokens, probabilities at every step, final
               states, memory
    measure    times further launches, whose results are compared too
    done       the verdict; the process ends with 0 (pass), 1 (fail), 2 (does not build), 3 (crash) or 64 (not judged)

The result lines are lab's protocol (docs/run-log.md), printed by lab_harness.report. The built-in harness of lab judges
this kernel more strictly: in a sandbox, with a race detector, and on sealed runs before a keep. README.md compares both.
"""

import argparse
import os
import random
import secrets
import statistics
import sys
import tomllib
from pathlib import Path

import numpy as np

sys.dont_write_bytecode = True  # no __pycache__ beside the kernel
import harness_reference as reference
from harness_launch import ENTRY, PROBLEM_HEADER, BuildError, DeviceError, Launcher, LaunchError

HERE = Path(__file__).resolve().parent
LAB = HERE.parents[1]  # lab's repository
try:
    from lab_harness import report, turns
except ImportError:  # not started by lab, and not installed
    sys.path.append(str(LAB / "harness" / "python"))
    from lab_harness import report, turns

# ---- The gates -----------------------------------------------------------------------------------------------------


class Differences:
    """The largest difference of each cell over all launches. NaN counts as the largest."""

    def __init__(self, cells):
        self.worst = np.zeros(cells)

    def add(self, expected, found):
        self.worst = np.maximum(self.worst, np.abs(expected.astype(np.float64) - found.astype(np.float64)))

    def gate(self, name, limit, cell):
        report.gate(name, self.worst.max(), limit, at=f"{cell} {self.worst.argmax()}", series=self.worst)


class Comparison:
    """Compares launches with the reference, and prints the gates.

    - tokens: exact, in every launch that samples. Each run's margin says that no honest rounding changes a token.
    - probabilities: teacher-forced launches get the reference's tokens; the probability of each is compared, step by step.
      The logarithm of a probability is a score up to a constant, so scores are compared as well.
    - final states: in every launch whose tokens are right.
    """

    def __init__(self, problem, steps):
        self.limits, hidden = problem["limits"], problem["hidden"]
        self.steps = self.mismatches = 0
        self.first_mismatch = -1
        self.prob, self.h0, self.h1 = Differences(steps), Differences(hidden), Differences(hidden)
        self.score = 0.0
        self.broken = {"out_of_bounds": 0, "inputs_changed": 0}
        self.failures = []

    def add_sampled(self, run, expected, found, about):
        wrong = np.flatnonzero(expected.tokens != found["tokens"])
        self.steps += run.steps
        self.mismatches += wrong.size
        if wrong.size:
            step = int(wrong[0])
            self.first_mismatch = step if self.first_mismatch < 0 else min(step, self.first_mismatch)
            token, right = found["tokens"][step], expected.tokens[step]
            self.failures.append(f"step {step} gave token {token}, not {right} (sampling, run seed {run.seed}, {about})")
        else:
            self.add_states(expected, found)
        self.add_broken(found)

    def add_taught(self, expected, found):
        self.prob.add(expected.teacher_prob, found["teacher_prob"])
        with np.errstate(all="ignore"):
            scores = np.abs(np.log(found["teacher_prob"].astype(np.float64) / expected.teacher_prob))
        self.score = float(np.maximum(self.score, scores.max()))
        self.add_states(expected, found)
        self.add_broken(found)

    def add_states(self, expected, found):
        self.h0.add(expected.h0, found["h0"])
        self.h1.add(expected.h1, found["h1"])

    def add_broken(self, found):
        for gate, sentence in found["broken"]:
            if gate:
                self.broken[gate] += 1
            if sentence not in self.failures:
                self.failures.append(sentence)

    def print(self):
        limits = self.limits
        report.line("sample_steps", self.steps)
        report.gate("sample_mismatches", self.mismatches, limit=0)
        report.line("sample_first_mismatch", self.first_mismatch)
        self.prob.gate("teacher_prob_max_diff", limits["teacher_prob_max_diff"], "step")
        report.gate("teacher_prob_mean_diff", self.prob.worst.mean(), limits["teacher_prob_mean_diff"])
        self.h0.gate("h0_max_diff", limits["h0_max_diff"], "unit")
        self.h1.gate("h1_max_diff", limits["h1_max_diff"], "unit")
        report.gate("teacher_score_diff", self.score, limits["teacher_score_diff"])
        for gate, count in self.broken.items():
            report.gate(gate, count, limit=0)

    def print_timed(self):
        """Prints the gates of a timed launch, which has no teacher-forced part."""
        report.gate("sample_mismatches", self.mismatches, limit=0)
        self.h0.gate("h0_max_diff", self.limits["h0_max_diff"], "unit")
        self.h1.gate("h1_max_diff", self.limits["h1_max_diff"], "unit")
        report.first_failure(f"a timed launch: {self.failures[0] if self.failures else 'its final states are wrong'}")

    def passes(self):
        """Whether every difference so far is within its limit and no launch broke a rule. NaN is never within a limit."""
        limits = self.limits
        within = (
            self.prob.worst.max() <= limits["teacher_prob_max_diff"]
            and self.prob.worst.mean() <= limits["teacher_prob_mean_diff"]
            and self.h0.worst.max() <= limits["h0_max_diff"]
            and self.h1.worst.max() <= limits["h1_max_diff"]
            and self.score <= limits["teacher_score_diff"]
        )
        return bool(within) and self.mismatches == 0 and not self.failures


def verify(problem, launcher, kernel, device, judged, seed):
    """Launches the kernel in every order on runs of its own: sampling and teacher-forced. Prints the gates."""
    orders = device.orders
    sampling = [(False, run, order) for run, order in zip(judged, orders)]
    teaching = [(True, run, order) for run, order in zip(judged[len(orders) :], orders)]
    # The kernel must not know which kind comes first. Between the kinds it is loaded anew.
    kinds = random.Random(seed).sample([sampling, teaching], 2)
    comparison = Comparison(problem, launcher.steps)
    done = 0
    for launches in kinds:
        kernel.reload()
        for is_taught, (run, expected), order in launches:
            report.progress(done, 2 * len(orders))
            found = launcher.launch(kernel, run, expected.tokens if is_taught else None, order)
            if is_taught:
                comparison.add_taught(expected, found)
            else:
                comparison.add_sampled(run, expected, found, f"threads in {order} order")
            done += 1
    comparison.print()
    for number, sentence in enumerate(comparison.failures, start=1):
        if number == 1:
            report.first_failure(sentence)
        else:
            print(f"failure {number}: {sentence}")
    return comparison.passes()


# ---- Speed ---------------------------------------------------------------------------------------------------------


TIMED_LAUNCHES = 6  # on a GPU, each on a run of its own


class WrongWhenTimed(Exception):
    """A timed launch gave another result than the reference."""


def timed(problem, launcher, kernel, judged_run):
    """The seconds of one launch that samples. Its tokens and states are compared too."""
    run, expected = judged_run
    kernel.reload()  # nothing from an earlier launch makes it faster
    found = launcher.launch(kernel, run)
    comparison = Comparison(problem, launcher.steps)
    comparison.add_sampled(run, expected, found, "timed")
    if not comparison.passes():
        raise WrongWhenTimed(comparison)
    return found["seconds"]


def measure(problem, launcher, kernel, device, runs):
    """Times the kernel on the runs, and in turns with the incumbent if lab names one. Prints the figures."""
    seconds = [timed(problem, launcher, kernel, run) for run in runs]
    rates = sorted(launcher.steps / s for s in seconds)
    # The median of six launches lies between the slowest and the fastest with a probability of 97 %.
    interval = {"low": rates[0], "high": rates[-1]} if len(rates) >= 6 else {}
    rate = statistics.median(rates)
    report.throughput(rate, **interval)
    report.kernel_us(1e6 / rate, **({"low": 1e6 / rates[-1], "high": 1e6 / rates[0]} if interval else {}))

    incumbent = os.environ.get("LAB_INCUMBENT")
    if incumbent is None or device.emulated:
        return
    try:
        old = device.build(Path(incumbent), ENTRY, defines(problem), PROBLEM_HEADER)
        timed(problem, launcher, old, runs[0])
    except (BuildError, LaunchError, WrongWhenTimed) as why:
        report.caveat(f"no comparison: the incumbent fails ({type(why).__name__})")
        return
    turns.abba(old, kernel, inputs=runs, blocks=10, clock=lambda kernel, run: timed(problem, launcher, kernel, run))


# ---- The rest ------------------------------------------------------------------------------------------------------


def defines(problem):
    return {"LAB_HIDDEN": problem["hidden"]}


def open_device(asked):
    """The device that was asked for: auto, cpu, cuda, cuda:1."""
    include = Path(os.environ.get("LAB_INCLUDE", LAB / "harness" / "device" / "include"))
    if not (include / "lab.h").is_file():
        raise DeviceError(f"lab.h is not in {include}: set LAB_INCLUDE to the folder harness/device/include of lab's repository")
    if asked == "auto":
        asked = "cuda" if hasattr(reference.xp, "cuda") and reference.xp.cuda.is_available() else "cpu"
    if asked == "cpu":
        import harness_cpu

        return harness_cpu.Device(include)
    if reference.xp is np:
        raise DeviceError("a GPU needs PyTorch: pip install torch, or use --device cpu")
    import harness_cuda

    return harness_cuda.Device(include, int(asked.partition(":")[2] or 0))


def read_problem(folder):
    """Returns what problem.toml says of the model, of its inputs and of the gates, by name."""
    path = folder / "problem.toml"
    problem = tomllib.loads(path.read_text())
    if problem.get("entry") != ENTRY:
        raise ValueError(f"{path}: entry is not \"{ENTRY}\"")
    dims, cpu = problem["workload"][0]["dims"], problem["workload"][0].get("cpu", {})
    drawn = {scalar["name"]: scalar["draw"] for scalar in problem["scalar"] if "draw" in scalar}
    gates = [gate for tensor in problem["tensor"] for gate in tensor.get("gates", [])]
    least = {accept["name"]: accept["least"] for accept in problem["accept"]}
    return {
        "hidden": dims["hidden"],
        "steps": dims["steps"],
        "steps_cpu": {**dims, **cpu}["steps"],
        **{name: [drawn[name]["low"], drawn[name]["high"]] for name in ("temperature", "min_p", "first_token")},
        "weight_seed": problem["tensor"][0]["fixed_seed"],
        "margin": least["sample_margin"],
        "limits": {gate["name"]: gate["limit"] for gate in gates if "limit" in gate},
    }


def compare_dump(folder):
    """Compares harness_reference.py with the tensors of `lab harness --dump FOLDER`, on the dumped weights and inputs."""
    import json

    for scalars in sorted(folder.glob("*-scalars.json")):
        facts, prefix = json.loads(scalars.read_text()), scalars.name.removesuffix("scalars.json")
        load = lambda name: np.load(folder / f"{prefix}{name}.npy")
        weights = {name: load(name) for name, *_ in reference.weight_shapes(load("h0").size)}
        run = reference.Run(
            seed=facts["seed_low"] % 2**32 | facts["seed_high"] % 2**32 << 32,
            h0=load("h0"),
            h1=load("h1"),
            **{name: facts[name] for name in ("steps", "first_token", "temperature", "min_p")},
        )
        result = reference.Model(weights).run([run])[0]
        # In a teacher-forced launch the tokens are an input. Sums are added in another order there.
        taught = (folder / f"{prefix}forced.npy").exists()
        pairs = [("forced", result.tokens, 0)] if taught else [("tokens_reference", result.tokens, 0)]
        pairs += [("teacher_prob_reference", result.teacher_prob, 1e-7)] if taught else []
        pairs += [("h0_reference", result.h0, 2e-7), ("h1_reference", result.h1, 2e-7)]
        for name, values, limit in pairs:
            report.gate(name, np.abs(load(name).astype(np.float64) - values).max(), limit)
    report.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("folder", nargs="?", type=Path, default=HERE, help="with problem.toml and kernel.cu; default: this folder")
    add("--device", default=os.environ.get("LAB_DEVICE", "auto"), help="auto, cpu, cuda, cuda:1")
    add("--seed", type=int, help="draws the inputs from N; without it they are secret")
    add("--ncu", action="store_true", help="profile one launch with NVIDIA Nsight Compute")
    add("--one-launch", action="store_true", help="launch once, compare nothing")
    add("--compare-dump", type=Path, metavar="FOLDER", help="compare harness_reference.py with `lab harness --dump FOLDER`")
    return parser.parse_args()


def main():
    options = arguments()
    folder = options.folder.resolve()
    if options.ncu:
        import harness_ncu

        sys.exit(harness_ncu.run(HERE / "harness.py", folder))
    problem = read_problem(folder)
    if options.compare_dump:
        compare_dump(options.compare_dump)
    device = open_device(options.device)
    report.device(device.name, uuid=device.uuid, emulated=device.emulated)
    steps = problem["steps_cpu" if device.emulated else "steps"]

    report.stage("build")
    source = Path(os.environ.get("LAB_KERNEL", folder / "kernel.cu"))
    kernel = device.build(source, ENTRY, defines(problem), PROBLEM_HEADER)

    weights = reference.draw_weights(problem["hidden"], problem["weight_seed"])
    launcher = Launcher(device, weights, problem["hidden"], steps)
    if options.one_launch:
        launcher.launch(kernel, reference.draw_run(problem, steps, seed=1))
        return

    report.stage("reference")
    seed_of = lambda slot, attempt: secrets.randbits(64) & ~1 | slot % 2
    if options.seed is not None:
        seed_of = reference.runs_of_seed(options.seed)
    model = reference.Model(weights, "cpu" if device.emulated else device.torch_name)
    checked = len(device.orders)
    count = 2 * checked + (1 if device.emulated else TIMED_LAUNCHES)
    judged = reference.draw_runs(problem, model, steps, count, seed_of, lambda done: report.progress(done, count))
    del model
    run, closest = min(judged, key=lambda pair: pair[1].margin)
    report.line("sample_margin", f"{closest.margin:.2e} run_seed={run.seed} step={closest.margin_step}")

    report.stage("verify")
    seed = secrets.randbits(64) if options.seed is None else options.seed
    if verify(problem, launcher, kernel, device, judged, seed):
        report.stage("measure")
        try:
            measure(problem, launcher, kernel, device, judged[2 * checked :])
        except WrongWhenTimed as wrong:
            wrong.args[0].print_timed()
            report.correctness(False)
    else:
        report.correctness(False)
    report.finish()


if __name__ == "__main__":
    try:
        main()
    except BuildError as error:
        print(error)
        report.build_failed()
        sys.exit(2)
    except LaunchError as error:
        report.line("stopped", error)
        sys.exit(3)
    except DeviceError as error:
        report.fault("lab", error)
        sys.exit(64)
    except (OSError, ValueError, KeyError) as error:
        report.fault("problem", f"{type(error).__name__}: {error}")
        sys.exit(64)
