"""Every stage of one jitted call, to look at. In: a traced function.

Out: text and data of each stage.

Names as in ``jax.stages``: ``jit(f).trace(x)`` is ``Traced``, ``.lower()`` gives ``Lowered``,
``.compile()`` gives ``Compiled``. The notebook views, the golden files and ``JAXLITE_DUMP`` show
the same text.

>>> import jaxlite as jax, jaxlite.numpy as jnp
>>> traced = jax.jit(lambda x: jnp.sin(x) * 2.0).trace(jnp.ones(3))
>>> print(traced.jaxpr)
{ lambda ; a:f32[3]. let b:f32[3] = sin a; c:f32[3] = mul b 2.0:f32[] in (c,) }
>>> traced.lower().compile().n_kernels
1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jaxlite.higher_order.jit import compiled
from jaxlite.language.avals import ShapedArray, ShapeDtypeStruct
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.pytree import tree_unflatten
from jaxlite.language.treedef import PyTreeDef

if TYPE_CHECKING:
    from jaxlite.pipeline import Compilation

__all__ = ["STAGES", "ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]

#: Names of the stages that have text, in order.
STAGES = ("jaxpr", "optimised", "fusion", "kernels", "llvm", "cuda")


class Wrapped:
    """Protocol of what ``jit`` returns: callable, with ``trace`` and ``lower``."""


@dataclass(frozen=True)
class ArgInfo:
    """The type of one argument, and whether the caller donates it."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """Element type."""
        return self._aval.dtype


@dataclass(frozen=True, eq=False)
class Traced:
    """A function traced for some argument types.

    ``jaxpr`` has its captured constants as ``consts``.
    """

    jaxpr: ClosedJaxpr
    fun_name: str
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    call: Callable[..., Any]
    trace_s: float = 0.0
    #: Positions of the donated leaves.
    donate_argnums: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"Traced({self.fun_name})\n{self.jaxpr}"

    @property
    def args_info(self) -> Any:
        """Shape, dtype and donation of the arguments, in their structure."""
        return tree_unflatten(
            self.in_tree,
            [ArgInfo(a, i in self.donate_argnums) for i, a in enumerate(self.jaxpr.in_avals)],
        )

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results, in the structure the function returns."""
        return tree_unflatten(
            self.out_tree,
            [
                ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                for a in self.jaxpr.out_avals
            ],
        )

    def lower(self, **_: Any) -> Lowered:
        """Return the next stage: the program of kernels (compiled here, run never)."""
        return Lowered(self, compiled(self.jaxpr, self.fun_name))


@dataclass(frozen=True, eq=False)
class Lowered:
    """Optimised jaxpr, fusion groups, kernels and source text of one trace."""

    traced: Traced
    compilation: Compilation

    def __repr__(self) -> str:
        return f"Lowered({self.traced.fun_name})\n{self.compilation.program}"

    @property
    def in_tree(self) -> PyTreeDef:
        """Structure of the arguments."""
        return self.traced.in_tree

    @property
    def out_tree(self) -> PyTreeDef:
        """Structure of the result."""
        return self.traced.out_tree

    @property
    def args_info(self) -> Any:
        """Shape, dtype and donation of the arguments, in their structure."""
        return self.traced.args_info

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the results."""
        return self.traced.out_info

    def as_text(self, stage: str = "llvm", **_: Any) -> str:
        """Return one stage as text: 'jaxpr', 'optimised', 'fusion', 'kernels', 'llvm' or 'cuda'."""
        return _stage_text(self.compilation, stage)

    def compile(self, **_: Any) -> Compiled:
        """Return the last stage."""
        return Compiled(self)


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code that can be called with arguments of exactly the traced types."""

    lowered: Lowered

    def __repr__(self) -> str:
        c = self.compilation
        return f"Compiled({c.name}: {c.n_operations} operations, {c.n_kernels} kernels)"

    @property
    def compilation(self) -> Compilation:
        """Data and seconds of every stage."""
        return self.lowered.compilation

    @property
    def n_kernels(self) -> int:
        """Number of kernels in the text of the program (not how often they run)."""
        return self.compilation.n_kernels

    @property
    def n_operations(self) -> int:
        """Number of operations the function asks for (calls inlined)."""
        return self.compilation.n_operations

    @property
    def compile_ms(self) -> float:
        """Time of tracing and of all stages after it, in ms."""
        return 1e3 * (self.lowered.traced.trace_s + sum(self.compilation.seconds.values()))

    @property
    def args_info(self) -> Any:
        """Shape, dtype and donation of the arguments, in their structure."""
        return self.lowered.args_info

    def as_text(self, stage: str = "llvm", **_: Any) -> str:
        """Return one stage as text."""
        return _stage_text(self.compilation, stage)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run; TypeError if the argument types differ from the traced ones."""
        return self.lowered.traced.call(*args, **kwargs)


def _stage_text(compilation: Compilation, stage: str) -> str:
    """Return the text of one stage; ValueError for an unknown name."""
    if stage not in STAGES:
        raise ValueError(f"unknown stage {stage!r}; stages are {', '.join(STAGES)}")
    return compilation.text(stage)
