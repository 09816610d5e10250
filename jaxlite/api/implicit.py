"""Solutions with the derivative that their equation gives. In: functions of the user's.

Out: solutions. The solver may loop as long as it likes: nobody differentiates it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.api.arguments import FlatFunction, debug_info_of, to_arrays
from jaxlite.api.grad import linear_transpose, linearize
from jaxlite.higher_order.custom_call import CustomJVP
from jaxlite.higher_order.linear_solve import custom_linear_solve_p
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import ClosedJaxpr, Var
from jaxlite.language.primitive import Zero, instantiate
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.trace import get_aval, state
from jaxlite.language.treedef import PyTreeDef
from jaxlite.primitives.families import ops
from jaxlite.transforms.eval_jaxpr import eval_closed
from jaxlite.transforms.jvp import jvp_flat
from jaxlite.transforms.stage_out import hoist_consts, stage_out

__all__ = ["custom_linear_solve", "custom_root"]

Solver = Callable[[Callable[[Any], Any], Any], Any]


@dataclass(frozen=True)
class _Staged:
    """A function on flat vectors as ``closed(*consts, *vectors)``."""

    closed: ClosedJaxpr
    consts: list[Any]
    out_tree: PyTreeDef

    def check(self, name: str, like: str, tree: PyTreeDef, avals: Sequence[ShapedArray]) -> None:
        """Raise in JAX's words unless the results are vectors such as ``avals`` in ``tree``."""
        if self.out_tree != tree:
            raise TypeError(
                f"{name}() output pytree structure must match {like}, got {self.out_tree} and "
                f"{tree}."
            )
        got = [a.shape for a in self.closed.out_avals[: len(avals)]]
        wanted = [a.shape for a in avals]
        if got != wanted:
            raise ValueError(f"{name}() output shapes must match {like}, got {got} and {wanted}")


def _staged(
    fun: Callable[..., Any], args: tuple[Any, ...], avals: Sequence[ShapedArray]
) -> _Staged:
    """Return ``fun`` on arguments of the structure of ``args``, with what it closes over."""
    info = debug_info_of(fun, args, {})
    flat = FlatFunction(fun, tree_flatten((args, {}))[1], info, "custom_linear_solve")
    closed, consts = hoist_consts(stage_out(flat, avals, info))
    assert flat.out_tree is not None
    return _Staged(closed, consts, flat.out_tree)


def _pair(out: Any) -> tuple[Any, Any]:
    """Return solution and diagnostics of a solver that says it returns both."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise ValueError(
            f"solve() produced a pytree with structure {tree_flatten(out)[1]}, but a pytree tuple "
            "with auxiliary output was expected because has_aux was set to True."
        )
    return out


def _split_tree(staged: _Staged, has_aux: bool) -> tuple[_Staged, PyTreeDef | None]:
    """Return the function as one that returns a solution, and the structure of the rest."""
    if not has_aux:
        return staged, None
    solution, rest = staged.out_tree.children()
    return _Staged(staged.closed, staged.consts, solution), rest


def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Solver,
    transpose_solve: Solver | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return ``solve(matvec, b)`` with the derivative of a solution of ``matvec(x) = b``.

    Args:
        matvec: a linear function of arrays like ``b``; it may close over what it likes.
        b: the right-hand side, an array or a pytree of arrays.
        solve: ``(matvec, b) -> x``; never differentiated.
        transpose_solve: ``(vecmat, ct) -> x`` for the transposed function; reverse mode needs it.
        symmetric: ``vecmat`` is ``matvec``, and ``transpose_solve`` need not be given.
        has_aux: both solvers return ``(x, diagnostics)``, and so does this function.

    Raises:
        TypeError: a function returns another structure than that of ``b``; reverse mode without
            ``transpose_solve``.
        ValueError: a function returns other shapes.

    Example:
        >>> import jaxlite as jax
        >>> halve = lambda a, b: custom_linear_solve(
        ...     lambda x: a * x, b, lambda matvec, b: b / matvec(1.0), symmetric=True)
        >>> float(halve(2.0, 3.0)), float(jax.grad(halve)(2.0, 3.0))
        (1.5, -0.75)
    """
    leaves, tree = tree_flatten(b)
    vectors = to_arrays(leaves)
    avals = [get_aval(x) for x in vectors]
    if symmetric and transpose_solve is None:
        transpose_solve = solve

    def vecmat(ct: Any) -> Any:
        return linear_transpose(matvec, b)(ct)[0]

    def checked(fun: Callable[..., Any], name: str, aux: bool) -> tuple[_Staged, Any]:
        staged, rest = _split_tree(_staged(fun, (b,), avals), aux)
        staged.check(name, "b", tree, avals)
        return staged, rest

    product, _ = checked(matvec, "matvec", False)
    solver, aux_tree = checked(_solving(solve, matvec, has_aux), "solve", has_aux)
    functions: list[_Staged | None] = [product, None, solver, None]
    if transpose_solve is not None:
        back = matvec if symmetric else vecmat
        functions[1] = product if symmetric else checked(vecmat, "vecmat", False)[0]
        functions[3], _ = checked(
            _solving(transpose_solve, back, has_aux), "transpose_solve", has_aux
        )
    consts, jaxprs = _with_all_consts(functions)
    outs = custom_linear_solve_p.bind_all(
        *consts,
        *vectors,
        **dict(zip(("matvec", "vecmat", "solve", "transpose_solve"), jaxprs, strict=True)),
        n_consts=len(consts),
    )
    x = tree_unflatten(tree, outs[: len(vectors)])
    return x if aux_tree is None else (x, tree_unflatten(aux_tree, outs[len(vectors) :]))


def _solving(solver: Solver, function: Any, has_aux: bool) -> Callable[[Any], Any]:
    def solving(b: Any) -> Any:
        out = solver(function, b)
        return _pair(out) if has_aux else out

    return solving


def _with_all_consts(
    functions: Sequence[_Staged | None],
) -> tuple[list[Any], list[ClosedJaxpr | None]]:
    """Return the constants of all functions, and jaxprs that take all of them."""
    consts = [c for f in functions if f is not None for c in f.consts]
    jaxprs: list[ClosedJaxpr | None] = []
    start = 0
    for f in functions:
        if f is None:
            jaxprs.append(None)
            continue
        jaxpr, stop = f.closed.jaxpr, start + len(f.consts)
        before, after = ([Var(get_aval(c)) for c in cs] for cs in (consts[:start], consts[stop:]))
        own, vectors = jaxpr.invars[: stop - start], jaxpr.invars[stop - start :]
        invars = [*before, *own, *after, *vectors]
        jaxprs.append(ClosedJaxpr(jaxpr.replace(invars=invars), f.closed.consts))
        start = stop
    return consts, jaxprs


def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Solver,
    tangent_solve: Solver,
    has_aux: bool = False,
) -> Any:
    """Return ``solve(f, initial_guess)`` with the derivative of a root of ``f``.

    Derivatives are taken with respect to what ``f`` closes over (implicit function theorem):
    ``f(x, a) = 0`` gives ``f_x dx = -f_a da``.

    Args:
        f: a function whose root is wanted, from a pytree of arrays to one of the same structure.
        initial_guess: where the solver starts; no derivative is taken of it.
        solve: ``(f, initial_guess) -> x``; never differentiated.
        tangent_solve: ``(g, y) -> x`` with ``g(x) = y`` for a linear ``g``; itself linear in ``y``.
        has_aux: the solver returns ``(x, diagnostics)``, and so does this function.

    Raises:
        TypeError: a function returns another structure than that of ``initial_guess``.
        ValueError: the solver returns no pair although ``has_aux`` is set.

    Example:
        >>> import jaxlite as jax
        >>> def root(a):
        ...     return custom_root(lambda x: x**2 - a, 1.0, lambda f, x: jax.numpy.sqrt(a),
        ...                        lambda g, y: y / g(1.0))
        >>> float(root(4.0)), float(jax.grad(root)(4.0))
        (2.0, 0.25)
    """
    leaves, tree = tree_flatten(initial_guess)
    guess = to_arrays(leaves)
    avals = [get_aval(x) for x in guess]
    _staged(f, (initial_guess,), avals).check("f", "initial_guess", tree, [])
    solving, aux_tree = _split_tree(
        _staged(_solving(solve, f, has_aux), (initial_guess,), avals), has_aux
    )
    solving.check("solve", "initial_guess", tree, [])
    n = len(guess)
    x_avals = solving.closed.out_avals[:n]
    function = _staged(f, (initial_guess,), x_avals)

    def solve_tangents(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    # What the solver of tangents closes over gets no tangent of its own, so it is an argument, too.
    y_avals = [a.to_tangent_aval() for a in function.closed.out_avals]
    tangents = _staged(solve_tangents, (initial_guess, initial_guess), [*x_avals, *y_avals])
    tangents.check("tangent_solve", "x", tree, [])
    parts = [len(function.consts), len(solving.consts)]
    n_consts = sum(parts)

    def run(*args: Any) -> tuple[Any, ...]:
        return eval_closed(solving.closed, *args[parts[0] : n_consts], *args[len(args) - n :])

    def rule(primals: Sequence[Any], dots: Sequence[Any]) -> tuple[Any, Any]:
        outs = state.trace.process_custom(derivative, run, primals)
        x, own = outs[:n], primals[: parts[0]]

        def at_root(*consts: Any) -> tuple[Any, ...]:
            return eval_closed(function.closed, *consts, *x)

        _, slopes = jvp_flat(at_root, own, dots[: parts[0]])
        zeros = [Zero(get_aval(o).to_tangent_aval()) for o in outs]
        if all(type(s) is Zero for s in slopes):
            return outs, zeros
        y = [ops.neg(instantiate(s)) for s in slopes]
        dx = eval_closed(tangents.closed, *primals[n_consts:-n], *x, *y)
        return outs, [*dx, *zeros[n:]]

    derivative = CustomJVP(rule, "custom_root", symbolic_zeros=True)
    operands = [*function.consts, *solving.consts, *tangents.consts, *guess]
    outs = state.trace.process_custom(derivative, run, operands)
    x = tree_unflatten(tree, outs[:n])
    return x if aux_tree is None else (x, tree_unflatten(aux_tree, outs[n:]))
