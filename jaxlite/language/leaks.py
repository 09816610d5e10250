"""Tracers that outlive their trace (``jax.checking_leaks``). In: a finished trace. Out: an error.

A tracer that is still reachable was stored somewhere by a side effect. The message says what it
was and who holds it, up to the global or the object that does.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

from jaxlite.errors import TracerLeakError
from jaxlite.language.trace import Trace, Tracer

__all__ = ["check_leaks"]

_MAX_LINKS = 10


def check_leaks(trace: Trace) -> None:
    """Raise TracerLeakError if a tracer of ``trace``, which has ended, is still alive.

    The caller holds none: its own references would be taken for leaks.
    """
    if not _tracers_of(trace):
        return
    gc.collect()  # only cycles that nobody reaches
    found = _tracers_of(trace)
    if not found:
        return
    told = "\n\n".join([_story(t, id(found)) for t in found])
    raise TracerLeakError(
        f"Leaked trace {trace.known_as}. Leaked tracer(s):\n\n{told}\n\n"
        "  Fix: return the value from the function instead of storing it outside."
    )


def _tracers_of(trace: Trace) -> list[Tracer]:
    return [x for x in gc.get_referrers(trace) if issubclass(type(x), Tracer) and x._trace is trace]


def _story(tracer: Tracer, list_id: int) -> str:
    """Return what the tracer is, and the chain of objects that keeps it alive.

    ``list_id`` is the id of the list of found tracers, which is no part of the chain.
    """
    described = tracer.describe()
    lines = [repr(tracer), *([described] if described else [])]
    seen = {id(tracer), list_id}
    value: Any = tracer
    for _ in range(_MAX_LINKS):
        owner, place = _holder(value, seen)
        if owner is None:
            break
        seen.add(id(owner))
        lines.append(f"{_label(value)} is referred to by {_label(owner)}{place}")
        if isinstance(owner, types.ModuleType):
            lines[-1] = f"{_label(value)} is referred to by {owner.__name__}{place}"
            break
        value = owner
    return "\n".join(lines)


def _label(x: Any) -> str:
    name = f" ({x.__name__})" if isinstance(x, types.FunctionType) else ""
    return f"<{type(x).__name__} {id(x)}>{name}"


def _holder(value: Any, seen: set[int]) -> tuple[Any, str]:
    """Return one object that refers to ``value`` and the place in it, such as ``[0]``, or None."""
    for owner in gc.get_referrers(value):
        if id(owner) not in seen and not isinstance(owner, types.FrameType):
            found = _place(owner, value)
            if found is not None:
                return found
    return None, ""


def _place(owner: Any, value: Any) -> tuple[Any, str] | None:
    if isinstance(owner, dict):
        keys = [k for k, v in owner.items() if v is value]
        if not keys:
            return None
        named = _owner_of_namespace(owner)
        return (owner, f"[{keys[0]!r}]") if named is None else (named, f".{keys[0]}")
    if isinstance(owner, list | tuple):
        return owner, f"[{[v is value for v in owner].index(True)}]"
    if isinstance(owner, set | frozenset):
        return owner, ""
    if isinstance(owner, types.CellType):
        return _function_of(owner)
    attributes = [*_slots(owner), *getattr(owner, "__dict__", ())]
    names = [n for n in attributes if getattr(owner, n, None) is value]
    return (owner, f".{names[0]}") if names else None


def _owner_of_namespace(namespace: dict[str, Any]) -> Any:
    """Return the module or object whose attributes ``namespace`` holds, if there is one."""
    module = sys.modules.get(str(namespace.get("__name__", "")))
    if module is not None and vars(module) is namespace:
        return module
    for owner in gc.get_referrers(namespace):
        if getattr(owner, "__dict__", None) is namespace:
            return owner
    return None


def _function_of(cell: Any) -> tuple[Any, str] | None:
    """Return the function that closes over ``cell`` and the variable's name."""
    for closure in gc.get_referrers(cell):
        if not isinstance(closure, tuple):
            continue
        for function in gc.get_referrers(closure):
            if isinstance(function, types.FunctionType) and function.__closure__ is closure:
                name = function.__code__.co_freevars[closure.index(cell)]
                return function, f" closed-over variable {name}"
    return None


def _slots(owner: Any) -> list[str]:
    names = [getattr(c, "__slots__", ()) for c in type(owner).__mro__]
    return [n for group in names for n in ((group,) if isinstance(group, str) else group)]
