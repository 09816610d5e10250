"""Derivatives by differences. In: a function of the host. Out: its slope by an operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxlite.language.array import Value
from jaxlite.language.primitive import ArrayModule, TangentMap
from jaxlite.primitives.families import Accepts, NaryElementwise, quiet

__all__ = ["Slope"]


class Slope(NaryElementwise):
    """The derivative of another function by one operand, where no formula is known.

    Central differences of fourth order in float64: exact to about 1e-10 of the function's scale.
    """

    def __init__(self, function: Any, k: int, room: Any = None) -> None:
        super().__init__(f"{function.name}_slope_{k}")
        self.function, self.k = function, k
        #: The distance to where the function is not smooth; the step stays below it.
        self.room = room

    @property
    def accepts(self) -> Accepts:  # type: ignore[override]
        """Floats, as the function."""
        return tuple(self.function.accepts)

    @quiet
    def impl(self, xp: ArrayModule, *arrays: Any) -> Any:
        wide = [np.asarray(a).astype(np.float64) for a in arrays]
        x = wide[self.k]
        step = 1e-3 * np.maximum(np.abs(x), 1.0)
        if self.room is not None:
            step = np.minimum(step, 0.2 * np.abs(self.room(x)))

        def at(shift: float) -> Any:
            moved = [*wide[: self.k], x + shift * step, *wide[self.k + 1 :]]
            return self.function.impl(xp, *moved)

        found = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
        return np.asarray(found).astype(arrays[0].dtype)

    def partial(self, k: int, out: Value, *primals: Value, **params: Any) -> TangentMap:
        raise NotImplementedError(
            f"Differentiation rule for '{self.name}' not implemented: it is a numerical derivative"
        )
