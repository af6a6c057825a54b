"""The gated delta rule, one token, as PyTorch has it. Each function returns output and new_state."""

import torch
import torch.nn.functional as F

SERVED = 2  # heads of v that a head of q and k serves


def _rule(q, k, v, state, A_log, a, dt_bias, b, scale):
    key = k[:, 0].float().repeat_interleave(SERVED, dim=1)
    query = q[:, 0].float().repeat_interleave(SERVED, dim=1)
    g = torch.exp(-torch.exp(A_log) * F.softplus(a[:, 0].float() + dt_bias))
    beta = torch.sigmoid(b[:, 0].float())
    decayed = g[..., None, None] * state
    old = (decayed * key[:, :, None, :]).sum(-1)
    delta = beta[..., None] * (v[:, 0].float() - old)
    new_state = decayed + delta[..., None] * key[:, :, None, :]
    output = scale * (new_state * query[:, :, None, :]).sum(-1)
    return output[:, None].to(v.dtype), new_state


def eager(q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale):
    return _rule(q, k, v, state, A_log, a, dt_bias, b, scale or q.shape[-1] ** -0.5)


_compiled = torch.compile(_rule)


def compiled(q, k, v, state, A_log, a, dt_bias, b, output, new_state, scale):
    # Each batch is compiled for itself. With dynamic=False each scale would be too.
    for tensor in (q, k, v, state, a, b):
        torch._dynamo.mark_static(tensor)
    return _compiled(q, k, v, state, A_log, a, dt_bias, b, scale or q.shape[-1] ** -0.5)
