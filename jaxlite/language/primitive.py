"""Primitives and the contract of their rules. In: values. Out: values, by the current trace.

One class per primitive holds all its rules (see ``primitives/``). A rule may return one value or a
tuple; ``as_tuple`` makes it a tuple in one place. Values are never tuples themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import Value
from jaxlite.language.avals import ShapedArray
from jaxlite.language.trace import get_aval, state

ArrayModule: TypeAlias = Any  # numpy or cupy
TangentMap: TypeAlias = "Callable[[Value], Any] | None"  # None: this operand has no tangent
TangentMaps: TypeAlias = "tuple[TangentMap, ...]"
Dims: TypeAlias = "tuple[int | None, ...]"  # batch dim of each operand


def as_tuple(out: Any) -> tuple[Any, ...]:
    """Return the results of a rule as a tuple."""
    return out if type(out) is tuple else (out,)


class Zero:
    """A tangent or cotangent known to be zero; never materialised unless somebody asks."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class Linear:
    """Stands for the operand that a transpose rule is linear in; only its ``aval`` is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Linear({self.aval.str_short()})"


def is_linear(x: Any) -> bool:
    """Say whether a transpose rule's operand is the linear one."""
    return isinstance(x, Linear)


class Primitive:
    """The smallest traceable operation.

    Rules, each a method (``*args`` are the operands in order, ``**params`` the equation's
    parameters):

    ``abstract_eval(*avals, **params)``
        aval (or tuple of avals) of the result; raises the user's error on bad operands.
    ``impl(xp, *arrays, **params)``
        the result on the array module ``xp`` at once, with exactly the dtype and shape predicted.
    ``jvp(out, *primals, **params)``
        one linear map per operand (None where there is no derivative). A map takes that operand's
        tangent and returns the result's tangent contribution. Nonlinear factors are computed in the
        body of the rule, not in the maps; ``out`` is the primitive's result (a tuple if several).
    ``transpose(ct, *operands, **params)``
        cotangent per operand (None for operands that are not ``Linear``). ``ct`` is a tuple with
        ``Zero`` entries if there are several results.
    ``batch(args, dims, **params)``
        result(s) and batch dim(s): ``(out, dim)``; ``dims[i]`` is None for unbatched operands.
    ``pull(b, operands, index, out, **params)``
        kernel IR of one element of the result, see ``primitives/contract`` in the compiler's words:
        ``operands[k](index)`` is element ``index`` of operand ``k``. Absent: the call is a library
        or host step.

    A rule that cannot exist says why: ``jvp = not_differentiable("integer result")``.
    """

    name: str = ""
    #: Effects keep an equation alive and in order ('print', 'callback').
    effects: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is not None:
            self.name = name

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Value, **params: Any) -> Any:
        """Apply the primitive under the current trace; the single result is unwrapped."""
        out = state.trace.process(self, args, params)
        return out[0] if len(out) == 1 else out

    def bind_all(self, *args: Value, **params: Any) -> tuple[Any, ...]:
        """Apply the primitive under the current trace; always a tuple."""
        return state.trace.process(self, args, params)

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """Return the effects of an equation with ``params`` (those of inner jaxprs included)."""
        return self.effects

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that a printed equation shows."""
        return params

    # --- rules: a primitive overrides what it can do ---

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """Return the result's aval(s)."""
        raise NotImplementedError(f"Abstract evaluation for '{self.name}' not implemented")

    def impl(self, xp: ArrayModule, *args: Any, **params: Any) -> Any:
        """Return the result(s) on ``xp``."""
        raise NotImplementedError(f"Evaluation rule for '{self.name}' not implemented")

    def jvp(self, out: Any, *primals: Any, **params: Any) -> Any:
        """Return one tangent map per operand."""
        raise NotImplementedError(f"Differentiation rule for '{self.name}' not implemented")

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        """Return one cotangent per operand."""
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{self.name}' not implemented"
        )

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        """Return result(s) and batch dim(s)."""
        raise NotImplementedError(f"Batching rule for '{self.name}' not implemented")

    # --- rules of collectives ---

    def named_axes(self, params: dict[str, Any]) -> tuple[Any, ...]:
        """Return the names of the mapped axes that an equation communicates over."""
        return ()

    def collect(
        self, args: tuple[Any, ...], dims: Dims, mapped: tuple[Any, int], **params: Any
    ) -> Any:
        """Return result(s) and batch dim(s) where the batch is the axis ``(name, size)`` itself."""
        raise NotImplementedError(f"'{self.name}' does not communicate over axes")

    # --- rules that only primitives with jaxprs in their params override ---

    def jvp_rule(
        self, primals: tuple[Any, ...], tangents: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return results and their tangents (``Zero`` allowed in and out)."""
        outs, tangent_fn = self.linearize_rule(
            primals, tuple(type(t) is not Zero for t in tangents), params
        )
        return outs, tangent_fn(*(t for t in tangents if type(t) is not Zero))

    def linearize_rule(
        self, primals: tuple[Any, ...], nonzero: Sequence[bool], params: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
        """Return results and the linear map from the nonzero tangents to all result tangents."""
        outs = self.bind_all(*primals, **params)
        maps = self.jvp(outs if len(outs) > 1 else outs[0], *primals, **params)
        active = [m for m, nz in zip(maps, nonzero, strict=True) if nz]

        def tangent_fn(*tangents: Any) -> tuple[Any, ...]:
            total: list[Any] = [Zero(get_aval(o).to_tangent_aval()) for o in outs]
            for m, t in zip(active, tangents, strict=True):
                if m is not None:
                    total = [add_tangents(a, b) for a, b in zip(total, as_tuple(m(t)), strict=True)]
            return tuple(total)

        return outs, tangent_fn


def not_differentiable(reason: str) -> Any:
    """Return a ``jvp`` rule for results that carry no tangent (integers, booleans, keys)."""

    def jvp(self: Primitive, out: Any, *primals: Any, **params: Any) -> Any:
        return (None,) * len(primals)

    jvp.reason = reason  # type: ignore[attr-defined]
    return jvp


def absent(what: str, reason: str) -> Any:
    """Return a rule that raises NotImplementedError with the reason (as JAX does)."""

    def rule(self: Primitive, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"{what} for '{self.name}' not implemented: {reason}")

    rule.reason = reason  # type: ignore[attr-defined]
    return rule


#: What differentiation needs from the primitives: ``primitives/`` fills it when it is imported.
_helpers: dict[str, Callable[..., Any]] = {}


def set_adder(add: Callable[[Any, Any], Any]) -> None:
    """Install the function that adds two tangents (``add_any``)."""
    _helpers["add"] = add


def set_zero_maker(make: Callable[[ShapedArray], Any]) -> None:
    """Install the function that makes an array of zeros of an aval (a broadcast literal)."""
    _helpers["zeros"] = make


def set_stager(stage_out: Callable[..., Any]) -> None:
    """Install the function that records a jaxpr (``transforms/stage_out``)."""
    _helpers["stage"] = stage_out


def stage(function: Callable[..., Any], avals: Sequence[ShapedArray]) -> Any:
    """Return the closed jaxpr of ``function``, a rule written in strict functions, on ``avals``."""
    return _helpers["stage"](function, avals)


def zeros_of(aval: ShapedArray) -> Any:
    """Return zeros of ``aval`` under the current trace (``float0``: a NumPy array, as in JAX)."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return _helpers["zeros"](aval)


def instantiate(tangent: Any) -> Any:
    """Return ``tangent`` as an array; a symbolic zero is materialised."""
    return zeros_of(tangent.aval) if type(tangent) is Zero else tangent


def add_tangents(a: Any, b: Any) -> Any:
    """Add two tangents or cotangents; ``Zero`` and None are neutral."""
    if b is None or type(b) is Zero:
        return a
    if a is None or type(a) is Zero:
        return b
    return _helpers["add"](a, b)
