"""Why a call was traced. In: the records of a function. Out: causes against the nearest record.

Only what differs is said. A function object that is new while its source is old is cause F; a key
that has been seen before is G if a captured value has changed since, else X.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.diagnose.difference import Difference, differences, place_name
from jaxlite.diagnose.misses import Miss, MissKey, StaticMark, contents_of, new_miss

__all__ = ["Explanation", "Reason", "explain", "explain_all", "reason_for"]

_NEAR = 64


@dataclass(frozen=True, slots=True)
class Explanation:
    """One trace: the nearest earlier one, what differs, and the second nearest."""

    miss: Miss
    causes: tuple[Difference, ...]
    nearest: Miss | None = None
    second: Miss | None = None
    second_causes: tuple[Difference, ...] = ()

    @property
    def letters(self) -> str:
        """The causes as letters, each once."""
        return "".join(dict.fromkeys(d.cause for d in self.causes))

    @property
    def why(self) -> str:
        """The causes in words."""
        return "; ".join(map(str, self.causes))


def explain_all(misses: Sequence[Miss]) -> list[Explanation]:
    """Return why each of the traces of one site happened."""
    return [explain(miss, misses[:i]) for i, miss in enumerate(misses)]


def explain(miss: Miss, earlier: Sequence[Miss]) -> Explanation:
    """Return why ``miss`` happened, given the earlier traces of its site."""
    if not earlier:
        return Explanation(miss, (Difference("1", "", "", "first call"),))
    own = [m for m in earlier if m.owner == miss.owner]
    candidates = own or list(earlier)
    # Comparing with all makes long histories quadratic; what was seen before is found anyway.
    twins = [m for m in candidates[:-_NEAR] if own and m.key == miss.key]
    candidates = twins + candidates[-_NEAR:]
    ranked: list[tuple[Any, Miss, list[Difference]]] = []
    for age, old in enumerate(reversed(candidates)):
        found = compare(miss, old)
        if own and not found:
            found = _same_key(miss, old)
            rank = -1
        else:
            rank = len(found)
        if not own:
            found = [*_new_function(miss, old), *found]
        ranked.append(((rank, age), old, found))
    ranked.sort(key=lambda item: item[0])
    _, best, causes = ranked[0]
    for _, other, found in ranked[1:]:
        if found != causes:
            return Explanation(miss, tuple(causes), best, other, tuple(found))
    return Explanation(miss, tuple(causes), best)


def compare(new: Miss, old: Miss) -> list[Difference]:
    """Return how the keys of two traces differ; a static object changed in place says so."""
    found = differences(new.key, old.key, old.arg_names, new.parameters, new.arg_names)
    if not any(d.cause == "V" for d in found) or not old.is_cached:
        return found
    before = dict(old.key.static[1:])
    mutated = {
        f"static {place_name(p, new.parameters)}"
        for p, mark in new.key.static[1:]
        if p in before and _is_mutated(mark, before[p])
    }
    return [
        Difference("V", d.path, d.old, f"{d.new} (the same object, changed in place)")
        if d.cause == "V" and d.path in mutated
        else d
        for d in found
    ]


def _is_mutated(new: StaticMark, old: StaticMark) -> bool:
    return new.identity == old.identity and new.contents is not None and new != old


def _same_key(new: Miss, old: Miss) -> list[Difference]:
    """Return the cause of a trace whose key was there before."""
    before = {v.path: v for v in old.captured}
    changed = [
        Difference("G", v.path, *_values(before[v.path].shown, v.shown))
        for v in new.captured
        if v.path in before and before[v.path].fingerprint != v.fingerprint
    ]
    if changed:
        return changed
    if old.is_cached and new.evicted is None and new.key.static[1:]:
        return [_alike(new, old)]
    reason, line = new.evicted or ("the compilation was dropped", None)
    if reason == "global":
        return [Difference("G", "", "", "a captured value changed")]
    return [Difference("X", "", "", reason + (f" at {line.short()}" if line else ""))]


def _alike(new: Miss, old: Miss) -> Difference:
    """Return the static argument that differs although type, hash and text do not."""
    pairs = list(zip(new.key.static[1:], old.key.static[1:]))
    odd = [(p, a) for (p, a), (_, b) in pairs if a.contents != b.contents] or [pairs[-1][0]]
    place, mark = odd[0]
    name = f"static {place_name(place, new.parameters)}"
    return Difference("V", name, mark.text, f"another {mark.type_name} that prints alike")


def _values(old: str, new: str) -> tuple[str, str]:
    return (old, new) if old != new else (f"{old} before", f"{new}, another object or contents")


def _new_function(new: Miss, old: Miss) -> list[Difference]:
    """Return cause F, with the captured values that tell the two function objects apart."""
    before = {v.path: v for v in old.captured if v.kind == "closure"}
    inside = [
        f"{v.path} was {before[v.path].shown}, is {v.shown}"
        for v in new.captured
        if v.path in before and before[v.path].fingerprint != v.fingerprint
    ]
    text = f"a new function object ({new.kind}) from the same source as trace {old.number}"
    if inside:
        text += f"; captured {', '.join(inside)}"
    return [Difference("F", new.site.name, "", text)]


@dataclass(frozen=True, slots=True)
class Reason:
    """Answer of ``would_compile``: true if the call would compile; ``str`` says why.

    ``causes`` are the differences against the nearest entry.
    """

    causes: tuple[Difference, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.causes)

    @property
    def letters(self) -> str:
        """The causes as letters."""
        return "".join(dict.fromkeys(d.cause for d in self.causes))

    def __str__(self) -> str:
        return "; ".join(map(str, self.causes)) if self.causes else "cached"

    def __repr__(self) -> str:
        return f"Reason({str(self)!r})"


def reason_for(
    function: Any, key: Any, arg_names: Sequence[str], parameters: Sequence[str]
) -> Explanation:
    """Return why a call with ``key``, which is not in the cache, would be traced."""
    miss = new_miss(function, key, arg_names, parameters)
    return explain(miss, list(miss.site.misses))


def stale_static(miss: Miss) -> list[str]:
    """Return the static objects whose attributes changed since: the compilation has the old ones.

    Only objects that are equal by identity (or whose hash does not see the change) can be stale.
    """
    entry = miss.entry() if miss.entry is not None else None
    if entry is None:
        return []
    marks: MissKey = miss.key
    return [
        place_name(place, miss.parameters)
        for (place, mark), (_, value) in zip(marks.static[1:], entry.key.static[1:])
        if mark.contents is not None and contents_of(value.value) != mark.contents
    ]
