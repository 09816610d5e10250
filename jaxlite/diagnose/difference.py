"""Which part of a cache key differs. In: a new key and the entries there are.

Out: named differences.

The nearest entry is the one with the fewest differing parts, ties broken by the most recent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language.avals import ShapedArray
from jaxlite.language.treedef import PyTreeDef

#: Letters of causes, as the recompilation explorer shows them.
CAUSES = {
    "1": "first call",
    "S": "shape",
    "D": "dtype",
    "W": "weak type",
    "T": "pytree",
    "V": "static value",
    "F": "new function object",
    "G": "captured value changed",
    "C": "config",
    "X": "evicted",
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
        if not self.old:  # nothing to compare with: a first call, a new function, an eviction
            return f"{self.path}: {self.new}" if self.path else self.new
        return f"{self.path} is {self.new}, was {self.old}"


def differences(
    new: Any,
    old: Any,
    names: Sequence[str],
    parameters: Sequence[str] = (),
    new_names: Sequence[str] | None = None,
) -> list[Difference]:
    """Return how key ``new`` differs from key ``old``.

    ``names`` are the argument paths of ``old`` (``new_names`` those of ``new``), ``parameters`` the
    function's positional parameters.
    """
    found: list[Difference] = []
    if new.settings is not old.settings:
        before, after = old.settings.as_dict(), new.settings.as_dict()
        found += [
            Difference("C", f"config {k}", repr(before[k]), repr(after[k]))
            for k in after
            if before[k] != after[k]
        ]
    if new.static != old.static:
        found += _static_differences(new.static, old.static, parameters)
    if new.in_tree != old.in_tree:
        if any(d.cause == "T" for d in found):
            return found
        found += list(tree_differences(new.in_tree, old.in_tree, parameters, new.static))
        if new_names is None:
            return found
        known = dict(zip(names, old.avals))
        pairs = [(n, a, known[n]) for n, a in zip(new_names, new.avals) if n in known]
    else:
        pairs = [
            (names[i] if i < len(names) else f"argument {i}", a, b)
            for i, (a, b) in enumerate(zip(new.avals, old.avals, strict=True))
        ]
    found += [d for name, a, b in pairs if a is not b for d in _aval_differences(name, a, b)]
    return found


def _aval_differences(path: str, new: ShapedArray, old: ShapedArray) -> Iterator[Difference]:
    if new.shape != old.shape:
        yield Difference("S", path, old.str_short(), new.str_short())
    if new.dtype != old.dtype:
        yield Difference("D", path, old.str_short(), new.str_short())
    if new.weak_type != old.weak_type and new.shape == old.shape and new.dtype == old.dtype:
        text = {True: "a Python number ({})", False: "an array ({})"}
        yield Difference(
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
        a, b = after.get(place), before.get(place)
        if a != b:
            result.append(Difference("V", f"static {place_name(place, parameters)}", *_shown(b, a)))
    return result


def _shown(old: Any, new: Any) -> tuple[str, str]:
    """Return both values as text, with their types where the text alone would look the same."""
    texts = repr(old), repr(new)
    if texts[0] != texts[1]:
        return texts
    types = [
        str(getattr(v, "type_name", type(getattr(v, "value", v)).__name__)) for v in (old, new)
    ]
    if types[0] != types[1]:
        return f"{texts[0]} ({types[0]})", f"{texts[1]} ({types[1]})"
    return texts[0], f"another {types[1]} that prints alike"


def place_name(place: Any, parameters: Sequence[str]) -> str:
    """Return the name of a static argument from its position or keyword."""
    if isinstance(place, int):
        return parameters[place] if place < len(parameters) else f"argument {place}"
    return str(place)


def tree_differences(
    new: PyTreeDef, old: PyTreeDef, parameters: Sequence[str], static: tuple[Any, ...] = ()
) -> Iterator[Difference]:
    """Yield where the containers of two calls differ: ``(args, kwargs)`` of each."""
    (new_args, new_kwargs), (old_args, old_kwargs) = new.children(), old.children()
    places = {p for p, _ in static[1:] if isinstance(p, int)}
    names = [p for i, p in enumerate(parameters) if i not in places]
    n, o = new_args.children(), old_args.children()
    new_keys, old_keys = _keys(new_kwargs), _keys(old_kwargs)
    if len(n) != len(o) or new_keys != old_keys:
        yield Difference(
            "T", "arguments", _call_text(len(o), old_keys), _call_text(len(n), new_keys)
        )
    for i, (a, b) in enumerate(zip(n, o)):
        yield from _node_differences(a, b, names[i] if i < len(names) else f"argument {i}")
    before = dict(zip(old_keys, old_kwargs.children()))
    for key, a in zip(new_keys, new_kwargs.children()):
        if key in before:
            yield from _node_differences(a, before[key], str(key))


def _call_text(n_positional: int, keywords: list[Any]) -> str:
    text = f"{n_positional} by position"
    return f"{text}, {', '.join(map(str, keywords))} by keyword" if keywords else text


def _keys(tree: PyTreeDef) -> list[Any]:
    data = tree.node_data()
    return list(data[1]) if data is not None else []


def _node_differences(new: PyTreeDef, old: PyTreeDef, path: str) -> Iterator[Difference]:
    if new == old:
        return
    a, b = new.node_data(), old.node_data()
    if a is None or b is None or a != b or len(new.children()) != len(old.children()):
        yield Difference("T", path, _node_text(old), _node_text(new))
        return
    keys = a[1] if a[0] is dict else range(len(new.children()))
    for key, x, y in zip(keys, new.children(), old.children()):
        yield from _node_differences(x, y, f"{path}[{key!r}]")


def _node_text(tree: PyTreeDef) -> str:
    data = tree.node_data()
    if data is None:
        return "an array or number"
    kind, meta = data
    if kind is type(None):
        return "None"
    if kind is dict:
        return f"a dict with keys {', '.join(map(repr, meta))}" if meta else "an empty dict"
    if kind in (list, tuple):
        return f"a {kind.__name__} of {len(tree.children())}"
    return f"{kind.__name__}({meta!r})" if meta is not None else kind.__name__


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
