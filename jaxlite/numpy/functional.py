"""Functions of functions. In: a Python function. Out: that function over arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from jaxlite.api.vmap import vmap
from jaxlite.language.array import Value
from jaxlite.lax import shapes
from jaxlite.numpy.axes import canonical_axis
from jaxlite.numpy.creation import asarray
from jaxlite.numpy.promotion import as_operand, check_arraylike
from jaxlite.numpy.rearrange import expand_dims, moveaxis

_NAME = r"\w+"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = re.compile(rf"^{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*$")
Core = tuple[str, ...]


def _parse_signature(signature: str) -> tuple[list[Core], list[Core]]:
    """Return the core axes of arguments and results of a signature like "(m,n),(n)->(m)"."""
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = text.split("->")
    ins, outs = (
        [tuple(re.findall(_NAME, core)) for core in re.findall(_CORE, side)] for side in sides
    )
    return ins, outs


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[Any] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return ``pyfunc`` over arrays: the axes that it does not expect are mapped and broadcast.

    Args:
        pyfunc: a function of scalars, or of arrays with the core axes that ``signature`` names.
        excluded: positions (ints) and names (strings) of arguments that are passed as they are.
        signature: core axes, such as "(m,n),(n)->(m)".

    Raises:
        ValueError: a malformed signature, or arguments that do not fit it.

    Example:
        >>> import jaxlite.numpy as jnp
        >>> vectorize(jnp.vdot, signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.arange(3))
        Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(e, str | int) for e in excluded):
        raise TypeError(
            "jax.numpy.vectorize can only exclude integer or string arguments, but excluded="
            f"{set(excluded)!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={set(excluded)!r} contains negative numbers")

    note = (
        f" on vectorized function with excluded={frozenset(excluded)!r} and signature={signature!r}"
    )

    @functools.wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        keys = [k for k in kwargs if k not in excluded]
        positions = [k for k in range(len(args)) if k not in excluded]

        def call(*mapped: Any) -> Any:
            filled = list(args)
            for k, value in zip(positions, mapped, strict=False):
                filled[k] = value
            named = dict(zip(keys, mapped[len(positions) :], strict=True))
            return pyfunc(*filled, **{**kwargs, **named})

        values = [asarray(args[k]) for k in positions] + [asarray(kwargs[k]) for k in keys]
        return _mapped(call, values, signature, note)

    return wrapped


def _mapped(call: Callable[..., Any], values: list[Value], signature: str | None, note: str) -> Any:
    if signature is None:
        ins: list[Core] = [()] * len(values)
        outs: list[Core] | None = None
    else:
        ins, outs = _parse_signature(signature)
        if len(ins) != len(values):
            raise TypeError(
                f"wrong number of positional arguments: expected {len(ins)}, got {len(values)}"
            )
    sizes = _core_sizes(ins, values, note)
    loops = [v.shape[: v.ndim - len(core)] for v, core in zip(values, ins, strict=True)]
    full = shapes.broadcast_shapes(*loops)
    function = _checked(call, outs, sizes)
    squeezed = []
    for v, loop in zip(values, loops, strict=True):
        # Axes of length 1 are not mapped; they broadcast.
        ones = tuple(
            k for k, n in enumerate(loop) if n == 1 and full[len(full) - len(loop) + k] != 1
        )
        squeezed.append((shapes.squeeze(v, ones), _places(loop, full, ones)))
    arrays = [v for v, _ in squeezed]
    # From the innermost axis outward, so that outer axes are mapped first.
    for axis in reversed(range(len(full))):
        in_axes = tuple([0 if axis in places else None for _, places in squeezed])
        if any(a is not None for a in in_axes):
            function = vmap(function, in_axes=in_axes)
    return function(*arrays)


def _places(loop: tuple[int, ...], full: tuple[int, ...], ones: tuple[int, ...]) -> set[int]:
    offset = len(full) - len(loop)
    return {offset + k for k in range(len(loop)) if k not in ones}


def _core_sizes(ins: list[Core], values: list[Value], note: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for v, core in zip(values, ins, strict=True):
        if v.ndim < len(core):
            raise ValueError(
                f"input with shape {v.shape} does not have enough dimensions for all core "
                "dimensions "
                f"{core}{note}"
            )
        for name, length in zip(core, v.shape[v.ndim - len(core) :], strict=True):
            if sizes.setdefault(name, length) != length:
                raise ValueError(
                    f"inconsistent size for core dimension {name!r}: {length} vs "
                    f"{sizes[name]}{note}"
                )
    return sizes


def _checked(
    call: Callable[..., Any], outs: list[Core] | None, sizes: dict[str, int]
) -> Callable[..., Any]:
    """Return ``call`` with its results compared with the signature."""

    def function(*args: Any) -> Any:
        result = call(*args)
        if outs is None:
            return result
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(outs) or (len(outs) > 1 and not isinstance(result, tuple)):
            raise TypeError(
                f"wrong number of output arguments: expected {len(outs)}, got {len(results)}"
            )
        for value, core in zip(results, outs, strict=True):
            shape = asarray(value).shape
            expected = tuple(sizes.get(name, -1) for name in core)
            if len(shape) != len(core) or any(
                e not in (-1, n) for e, n in zip(expected, shape, strict=True)
            ):
                raise ValueError(f"output shape {shape} does not match core dimensions {core}")
        return result

    return function


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Value:
    """Return ``func1d`` of every vector along ``axis``.

    Example:
        >>> import jaxlite.numpy as jnp
        >>> apply_along_axis(jnp.sum, 0, jnp.ones((2, 3)))
        Array([2., 2., 2.], dtype=float32)
    """
    check_arraylike("apply_along_axis", arr)
    x = as_operand("apply_along_axis", arr)
    place = canonical_axis(axis, x.ndim)

    def function(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    mapped: Callable[..., Any] = function
    for _ in range(x.ndim - 1):
        mapped = vmap(mapped)
    out: Value = asarray(mapped(moveaxis(x, place, -1)))
    # The axes of a result of func1d go where the vectors were.
    extra = out.ndim - (x.ndim - 1)
    froms = tuple(range(x.ndim - 1, x.ndim - 1 + extra))
    return moveaxis(out, froms, tuple(range(place, place + extra)))


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Value:
    """Return ``func(func(a, axis), axis) ...``; axes that it removes come back with length 1.

    Raises:
        ValueError: ``func`` returns another rank.
    """
    out = asarray(a)
    several: Any = (axes,) if hasattr(axes, "__index__") else axes
    for axis in several:
        rank = out.ndim
        result = asarray(func(out, axis))
        if result.ndim == rank - 1:
            result = expand_dims(result, axis)
        elif result.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
        out = result
    return out


__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]
