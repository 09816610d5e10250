"""Static arguments of a jitted function.

Which ones, their values in the cache key, and back again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlite.language.array import Array


@dataclass(frozen=True)
class StaticSpec:
    """Positions ``nums`` (may be negative) and keyword ``names`` that are Python constants."""

    nums: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(
        cls,
        fun: Callable[..., Any],
        signature: inspect.Signature | None,
        argnums: int | Sequence[int] | None,
        argnames: str | Sequence[str] | None,
        kind: str = "static",
    ) -> StaticSpec:
        """Check what the user gave and complete each from the other.

        ``kind`` is what the arguments are called: "static" or "donate".
        """
        nums = _as_tuple(argnums, int, f"{kind}_argnums")
        names = _as_tuple(argnames, str, f"{kind}_argnames")
        if signature is None:
            return cls(nums, names)
        _check_nums(signature, nums, kind)
        _check_names(signature, names, kind)
        positional = [
            p.name
            for p in signature.parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if argnames is None:
            names = tuple([positional[n] for n in nums if -len(positional) <= n < len(positional)])
        elif argnums is None:
            nums = tuple([positional.index(n) for n in names if n in positional])
        return cls(nums, names)

    @property
    def is_empty(self) -> bool:
        """Whether no argument is static."""
        return not self.nums and not self.names

    def key(self) -> Any:
        """Return what makes two specs different."""
        return (self.nums, self.names)

    def positions(self, n_args: int) -> tuple[int, ...]:
        """Return the static positions among ``n_args`` arguments."""
        found = {n + n_args if n < 0 else n for n in self.nums}
        return tuple(sorted(p for p in found if 0 <= p < n_args))

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """Return the traced part and the static values (hashable, with their places)."""
        where = self.positions(len(args))
        static: list[Any] = [(p, StaticValue(args[p])) for p in where]
        static += [(k, StaticValue(kwargs[k])) for k in self.names if k in kwargs]
        dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in self.names}
        dynamic = tuple([a for i, a in enumerate(args) if i not in where])
        return (dynamic, dynamic_kwargs), (len(args), *static)

    def without_static(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return arguments for naming: static ones become None, which has no leaves."""
        where = self.positions(len(args))
        return (
            tuple([None if i in where else a for i, a in enumerate(args)]),
            {k: v for k, v in kwargs.items() if k not in self.names},
        )

    def without(self, place: int | str, fun: Callable[..., Any]) -> StaticSpec:
        """Return the spec in which the argument at ``place`` is an ordinary one."""
        try:
            parameters = list(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            parameters = []
        name = place
        if isinstance(place, int):
            name = parameters[place] if place < len(parameters) else ""
        number = parameters.index(name) if name in parameters else place
        dropped = {number, number - len(parameters)} if isinstance(number, int) else set()
        return StaticSpec(
            tuple([n for n in self.nums if n not in dropped]),
            tuple([n for n in self.names if n != name]),
        )

    def filler(self, static: tuple[Any, ...]) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Return the function that puts the static values back."""
        n_args, places = static[0], static[1:]
        by_position = {p: v.value for p, v in places if isinstance(p, int)}
        by_name = {p: v.value for p, v in places if isinstance(p, str)}

        def fill(args: Any, kwargs: Any) -> tuple[Any, Any]:
            rest = iter(args)
            full = [by_position[i] if i in by_position else next(rest) for i in range(n_args)]
            return full, {**kwargs, **by_name}

        return fill

    def check_donation(self, donated: StaticSpec) -> None:
        """Check donated arguments against the static ones, as JAX does."""
        if set(donated.names) & set(self.names):
            raise ValueError(
                "static_argnames and donate_argnames cannot intersect.\n"
                f"  Static are {self.names}, donated {donated.names}.\n"
                "  Fix: a static argument is no array; donate the others only."
            )
        if set(donated.nums) & set(self.nums):
            raise ValueError(
                f"static_argnums {self.nums} and donate_argnums {donated.nums} cannot intersect."
            )


class StaticValue:
    """A static argument in a cache key.

    Equal if type and value are equal (1 and 1.0 and True differ).
    """

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        if isinstance(value, Array):
            raise ValueError(_not_hashable(value, TypeError(f"unhashable type: {type(value)}")))
        try:
            self._hash = hash((type(value), value))
        except TypeError as error:
            raise ValueError(_not_hashable(value, error)) from None
        self.value = value

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StaticValue)
            and type(self.value) is type(other.value)
            and bool(self.value == other.value)
        )

    def __repr__(self) -> str:
        return repr(self.value)


def _not_hashable(value: Any, error: Exception) -> str:
    advice = "pass it as an ordinary (traced) argument"
    if isinstance(value, list):
        advice = "pass a tuple"
    elif isinstance(value, dict | set):
        advice = "pass a frozen dataclass or a tuple of pairs"
    elif hasattr(value, "__dataclass_fields__"):
        advice = "declare it with @dataclass(frozen=True)"
    return (
        "Non-hashable static arguments are not supported. An error occurred while trying to hash "
        "an object "
        f"of type {type(value)}, {value}. The error was:\nTypeError: {error}\n  Fix: {advice}."
    )


def _as_tuple(value: Any, kind: type, name: str) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        value = (value,)
    result = tuple(value)
    for item in result:
        wrong = not hasattr(item, "__index__") if kind is int else not isinstance(item, str)
        if wrong:
            wanted = "int or sequence of ints" if kind is int else "str or sequence of strs"
            raise TypeError(f"jit {name} should be {wanted}, but got {value}")
    if kind is int:
        result = tuple([item.__index__() for item in result])
    if name.startswith("static") and len(set(result)) != len(result):
        raise ValueError(f"{name} must not contain duplicates, got {result}")
    return result


def _check_nums(signature: inspect.Signature, nums: tuple[int, ...], kind: str) -> None:
    kinds = [p.kind for p in signature.parameters.values()]
    if any(k is inspect.Parameter.VAR_POSITIONAL for k in kinds):
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(k in positional for k in kinds)
    if any(not -n <= i < n for i in nums):
        raise ValueError(
            f"Jitted function has {kind}_argnums={nums}, but only accepts {n} positional arguments."
        )


def _check_names(signature: inspect.Signature, names: tuple[str, ...], kind: str) -> None:
    parameters = signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    unknown = {n for n in names if n not in parameters}
    if unknown:
        raise ValueError(
            f"Jitted function has invalid argnames {unknown} in {kind}_argnames. "
            "Function does not take these args."
        )
