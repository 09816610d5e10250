"""``check``: a test that a program makes of its own values. In: a code and what to say about it.

The code is 0 where all is well, else the number of a ``Failure``. Run at once, a failed check
raises; in a program, ``checkify`` turns checks into values first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.higher_order.jit import batch_size
from jaxlite.language.avals import ShapedArray
from jaxlite.language.primitive import Dims, Primitive, absent
from jaxlite.language.pytree import tree_unflatten
from jaxlite.primitives.families import bdim_at_front, ops

__all__ = [
    "DivisionByZeroError",
    "FailedCheckError",
    "Failure",
    "JaxException",
    "JaxRuntimeError",
    "NaNError",
    "OOBError",
    "check_p",
    "failure_of",
    "number_of",
    "one_failure",
]


class JaxException(Exception):
    """What can go wrong in a checked program; the subclasses are the categories of checks."""


class FailedCheckError(JaxException):
    """A condition that the user asked to check does not hold."""


class NaNError(JaxException):
    """An operation made a NaN."""


class OOBError(JaxException):
    """An index is outside its axis."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


class JaxRuntimeError(ValueError):
    """Raised by ``Error.throw`` and by a check that fails outside of ``checkify``."""


@dataclass(frozen=True)
class Failure:
    """One thing that can go wrong.

    ``describe`` makes the message from the arrays of types ``avals`` that come along. Equal
    failures have one number.
    """

    category: type[JaxException]
    describe: Callable[..., str]
    avals: tuple[ShapedArray, ...] = ()

    def exception(self, arrays: Any) -> JaxException:
        """Return the exception for the values ``arrays``."""
        return self.category(self.describe(*arrays))


@dataclass(frozen=True)
class FormatMessage:
    """The message of a user's check: a format string and the structure of its arguments."""

    text: str
    tree: Any

    def __call__(self, *arrays: Any) -> str:
        args, kwargs = tree_unflatten(self.tree, arrays)
        return f"{self.text.format(*args, **kwargs)} (`check` failed)"


_numbers: dict[Failure, int] = {}
_failures: list[Failure] = []


def number_of(failure: Failure) -> int:
    """Return the number (1, 2, ...) that programs know ``failure`` by."""
    number = _numbers.setdefault(failure, len(_failures) + 1)
    if number > len(_failures):
        _failures.append(failure)
    return number


def failure_of(number: int) -> Failure:
    """Return the failure with that number."""
    return _failures[number - 1]


class Check(Primitive):
    """Operands: the code (int32 scalar), then the arrays of each failure in ``numbers``.

    ``debug``: nothing happens unless the program is checkified.
    """

    name = "check"
    effects = frozenset({"check"})
    barrier_reason = "extern"

    def eqn_effects(self, params: dict[str, Any]) -> frozenset[str]:
        """Checks for debugging may be left out."""
        return frozenset() if params["debug"] else self.effects

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The numbers mean nothing outside this process."""
        return {"debug": params["debug"]}

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        return ()

    def impl(self, xp: Any, code: Any, *arrays: Any, numbers: Any, debug: bool, **_: Any) -> Any:
        if int(code) and not debug:
            failure, payload = one_failure(int(code), numbers, arrays)
            raise JaxRuntimeError(failure.describe(*payload))
        return ()

    def jvp_rule(self, primals: Any, tangents: Any, params: dict[str, Any]) -> Any:
        return self.bind_all(*primals, **params), ()

    def linearize_rule(self, primals: Any, nonzero: Any, params: dict[str, Any]) -> Any:
        return self.bind_all(*primals, **params), lambda *_: ()

    transpose = absent("Transpose rule", "a check has no result")

    def batch(self, args: tuple[Any, ...], dims: Dims, **params: Any) -> Any:
        """Report one of the examples that fail: the last, as JAX does."""
        size = batch_size(args, dims)
        last = _ZERO
        if dims[0] is not None:
            none = ops.broadcast_in_dim(_ZERO, (size,), ())
            numbers = ops.iota(_ZERO.dtype, size)
            last = ops.reduce_max(ops.select_n(ops.ne(args[0], none), none, numbers), (0,))
        picked = [
            x if d is None else _row(bdim_at_front(x, d, size), last) for x, d in zip(args, dims)
        ]
        return self.bind_all(*picked, **params), ()


_ZERO = np.int32(0)


def _row(x: Any, i: Any) -> Any:
    starts = (i, *[_ZERO] * (x.ndim - 1))
    row = ops.dynamic_slice(x, starts, (1, *x.shape[1:]))
    return ops.reshape(row, x.shape[1:])


def one_failure(code: int, numbers: Any, arrays: Any) -> tuple[Failure, list[Any]]:
    """Return the failure with number ``code``, and its arrays out of those of all ``numbers``."""
    values = list(arrays)
    for number in numbers:
        failure = failure_of(number)
        n = len(failure.avals)
        if number == code:
            return failure, values[:n]
        values = values[n:]
    raise AssertionError(f"no failure has number {code}")


check_p = Check()
