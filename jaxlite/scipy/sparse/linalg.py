"""``jaxlite.scipy.sparse.linalg``: iterative solvers of ``A x = b``. In: an operator. Out: x.

Methods: conjugate gradients (Hestenes and Stiefel 1952), BiCGSTAB (van der Vorst 1992), GMRES (Saad
and Schultz 1986). Derivatives come from the equation, not from the iterations
(``lax.custom_linear_solve``). Inside, a pytree is one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlite import lax
from jaxlite import numpy as jnp
from jaxlite.flatten_util import ravel_pytree
from jaxlite.language import dtypes
from jaxlite.language.array import Array, Value
from jaxlite.tree_util import tree_leaves, tree_map, tree_structure

__all__ = ["bicgstab", "cg", "gmres"]

_Map = Callable[[Value], Value]
_Iterate = Callable[[_Map, Value, Value, _Map], Value]


def _operator(A: Any) -> Callable[[Any], Any]:
    if callable(A):
        return A  # type: ignore[no-any-return]
    if not hasattr(A, "__array__") and not isinstance(A, Array):
        raise TypeError(f"linear operator must be either a function or ndarray: {A}")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {A.shape}")
    return lambda x: jnp.matmul(A, x)


def _same_vectors(x0: Any, b: Any) -> None:
    if tree_structure(x0) != tree_structure(b):
        raise ValueError(
            "x0 and b must have matching tree structure: "
            f"{tree_structure(x0)} vs {tree_structure(b)}"
        )
    shapes_x, shapes_b = ([leaf.shape for leaf in tree_leaves(t)] for t in (x0, b))
    if shapes_x != shapes_b:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {shapes_x} vs {shapes_b}")


def _solved(iterate: _Iterate, A: Any, b: Any, x0: Any, M: Any, symmetric: bool) -> Any:
    """Return the solution that ``iterate`` finds, differentiable by its equation."""
    apply_a = _operator(A)
    apply_m = (lambda x: x) if M is None else _operator(M)
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    _same_vectors(x0, b)
    start = lax.stop_gradient(x0)

    def solve(apply: Callable[[Any], Any], rhs: Any) -> Any:
        flat, unravel = ravel_pytree(rhs)

        def on_vectors(f: Callable[[Any], Any]) -> _Map:
            return lambda v: ravel_pytree(f(unravel(v)))[0]

        first = ravel_pytree(start)[0].astype(flat.dtype)
        return unravel(iterate(on_vectors(apply), flat, first, on_vectors(apply_m)))

    is_real = not any(dtypes.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in tree_leaves(b))
    return lax.custom_linear_solve(
        apply_a, b, solve=solve, transpose_solve=solve, symmetric=symmetric and is_real
    )


def _square(v: Value) -> Value:
    return jnp.vdot(v, v).real


def _iterations(b: Any, maxiter: int | None) -> int:
    if maxiter is not None:
        return maxiter
    return 10 * sum(jnp.size(leaf) for leaf in tree_leaves(b))


def _limit(b: Value, tol: Any, atol: Any) -> Value:
    """Return the square of the residual's norm at which to stop."""
    return jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve ``A x = b`` by conjugate gradients; ``A`` is Hermitian and positive definite.

    Args:
        A: matrix ``T[n, n]`` or linear function of a pytree.
        b: right-hand side, a pytree.
        x0: first guess (zeros).
        tol: stop at ``norm(residual) <= max(tol * norm(b), atol)``.
        atol: see ``tol``.
        maxiter: limit of iterations (10 times the size of ``b``).
        M: approximate inverse of ``A`` (matrix or function).

    Returns:
        ``(x, None)``.

    Example:
        >>> cg(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 8.0]))
        (Array([1., 2.], dtype=float32), None)
    """
    steps = _iterations(b, maxiter)

    def iterate(apply: _Map, rhs: Value, x: Value, precondition: _Map) -> Value:
        limit = _limit(rhs, tol, atol)
        r = rhs - apply(x)
        z = precondition(r)
        gamma = jnp.vdot(r, z).astype(rhs.dtype)

        def go_on(state: Any) -> Value:
            _, r, _, _, k = state
            return (_square(r) > limit) & (k < steps)

        def step(state: Any) -> Any:
            x, r, gamma, p, k = state
            ap = apply(p)
            alpha = gamma / jnp.vdot(p, ap).astype(gamma.dtype)
            x, r = x + alpha * p, r - alpha * ap
            z = precondition(r)
            new = jnp.vdot(r, z).astype(gamma.dtype)
            return x, r, new, z + new / gamma * p, k + 1

        return lax.while_loop(go_on, step, (x, r, gamma, z, 0))[0]

    return _solved(iterate, A, b, x0, M, True), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve ``A x = b`` by stabilised biconjugate gradients; ``A`` is any matrix.

    Arguments and results are those of ``cg``.

    Example:
        >>> bicgstab(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 8.0]))[0].round(4)
        Array([1., 2.], dtype=float32)
    """
    steps = _iterations(b, maxiter)

    def iterate(apply: _Map, rhs: Value, x: Value, precondition: _Map) -> Value:
        limit = _limit(rhs, tol, atol)
        r = rhs - apply(x)
        shadow = r
        one = jnp.ones((), rhs.dtype)

        def go_on(state: Any) -> Value:
            return (_square(state[1]) > limit) & (state[-1] < steps) & (state[-1] >= 0)

        def step(state: Any) -> Any:
            x, r, p, v, alpha, omega, rho, k = state
            new = jnp.vdot(shadow, r)
            p = r + new / rho * (alpha / omega) * (p - omega * v)
            p_hat = precondition(p)
            v = apply(p_hat)
            alpha = new / jnp.vdot(shadow, v)
            s = r - alpha * v
            is_done = _square(s) < limit
            s_hat = precondition(s)
            t = apply(s_hat)
            omega = jnp.where(is_done, 0, jnp.vdot(t, s) / jnp.vdot(t, t)).astype(one.dtype)
            x = x + alpha * p_hat + omega * s_hat
            r = jnp.where(is_done, s, s - omega * t)
            # rho or omega 0: no direction is left (-1 ends the loop)
            k = jnp.where(is_done | ((omega != 0) & (new != 0)), k + 1, -1)
            return x, r, p, v, alpha, omega, new, k

        zeros = jnp.zeros_like(rhs)
        state = (x, r, zeros, zeros, one, one, one, 0)
        return lax.while_loop(go_on, step, state)[0]

    return _solved(iterate, A, b, x0, M, False), None


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Value]:
    """Solve ``A x = b`` by least squares in Krylov spaces; ``A`` is any matrix.

    Args:
        A: matrix or linear function.
        b: right-hand side.
        x0: first guess.
        tol: as in ``cg``.
        atol: as in ``cg``.
        restart: dimension of the Krylov space; after that it starts anew.
        maxiter: limit of restarts.
        M: approximate inverse of ``A``.
        solve_method: "batched" or "incremental"; both solve the same least squares.

    Returns:
        ``(x, 0)``.

    Raises:
        ValueError: another ``solve_method``.

    Example:
        >>> gmres(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 8.0]))[0].round(4)
        Array([1., 2.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    steps = _iterations(b, maxiter)
    size = min(restart, sum(jnp.size(leaf) for leaf in tree_leaves(b)))

    def iterate(apply: _Map, rhs: Value, x: Value, precondition: _Map) -> Value:
        def residual(x: Value) -> Value:
            return precondition(rhs - apply(x))

        scale = _square(precondition(rhs)) / jnp.maximum(_square(rhs), jnp.finfo(rhs.dtype).tiny)
        limit = _limit(rhs, tol, atol) * scale

        def go_on(state: Any) -> Value:
            return (_square(state[1]) > limit) & (state[2] < steps)

        def step(state: Any) -> Any:
            x, r, k = state
            x = x + _krylov_step(lambda v: precondition(apply(v)), r, size)
            return x, residual(x), k + 1

        return lax.while_loop(go_on, step, (x, residual(x), 0))[0]

    return _solved(iterate, A, b, x0, M, False), jnp.where(True, 0, 0)


def _krylov_step(apply: _Map, r: Value, size: int) -> Value:
    """Return what to add to x: the least residual in span(r, A r, ..., A^(size-1) r)."""
    norm = jnp.sqrt(_square(r))
    eps = jnp.finfo(r.dtype).eps
    basis = jnp.zeros((size + 1, r.size), r.dtype).at[0].set(r / norm)
    columns = jnp.zeros((size, size + 1), r.dtype)

    def arnoldi(k: Value, state: Any) -> Any:
        basis, columns = state
        w = apply(basis[k])
        before = jnp.sqrt(_square(w))
        overlap: Any = 0
        for _ in range(2):  # a second pass takes out what rounding left in
            part = basis.conj() @ w
            w = w - part @ basis
            overlap = overlap + part
        length = jnp.sqrt(_square(w))
        is_new = length > eps * before
        length = jnp.where(is_new, length, 0)
        unit = jnp.where(is_new, w / jnp.where(is_new, length, 1), 0)
        columns = columns.at[k].set(overlap.at[k + 1].set(length.astype(r.dtype)))
        return basis.at[k + 1].set(unit), columns

    basis, columns = lax.fori_loop(0, size, arnoldi, (basis, columns))
    target = jnp.zeros(size + 1, r.dtype).at[0].set(norm.astype(r.dtype))
    y = jnp.linalg.lstsq(columns.T, target)[0]
    return y @ basis[:size]
