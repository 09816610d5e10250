"""Linear functions that derivatives return. In: a linear jaxpr and its residuals. Out: callables.

What ``vjp``, ``linearize`` and ``linear_transpose`` return are pytrees whose leaves are the
residuals: they can be returned from ``jit``, carried through loops, or kept as residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.api.arguments import abstractify, to_arrays
from jaxlite.language import dtypes
from jaxlite.language.avals import ShapedArray
from jaxlite.language.jaxpr import Jaxpr
from jaxlite.language.primitive import Linear, Zero, instantiate, zeros_of
from jaxlite.language.pytree import register_pytree_node_class, tree_flatten, tree_unflatten
from jaxlite.language.treedef import PyTreeDef
from jaxlite.transforms.eval_jaxpr import eval_jaxpr
from jaxlite.transforms.transpose import backward_pass

__all__ = ["LinearMap", "LinearizedFunction", "TransposedFunction", "VJPFunction"]


@dataclass(frozen=True, eq=False)
class LinearMap:
    """All of a linear function but its residuals.

    ``jaxpr`` (constvars: residuals) maps the tangents of arguments of ``in_avals``, float0 ones
    left out, to those of the results of ``out_avals`` that are marked in ``out_nonzero``.
    """

    jaxpr: Jaxpr
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    out_nonzero: tuple[bool, ...]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    name: str


class _LinearFunction:
    """A ``LinearMap`` with its residuals, the leaves of this pytree."""

    def __init__(self, parts: tuple[LinearMap, Sequence[Any]]) -> None:
        self._map, self._residuals = parts
        self.__name__ = getattr(parts[0], "name", "")  # a pytree may be rebuilt with anything

    def tree_flatten(self) -> tuple[tuple[Any, ...], LinearMap]:
        """Return residuals and the rest."""
        return tuple(self._residuals), self._map

    @classmethod
    def tree_unflatten(cls, shape: LinearMap, residuals: Sequence[Any]) -> Any:
        """Return the function with other residuals."""
        return cls((shape, residuals))


@register_pytree_node_class
class VJPFunction(_LinearFunction):
    """The pullback that ``vjp`` returns: maps result cotangents to argument cotangents."""

    def __call__(self, cotangents: Any) -> Any:
        """Return one cotangent per argument, as a tuple."""
        shape = self._map
        leaves, tree = tree_flatten(cotangents)
        if tree != shape.out_tree:
            raise ValueError(
                "unexpected tree structure.\n\nThe argument to a VJP function returned by "
                f"`jax.vjp` must match the pytree structure of the differentiated function "
                f"{shape.name}.\n\n"
                f"But the tree structures differ: expected {shape.out_tree}, got {tree}."
            )
        cts = [_check_cotangent(c, a) for c, a in zip(leaves, shape.out_avals, strict=True)]
        kept = [c for c, nz in zip(cts, shape.out_nonzero, strict=True) if nz]
        args = [Linear(v.aval) for v in shape.jaxpr.invars]
        found = iter(backward_pass(shape.jaxpr, self._residuals, args, kept))
        results = [
            zeros_of(a.to_tangent_aval())
            if a.to_tangent_aval().dtype == dtypes.float0
            else instantiate(next(found))
            for a in shape.in_avals
        ]
        return tree_unflatten(shape.in_tree, results)


@register_pytree_node_class
class LinearizedFunction(_LinearFunction):
    """What ``linearize`` returns: maps argument tangents to result tangents."""

    def __call__(self, *tangents: Any) -> Any:
        """Return the tangents of the results."""
        shape = self._map
        leaves, tree = tree_flatten(tuple(tangents))
        if tree != shape.in_tree:
            raise TypeError(
                "linearized function called on tangent values with a different tree structure: "
                f"expected {shape.in_tree}, got {tree}"
            )
        given = []
        for aval, t in zip(shape.in_avals, leaves, strict=True):
            expected = aval.to_tangent_aval()
            found = None if is_float0(t) else abstractify(t)
            if found is not None and (found.shape, found.dtype) != (expected.shape, expected.dtype):
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values:\nGot tangent aval {long_text(found)} for primal aval "
                    f"{long_text(aval)} but expected {long_text(expected)}."
                )
            if expected.dtype != dtypes.float0:
                given.append(to_arrays([t])[0])
        outs = iter(eval_jaxpr(shape.jaxpr, self._residuals, *given))
        full = [
            next(outs) if nz else zeros_of(a.to_tangent_aval())
            for nz, a in zip(shape.out_nonzero, shape.out_avals, strict=True)
        ]
        return tree_unflatten(shape.out_tree, full)


@register_pytree_node_class
class TransposedFunction(_LinearFunction):
    """What ``linear_transpose`` returns: maps result cotangents to argument cotangents."""

    def __call__(self, cotangents: Any) -> Any:
        """Return one cotangent per argument, as a tuple."""
        shape = self._map
        cts, tree = tree_flatten(cotangents)
        if tree != shape.out_tree:
            raise TypeError(
                "cotangent tree does not match function output, expected "
                f"{shape.out_tree} but got {tree}"
            )
        found = [abstractify(ct) for ct in cts]
        if any(
            (f.shape, f.dtype) != (a.shape, a.dtype)
            for f, a in zip(found, shape.out_avals, strict=True)
        ):
            raise TypeError(
                f"cotangent type does not match function output, expected {shape.out_avals} but "
                f"got {cts}"
            )
        args = [Linear(a) for a in shape.in_avals]
        found_cts = backward_pass(shape.jaxpr, self._residuals, args, to_arrays(cts))
        return tree_unflatten(shape.in_tree, [instantiate(c) for c in found_cts])


def is_float0(x: Any) -> bool:
    """Say whether ``x`` is the tangent of an integer: a NumPy array of float0."""
    return isinstance(x, np.ndarray) and x.dtype == dtypes.float0


def long_text(aval: ShapedArray) -> str:
    """Return for example ``float32[3]``."""
    return aval.str_short(short_dtypes=False)


def _check_cotangent(ct: Any, out: ShapedArray) -> Any:
    expected = out.to_tangent_aval()
    if is_float0(ct) or expected.dtype == dtypes.float0:
        return Zero(expected)
    found = abstractify(ct)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
            f"{long_text(found)}, but expected {long_text(expected)} because the corresponding "
            f"output of the differentiated function had JAX type {long_text(out)}"
        )
    return ct if isinstance(ct, np.generic) else to_arrays([ct])[0]
