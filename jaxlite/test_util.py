"""``check_grads``: derivatives against finite differences, as in ``jax.test_util``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxlite.api.grad import jvp, vjp
from jaxlite.language.pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["check_grads", "check_jvp", "check_vjp"]

#: Tolerance and step by size of the floating-point type (in bytes, complex halves).
_TOLERANCE = {2: 1e-1, 4: 2e-3, 8: 1e-5}
_STEP = {2: 1e-1, 4: 1e-3, 8: 1e-5}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Any = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Compare derivatives of ``f`` up to ``order`` with finite differences in random directions.

    Args:
        f: a function of pytrees of floating-point arrays.
        args: where to differentiate.
        order: how many times.
        modes: "fwd" (``jvp``), "rev" (``vjp``) or both.
        atol: tolerance; from the dtype if not given.
        rtol: the same, relative.
        eps: step of the finite difference.

    Raises:
        AssertionError: they differ.
        ValueError: another mode.

    Example:
        >>> import jaxlite.numpy as jnp
        >>> check_grads(jnp.sin, (0.5,), order=2)
    """
    wanted = (modes,) if isinstance(modes, str) else tuple(modes)
    if not set(wanted) <= {"fwd", "rev"}:
        raise ValueError(f"Unrecognized modes: {modes}")
    arguments = tuple(args)

    if "fwd" in wanted:
        check_jvp(f, lambda xs, ts: jvp(f, xs, ts), arguments, atol, rtol, eps)
        if order > 1:
            direction = _direction(arguments, np.random.default_rng(2))
            tangent = _tangent_of(f, direction)
            check_grads(tangent, arguments, order - 1, wanted, atol, rtol, eps)
    if "rev" in wanted:
        check_vjp(f, lambda *xs: vjp(f, *xs), arguments, atol, rtol, eps)
        if order > 1:
            ct = _direction(f(*arguments), np.random.default_rng(3))
            pulled = _cotangents_of(f, ct)
            check_grads(pulled, arguments, order - 1, wanted, atol, rtol, eps)


def _tangent_of(f: Callable[..., Any], direction: Any) -> Callable[..., Any]:
    return lambda *xs: jvp(f, xs, direction)[1]


def _cotangents_of(f: Callable[..., Any], ct: Any) -> Callable[..., Any]:
    return lambda *xs: vjp(f, *xs)[1](ct)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare ``f_jvp(args, tangents) -> (out, tangent)`` with a finite difference of ``f``.

    Raises:
        AssertionError: they differ.
    """
    direction = _direction(tuple(args), np.random.default_rng(0))
    out, tangent = f_jvp(tuple(args), direction)
    _compare(out, f(*args), atol, rtol, f"{err_msg} JVP primal")
    _compare(tangent, _difference(f, args, direction, eps), atol, rtol, f"{err_msg} JVP tangent")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Compare ``f_vjp(*args) -> (out, pull)`` with a finite difference: ``<ct, Jt> = <J'ct, t>``.

    Raises:
        AssertionError: they differ.
    """
    direction = _direction(tuple(args), np.random.default_rng(0))
    out, pull = f_vjp(*args)
    _compare(out, f(*args), atol, rtol, f"{err_msg} VJP primal")
    ct = _direction(out, np.random.default_rng(1))
    pulled = pull(ct)
    slope = _difference(f, args, direction, eps)
    _compare(
        _inner(pulled, direction), _inner(ct, slope), atol, rtol, f"{err_msg} VJP cotangent", out
    )


def _direction(tree: Any, rng: np.random.Generator) -> Any:
    def draw(x: Any) -> Any:
        kind = np.asarray(x).dtype
        value = rng.standard_normal(np.shape(x))
        if kind.kind == "c":
            value = value + 1j * rng.standard_normal(np.shape(x))
        return value.astype(getattr(x, "dtype", np.float32 if kind.kind == "f" else np.complex64))

    return tree_map(draw, tree)


def _difference(f: Callable[..., Any], args: Any, direction: Any, eps: float | None) -> Any:
    step = _STEP[_bytes(args)] if eps is None else eps

    def moved(by: float) -> Any:
        shifted = tree_map(
            lambda x, t: (np.asarray(x) + by * np.asarray(t)).astype(np.asarray(t).dtype),
            tuple(args),
            direction,
        )
        return f(*shifted)

    wide = tree_map(_wide, (moved(step / 2), moved(-step / 2)))
    return tree_map(lambda high, low: (high - low) / step, *wide)


def _wide(x: Any) -> Any:
    a = np.asarray(x)
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def _inner(a: Any, b: Any) -> Any:
    pairs = zip(tree_flatten(a)[0], tree_flatten(b)[0], strict=True)
    return np.asarray(sum(np.real(np.sum(_wide(x) * _wide(y))) for x, y in pairs))


def _bytes(tree: Any) -> int:
    sizes = [8]
    for x in tree_flatten(tree)[0]:
        dtype = getattr(x, "dtype", np.dtype(np.float32))
        sizes.append(dtype.itemsize // (2 if np.dtype(dtype).kind == "c" else 1))
    return min(sizes)


def _compare(
    ours: Any, wanted: Any, atol: float | None, rtol: float | None, message: str, like: Any = None
) -> None:
    tolerance = _TOLERANCE[_bytes(ours if like is None else like)]
    leaves, tree = tree_flatten(ours)
    others, other_tree = tree_flatten(wanted)
    assert tree == other_tree, f"{message}: {tree_unflatten(tree, leaves)} against {other_tree}"
    for a, b in zip(leaves, others, strict=True):
        np.testing.assert_allclose(
            _wide(a),
            _wide(b),
            atol=tolerance if atol is None else atol,
            rtol=tolerance if rtol is None else rtol,
            err_msg=message.strip(),
        )
