"""Laws of a primitive with JAX as oracle: values, types, derivatives, batching, kernel IR.

A test gives the same call twice, ``ours`` on jaxlite's strict function and ``theirs`` on JAX's, and
the operands as NumPy arrays (``Keys`` for random keys).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import ml_dtypes
import numpy as np

import jaxlite
from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl, asarray_eager
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Linear, Zero, as_tuple
from jaxlite.primitives import (  # noqa: F401 (rules need each other's functions)
    arithmetic,
    comparison,
    convert,
    dot,
    identity,
    reduction,
    select,
    slicing,
    sort,
)
from jaxlite.transforms.jvp import jvp_flat
from jaxlite.transforms.linearize import linearize_flat
from jaxlite.transforms.stage_out import stage_out
from jaxlite.transforms.transpose import backward_pass
from jaxlite.transforms.vmap import MappedAxis, batch_flat
from tests.primitives.expressions import pulled

jax.config.update(
    "jax_disable_most_optimizations", True
)  # the oracle may be slow, not its compiler

#: Largest relative error of one rounding-free or float32-accumulated result.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-5,
    "float64": 1e-12,
    "complex64": 2e-5,
    "complex128": 1e-12,
}


class Keys:
    """Random keys as an operand: their uint32 data, two words each."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, np.uint32)


@dataclass
class Case:
    """One call, written for jaxlite and for JAX."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    args: list[Any]
    exact: bool = True
    differentiable: tuple[int, ...] | None = None
    #: Sets of operands to differentiate in at once; default: each alone, then all.
    open_sets: list[tuple[int, ...]] | None = None
    seed: int = 0
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        if self.differentiable is None:
            self.differentiable = tuple(
                k
                for k, a in enumerate(self.args)
                if not isinstance(a, Keys) and dtypes.kind_of(a.dtype) in "fc"
            )


# --- conversions ---


def to_ours(x: Any) -> Any:
    if isinstance(x, Keys):
        words = x.data.astype(np.uint64)
        data = np.array((words[..., 0] << np.uint64(32)) | words[..., 1])
        return ArrayImpl(data, ShapedArray(data.shape, dtypes.KEY_FRY))
    return asarray_eager(x) if isinstance(x, np.ndarray | np.generic) else x


def to_theirs(x: Any) -> Any:
    if isinstance(x, Keys):
        return jax.random.wrap_key_data(jax.numpy.asarray(x.data))
    return jax.numpy.asarray(x)


def data_of(x: Any) -> np.ndarray[Any, Any]:
    """The values of a result, ours or theirs, as NumPy (keys as uint64)."""
    if isinstance(x, Zero):
        return np.zeros(x.aval.shape, x.aval.dtype)
    if isinstance(x, ArrayImpl):
        return np.asarray(x._data)
    if isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        return data_of(to_ours(Keys(jax.random.key_data(x))))
    return np.asarray(x)


def assert_same(ours: Any, theirs: Any, exact: bool = True) -> None:
    """Equal shapes, dtypes and values; NaNs are equal, zeros agree in sign if ``exact``."""
    mine, other = data_of(ours), data_of(theirs)
    assert mine.shape == other.shape, (mine.shape, other.shape)
    assert mine.dtype == other.dtype, (mine.dtype, other.dtype)
    if mine.dtype == ml_dtypes.bfloat16:
        mine, other = mine.astype(np.float32), other.astype(np.float32)
        tolerance = TOLERANCE["bfloat16"]
    else:
        tolerance = TOLERANCE.get(mine.dtype.name, 0.0)
    if exact or not tolerance:
        np.testing.assert_array_equal(mine, other)
        if mine.dtype.kind == "f":
            np.testing.assert_array_equal(
                np.signbit(mine) & (mine == 0), np.signbit(other) & (other == 0)
            )
    else:
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


def flat(fun: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    def run(*args: Any) -> tuple[Any, ...]:
        out = fun(*args)
        return tuple(out) if isinstance(out, list) else as_tuple(out)

    return run


# --- laws ---


def check(case: Case) -> None:
    """All laws."""
    check_values(case)
    check_types(case)
    check_jvp(case)
    check_vjp(case)
    check_vmap(case)
    check_pull(case)
    check_jit(case)


def check_values(case: Case) -> None:
    ours = flat(case.ours)(*map(to_ours, case.args))
    theirs = flat(case.theirs)(*map(to_theirs, case.args))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert_same(mine, other, case.exact)


def check_types(case: Case) -> None:
    """Predicted shapes, dtypes and weak types agree for every combination of weak operands."""
    choices = [
        (False, True) if not isinstance(a, Keys) and dtypes.kind_of(a.dtype) in "ifc" else (False,)
        for a in case.args
    ]
    ours = [to_ours(a).aval for a in case.args]
    theirs = [jax.typeof(to_theirs(a)) for a in case.args]
    combinations = list(itertools.product(*choices))
    for weak in combinations[:: max(1, len(combinations) // 8)] + combinations[-1:]:
        mine = stage_out(
            flat(case.ours), [a.update(weak_type=w) for a, w in zip(ours, weak, strict=True)]
        ).out_avals
        structs = [
            jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=w)
            for a, w in zip(theirs, weak, strict=True)
        ]
        other = jax.make_jaxpr(case.theirs)(*structs).out_avals
        assert [(a.shape, str(a.dtype), a.weak_type) for a in mine] == [
            (a.shape, str(a.dtype), a.weak_type) for a in other
        ], weak


def tangent_like(case: Case, x: Any) -> Any:
    t = case.rng.normal(size=x.shape)
    if dtypes.kind_of(x.dtype) == "c":
        t = t + 1j * case.rng.normal(size=x.shape)
    return np.asarray(t).astype(x.dtype)


def _partial(fun: Callable[..., Any], args: list[Any], open_at: tuple[int, ...]) -> Any:
    def run(*some: Any) -> Any:
        full = list(args)
        for k, x in zip(open_at, some, strict=True):
            full[k] = x
        return fun(*full)

    return run


def _open_sets(case: Case) -> list[tuple[int, ...]]:
    if case.open_sets is not None:
        return case.open_sets
    assert case.differentiable is not None
    some = [(k,) for k in case.differentiable]
    return [*some, case.differentiable] if len(some) > 1 else some


def check_jvp(case: Case) -> None:
    for at in _open_sets(case):
        tangents = [tangent_like(case, case.args[k]) for k in at]
        primals = [case.args[k] for k in at]
        mine, mine_dot = jvp_flat(
            flat(_partial(case.ours, [to_ours(a) for a in case.args], at)),
            [to_ours(p) for p in primals],
            [to_ours(t) for t in tangents],
        )
        theirs = flat(_partial(case.theirs, [to_theirs(a) for a in case.args], at))
        # One compilation instead of one per operation.
        other, other_dot = jax.jit(lambda p, t, theirs=theirs: jax.jvp(theirs, p, t))(
            [to_theirs(p) for p in primals], [to_theirs(t) for t in tangents]
        )
        for a, b in zip((*mine, *mine_dot), (*other, *other_dot), strict=True):
            assert_same(a, b, case.exact and not _is_float(b))


def _is_float(x: Any) -> bool:
    return bool(jax.dtypes.issubdtype(x.dtype, np.inexact))


def vjp_ours(fun: Callable[..., Any], primals: list[Any], cts: list[Any]) -> list[Any]:
    """Cotangents of ``primals``; ``cts`` belong to the results that have tangents."""
    result = linearize_flat(flat(fun), primals, [True] * len(primals))
    linear = result.linear
    operands = [Linear(a) for a in linear.in_avals]
    chosen = [ct for ct, nz in zip(cts, result.out_nonzero, strict=True) if nz]
    return backward_pass(linear.jaxpr, linear.consts, operands, chosen)


def check_vjp(case: Case) -> None:
    for at in _open_sets(case):
        primals = [case.args[k] for k in at]
        theirs = flat(_partial(case.theirs, [to_theirs(a) for a in case.args], at))
        theirs_primals = [to_theirs(p) for p in primals]
        outs = jax.eval_shape(theirs, *theirs_primals)
        cts = [tangent_like(case, o) if _is_float(o) else None for o in outs]
        theirs_cts = tuple(
            np.zeros(o.shape, jax.dtypes.float0) if ct is None else to_theirs(ct)
            for ct, o in zip(cts, outs, strict=True)
        )
        other = jax.jit(lambda *p, theirs=theirs, ct=theirs_cts: jax.vjp(theirs, *p)[1](ct))(
            *theirs_primals
        )
        mine = vjp_ours(
            _partial(case.ours, [to_ours(a) for a in case.args], at),
            [to_ours(p) for p in primals],
            [None if ct is None else to_ours(ct) for ct in cts],
        )
        for a, b in zip(mine, other, strict=True):
            assert_same(a, b, False)


def batched(case: Case, arg: Any, dim: int | None, size: int) -> Any:
    """``size`` examples along a new axis ``dim``: the elements of ``arg``, permuted."""
    if dim is None:
        return arg
    if isinstance(arg, Keys):
        rows = [arg.data + np.uint32(7 * i) for i in range(size)]
        return Keys(np.stack(rows, axis=dim if dim >= 0 else arg.data.ndim - 1))
    rows = [arg]
    for i in range(1, size):
        if arg.size > 1:
            rows.append(case.rng.permutation(arg.reshape(-1)).reshape(arg.shape))
        else:
            is_integer = arg.dtype.kind in "iu"  # which may be the largest one
            step = arg.dtype.type(i % 2)
            rows.append(arg ^ step if is_integer else arg + step)
    return np.stack([np.asarray(r, arg.dtype) for r in rows], axis=dim)


def check_vmap(case: Case, size: int = 3, most: int = 3) -> None:
    """``vmap`` over ``most`` choices of batched operands, at the first or the last axis."""
    choices = list(itertools.product((0, -1, None), repeat=len(case.args)))[:-1]
    if len(choices) > most:
        keep = case.rng.choice(len(choices), most, replace=False)
        choices = [choices[k] for k in keep]
    for dims in choices:
        args = [batched(case, a, d, size) for a, d in zip(case.args, dims, strict=True)]
        mine_args = [to_ours(a) for a in args]
        places = [
            None if d is None else d % x.aval.ndim for d, x in zip(dims, mine_args, strict=True)
        ]
        out_dims: list[int | None] = []
        outs = batch_flat(flat(case.ours), MappedAxis(size), places, out_dims)(*mine_args)
        mapped = jax.jit(jax.vmap(flat(case.theirs), in_axes=tuple(places)))
        theirs = mapped(*map(to_theirs, args))
        for a, dim, b in zip(outs, out_dims, theirs, strict=True):
            data = data_of(a)
            if dim is None:
                data = np.broadcast_to(data, (size, *data.shape))
            else:
                data = np.moveaxis(data, dim, 0)
            assert_same(data, data_of(b), case.exact)


def check_pull(case: Case) -> None:
    """The kernel IR of every element has the value that ``impl`` gives."""
    args = [to_ours(a) for a in case.args]
    closed = stage_out(flat(case.ours), [a.aval for a in args])
    outs = flat(case.ours)(*args)
    values = pulled(closed, [a._data for a in args])
    if values is None:
        return
    for mine, other in zip(outs, values, strict=True):
        np.testing.assert_array_equal(_bits(mine._data), _bits(other))


def check_jit(case: Case) -> None:
    """Compiled code gives what eager evaluation gives, bit for bit unless sums are involved."""
    args = [to_ours(a) for a in case.args]
    eager = flat(case.ours)(*args)
    compiled = jaxlite.jit(flat(case.ours))(*args)
    for mine, other in zip(eager, compiled, strict=True):
        assert mine.aval is other.aval
        if case.exact:
            np.testing.assert_array_equal(_bits(mine._data), _bits(other._data))
        else:
            assert_same(mine, other, False)


def _bits(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # NaNs of all signs and payloads are one value; zeros keep their sign.
    if dtypes.kind_of(x.dtype) == "f":
        return np.where(x != x, np.float64(np.nan), x.astype(np.float64)).view(np.int64)
    return x
