"""Names that people give to axes. In: ``jaxlite.axes(x="batch feature")``. Out: names by argument.

A name stays known until ``axes().clear()``, or, if ``axes(...)`` is used as a context, until it
ends. ``_`` stands for an axis without a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Axes", "axes", "known_axes"]

_known: dict[str, tuple[str, ...]] = {}


class Axes:
    """Names of axes by argument or variable: ``{'x': ('batch', 'feature')}``."""

    def __init__(self, added: Mapping[str, tuple[str, ...]]) -> None:
        self._added = dict(added)
        self._before: dict[str, tuple[str, ...]] | None = None

    def __enter__(self) -> Axes:
        return self

    def __exit__(self, *exc: object) -> None:
        for name in self._added:
            _known.pop(name, None)
        _known.update(self._before or {})

    def __repr__(self) -> str:
        if not _known:
            return "no axis has a name; write jaxlite.axes(x='batch feature')"
        return "\n".join(f"{name}: {' '.join(n or '_' for n in v)}" for name, v in _known.items())

    def clear(self) -> None:
        """Forget all names."""
        _known.clear()


def axes(**names: str | Sequence[Any] | Mapping[str, Any]) -> Axes:
    """Name the axes of arguments and variables, for ``shapes`` views from now on.

    Args:
      **names: for an argument or variable the names of its axes, one word each (``_`` for none);
        for a container of arrays the same container of such texts.

    Returns:
      All names. As a context (``with axes(...)``) it forgets its own at the end.

    Raises:
      ValueError: a text names one axis twice, or has a word that is no name.

    >>> import jaxlite
    >>> with jaxlite.axes(x="batch feature", params={"w": "feature hidden"}) as known:
    ...     print(known)
    x: batch feature
    params['w']: feature hidden
    """
    added = dict(_flatten(names))
    result = Axes(added)
    result._before = {name: _known[name] for name in added if name in _known}
    _known.update(added)
    return result


def known_axes() -> dict[str, tuple[str, ...]]:
    """Return all names given so far."""
    return dict(_known)


def _flatten(names: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    for key, value in names.items():
        name = f"{path}[{key!r}]" if path else key
        yield from _of_value(name, value)


def _of_value(name: str, value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(value, str):
        yield name, _words(name, value)
    elif isinstance(value, Mapping):
        yield from _flatten(value, name)
    elif isinstance(value, Sequence):
        for k, item in enumerate(value):
            yield from _of_value(f"{name}[{k}]", item)
    else:
        raise ValueError(f"axes of {name}: expected a text such as 'batch feature', got {value!r}")


def _words(name: str, text: str) -> tuple[str, ...]:
    words = [w for w in re.split(r"[\s,]+", text.strip()) if w]
    for word in words:
        if not word.isidentifier():
            raise ValueError(f"axes of {name}: {word!r} is no name; use words, or _ for no name")
    named = [w for w in words if w != "_"]
    twice = next((w for w in named if named.count(w) > 1), None)
    if twice is not None:
        raise ValueError(f"axes of {name}: {twice!r} is there twice")
    return tuple("" if w == "_" else w for w in words)
