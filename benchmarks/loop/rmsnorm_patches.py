#!/usr/bin/env python3
"""Writes patches of two_passes.cu, rmsnorm's first kernel, into a folder, for `lab auto --patches`: one idea each, then pairs of ideas.

    benchmarks/loop/rmsnorm_patches.py FOLDER

Some are meant to fail: a kernel without eps, one that does not compile. A patch that changes the same lines as a kept one does not
apply any more, and the loop skips it.
"""

import difflib
import itertools
import pathlib
import random
import sys

KERNEL = pathlib.Path(__file__).resolve().parent / "two_passes.cu"
IN_GIT = "kernels/rmsnorm/kernel.cu"

FIRST_LOOP = """    for (int p = threadIdx.x; p < packs; p += blockDim.x) {
        const P v = xs[p];
        for (int i = 0; i < N; i++) squares"""
SECOND_LOOP = """    for (int p = threadIdx.x; p < packs; p += blockDim.x) {
        const P v = xs[p];
        const P g = gains[p];"""
STORE = "        ys[p] = out;"
SUM = "    for (int w = 0; w < (int)blockDim.x / WARP; w++) sum += partial[w];"
SCALE = "1.0f / sqrtf(block_sum(squares) / cols + eps)"
WARPS = "    const int warps = (cols / pack + WARP - 1) / WARP;"

# An idea is a name and what it replaces in the kernel. Ideas of one group exclude one another.
GROUPS = {
    "threads": [(f"at most {n} threads in a block", [("MAX_THREADS = 256", f"MAX_THREADS = {n}")]) for n in (64, 128, 512, 1024)],
    "width": [(f"loads of {n} bytes", [("constexpr int N = 16 / sizeof(T)", f"constexpr int N = {n} / sizeof(T)")]) for n in (4, 8, 32)],
    "lanes": [
        (f"{n} packs for each lane", [(WARPS, WARPS.replace("WARP - 1) / WARP", f"{n} * WARP - 1) / ({n} * WARP)"))]) for n in (2, 3, 4, 8)
    ],
    "first": [
        (f"unroll the first pass {n} times", [(FIRST_LOOP, f"#pragma unroll {n}\n{FIRST_LOOP}")]) for n in (1, 2, 4, 8)
    ],
    "second": [
        (f"unroll the second pass {n} times", [(SECOND_LOOP, f"#pragma unroll {n}\n{SECOND_LOOP}")]) for n in (1, 2, 4, 8)
    ],
    "store": [
        (
            f"write the result by {call}",
            [
                (
                    STORE,
                    f"        if constexpr (sizeof(P) == 16) {{\n            {call}(reinterpret_cast<float4*>(ys + p), "
                    "*reinterpret_cast<const float4*>(&out));\n        } else {\n            ys[p] = out;\n        }",
                )
            ],
        )
        for call in ("__stcs", "__stcg", "__stwt")
    ],
    "scale": [
        ("rsqrtf in place of a division", [(SCALE, "rsqrtf(block_sum(squares) / cols + eps)")]),
        ("multiply by the reciprocal of cols", [(SCALE, "rsqrtf(block_sum(squares) * (1.0f / cols) + eps)")]),
        ("leave out eps", [(SCALE, "1.0f / sqrtf(block_sum(squares) / cols)")]),
        ("a name that does not exist", [(SCALE, "1.0f / sqrtf(sum_of_block(squares) / cols + eps)")]),
    ],
    "sum": [
        (
            "combine the warps' sums by shuffles",
            [
                (
                    SUM,
                    "    const int lane = threadIdx.x % WARP;\n"
                    "    sum = lane < (int)blockDim.x / WARP ? partial[lane] : 0.0f;\n"
                    "    for (int offset = WARP / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);",
                )
            ],
        ),
        ("unroll the sum over the warps", [(SUM, "#pragma unroll\n    for (int w = 0; w < MAX_THREADS / WARP; w++)\n        if (w < (int)blockDim.x / WARP) sum += partial[w];")]),
    ],
    "bounds": [
        (
            f"launch bounds with {n} blocks",
            [
                ("__global__ void rmsnorm_f32", f"__global__ void __launch_bounds__(MAX_THREADS, {n}) rmsnorm_f32"),
                ("__global__ void rmsnorm_f16", f"__global__ void __launch_bounds__(MAX_THREADS, {n}) rmsnorm_f16"),
            ],
        )
        for n in (1, 2, 4, 8)
    ],
    "gain": [("two squares at a time", [("for (int i = 0; i < N; i++) squares +=", "#pragma unroll 2\n        for (int i = 0; i < N; i++) squares +=")])],
}


def patch(base, ideas):
    """The patch of these ideas. Fails where the kernel has not exactly one such place."""
    text = base
    for _, changes in ideas:
        for old, new in changes:
            if text.count(old) != 1:
                return None
            text = text.replace(old, new)
    lines = difflib.unified_diff(
        base.splitlines(keepends=True), text.splitlines(keepends=True), f"a/{IN_GIT}", f"b/{IN_GIT}", n=1
    )
    return "".join(lines)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    folder.mkdir(parents=True, exist_ok=True)
    base = KERNEL.read_text()
    singles = [[idea] for group in GROUPS.values() for idea in group]
    pairs = [
        [one, other]
        for first, second in itertools.combinations(GROUPS, 2)
        for one, other in itertools.product(GROUPS[first], GROUPS[second])
    ]
    random.Random(1).shuffle(pairs)
    written = 0
    for ideas in singles + pairs[:170]:
        text = patch(base, ideas)
        if text is None:
            continue
        written += 1
        name = ", ".join(name for name, _ in ideas)
        (folder / f"{written:03} {name}.patch").write_text(f"diff --git a/{IN_GIT} b/{IN_GIT}\n{text}")
    print(f"{written} patches in {folder}")


if __name__ == "__main__":
    main()
