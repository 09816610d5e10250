"""Values beside a trace: tangents, cotangents, batches, thumbnails. In: a ``Recording``. Out: data.

Every recorded equation is run once more on values, forwards with tangents, backwards with
cotangents, or for the whole batch, so each name can show what it stands for.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxlite
from jaxlite.diagnose.stepping import Recording

__all__ = ["Sweep", "batched", "cotangents", "summary", "tangents", "thumbnail"]

#: Arrays are shown by at most so many rows and columns.
SIDE = 16
_BLUE, _VERMILLION = np.array([0x00, 0x6B, 0xA6]), np.array([0xA8, 0x43, 0x00])


class Sweep:
    """One equation of the reverse sweep: its position and the cotangents of its results."""

    def __init__(self, position: int, received: list[tuple[Any, Any]], given: Any) -> None:
        self.position, self.received, self.given = position, received, given


def is_float(x: Any) -> bool:
    """Say whether a value can be differentiated."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return isinstance(x, float)
    return bool(jaxlite.numpy.issubdtype(dtype, np.inexact))


def is_key(x: Any) -> bool:
    """Say whether a value is a random key (or an array of them), which is no number."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and bool(jaxlite.dtypes.issubdtype(dtype, jaxlite.dtypes.prng_key))


def _function_of(recording: Recording, eqn: Any) -> tuple[Callable[..., Any], list[int]] | None:
    """Return an equation as a function of its floating operands, and which those are."""
    values = [recording.value(a) for a in eqn.invars]
    if eqn.effects or any(v is None for v in values):
        return None
    chosen = [i for i, (a, v) in enumerate(zip(eqn.invars, values)) if hasattr(a, "count")]
    chosen = [i for i in chosen if is_float(values[i])]

    def run(*operands: Any) -> Any:
        full = list(values)
        for i, x in zip(chosen, operands, strict=True):
            full[i] = x
        return eqn.primitive.bind_all(*full, **eqn.params)

    return run, chosen


def tangents(recording: Recording) -> dict[Any, Any]:
    """Return var -> tangent for a step of one in every input of floating point."""
    found = {
        v: jaxlite.numpy.ones_like(jaxlite.numpy.asarray(recording.values[v]))
        for _, v in recording.inputs
        if is_float(recording.values[v])
    }
    for eqn in recording.eqns:
        made = _function_of(recording, eqn)
        if made is None:
            continue
        run, chosen = made
        operands = [jaxlite.numpy.asarray(recording.value(eqn.invars[i])) for i in chosen]
        given = [
            found.get(eqn.invars[i], jaxlite.numpy.zeros_like(x))
            for i, x in zip(chosen, operands, strict=True)
        ]
        if any(eqn.invars[i] in found for i in chosen):
            _, outs = jaxlite.jvp(run, operands, given)
            found.update(zip(eqn.outvars, outs, strict=True))
    return found


def cotangents(recording: Recording) -> tuple[dict[Any, Any], list[Sweep]]:
    """Return var -> cotangent of the sum of the first result, and the sweep in its order."""
    outputs = [o for o in recording.outputs if hasattr(o, "count") and o in recording.values]
    if not outputs or not is_float(recording.values[outputs[0]]):
        return {}, []
    result = outputs[0]
    found = {result: jaxlite.numpy.ones_like(jaxlite.numpy.asarray(recording.values[result]))}
    sweep: list[Sweep] = []
    for position in range(len(recording.eqns) - 1, -1, -1):
        eqn = recording.eqns[position]
        made = _function_of(recording, eqn)
        if made is None or not any(v in found for v in eqn.outvars):
            continue
        run, chosen = made
        operands = [jaxlite.numpy.asarray(recording.value(eqn.invars[i])) for i in chosen]
        outs, back = jaxlite.vjp(run, *operands)
        given = tuple(
            found.get(v, np.zeros(o.shape, o.dtype if is_float(o) else jaxlite.dtypes.float0))
            for v, o in zip(eqn.outvars, outs, strict=True)
        )
        received = []
        for i, ct in zip(chosen, back(given), strict=True):
            var = eqn.invars[i]
            found[var] = found[var] + ct if var in found else ct
            received.append((var, ct))
        sweep.append(Sweep(position, received, found.get(eqn.outvars[0])))
    return found, sweep


def batched(recording: Recording, inputs: dict[Any, Any]) -> dict[Any, Any]:
    """Return var -> value for the whole batch; vars that are not in it are the same for all."""
    found = dict(inputs)
    for eqn in recording.eqns:
        axes = [0 if hasattr(a, "count") and a in found else None for a in eqn.invars]
        values = [
            found[a] if axis == 0 else recording.value(a)
            for a, axis in zip(eqn.invars, axes, strict=True)
        ]
        if eqn.effects or 0 not in axes or any(v is None for v in values):
            continue

        def run(*operands: Any, eqn: Any = eqn) -> Any:
            return eqn.primitive.bind_all(*operands, **eqn.params)

        outs = jaxlite.vmap(run, tuple(axes))(*values)
        found.update(zip(eqn.outvars, outs, strict=True))
    return found


def summary(value: Any) -> str:
    """Return a value as short text: the number, or mean and range."""
    if is_key(value):
        return "random key" if not value.shape else f"{value.size} random keys"
    array = np.asarray(value)
    if array.dtype.kind == "V":
        array = array.astype(np.float32)
    if array.size == 0:
        return "empty"
    if array.size == 1:
        return f"{array.reshape(-1)[0]:.4g}"
    if array.dtype.kind == "c":
        return f"mean size {np.abs(array).mean():.4g}"
    array = array.astype(np.float64)
    bad = array.size - int(np.isfinite(array).sum())
    if bad:
        return f"{bad} of {array.size} are NaN or Inf"
    return f"mean {array.mean():.4g}, {array.min():.4g} to {array.max():.4g}"


def thumbnail(value: Any) -> str:
    """Return an array as a small picture (a ``data:`` address), '' if it has no rows.

    Blue is positive, vermillion negative, white zero, black no number; at most 16 x 16 samples.
    """
    if is_key(value):
        return ""
    array = np.asarray(value)
    if array.size < 2 or array.dtype.kind == "c":
        return ""
    rows = array.astype(np.float64).reshape(-1, array.shape[-1] if array.ndim > 1 else array.size)
    rows = rows[_sample(rows.shape[0])][:, _sample(rows.shape[1])]
    top = float(np.nanmax(np.abs(np.where(np.isfinite(rows), rows, np.nan)), initial=0.0)) or 1.0
    share = np.clip(np.abs(rows) / top, 0, 1)[..., None]
    ends = np.where((rows > 0)[..., None], _BLUE, _VERMILLION)
    pixels = np.where(np.isfinite(share), 255 + (ends - 255) * share, 0).round().astype(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    height, width = rows.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header)
    png += _chunk(b"IDAT", zlib.compress(lines)) + _chunk(b"IEND", b"")
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _sample(n: int) -> Any:
    return np.linspace(0, n - 1, min(n, SIDE)).astype(int)


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check
