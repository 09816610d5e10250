"""Which part of a cache key differs. In: a new key and the entries there are.

Out: named differences.

The nearest entry is the one with the fewest differing parts, ties broken by the most recent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language.avals import ShapedArray

#: Letters of causes, as the recompilation explorer shows them.
CAUSES = {
    "S": "shape",
    "D": "dtype",
    "W": "weak type",
    "T": "pytree",
    "V": "static value",
    "C": "config",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One part that differs.

    ``cause`` is a letter of ``CAUSES``, ``path`` the argument's name and path.
    """

    cause: str
    path: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path} is {self.new}, was {self.old}"


def differences(
    new: Any, old: Any, names: Sequence[str], parameters: Sequence[str] = ()
) -> list[Difference]:
    """Return how key ``new`` differs from key ``old``.

    ``names`` are the argument paths of ``old``, ``parameters`` the function's positional
    parameters.
    """
    found: list[Difference] = []
    if new.settings is not old.settings:
        found.append(Difference("C", "config", str(old.settings), str(new.settings)))
    if new.static != old.static:
        found += _static_differences(new.static, old.static, parameters)
    if new.in_tree != old.in_tree:
        found.append(Difference("T", "arguments", str(old.in_tree), str(new.in_tree)))
        return found
    for i, (a, b) in enumerate(zip(new.avals, old.avals, strict=True)):
        if a is not b:
            found.append(_aval_difference(names[i] if i < len(names) else f"argument {i}", a, b))
    return found


def _aval_difference(path: str, new: ShapedArray, old: ShapedArray) -> Difference:
    if new.shape != old.shape:
        return Difference("S", path, old.str_short(), new.str_short())
    if new.dtype != old.dtype:
        return Difference("D", path, old.str_short(), new.str_short())
    text = {True: "a Python number ({})", False: "an array ({})"}
    return Difference(
        "W",
        path,
        text[old.weak_type].format(old.str_short()),
        text[new.weak_type].format(new.str_short()),
    )


def _static_differences(
    new: tuple[Any, ...], old: tuple[Any, ...], parameters: Sequence[str]
) -> list[Difference]:
    before = dict(old[1:]) if old else {}
    after = dict(new[1:]) if new else {}
    if old and new and old[0] != new[0]:
        return [Difference("T", "arguments", f"{old[0]} positional", f"{new[0]} positional")]
    result = []
    for place in dict.fromkeys([*before, *after]):
        if before.get(place) != after.get(place):
            name = str(place)
            if isinstance(place, int):
                name = parameters[place] if place < len(parameters) else f"argument {place}"
            result.append(
                Difference("V", f"static {name}", repr(before.get(place)), repr(after.get(place)))
            )
    return result


def nearest(new: Any, entries: Sequence[Any]) -> tuple[Any, list[Difference]] | None:
    """Return the entry nearest to key ``new`` and the differences, or None if there is none."""
    best: tuple[Any, list[Difference]] | None = None
    for entry in reversed(entries):
        if entry.key is new:
            continue
        found = differences(new, entry.key, entry.arg_names, entry.parameters)
        if best is None or len(found) < len(best[1]):
            best = (entry, found)
    return best
