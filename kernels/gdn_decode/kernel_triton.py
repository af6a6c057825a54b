"""The gated delta rule, one token, in Triton. A program computes some rows of one head's state; it writes into the outputs."""

import triton
import triton.language as tl

QK_HEADS, HEADS, D = 4, 8, 128


@triton.jit
def _decode(q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale,
            QK_HEADS: tl.constexpr, HEADS: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr):
    of_head = tl.program_id(0) // (D // ROWS)
    head, element = of_head % HEADS, of_head // HEADS
    rows = tl.program_id(0) % (D // ROWS) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, D)
    at = of_head.to(tl.int64) * (D * D) + rows[:, None] * D + cols[None, :]
    cells = tl.load(state + at)
    qk = (element * QK_HEADS + head // (HEADS // QK_HEADS)) * D + cols
    key = tl.load(k + qk).to(tl.float32)
    query = tl.load(q + qk).to(tl.float32)
    value = tl.load(v + of_head * D + rows).to(tl.float32)
    x = tl.load(a + of_head).to(tl.float32) + tl.load(dt_bias + head)
    softplus = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(tl.minimum(x, 20.0))))
    g = tl.exp(-tl.exp(tl.load(A_log + head)) * softplus)
    beta = tl.sigmoid(tl.load(b + of_head).to(tl.float32))
    # q . S' = g * (q . S) + delta * (q . k), so no sum waits for another one.
    of_key = tl.sum(key[None, :] * cells, axis=1)
    of_query = tl.sum(query[None, :] * cells, axis=1)
    delta = beta * (value - g * of_key)
    tl.store(new_state + at, g * cells + delta[:, None] * key[None, :])
    result = scale * (g * of_query + delta * tl.sum(query * key, axis=0))
    tl.store(output + of_head * D + rows, result.to(tl.bfloat16))


def gdn_decode(q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale, batch):
    rows, warps = (8, 2) if batch <= 4 else (16, 4) if batch <= 8 else (32, 4)
    _decode[(batch * HEADS * (D // rows),)](q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale or D**-0.5,
                                            QK_HEADS=QK_HEADS, HEADS=HEADS, D=D, ROWS=rows, num_warps=warps)
