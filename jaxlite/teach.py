"""Self-checks for exercises. In: an answer and what is expected. Out: one printed verdict.

A wrong answer raises nothing, so that a notebook of exercises runs from top to bottom before
anybody has solved them; the verdict says what differs (shape, dtype, sign, factor, the first wrong
element) rather than only that something does. ``assert check(...)`` makes a test of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jaxlite.language.avals import ShapedArray, ShapeDtypeStruct, aval_of, shape_text
from jaxlite.language.dtypes import KeyDType
from jaxlite.language.pytree import keystr, tree_flatten_with_path, tree_structure
from jaxlite.language.trace import Tracer
from jaxlite.random import key_data

__all__ = ["Verdict", "check"]

State = Literal["right", "wrong", "missing"]

#: Relative tolerance by bytes of a floating-point number (of half a complex one).
_TOLERANCE = {1: 0.2, 2: 2e-2, 4: 1e-4, 8: 1e-8}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What ``check`` found; true if the answer is right.

    Attributes:
        question: its name.
        state: "right", "wrong" or "missing" (nobody has answered yet).
        message: what was printed.
    """

    question: str
    state: State
    message: str

    def __bool__(self) -> bool:
        return self.state == "right"

    def __repr__(self) -> str:
        return f"<{self.question}: {self.state}>"

    def _ipython_display_(self) -> None:
        """Show nothing: ``check`` has printed the message already."""


def check(
    question: str,
    answer: Any,
    expected: Any,
    *,
    on: Sequence[tuple[Any, ...]] | None = None,
    hint: str = "",
    rtol: float | None = None,
    atol: float | None = None,
) -> Verdict:
    """Compare an answer with what is expected, print what differs, and return the verdict.

    Args:
        question: its name, such as "Exercise 1"; begins the printed line.
        answer: a pytree of arrays, numbers, strings, ... ; ``...`` in any place means that nobody
            has answered yet. With ``on``: a function.
        expected: the right answer: the same kind of thing. A ``ShapeDtypeStruct`` in the place of
            an array asks for its shape and dtype only. With ``on``: a function that is right.
        on: argument lists, each a tuple: both functions are called with each, and their results
            compared.
        hint: printed below the verdict if the answer is wrong.
        rtol: relative tolerance of floating-point numbers; from the coarser dtype if not given
            (1e-4 for float32, 1e-8 for float64).
        atol: absolute tolerance; ``rtol`` times the greatest expected magnitude if not given.

    Returns:
        The verdict; true if the answer is right. A notebook does not show it again.

    Raises:
        TypeError: ``on`` with an ``expected`` that cannot be called.

    Example:
        >>> import jaxlite as jax, jaxlite.numpy as jnp
        >>> x = jnp.arange(3.0)
        >>> done = check("Exercise 1", jax.grad(lambda x: (x**2).sum())(x), 2 * x)
        Exercise 1: right.
        >>> done = check("Exercise 2", -x, x)
        Exercise 2: not yet. Every value has the opposite sign.
        >>> done = check("Exercise 3", ..., x, hint="jnp.arange")
        Exercise 3: no answer yet. Replace the ... and run the cell again.
        >>> x = jnp.ones((2, 3))
        >>> done = check("Exercise 4", jnp.sum, lambda x: x.sum(axis=0), on=[(x,)])
        Exercise 4: not yet. For f32[2,3]: the shape is [], expected [3].
    """
    if on is None:
        state, reason = _compare(answer, expected, rtol, atol)
    elif not callable(expected):
        raise TypeError(
            "check() with on= compares functions, and expected is no function.\n"
            "  Fix: check(question, f, right_f, on=[(x,)]), or leave on= out."
        )
    else:
        state, reason = _compare_functions(answer, expected, on, rtol, atol)
    message = {
        "right": f"{question}: right.",
        "missing": f"{question}: no answer yet. Replace the ... and run the cell again.",
        "wrong": f"{question}: not yet. {reason[:1].upper()}{reason[1:]}",
    }[state]
    if state == "wrong" and hint:
        message += f"\n  Hint: {hint}"
    print(message)
    return Verdict(question, state, message)


def _compare(answer: Any, expected: Any, rtol: Any, atol: Any) -> tuple[State, str]:
    got, wanted = (tree_flatten_with_path(t, is_leaf=_is_none)[0] for t in (answer, expected))
    if any(leaf is Ellipsis for _, leaf in got):
        return "missing", ""
    if answer is None and expected is not None:
        return "wrong", "The answer is None. Does the function return its result?"
    reason = _structure(answer, expected, got, wanted)
    for (path, mine), (_, right) in zip(got, wanted, strict=False):
        if reason:
            break
        reason = _leaf(mine, right, rtol, atol)
        if reason and path:
            reason = f"At {keystr(path)}: {reason}"
    return ("wrong", reason) if reason else ("right", "")


def _compare_functions(
    answer: Any, expected: Callable[..., Any], on: Any, rtol: Any, atol: Any
) -> tuple[State, str]:
    if answer is Ellipsis:
        return "missing", ""
    if not callable(answer):
        return "wrong", f"The answer is {_name(answer)}, expected a function."
    for arguments in on:
        given = f"For {', '.join(_name(a) for a in arguments)}: "
        try:
            result = answer(*arguments)
        except Exception as error:  # whatever the answer raises is what is wrong with it
            if "ellipsis" in str(error).lower():
                return "missing", ""
            lines = str(error).strip().splitlines() or [""]
            fixes = [line.strip() for line in lines[1:] if line.strip().startswith("Fix:")]
            text = "\n  ".join([f"it raises {type(error).__name__}: {lines[0]}", *fixes])
            return "wrong", given + text
        state, reason = _compare(result, expected(*arguments), rtol, atol)
        if state != "right":
            return state, f"{given}{reason[:1].lower()}{reason[1:]}"
    return "right", ""


def _structure(answer: Any, expected: Any, got: Any, wanted: Any) -> str:
    mine, right = (tree_structure(t, is_leaf=_is_none) for t in (answer, expected))
    if mine == right:
        return ""
    here, there = ({keystr(path) for path, _ in leaves} for leaves in (got, wanted))
    if "" in here | there or here == there:
        return f"the answer is {_name(answer)}, expected {_name(expected)}."
    missing, extra = sorted(there - here), sorted(here - there)
    parts = [
        f"{word} {', '.join(places)}"
        for word, places in (("without", missing), ("with an unexpected", extra))
        if places
    ]
    return f"the answer is {_name(answer)} {' and '.join(parts)}."


def _leaf(mine: Any, right: Any, rtol: Any, atol: Any) -> str:
    """Say how ``mine`` differs from ``right``; "" if it does not."""
    if isinstance(mine, Tracer):
        return (
            f"the answer is a tracer, {_name(mine)}: it stands for a value while a function is "
            "traced. Return it from the function, and look at what the call returns."
        )
    if isinstance(right, ShapeDtypeStruct):
        return _type(mine, right)
    if not _is_number(right):
        if type(mine) is not type(right) and _is_number(mine):
            return f"the answer is {_name(mine)}, expected {_name(right)}."
        return "" if mine is right or mine == right else f"the answer is {mine!r}."
    if not _is_number(mine):
        return f"the answer is {_name(mine)}, expected {_name(right)}."
    reason = _type(mine, right)
    if not reason and isinstance(getattr(right, "dtype", None), KeyDType):
        mine, right = key_data(mine), key_data(right)
    return reason or _values(np.asarray(mine), np.asarray(right), rtol, atol)


def _type(mine: Any, right: Any) -> str:
    if not _is_number(mine) and not isinstance(mine, ShapeDtypeStruct):
        return f"the answer is {_name(mine)}, expected {_name(right)}."
    shape, wanted = (
        tuple(np.shape(v)) if not hasattr(v, "shape") else v.shape for v in (mine, right)
    )
    if tuple(shape) != tuple(wanted):
        text = f"the shape is {shape_text(shape)}, expected {shape_text(wanted)}"
        if shape == wanted[::-1]:
            text += " (the axes are in the opposite order)"
        return f"{text}."
    kinds = [getattr(v, "dtype", None) for v in (mine, right)]
    if None not in kinds and kinds[0] != kinds[1]:
        return f"the dtype is {kinds[0]}, expected {kinds[1]}."
    return ""


def _values(mine: Any, right: Any, rtol: Any, atol: Any) -> str:
    if (
        mine.dtype == bool
        or right.dtype == bool
        or {mine.dtype.kind, right.dtype.kind} <= set("iu")
    ):
        differ = mine != right
    else:
        width = np.complex128 if "c" in (mine.dtype.kind + right.dtype.kind) else np.float64
        rtol = _tolerance(mine, right) if rtol is None else rtol
        mine, right = mine.astype(width), right.astype(width)
        finite = np.abs(right[np.isfinite(right)])
        floor = rtol * float(finite.max(initial=0.0)) if atol is None else atol
        differ = ~np.isclose(mine, right, rtol=rtol, atol=floor, equal_nan=True)
        reason = _pattern(mine, right, rtol, floor) if differ.any() else ""
        if reason:
            return reason
    if not differ.any():
        return ""
    if not mine.ndim:
        return f"the answer is {_digits(mine)}, expected {_digits(right)}."
    place = tuple(map(int, np.unravel_index(np.argmax(differ), differ.shape)))
    return (
        f"{int(differ.sum())} of {differ.size} values differ, the first at {shape_text(place)}: "
        f"{_digits(mine[place])}, expected {_digits(right[place])}."
    )


def _pattern(mine: Any, right: Any, rtol: float, atol: float) -> str:
    """Recognise the usual mistakes: NaN, the wrong sign, a factor too many, a transposed matrix."""
    unknown = np.isnan(mine) & ~np.isnan(right)
    if unknown.any():
        return f"{int(unknown.sum())} of {mine.size} values are NaN, expected numbers."
    if not (np.isfinite(mine).all() and np.isfinite(right).all()) or not np.any(right):
        return ""

    def same(a: Any, b: Any) -> bool:
        return bool(np.allclose(a, b, rtol=rtol, atol=atol))

    if same(-mine, right):
        return "every value has the opposite sign." if mine.ndim else "the sign is opposite."
    if mine.ndim == 2 and mine.shape[0] == mine.shape[1] and same(mine.T, right):
        return "the matrix is transposed."
    factor = np.vdot(right, mine) / np.vdot(right, right)
    if mine.size > 1 and abs(factor) > rtol and same(mine, factor * right):
        return f"every value is {_digits(factor)} times the expected one."
    return ""


def _tolerance(mine: Any, right: Any) -> float:
    """Return the tolerance of the coarser of two dtypes; Python numbers and integers are exact."""
    floats = [a.dtype for a in (mine, right) if a.dtype.kind not in "biu"]
    sizes = [d.itemsize // (2 if d.kind == "c" else 1) for d in floats]
    return _TOLERANCE.get(min(sizes), 1e-8)


def _is_none(x: Any) -> bool:
    return x is None


def _is_number(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex) or _is_array(x)


def _is_array(x: Any) -> bool:
    return hasattr(x, "dtype") and hasattr(x, "shape")


def _digits(number: Any) -> str:
    item = np.asarray(number).item()
    if isinstance(item, complex) and item.imag == 0:
        item = item.real
    return f"{item:.6g}" if isinstance(item, float | complex) else str(item)


def _name(value: Any) -> str:
    """Name a value in few words: ``f32[3]``, "a dict", "None"."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)
    if isinstance(value, ShapeDtypeStruct):
        return ShapedArray(value.shape, value.dtype).str_short()
    if _is_array(value):
        return aval_of(value).str_short()
    if callable(value):
        return f"the function {getattr(value, '__name__', type(value).__name__)}"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
