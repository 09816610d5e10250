"""Universal functions as objects: ``jnp.add.reduce`` and its kin. In: an elementwise function.

Out: a ``ufunc``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxlite.api.loops import scan
from jaxlite.language.array import Array, Value
from jaxlite.lax import shapes
from jaxlite.numpy import cumulative, functions, logic, reductions, ufuncs
from jaxlite.numpy.at import IndexUpdateHelper
from jaxlite.numpy.axes import canonical_axis, check_no_out
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.functional import vectorize
from jaxlite.numpy.promotion import as_operand, check_arraylike, retype
from jaxlite.numpy.rearrange import moveaxis


class ufunc:
    """An elementwise function of ``nin`` arrays with reductions made from it.

    Args:
        func: a function of scalars.
        nin: number of arguments.
        nout: number of results.
        name: what it is called.
        identity: neutral element, for empty reductions.
        call: the function of arrays, where it exists already.

    Example:
        >>> import jaxlite.numpy as jnp
        >>> jnp.add.reduce(jnp.arange(4)), jnp.multiply.outer(jnp.arange(3), 2)
        (Array(6, dtype=int32), Array([0, 2, 4], dtype=int32))
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        self.__doc__ = func.__doc__
        self.__name__ = name or func.__name__
        self.nin, self.nout = operator.index(nin), operator.index(nout)
        self.nargs = self.nin if nargs is None else nargs
        self.identity = identity
        self._call = vectorize(func) if call is None else call
        self._known = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        if out is not None or where is not None:
            option = "out" if out is not None else "where"
            raise NotImplementedError(f"{option} argument of {self}")
        return self._call(*args)

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        return self.__name__

    def _check(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{method} only supported for functions with nin=2 and nout=1")

    def reduce(
        self,
        a: Any,
        axis: int | None = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Value:
        """Combine the elements along ``axis`` (None: all), from the first to the last."""
        self._check("reduce")
        check_arraylike(f"{self.__name__}.reduce", a)
        check_no_out(f"{self.__name__}.reduce", out)
        if self._known["reduce"] is not None:
            options = {} if dtype is None else {"dtype": dtype}
            if initial is not None:
                options["initial"] = initial
            known: Value = self._known["reduce"](
                a, axis=axis, keepdims=keepdims, where=where, **options
            )
            return known
        if where is not None:
            raise NotImplementedError(f"where argument of {self}.reduce")
        x = as_operand(self.__name__, a)
        if dtype is not None:
            x = retype(x, np.dtype(dtype))
        rank = x.ndim
        if axis is None:
            x, place = shapes.reshape(x, (x.size,)), 0
        else:
            place = canonical_axis(axis, rank)
        x = moveaxis(x, place, 0)
        start = self.identity if initial is None else initial
        if x.shape[0] == 0 and start is None:
            raise ValueError(
                f"zero-size array to reduction operation {self.__name__} which has no identity"
            )
        result = self._folded(x, start)
        if keepdims:
            result = shapes.expand_dims(result, tuple(range(rank)) if axis is None else (place,))
        return result

    def _folded(self, x: Value, start: Any) -> Value:
        if start is None:
            carry, rest = x[0], x[1:]
        else:
            carry, rest = shapes.full(x.shape[1:], start, x.dtype), x
        carry = retype(carry, asarray(self._call(carry, x[:1][0] if x.shape[0] else carry)).dtype)

        def step(total: Value, row: Value) -> tuple[Value, None]:
            return retype(asarray(self._call(total, row)), total.dtype), None

        out: Value = scan(step, carry, rest)[0]
        return out

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Value:
        """Return all partial results of ``reduce`` along ``axis``."""
        self._check("accumulate")
        check_arraylike(f"{self.__name__}.accumulate", a)
        check_no_out(f"{self.__name__}.accumulate", out)
        if self._known["accumulate"] is not None:
            known: Value = self._known["accumulate"](a, axis=axis, dtype=dtype)
            return known
        x = as_operand(self.__name__, a)
        if dtype is not None:
            x = retype(x, np.dtype(dtype))
        place = canonical_axis(axis, x.ndim)
        x = moveaxis(x, place, 0)
        if x.shape[0] == 0:
            return moveaxis(x, 0, place)

        def step(total: Value, row: Value) -> tuple[Value, Value]:
            value = retype(asarray(self._call(total, row)), total.dtype)
            return value, value

        rows = scan(step, x[0], x[1:])[1]
        return moveaxis(shapes.concatenate([x[:1], rows], 0), 0, place)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Value:
        """Return ``a`` with the function applied at ``indices``; needs ``inplace=False``."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like\n"
                "np.ufunc.at(). Instead, you can pass inplace=False and capture the result; e.g.\n"
                ">>> arr = jnp.add.at(arr, ind, val, inplace=False)"
            )
        x = asarray(a)
        if self._known["at"] is not None:
            known: Value = self._known["at"](x, indices, b)
            return known
        helper = IndexUpdateHelper(x)[indices]
        old = helper.get()
        return helper.set(self._call(old) if self.nin == 1 else self._call(old, b))

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Value:
        """Return ``reduce`` over the slices between neighbors of ``indices``."""
        self._check("reduceat")
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        check_no_out(f"{self.__name__}.reduceat", out)
        x = moveaxis(as_operand(self.__name__, a), axis, 0)
        starts = [operator.index(k) for k in np.asarray(indices)]
        stops = [*starts[1:], x.shape[0]]
        parts = [
            self.reduce(x[low:high] if low < high else x[low : low + 1], 0, dtype)
            for low, high in zip(starts, stops, strict=True)
        ]
        return moveaxis(shapes.stack(parts), 0, axis)

    def outer(self, A: Any, B: Any, /) -> Any:
        """Return the function of every pair of elements: ``[*s], [*t] -> [*s, *t]``."""
        self._check("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        x, y = as_operand(self.__name__, A), as_operand(self.__name__, B)
        return self._call(shapes.reshape(x, x.shape + (1,) * y.ndim), y)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return ``func`` (of scalars) as a ``ufunc``."""
    return ufunc(func, nin, nout, identity=identity)


def _at(method: str) -> Callable[..., Value]:
    def at(x: Array, indices: Any, b: Any) -> Value:
        out: Value = getattr(IndexUpdateHelper(x)[indices], method)(b)
        return out

    return at


def _binary(name: str, function: Callable[..., Any], identity: Any, **known: Any) -> ufunc:
    return ufunc(function, 2, 1, name=name, nargs=2, identity=identity, call=function, **known)


add = _binary(
    "add", ufuncs.add, 0, reduce=reductions.sum, accumulate=cumulative.cumsum, at=_at("add")
)
subtract = _binary("subtract", ufuncs.subtract, None, at=_at("subtract"))
multiply = _binary(
    "multiply",
    ufuncs.multiply,
    1,
    reduce=reductions.prod,
    accumulate=cumulative.cumprod,
    at=_at("multiply"),
)
maximum = _binary("maximum", ufuncs.maximum, None, reduce=reductions.max, at=_at("max"))
minimum = _binary("minimum", ufuncs.minimum, None, reduce=reductions.min, at=_at("min"))
bitwise_and = _binary("bitwise_and", ufuncs.bitwise_and, -1)
bitwise_or = _binary("bitwise_or", ufuncs.bitwise_or, 0)
bitwise_xor = _binary("bitwise_xor", ufuncs.bitwise_xor, 0)
logical_and = _binary("logical_and", logic.logical_and, True, reduce=reductions.all)
logical_or = _binary("logical_or", logic.logical_or, False, reduce=reductions.any)
logical_xor = _binary("logical_xor", logic.logical_xor, False)
logaddexp = _binary("logaddexp", functions.logaddexp, -np.inf)
logaddexp2 = _binary("logaddexp2", functions.logaddexp2, -np.inf)
negative = ufunc(ufuncs.negative, 1, 1, name="negative", call=ufuncs.negative)

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "frompyfunc", "logaddexp", "logaddexp2",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "subtract", "ufunc",
]  # fmt: skip
