"""WaveGRU in PyTorch: what a correct kernel computes. Read this file from top to bottom; each function is one formula.

    random numbers    philox, evenly, gumbel
    the model         draw_weights
    the inputs        draw_run
    one step          rms_norm, gru_cell, logits_of
    sampling          pick
    a whole run       run, and how near it came to another result (Result.margin)

The built-in harness has the same model in reference.cu and reference.cpp. This file shares no code with them:
`harness.py --compare-dump FOLDER` compares their results with this one's, on the same weights and inputs.

All arithmetic is float64. States are rounded to float32 after each GRU, because a kernel keeps them as float32. The
functions of a step work on several runs at once: the first dimension of every vector is the run.
"""

import dataclasses
import math

import numpy as np

# PyTorch, or NumPy where PyTorch is not installed. This file uses only functions that have one name in both.
try:
    import torch as xp
except ImportError:
    xp = np

TOKENS = 256  # 8-bit µ-law samples
EPSILON = 1e-5  # of the RMS norms
NEUTRAL_TEMPERATURE = 1.0

# ---- Random numbers ------------------------------------------------------------------------------------------------


def philox(counters, seed):
    """Philox4x32-10: four random 32-bit words from each counter. `counters` has the shape [n, 4], and so has the result.

    Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). A counter is four 32-bit words;
    the key is the 64-bit seed, low word first. Each of ten rounds multiplies two of the words into 64 bits and mixes the
    halves with the other two words and the key.
    """
    low_half, shift = np.uint64(0xFFFF_FFFF), np.uint64(32)
    a, b, c, d = np.asarray(counters, dtype=np.uint64).T
    key0, key1 = seed & 0xFFFF_FFFF, seed >> 32
    for _ in range(10):
        product0, product1 = np.uint64(0xD251_1F53) * a, np.uint64(0xCD9E_8D57) * c
        a, b, c, d = (
            (product1 >> shift) ^ b ^ np.uint64(key0),
            product1 & low_half,
            (product0 >> shift) ^ d ^ np.uint64(key1),
            product0 & low_half,
        )
        key0, key1 = (key0 + 0x9E37_79B9) & 0xFFFF_FFFF, (key1 + 0xBB67_AE85) & 0xFFFF_FFFF
    return np.stack([a, b, c, d], axis=-1)


def evenly(seed, stream, count):
    """`count` numbers distributed uniformly over (-1, 1). Each stream from 1 on gives others; noise is stream 0."""
    blocks = np.arange((count + 3) // 4)
    zeros = np.zeros_like(blocks)
    words = philox(np.stack([blocks, zeros, zeros + stream, zeros], axis=-1), seed).reshape(-1)[:count]
    return ((words >> np.uint64(8)) + 0.5) * 2.0**-23 - 1.0


def gumbel(seed, steps):
    """The noise of every token at every step, [steps, TOKENS]: -ln(-ln(u)) with u uniform over (0, 1).

    Adding it to the logits and taking the largest sum draws a token with the probabilities softmax(logits): the
    Gumbel-max trick. The counter is (token / 4, step, 0, 0), so every implementation draws the same numbers.
    """
    step, block = np.meshgrid(np.arange(steps), np.arange(TOKENS // 4), indexing="ij")
    zeros = np.zeros_like(step)
    words = philox(np.stack([block, step, zeros, zeros], axis=-1).reshape(-1, 4), seed)
    uniform = ((words >> np.uint64(9)) + 0.5) * 2.0**-23
    return -np.log(-np.log(uniform)).reshape(steps, TOKENS)


# ---- The model -----------------------------------------------------------------------------------------------------


def weight_shapes(hidden):
    """Name, shape, mean and standard deviation of each weight tensor, in the order of the kernel's parameters.

    Gates are in the order r, z, n of PyTorch's GRUCell, one below the other. The first `hidden` rows of w_glu are the
    value, the others the gate.
    """
    h, matrix = hidden, 1 / math.sqrt(hidden)
    return [
        ("embed", (TOKENS, h), 0.0, 0.003),  # so small that the norm's epsilon matters
        ("rms_gain0", (h,), 1.0, 0.1),
        ("rms_gain1", (h,), 1.0, 0.1),
        ("w_ih0", (3 * h, h), 0.0, matrix),
        ("w_hh0", (3 * h, h), 0.0, matrix),
        ("w_ih1", (3 * h, h), 0.0, matrix),
        ("w_hh1", (3 * h, h), 0.0, matrix),
        ("b_ih0", (3 * h,), 0.0, 0.1),
        ("b_hh0", (3 * h,), 0.0, 0.1),
        ("b_ih1", (3 * h,), 0.0, 0.1),
        ("b_hh1", (3 * h,), 0.0, 0.1),
        ("w_glu", (2 * h, h), 0.0, matrix),
        ("b_glu", (2 * h,), 0.0, 0.1),
        ("w_out", (TOKENS, h), 0.0, 12 * matrix),  # gives a median entropy near 4 bits
        ("b_out", (TOKENS,), 0.0, 0.1),
    ]


def draw_weights(hidden, seed):
    """The weights as the kernel gets them, by name: matrices as bf16 words (uint16), vectors as float32.

    A tensor of n cells takes n uniform numbers of its own stream, so that no logarithm is needed and every machine draws
    the same weights. A uniform number over (-1, 1) has the standard deviation 1/√3.
    """
    weights = {}
    for stream, (name, shape, mean, deviation) in enumerate(weight_shapes(hidden), start=1):
        values = mean + deviation * math.sqrt(3) * evenly(seed, stream, math.prod(shape))
        values = values.astype(np.float32).reshape(shape)
        weights[name] = to_bf16(values) if len(shape) == 2 else values
    return weights


def to_bf16(values):
    """Rounds float32 numbers to bf16, to the nearest, ties to even. A bf16 is the upper half of a float32."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widen(values):
    """The numbers of a weight tensor as float64. Every bf16 and every float32 is one exactly."""
    if values.dtype == np.uint16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


# ---- The inputs of a run -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Run:
    """The inputs of a run. All of them follow from the seed and from the ranges in problem.toml."""

    seed: int  # of the noise; 64 bits
    steps: int
    first_token: int  # the input of step 0
    temperature: float  # divides the logits; a float32
    min_p: float  # tokens below this fraction of the likeliest one are dropped; a float32
    h0: np.ndarray  # start states, float32 [hidden]
    h1: np.ndarray


def draw_run(problem, steps, seed):
    """Draws the inputs of the run with this seed. `problem` is the content of problem.toml."""
    fractions = (evenly(seed, 3, 3) + 1) / 2  # each in (0, 1)
    low, high = ends(problem["first_token"])
    # Even seeds take their min-p from the lower half of its range, odd ones from the upper half.
    min_p = (fractions[1] + (seed & 1)) / 2
    return Run(
        seed=seed,
        steps=steps,
        first_token=low + int(fractions[2] * (high - low + 1)),
        temperature=temperature_at(ends(problem["temperature"]), fractions[0]),
        min_p=min_p_at(ends(problem["min_p"]), min_p),
        h0=(0.5 * evenly(seed, 1, problem["hidden"])).astype(np.float32),
        h1=(0.5 * evenly(seed, 2, problem["hidden"])).astype(np.float32),
    )


def ends(value):
    """The ends of a range of problem.toml, where a single number is a range of one."""
    return value if isinstance(value, list) else [value, value]


def temperature_at(range_, fraction, apart=0.05):
    """The temperature at this fraction of the range, leaving out what is within `apart` of 1.

    With a temperature of nearly 1, a kernel that ignores the temperature would be right.
    """
    low, high = (float(np.float32(end)) for end in range_)
    below = min(max(NEUTRAL_TEMPERATURE - apart - low, 0.0), high - low)
    above = min(max(high - NEUTRAL_TEMPERATURE - apart, 0.0), high - low)
    if low > NEUTRAL_TEMPERATURE + apart or high < NEUTRAL_TEMPERATURE - apart or below + above == 0:
        return float(np.float32(low + fraction * (high - low)))
    at = fraction * (below + above)
    return float(np.float32(low + at if at < below else high - (below + above - at)))


def min_p_at(range_, fraction):
    """The min-p at this fraction of the range, whose logarithm is distributed uniformly."""
    low, high = (float(np.float32(end)) for end in range_)
    value = np.float32(math.exp(math.log(low) + fraction * (math.log(high) - math.log(low))))
    return float(min(max(value, np.float32(low)), np.float32(high)))


# ---- One step ------------------------------------------------------------------------------------------------------


def rms_norm(x, gain):
    """gain · x / √(mean(x²) + ε) (Zhang, Sennrich: "Root mean square layer normalization", 2019)."""
    return gain * x / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)


def sigmoid(x):
    return 1 / (1 + xp.exp(-x))


def gru_cell(w, layer, x, h):
    """PyTorch's GRUCell: the new state from the input x and the old state h, both [runs, hidden].

        r = σ(W_ir·x + b_ir + W_hr·h + b_hr)
        z = σ(W_iz·x + b_iz + W_hz·h + b_hz)
        c = tanh(W_in·x + b_in + r · (W_hn·h + b_hn))
        h' = (1 - z)·c + z·h

    The reset gate r multiplies the product W_hn·h, not h. h' is rounded to float32.
    """
    of_input = x @ w[f"w_ih{layer}"].T + w[f"b_ih{layer}"]
    of_state = h @ w[f"w_hh{layer}"].T + w[f"b_hh{layer}"]
    n = h.shape[-1]
    r = sigmoid(of_input[:, :n] + of_state[:, :n])
    z = sigmoid(of_input[:, n : 2 * n] + of_state[:, n : 2 * n])
    c = xp.tanh(of_input[:, 2 * n :] + r * of_state[:, 2 * n :])
    return rounded_to_f32((1 - z) * c + z * h)


def rounded_to_f32(x):
    return xp.asarray(xp.asarray(x, dtype=xp.float32), dtype=xp.float64)


def logits_of(w, tokens, h0, h1):
    """One step for several runs: from the last tokens and the states to (logits, new h0, new h1).

        x  = embed[token]
        h0 = GRU0(norm(x), h0)
        h1 = GRU1(norm(x + h0), h1)
        u  = W_glu·h1 + b_glu,   g = u_value · σ(u_gate)     (GLU: Dauphin and others, 2017)
        logits = W_out·g + b_out
    """
    x = w["embed"][tokens]
    h0 = gru_cell(w, 0, rms_norm(x, w["rms_gain0"]), h0)
    h1 = gru_cell(w, 1, rms_norm(x + h0, w["rms_gain1"]), h1)
    u = h1 @ w["w_glu"].T + w["b_glu"]
    n = h1.shape[-1]
    g = u[:, :n] * sigmoid(u[:, n:])
    return g @ w["w_out"].T + w["b_out"], h0, h1


# ---- Sampling ------------------------------------------------------------------------------------------------------


def threshold(l, log_min_p):
    """The smallest logit that min-p keeps: p_i ≥ min_p · p_max means l_i ≥ l_max + ln(min_p)."""
    return xp.amax(l, axis=-1, keepdims=True) + log_min_p


def pick(l, log_min_p, noise):
    """The token of each run: of those that min-p keeps, the one with the largest score, which is logit plus noise."""
    return xp.where(l >= threshold(l, log_min_p), l + noise, -math.inf).argmax(axis=-1)


# ---- A whole run ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Result:
    """What a correct kernel must compute for a run, and how near the run came to another result."""

    tokens: np.ndarray  # [steps]
    teacher_prob: np.ndarray  # softmax(l)[token] at each step, before min-p
    h0: np.ndarray  # final states, float32
    h1: np.ndarray
    margin: float  # the smallest change of a score that changes a token
    margin_step: int
    entropy: float  # median over the steps, in bits
    same_min_p: tuple  # (low, high]: no min-p in this interval changes a token
    temperature_changed: int  # tokens that temperature 1 would change

    def tells(self, run, problem):
        """Whether a kernel that ignores the temperature or min-p would give other tokens in this run.

        A run of an even seed changes with every min-p of the upper half of the range, one of an odd seed with every min-p
        of the lower half. So no fixed min-p gives the tokens of two such runs.
        """
        low, high = self.same_min_p
        range_ = ends(problem["min_p"])
        middle = min_p_at(range_, 0.5)
        if range_[0] == range_[1]:
            min_p_matters = low > 0
        else:
            min_p_matters = low >= middle if run.seed % 2 else high < middle
        temperature_matters = run.temperature == NEUTRAL_TEMPERATURE or self.temperature_changed > 0
        return min_p_matters and temperature_matters and self.entropy >= 1.0


class Model:
    """The weights as float64, on a device of PyTorch ("cpu", "cuda")."""

    def __init__(self, weights, device="cpu"):
        self.device = device
        self.w = {name: self.array(widen(values)) for name, values in weights.items()}

    def array(self, values):
        return xp.asarray(values) if self.device == "cpu" else xp.asarray(values, device=self.device)

    def run(self, runs):
        """Samples the runs together; all must have the same number of steps. Returns a Result for each.

        Each token is the input of the next step. A teacher-forced kernel gets these tokens, so one run gives the
        expectation for both kinds of launch.
        """
        with_run = lambda values: self.array(np.array(values, dtype=np.float64)[:, None])
        temperature = with_run([run.temperature for run in runs])
        log_min_p = with_run([math.log(run.min_p) for run in runs])
        noise = self.array(np.stack([gumbel(run.seed, run.steps) for run in runs], axis=1))  # [steps, runs, tokens]
        h0 = self.array(np.stack([run.h0 for run in runs]).astype(np.float64))
        h1 = self.array(np.stack([run.h1 for run in runs]).astype(np.float64))
        token = self.array(np.array([run.first_token for run in runs]))
        all_tokens, all_logits = [], []
        for t in range(runs[0].steps):
            logits, h0, h1 = logits_of(self.w, token, h0, h1)
            token = pick(logits / temperature, log_min_p, noise[t])
            all_tokens.append(token)
            all_logits.append(logits)
        host = lambda values: np.asarray(values if xp is np else values.cpu())
        tokens, logits = host(xp.stack(all_tokens)), host(xp.stack(all_logits))
        noise, h0, h1 = host(noise), host(h0), host(h1)
        return [
            result(run, tokens[:, i], logits[:, i], noise[:, i], h0[i], h1[i]) for i, run in enumerate(runs)
        ]


def result(run, tokens, logits, noise, h0, h1):
    """The result of one run from its tokens, its logits and its noise at every step."""
    l = logits / run.temperature
    steps = np.arange(run.steps)
    largest = l.max(axis=-1, keepdims=True)
    least = largest + math.log(run.min_p)
    kept, scores = l >= least, l + noise
    best = scores[steps, tokens][:, None]

    # How far scores must move for another token to win: another kept token overtakes it, or a dropped token is kept and
    # is ahead, or the winner itself falls below the threshold.
    margins = np.where(kept, best - scores, np.maximum(least - l, best - scores))
    margins[steps, tokens] = (l - least)[steps, tokens]
    margins = margins.min(axis=-1)

    weights = np.exp(l - largest)
    p = weights / weights.sum(axis=-1, keepdims=True)
    entropies = -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)
    # With a min-p at or below this, a token that was dropped wins.
    dropped_ahead = np.where(~kept & (scores > best), weights, 0.0)
    # The scores, and what min-p keeps, if the temperature were 1.
    neutral = np.where(logits >= logits.max(axis=-1, keepdims=True) + math.log(run.min_p), logits + noise, -np.inf)
    return Result(
        tokens=tokens.astype(np.int32),
        teacher_prob=p[steps, tokens],
        h0=h0.astype(np.float32),
        h1=h1.astype(np.float32),
        margin=float(margins.min()),
        margin_step=int(margins.argmin()),
        entropy=float(np.sort(entropies)[run.steps // 2]),
        same_min_p=(float(dropped_ahead.max()), float(weights[steps, tokens].min())),
        temperature_changed=int((neutral.argmax(axis=-1) != tokens).sum()),
    )


# ---- The runs that a check uses ------------------------------------------------------------------------------------


def runs_of_seed(seed):
    """The seeds of the runs that follow from a number: seed_of(slot, attempt)."""

    def seed_of(slot, attempt):
        low, high = (int(word) for word in philox([[slot, attempt, 0x6669_7865, 0]], seed)[0][:2])
        return (low | high << 32) & ~1 | slot % 2

    return seed_of


def draw_runs(problem, model, steps, count, seed_of, progress=lambda done: None):
    """Draws `count` runs that a check can use, with their results: [(run, result), …].

    A run can be used if no honest rounding changes a token (its margin is at least problem.toml's), and if a kernel that
    ignores a parameter gives other tokens. After 40 attempts the second condition no longer counts: a range may be so
    narrow, or a run so short, that hardly any run fulfils it. Runs at even places have even seeds.
    """
    found = [None] * count
    for attempt in range(10_000):
        slots = [slot for slot in range(count) if found[slot] is None]
        if not slots:
            return found
        runs = [draw_run(problem, steps, seed_of(slot, attempt)) for slot in slots]
        for slot, run, expected in zip(slots, runs, model.run(runs)):
            telling = attempt >= 40 or expected.tells(run, problem)
            if telling and expected.margin >= problem["margin"]:
                found[slot] = (run, expected)
        progress(count - found.count(None))
    raise RuntimeError(f"no run of {steps} steps has a margin of {problem['margin']}: lower the margin in problem.toml")
