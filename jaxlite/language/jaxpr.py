"""Stage 3 of 7, jaxpr. A typed program in A-normal form: every intermediate has a name.

In: nothing. Out: ``Jaxpr`` data. Invariant: every var is bound once, before it is used; avals of an
equation's results are what its primitive's ``abstract_eval`` says (``check.py`` verifies both).
Next: ``primitive.py``.

    { lambda ; a:f32[4]. let b:f32[4] = sin a; c:f32[4] = mul b a in (c,) }
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jaxlite.language import dtypes
from jaxlite.language.array import ArrayImpl
from jaxlite.language.avals import ShapedArray
from jaxlite.language.source import SourceLine

if TYPE_CHECKING:
    from jaxlite.language.primitive import Primitive

_counter = itertools.count()


class Var:
    """A name bound once. Printed as a, b, c ... by position; ``count`` only orders them."""

    __slots__ = ("__weakref__", "aval", "count")

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval
        self.count = next(_counter)

    def __repr__(self) -> str:
        return f"Var(id={self.count}):{self.aval.str_short()}"


class DropVar(Var):
    """A result nobody reads; printed as ``_``."""

    __slots__ = ()


class Literal:
    """A scalar written into the equation.

    ``val`` is a NumPy scalar or 0-d array, or a Python number.
    """

    __slots__ = ("_array", "aval", "val")

    def __init__(self, val: Any, aval: ShapedArray) -> None:
        self.val = val
        self.aval = aval
        self._array: ArrayImpl | None = None

    def array(self) -> ArrayImpl:
        """Return the scalar as an array of exactly ``aval`` (weak type included)."""
        if self._array is None:
            data = np.asarray(self.val, dtype=dtypes.storage_dtype(self.aval.dtype))
            self._array = ArrayImpl(data, self.aval)
        return self._array

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom: TypeAlias = Var | Literal


@dataclass(slots=True, eq=False)
class JaxprEqn:
    """``outvars = primitive[params] invars``, with the user line it came from."""

    invars: list[Atom]
    outvars: list[Var]
    primitive: Primitive
    params: dict[str, Any]
    source: SourceLine | None = None
    effects: frozenset[str] = frozenset()

    def replace(self, **changes: Any) -> JaxprEqn:
        """Return a copy with some fields replaced."""
        values = {name: getattr(self, name) for name in JaxprEqn.__slots__}
        return JaxprEqn(**{**values, **changes})

    def __str__(self) -> str:
        return str(_printers["eqn"](self))

    def __repr__(self) -> str:
        return str(self)


@dataclass(slots=True, eq=False)
class DebugInfo:
    """Names for people: the function, its arguments by key path, its results by key path."""

    function: str = "<function>"
    arg_names: tuple[str, ...] = ()
    result_paths: tuple[str, ...] = ()
    file: str = ""
    line: int = 0


@dataclass(slots=True, eq=False)
class Jaxpr:
    """An open program: ``constvars`` are bound by a ``ClosedJaxpr``."""

    constvars: list[Var]
    invars: list[Var]
    outvars: list[Atom]
    eqns: list[JaxprEqn]
    debug_info: DebugInfo = field(default_factory=DebugInfo)

    @property
    def effects(self) -> frozenset[str]:
        """Union of the equations' effects."""
        return frozenset().union(*(e.effects for e in self.eqns)) if self.eqns else frozenset()

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Types of the arguments."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Types of the results."""
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> Jaxpr:
        """Return a copy with some fields replaced."""
        values = {name: getattr(self, name) for name in Jaxpr.__slots__}
        return Jaxpr(**{**values, **changes})

    def pretty_print(self, *, source_info: bool = False, **options: Any) -> str:
        """Return the program as text, with the user's lines if ``source_info``."""
        return str(_printers["jaxpr"](self, source_info=source_info, **options))

    def __str__(self) -> str:
        return self.pretty_print()

    def __repr__(self) -> str:
        return self.pretty_print()


class ClosedJaxpr:
    """A program together with the values of its ``constvars``."""

    __slots__ = ("__weakref__", "consts", "jaxpr")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        assert len(consts) == len(jaxpr.constvars), (len(consts), len(jaxpr.constvars))
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def in_avals(self) -> list[ShapedArray]:
        """Types of the arguments."""
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """Types of the results."""
        return [v.aval for v in self.jaxpr.outvars]

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> frozenset[str]:
        """Union of the equations' effects."""
        return self.jaxpr.effects

    @property
    def literals(self) -> list[Any]:
        """The values of the constants (older name of ``consts``)."""
        return self.consts

    def replace(
        self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None
    ) -> ClosedJaxpr:
        """Return a copy with some fields replaced."""
        return ClosedJaxpr(jaxpr or self.jaxpr, self.consts if consts is None else consts)

    def pretty_print(self, *, source_info: bool = False, **options: Any) -> str:
        """Return the program as text, with the user's lines if ``source_info``."""
        return self.jaxpr.pretty_print(source_info=source_info, **options)

    def __str__(self) -> str:
        return str(self.jaxpr)

    def __repr__(self) -> str:
        return str(self.jaxpr)


#: ``pretty.py`` registers its printers here, so that data does not import the code that prints it.
_printers: dict[str, Any] = {}


def register_printer(kind: str, printer: Any) -> None:
    """Install the printer of 'jaxpr' or 'eqn'."""
    _printers[kind] = printer


def jaxprs_in_params(params: dict[str, Any]) -> list[tuple[str, ClosedJaxpr | Jaxpr]]:
    """Return the (parameter name, jaxpr) pairs of an equation, also those inside tuples."""
    found: list[tuple[str, ClosedJaxpr | Jaxpr]] = []
    for key, value in params.items():
        items = value if isinstance(value, tuple | list) else (value,)
        found.extend((key, v) for v in items if isinstance(v, ClosedJaxpr | Jaxpr))
    return found
