"""The same step of a gated delta rule in Triton and in PyTorch. Each function writes into out and new_state."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

HEADS, QK_HEADS, DIM = 8, 4, 128


@triton.jit
def _decode(q, k, v, state, a_log, a, dt_bias, b, out, new_state, scale,
            HEADS: tl.constexpr, QK_HEADS: tl.constexpr, DIM: tl.constexpr, ROWS: tl.constexpr):
    of_head = tl.program_id(0).to(tl.int64)
    head, batch = of_head % HEADS, of_head // HEADS
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, DIM)
    x = tl.load(a + of_head).to(tl.float32) + tl.load(dt_bias + head)
    softplus = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))
    g = tl.exp(-tl.exp(tl.load(a_log + head)) * softplus)
    beta = tl.sigmoid(tl.load(b + of_head).to(tl.float32))
    qk = (batch * QK_HEADS + head // (HEADS // QK_HEADS)) * DIM
    kk = tl.load(k + qk + cols).to(tl.float32)
    qq = tl.load(q + qk + cols).to(tl.float32)
    at = (of_head * DIM + rows[:, None]) * DIM + cols[None, :]
    s = g * tl.load(state + at)
    old = tl.sum(kk[None, :] * s, axis=1)
    delta = beta * (tl.load(v + of_head * DIM + rows).to(tl.float32) - old)
    s = s + delta[:, None] * kk[None, :]
    tl.store(new_state + at, s)
    tl.store(out + of_head * DIM + rows, (scale * tl.sum(qq[None, :] * s, axis=1)).to(tl.bfloat16))


def decode(q, k, v, state, a_log, a, dt_bias, b, out, new_state, scale, B):
    rows = 16 if B < 32 else 64
    _decode[(B * HEADS, DIM // rows)](q, k, v, state, a_log, a, dt_bias, b, out, new_state, scale,
                                      HEADS=HEADS, QK_HEADS=QK_HEADS, DIM=DIM, ROWS=rows, num_warps=4)


def eager(q, k, v, state, a_log, a, dt_bias, b, out, new_state, scale):
    kk = k.float().repeat_interleave(HEADS // QK_HEADS, dim=1)
    qq = q.float().repeat_interleave(HEADS // QK_HEADS, dim=1)
    g = torch.exp(-torch.exp(a_log) * F.softplus(a.float() + dt_bias))
    beta = torch.sigmoid(b.float())
    s = g[..., None, None] * state
    delta = beta[..., None] * (v.float() - torch.einsum("bhrc,bhc->bhr", s, kk))
    s = s + delta[..., None] * kk[:, :, None, :]
    new_state.copy_(s)
    out.copy_(scale * torch.einsum("bhrc,bhc->bhr", s, qq))
