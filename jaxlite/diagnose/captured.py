"""Values that a traced function took from outside. In: a function.

Out: records, and later what has changed.

``jit`` keeps the value of the trace, as JAX does. The record makes it possible to say so: for every
global and closure cell that the function, or a user function it calls, reads, it holds where the
value lives and a cheap fingerprint. Looking again compares identities first, contents only of small
containers and arrays.
"""

from __future__ import annotations

import types
import weakref
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxlite.diagnose.reads import Read, attributes_of_first, reads_of
from jaxlite.language.array import Array
from jaxlite.language.source import is_user_file
from jaxlite.language.trace import Tracer

MISSING = object()
_WHOLE_BYTES = 64 * 1024
_SAMPLE_BYTES = 4096
_MAX_ITEMS = 64


@dataclass(frozen=True, slots=True)
class CapturedValue:
    """One outside value as it was when the function was traced.

    ``path`` is the name with attributes (``model.scale``), ``function`` who reads it, ``shown`` the
    value as text, ``nbytes`` its size if it is an array.
    """

    path: str
    kind: str
    function: str
    line: int
    shown: str
    type_name: str
    nbytes: int
    is_mutable: bool
    fingerprint: tuple[Any, ...]
    lookup: Callable[[], Any]

    def current(self) -> Any:
        """Return the value now (``MISSING`` if the name is gone)."""
        return self.lookup()


@dataclass(frozen=True, slots=True)
class Change:
    """A captured value that is not what it was."""

    value: CapturedValue
    old: str
    new: str


def capture(fun: Any) -> tuple[CapturedValue, ...]:
    """Return records of all that ``fun`` and the user functions it calls read from outside."""
    found: dict[tuple[int, str], CapturedValue] = {}
    seen: set[int] = set()
    queue = [fun]
    bound = bound_object(fun)
    if bound is not None:
        found.update(_of_bound(bound, plain_function(fun), queue))
    while queue:
        function = plain_function(queue.pop(0))
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        for read in reads_of(function.__code__):
            value = look_up(function, read.name, read.kind)
            if value is MISSING or isinstance(
                value, types.ModuleType | type | types.BuiltinFunctionType
            ):
                continue
            inner = plain_function(value)
            if inner is not None:
                if is_user_file(inner.__code__.co_filename):
                    queue.append(value)
                    found.setdefault(
                        (id(function.__globals__), read.name), record(function, read, value)
                    )
                continue
            for r, v in (*resolved(read, value), *_through_methods(read, value, queue)):
                key = (id(function.__globals__), ".".join((r.name, *r.attributes)))
                found.setdefault(key, record(function, r, v))
    return tuple(found.values())


def _through_methods(read: Read, value: Any, queue: list[Any]) -> Iterator[tuple[Read, Any]]:
    """Yield what the methods of a global object read of it: ``model.predict(x)``, ``model(x)``.

    The methods themselves join ``queue``.
    """
    if is_plain(value) or isinstance(value, types.FunctionType):
        return
    for chain in _read_by_method(value, (read.attributes or ("__call__",))[0], queue, set()):
        held = value
        for attribute in chain:
            held = getattr_static(held, attribute)
        yield Read(read.name, read.kind, chain, read.line), held


def _read_by_method(
    value: Any, name: str, queue: list[Any], seen: set[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the data attributes that a method reads of ``self``, directly or by other methods."""
    method = getattr(type(value), name, None)
    if name in seen or not isinstance(method, types.FunctionType):
        return
    if not is_user_file(method.__code__.co_filename):
        return
    seen.add(name)
    queue.append(method)
    for chain in attributes_of_first(method.__code__):
        held = getattr_static(value, chain[0])
        if held is MISSING or callable(held):
            yield from _read_by_method(value, chain[0], queue, seen)
        elif is_plain(held):
            yield chain[:1]


def bound_object(fun: Any) -> Any:
    """Return the object of a bound method, None for everything else."""
    owner = getattr(fun, "__self__", None) if isinstance(fun, types.MethodType) else None
    return None if owner is None or isinstance(owner, type | types.ModuleType) else owner


def _of_bound(
    owner: Any, method: types.FunctionType | None, queue: list[Any]
) -> dict[tuple[int, str], CapturedValue]:
    """Return records of what ``jit(model.predict)`` reads of ``model``."""
    found: dict[tuple[int, str], CapturedValue] = {}
    if method is None:
        return found
    try:
        reference = weakref.ref(owner)
    except TypeError:  # slots without weak references: it cannot be watched
        return found
    for (attribute,) in _read_by_method(owner, method.__name__, queue, set()):
        read = Read("self", "closure", (attribute,), method.__code__.co_firstlineno)

        def lookup(attribute: str = attribute) -> Any:
            alive = reference()
            return MISSING if alive is None else getattr_static(alive, attribute)

        value = getattr_static(owner, attribute)
        found[id(owner), attribute] = record(method, read, value, lookup)
    return found


def plain_function(fun: Any) -> types.FunctionType | None:
    """Return the Python function behind ``fun`` (jitted, partial, bound), or None."""
    for _ in range(20):
        if isinstance(fun, types.FunctionType):
            wrapped = getattr(fun, "__wrapped__", None)
            if wrapped is None or not is_user_file(
                getattr(wrapped, "__code__", fun.__code__).co_filename
            ):
                return fun
            if is_user_file(fun.__code__.co_filename):
                return fun
            fun = wrapped
            continue
        if isinstance(fun, types.MethodType):
            fun = fun.__func__
            continue
        inner = getattr(fun, "__wrapped__", None) if not isinstance(fun, type) else None
        inner = inner if inner is not None else getattr(fun, "func", None)
        if inner is None or not callable(inner):
            return None
        fun = inner
    return None


def is_users_function(fun: Any) -> bool:
    """Say whether the Python function behind ``fun`` is the user's."""
    inner = plain_function(fun)
    return inner is not None and is_user_file(inner.__code__.co_filename)


def look_up(function: types.FunctionType, name: str, kind: str) -> Any:
    """Return the value of a global or closure name of ``function`` now, or ``MISSING``."""
    if kind == "global":
        if name in function.__globals__:
            return function.__globals__[name]
        return MISSING  # a builtin, or a name that does not exist yet
    index = function.__code__.co_freevars.index(name)
    try:
        return (function.__closure__ or ())[index].cell_contents
    except (IndexError, ValueError):  # an empty cell: assigned later
        return MISSING


def resolved(read: Read, value: Any) -> Iterator[tuple[Read, Any]]:
    """Yield the value itself, or for an object the plain attribute values that are read of it."""
    if is_plain(value) or not read.attributes:
        yield Read(read.name, read.kind, (), read.line), value
        return
    attributes: list[str] = []
    for attribute in read.attributes:
        value = getattr_static(value, attribute)
        if value is MISSING or callable(value):
            return
        attributes.append(attribute)
        if is_plain(value):
            break
    yield Read(read.name, read.kind, tuple(attributes), read.line), value


def getattr_static(value: Any, name: str) -> Any:
    """Return an attribute without running the user's properties (they may have side effects)."""
    found = getattr(value, "__dict__", {}).get(name, MISSING)
    if found is not MISSING:
        return found
    for cls in type(value).__mro__:
        if name in cls.__dict__:
            raw = cls.__dict__[name]
            if isinstance(raw, types.MemberDescriptorType):
                return raw.__get__(value)
            return MISSING if hasattr(raw, "__get__") else raw
    return MISSING


def is_plain(value: Any) -> bool:
    """Say whether ``value`` is data: a number, text, container or array."""
    return value is None or isinstance(
        value,
        bool
        | int
        | float
        | complex
        | str
        | bytes
        | tuple
        | list
        | dict
        | set
        | frozenset
        | np.ndarray
        | np.generic
        | Array,
    )


def record(
    function: types.FunctionType,
    read: Read,
    value: Any,
    look: Callable[[], Any] | None = None,
) -> CapturedValue:
    """Make the record of one read; ``look`` finds the value again where a name does not."""
    # Weak: the record lives in the function's own cache and must not keep the function alive.
    owner = weakref.ref(function)

    def lookup() -> Any:
        alive = owner()
        if alive is None:
            return MISSING
        now = look_up(alive, read.name, read.kind)
        for attribute in read.attributes:
            if now is MISSING:
                return MISSING
            now = getattr_static(now, attribute)
        return now

    return CapturedValue(
        path=".".join((read.name, *read.attributes)),
        kind=read.kind,
        function=function.__name__,
        line=read.line,
        shown=short_value(value),
        type_name=type_text(value),
        nbytes=int(getattr(value, "nbytes", 0)) if isinstance(value, np.ndarray | Array) else 0,
        is_mutable=is_mutable(value),
        fingerprint=fingerprint(value),
        lookup=look or lookup,
    )


def is_mutable(value: Any) -> bool:
    """Say whether ``value`` can change in place."""
    if isinstance(value, list | dict | set | bytearray | np.ndarray):
        return True
    if is_plain(value) or callable(value):
        return False
    params = getattr(type(value), "__dataclass_params__", None)
    return not (params is not None and params.frozen)


def fingerprint(value: Any) -> tuple[Any, ...]:
    """Return a cheap stand-in for the contents: equal as long as nothing relevant changed."""
    if isinstance(value, Tracer):
        return ("traced", id(value))
    if isinstance(value, Array):
        return ("array", id(value))
    if isinstance(value, np.ndarray):
        return (
            "ndarray",
            id(value),
            value.__array_interface__["data"][0],
            value.shape,
            array_hash(value),
        )
    if isinstance(value, bool | int | float | complex | str | bytes | np.generic) or value is None:
        return ("value", type(value).__name__, repr(value))
    if isinstance(value, tuple):
        return ("tuple", *[fingerprint(v) for v in value[:_MAX_ITEMS]])
    if isinstance(value, dict):
        items = list(value.items())[:_MAX_ITEMS]
        return ("dict", id(value), len(value), *[(repr(k), item_mark(v)) for k, v in items])
    if isinstance(value, list | set | frozenset):
        items_ = list(value)[:_MAX_ITEMS]
        return (type(value).__name__, id(value), len(value), *[item_mark(v) for v in items_])
    code = getattr(plain_function(value), "__code__", None)
    if code is not None:
        return ("function", code.co_code, code.co_consts, code.co_names)
    return ("object", id(value))


def item_mark(value: Any) -> Any:
    """Return what stands for an item of a container.

    Its value if it is a number or text, else its identity.
    """
    if isinstance(value, bool | int | float | complex | str):
        return (type(value).__name__, repr(value))
    return id(value)


def array_hash(value: np.ndarray) -> int:
    """Return a checksum: of all bytes up to 64 KiB, else of a strided sample of 4 KiB."""
    if value.dtype.hasobject:
        return 0
    if value.nbytes <= _WHOLE_BYTES:
        return zlib.crc32(np.ascontiguousarray(value).tobytes())
    step = max(1, value.size // (_SAMPLE_BYTES // max(value.itemsize, 1)))
    return zlib.crc32(
        np.ascontiguousarray(
            value.reshape(-1)[::step] if value.flags.c_contiguous else value.flat[::step]
        ).tobytes()
    )


def changes(values: tuple[CapturedValue, ...]) -> list[Change]:
    """Return the captured values that differ now."""
    result = []
    for value in values:
        now = value.current()
        if now is MISSING:
            result.append(Change(value, value.shown, "deleted"))
        elif fingerprint(now) != value.fingerprint:
            result.append(Change(value, value.shown, short_value(now)))
    return result


def short_value(value: Any) -> str:
    """Return a value as short text: numbers as they are, arrays by type."""
    if isinstance(value, bool | int | float | complex | str) or value is None:
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "..."
    if callable(value) and not isinstance(value, Array):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    if isinstance(value, np.ndarray | Array) and value.size == 1 and not isinstance(value, Tracer):
        return str(np.asarray(value).reshape(-1)[0])
    if isinstance(value, list | tuple | dict | set) and len(value) <= 4:
        text = repr(value)
        if len(text) <= 40:
            return text
    return type_text(value)


def type_text(value: Any) -> str:
    """Return the type of a value for messages: ``f32[3]``, ``dict``, ``Config``."""
    if isinstance(value, Array):
        return value.aval.str_short()
    if isinstance(value, np.ndarray):
        return f"ndarray {value.dtype}[{','.join(map(str, value.shape))}]"
    return type(value).__name__
