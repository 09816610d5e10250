"""Attention. In: queries, keys, values, masks. Out: for each query the weighted mean of the values.

Shapes: b batch, t queries, s keys, n query heads, k key heads (n is a multiple of k), h head size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.nn.softmax import logsumexp, softmax

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    bias: Value | None = None,
    mask: Value | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Value | None = None,
    key_value_seq_lengths: Value | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """Return ``softmax(query @ key.T * scale + bias) @ value`` for each head.

    Args:
        query: ``f32[b, t, n, h]`` or ``f32[t, n, h]``.
        key: ``f32[b, s, k, h]`` or ``f32[s, k, h]``.
        value: like ``key``.
        bias: added to the logits; broadcasts to ``[b, n, t, s]``.
        mask: truth values, False forbids; broadcasts to ``[b, n, t, s]``.
        scale: factor of the logits, ``1 / sqrt(h)`` by default.
        is_causal: a query sees only keys up to its own position.
        query_seq_lengths: ``i32[b]``, real length of each sequence of queries; results behind it
            are 0.
        key_value_seq_lengths: ``i32[b]``, likewise for keys.
        local_window_size: how many keys to the (left, right) a query sees.
        implementation: None or "xla".
        return_residual: return also the log-sum-exp of the logits, ``f32[b, t, n]``.

    Returns:
        ``f32[b, t, n, h]``, or ``f32[t, n, h]``.

    Raises:
        ValueError: shapes or dtypes that do not fit.

    Example:
        >>> q = jnp.ones((2, 5, 4, 8))
        >>> dot_product_attention(q, q[:, :, :2], q[:, :, :2], is_causal=True).shape
        (2, 5, 4, 8)
    """
    if implementation == "cudnn":
        raise RuntimeError("cuDNN is not detected.\n  Fix: use implementation='xla'.")
    if implementation not in (None, "xla"):
        raise ValueError(f"Unsupported implementation option: {implementation}")
    out_shape = jnp.shape(query)
    query, key, value = (_with_batch(jnp.asarray(x)) for x in (query, key, value))
    _check_operands(query, key, value)
    bias, mask = (_to_4d(x) for x in (bias, mask))
    if mask is not None and mask.dtype != np.bool_:
        raise ValueError(f"mask dtype should be bool, but got {dtypes.name_of(mask.dtype)}")
    batch = query.shape[0]
    _check_lengths("query_seq_lengths", query_seq_lengths, batch)
    _check_lengths("key_value_seq_lengths", key_value_seq_lengths, batch)
    if scale is None:
        scale = 1.0 / np.sqrt(query.shape[-1])
    mask = _join_masks(
        (query.shape[1], key.shape[1]),
        mask,
        is_causal,
        query_seq_lengths,
        key_value_seq_lengths,
        local_window_size,
    )
    out, residual = _attend(query, key, value, bias, mask, float(scale))
    if query_seq_lengths is not None:
        is_real = jnp.arange(query.shape[1])[None, :] < jnp.asarray(query_seq_lengths)[:, None]
        out = out * is_real[:, :, None, None].astype(out.dtype)
    out = out.reshape(out_shape)
    if not return_residual:
        return out
    return out, lax.stop_gradient(residual).reshape(out_shape[:-1])


def _with_batch(x: Value) -> Value:
    return x[None] if x.ndim == 3 else x


def _to_4d(x: Any) -> Value | None:
    if x is None:
        return None
    x = jnp.asarray(x)
    return x.reshape((1,) * (4 - x.ndim) + x.shape)


def _check_operands(query: Value, key: Value, value: Value) -> None:
    batch, keys, key_heads, head = key.shape if key.ndim == 4 else (-1,) * 4
    for name, x, sizes in (
        ("key", key, [batch, keys, key_heads, head]),
        ("value", value, [batch, keys, key_heads, head]),
        ("query", query, [batch, -1, -1, head]),
    ):
        fits = x.ndim == 4 and all(want in (-1, have) for want, have in zip(sizes, x.shape))
        if not fits:
            raise ValueError(f"{name} shape should be {sizes}: but got {x.shape}")
        if x.dtype != key.dtype:
            raise ValueError(
                f"{name} dtype should be {dtypes.name_of(key.dtype)}, "
                f"but got {dtypes.name_of(x.dtype)}"
            )
    if not key_heads or query.shape[2] % key_heads:
        raise ValueError(
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{query.shape[2]} vs {key_heads}"
        )


def _check_lengths(name: str, lengths: Any, batch: int) -> None:
    if lengths is None:
        return
    if jnp.shape(lengths) != (batch,):
        raise ValueError(f"{name} shape should be [{batch}]: but got {jnp.shape(lengths)}")
    if jnp.asarray(lengths).dtype != np.int32:
        raise ValueError(
            f"{name} dtype should be int32, but got {dtypes.name_of(jnp.asarray(lengths).dtype)}"
        )


def _join_masks(
    sizes: tuple[int, int], mask: Any, is_causal: bool, q_lengths: Any, kv_lengths: Any, window: Any
) -> Value | None:
    """Return all conditions as one mask that broadcasts to ``[b, n, t, s]``; None if none."""
    rows, columns = jnp.arange(sizes[0])[:, None], jnp.arange(sizes[1])[None, :]
    masks = [] if mask is None else [mask]
    if is_causal:
        masks.append((rows >= columns)[None, None])
    if window is not None:
        left, right = (window, window) if isinstance(window, int) else window
        masks.append(((rows <= columns + left) & (rows >= columns - right))[None, None])
    if q_lengths is not None:
        masks.append((rows[None] < jnp.asarray(q_lengths)[:, None, None])[:, None])
    if kv_lengths is not None:
        masks.append((columns[None] < jnp.asarray(kv_lengths)[:, None, None])[:, None])
    if not masks:
        return None
    joined = masks[0]
    for more in masks[1:]:
        joined = joined & more
    return joined


def _attend(
    query: Value, key: Value, value: Value, bias: Any, mask: Any, scale: float
) -> tuple[Value, Value]:
    """Return the result ``[b, t, n, h]`` and the log-sum-exp of the logits ``[b, t, n]``."""
    b, t, n, h = query.shape
    k, groups = key.shape[2], query.shape[2] // key.shape[2]
    wide = jnp.promote_types(query.dtype, np.float32)
    grouped = query.reshape(b, t, k, groups, h)
    logits = jnp.einsum("btkgh,bskh->bkgts", grouped, key, preferred_element_type=wide) * scale
    if bias is not None:
        logits = (logits + _per_group(bias, k, groups)).astype(wide)
    if mask is not None:
        lowest = np.asarray(-0.7 * float(dtypes.finfo(wide).max), wide)
        logits = jnp.where(_per_group(mask, k, groups), logits, lowest)
    weights = softmax(logits, axis=-1).astype(value.dtype)
    out = jnp.einsum("bkgts,bskh->btkgh", weights, value)
    residual = jnp.transpose(logsumexp(logits, axis=-1), (0, 3, 1, 2))
    return out.reshape(b, t, n, h), residual.reshape(b, t, n)


def _per_group(x: Value, k: int, groups: int) -> Value:
    """Split the heads of ``[b, n, t, s]`` (n may be 1) into key heads and groups."""
    b, n, t, s = x.shape
    return x.reshape(b, 1, 1, t, s) if n == 1 else x.reshape(b, k, groups, t, s)
