"""A decode step with a resident KV cache in PyTorch. Each function returns ff and y."""

import torch
import torch.nn.functional as F


def _step(x, gain, w_q, k, v, w_gate_up, lengths, eps, scale, cache, fixed):
    hidden = x.shape[-1]
    q = F.linear(F.rms_norm(x, (hidden,), gain, eps), w_q).unflatten(-1, (hidden // 64, 1, 64))
    # The host does not know lengths that change: a mask leaves out the rest of the cache.
    mask = None if fixed else torch.arange(cache, device=x.device) < lengths[:, None, None, None]
    context = F.scaled_dot_product_attention(q, k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask, scale=scale).flatten(1)
    gate, up = F.linear(context, w_gate_up.flatten(0, 1)).chunk(2, dim=-1)
    ff = F.silu(gate) * up
    return ff, context + ff[:, :hidden]


def step(x, gain, w_q, k, v, w_gate_up, lengths, eps, scale, cache, shortest):
    return _step(x, gain, w_q, k, v, w_gate_up, lengths, eps, scale, cache, shortest == cache)


_compiled = torch.compile(_step)


def compiled(x, gain, w_q, k, v, w_gate_up, lengths, eps, scale, cache, shortest):
    # Each shape is compiled for itself.
    for tensor in (x, gain, w_q, k, v, w_gate_up, lengths):
        torch._dynamo.mark_static(tensor)
    return _compiled(x, gain, w_q, k, v, w_gate_up, lengths, eps, scale, cache, shortest == cache)
