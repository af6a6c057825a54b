"""Attention of one token over a KV cache as PyTorch has it. Each function returns y."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def contiguous(pages, length, shortest):
    # Where all pages are full, the pages of a sequence hold all its tokens, in another order.
    if length % 16 or shortest != length:
        raise ValueError("the pages are a contiguous cache only if all are full and all sequences have the same length")
    return pages.flatten(1, 2).transpose(1, 2)


def sdpa(q, k, v, scale, length, shortest):
    k, v = contiguous(k, length, shortest), contiguous(v, length, shortest)
    return F.scaled_dot_product_attention(q.unsqueeze(2), k, v, scale=scale, enable_gqa=True).squeeze(2)


def sdpa_flash(q, k, v, scale, length, shortest):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return sdpa(q, k, v, scale, length, shortest)


def sdpa_cudnn(q, k, v, scale, length, shortest):
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        return sdpa(q, k, v, scale, length, shortest)


def gathered(pages, table):
    sequences = torch.arange(table.shape[0], device=table.device)[:, None]
    return pages[sequences, table.long()].flatten(1, 2).transpose(1, 2).float()


def eager(q, k, v, table, lengths, scale):
    k, v = gathered(k, table), gathered(v, table)
    queries = q.float().unflatten(1, (8, 8))
    outside = torch.arange(k.shape[2], device=q.device) >= lengths[:, None]
    scores = (scale * queries @ k.transpose(2, 3)).masked_fill(outside[:, None, None], float("-inf"))
    return (scores.softmax(-1) @ v).flatten(1, 2).to(q.dtype)
