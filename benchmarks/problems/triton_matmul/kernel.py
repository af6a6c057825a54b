"""A matrix product in Triton: a program computes one tile of c."""

import triton
import triton.language as tl

TILE_M, TILE_N, TILE_K, GROUP = 128, 128, 64, 8


@triton.jit
def matmul_tile(
    a, b, c, m, n, k, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr
):
    edit = 0
    # Programs that run at the same time share rows of a and columns of b in the L2 cache.
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, TILE_M), tl.cdiv(n, TILE_N)
    group = program // (GROUP * tiles_n)
    first = group * GROUP
    size = min(tiles_m - first, GROUP)
    inside = program % (GROUP * tiles_n)
    tile_m, tile_n = first + inside % size, inside // size
    rows = tile_m * TILE_M + tl.arange(0, TILE_M)
    columns = tile_n * TILE_N + tl.arange(0, TILE_N)
    steps = tl.arange(0, TILE_K)
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for start in range(0, k, TILE_K):
        along = start + steps
        left = tl.load(
            a + rows[:, None] * k + along[None, :], mask=(rows[:, None] < m) & (along[None, :] < k), other=0.0
        )
        right = tl.load(
            b + along[:, None] * n + columns[None, :], mask=(along[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(left, right, total)
    tl.store(
        c + rows[:, None] * n + columns[None, :],
        total.to(tl.float16),
        mask=(rows[:, None] < m) & (columns[None, :] < n),
    )


def matmul(a, b, c, m, n, k):
    grid = (triton.cdiv(m, TILE_M) * triton.cdiv(n, TILE_N),)
    matmul_tile[grid](a, b, c, m, n, k, TILE_M, TILE_N, TILE_K, GROUP, num_warps=8, num_stages=3)
