"""Every trace of every jitted function. In: a new cache entry. Out: ``Miss`` records per function.

Kept always: a trace costs a hundred times more than its record. A record holds types, texts and
fingerprints, never the user's values, so it keeps nothing alive. Records are grouped by ``Site``
(the source of a function), so that a function that is made anew in every round of a loop is seen as
what it is.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import time
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from jaxlite.diagnose.captured import fingerprint, is_plain, plain_function
from jaxlite.language.avals import ShapedArray
from jaxlite.language.source import SourceLine, current_line, is_user_file
from jaxlite.language.treedef import PyTreeDef

__all__ = ["CALLS", "Miss", "Site", "all_sites", "new_miss", "remember", "site_of"]

#: How many traces and how many calls of one function are remembered.
CALLS = 512
_MAX_SITES = 1024
#: From this many hits on they are counted by a call log only.
COUNTED_HITS = 3
_MAX_TEXT = 80
_MAX_DECORATORS = 16

#: Numbers for function objects: an ``id`` may be used again, a number is not.
owner_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class StaticMark:
    """What is remembered of a static argument: equal marks mean equal cache keys."""

    type_name: str
    hash: int
    text: str
    identity: int = field(compare=False)
    by_identity: bool = field(compare=False)
    contents: Any = field(compare=False)

    @classmethod
    def of(cls, value: Any) -> StaticMark:
        """Return the mark of ``value`` now."""
        return cls(
            type(value).__name__,
            hash(value),
            short_repr(value),
            id(value),
            hashes_by_identity(type(value)),
            contents_of(value),
        )

    def __repr__(self) -> str:
        return self.text


def hashes_by_identity(cls: type) -> bool:
    """Say whether objects of ``cls`` are equal only to themselves."""
    found: Any = cls.__hash__
    return found is object.__hash__


def short_repr(value: Any) -> str:
    """Return ``repr`` cut to one line; a ``repr`` of the user's that raises gives the type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the user's code; why a call compiled must still be told
        return f"<{type(value).__name__}>"
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 3] + "..."


def contents_of(value: Any) -> Any:
    """Return a stand-in for the attributes of an object (None for plain values, functions)."""
    attributes = getattr(value, "__dict__", None)
    if is_plain(value) or callable(value) or not isinstance(attributes, dict):
        return None
    return tuple([(k, fingerprint(v)) for k, v in list(attributes.items())[:64]])


@dataclass(frozen=True, slots=True)
class MissKey:
    """The cache key of one trace in terms that keep no value alive."""

    avals: tuple[ShapedArray, ...]
    in_tree: PyTreeDef
    static: tuple[Any, ...]
    settings: Any

    @classmethod
    def of(cls, key: Any) -> MissKey:
        """Return the stand-in for a cache key."""
        places = [(p, StaticMark.of(v.value)) for p, v in key.static[1:]]
        return cls(key.avals, key.in_tree, (*key.static[:1], *places), key.settings)


@dataclass(eq=False, slots=True)
class Miss:
    """One trace.

    ``number`` counts the traces of its site from 1, ``owner`` is the number of the function object,
    ``evicted`` says what emptied the cache before (None if nothing did) and where. ``hits`` are
    the calls that reused it (at least so many unless ``is_counted``), ``logged_hits`` those that a
    call log saw (all of them if ``is_logged``); ``is_fresh`` while the call that compiled it runs.
    """

    site: Site
    number: int
    owner: int
    kind: str
    key: MissKey
    arg_names: tuple[str, ...]
    parameters: tuple[str, ...]
    captured: tuple[Any, ...]
    caller: SourceLine | None
    is_direct: bool
    made_at: SourceLine | None
    evicted: tuple[str, SourceLine | None] | None
    start_s: float
    trace_s: float = 0.0
    compile_s: float = 0.0
    hits: int = 0
    is_counted: bool = True
    is_fresh: bool = False
    logged_hits: int = 0
    is_logged: bool = False
    entry: Any = None

    @property
    def seconds(self) -> float:
        """Time of tracing and compiling."""
        return self.trace_s + self.compile_s

    @property
    def hits_seen(self) -> int:
        """Calls known to have reused it: all of them if ``is_exact``."""
        return max(self.hits, self.logged_hits)

    @property
    def is_exact(self) -> bool:
        """Whether every hit was counted."""
        return self.is_counted or self.is_logged

    @property
    def hits_text(self) -> str:
        """Hits in words: ``1 hit``, ``3+ hits``."""
        n = self.hits_seen
        return f"{n}{'' if self.is_exact else '+'} hit{'' if n == 1 and self.is_exact else 's'}"

    @property
    def is_cached(self) -> bool:
        """Whether the compilation still exists."""
        return self.entry is not None and self.entry() is not None

    @property
    def signature(self) -> str:
        """Types of the arguments and values of the static ones."""
        return ", ".join(self.signature_parts) or "no arguments"

    @property
    def signature_parts(self) -> list[str]:
        """Type or static value of each argument, with its name."""
        parts = [
            f"{n} {a.str_short()}{'*' if a.weak_type else ''}"
            for n, a in zip(self.arg_names, self.key.avals)
        ]
        static = self.key.static
        names = [
            self.parameters[p] if isinstance(p, int) and p < len(self.parameters) else str(p)
            for p, _ in static[1:]
        ]
        return parts + [f"{n}={mark.text}" for n, (_, mark) in zip(names, static[1:])]


@dataclass(eq=False, slots=True)
class Site:
    """All function objects made from one piece of source, and their traces and calls."""

    name: str
    file: str
    line: int
    is_user: bool
    misses: deque[Miss] = field(default_factory=lambda: deque(maxlen=CALLS))
    calls: deque[Any] = field(default_factory=lambda: deque(maxlen=CALLS))
    n_misses: int = 0
    function: Any = None
    log_since_s: float | None = None

    @property
    def seconds(self) -> float:
        """Time of all its traces and compilations."""
        return sum(m.seconds for m in tuple(self.misses))


_sites: OrderedDict[Any, Site] = OrderedDict()
_lock = threading.Lock()


def source_function(fun: Any) -> types.FunctionType | None:
    """Return the Python function that does the work: also of an object that is called."""
    found = plain_function(fun)
    if found is None and callable(fun) and not isinstance(fun, type):
        found = plain_function(type(fun).__call__)
    return found


def kind_of(fun: Any) -> str:
    """Return what kind of callable it is, for messages."""
    if isinstance(fun, types.MethodType):
        return f"bound method of {type(fun.__self__).__name__}"
    if isinstance(fun, functools.partial):
        return "functools.partial"
    if isinstance(fun, types.FunctionType):
        return "lambda" if fun.__name__ == "<lambda>" else "def"
    return f"{type(fun).__name__} object"


def _site_key(fun: Any, options: Any) -> tuple[Any, types.FunctionType | None]:
    inner = source_function(fun)
    if inner is None:
        return (kind_of(fun), getattr(fun, "__name__", id(type(fun))), options), None
    code = inner.__code__
    outer = getattr(fun, "__code__", code)
    key = (kind_of(fun), code.co_filename, code, outer.co_qualname, decorated(inner), options)
    return key, inner


def decorated(function: Any) -> types.CodeType | None:
    """Return the code below a decorator: all that it decorates would be one function else."""
    code = None
    for _ in range(_MAX_DECORATORS):
        function = getattr(function, "__wrapped__", None)
        if function is None:
            break
        code = getattr(function, "__code__", code)
    return code


def site_of(function: Any, make: bool = False) -> Site | None:
    """Return the site of a jitted function (None if it was never traced, unless ``make``)."""
    fun = function.__wrapped__
    key, inner = _site_key(fun, function._spec.key())
    with _lock:
        site = _sites.get(key)
        if site is not None:
            _sites.move_to_end(key)
        elif make:
            code = inner.__code__ if inner is not None else None
            name = getattr(inner or fun, "__name__", type(fun).__name__)
            file = code.co_filename if code is not None else ""
            is_user = code is not None and is_user_file(file)
            site = Site(name, file, code.co_firstlineno if code is not None else 0, is_user)
            _sites[key] = site
            if len(_sites) > _MAX_SITES:
                _sites.popitem(last=False)
        return site


def all_sites() -> list[Site]:
    """Return all sites that have been traced, the most expensive first."""
    with _lock:
        found = list(_sites.values())
    return sorted(found, key=lambda s: -s.seconds)


def forget_all() -> None:
    """Forget all records (tests)."""
    with _lock:
        _sites.clear()


def caller_line() -> tuple[SourceLine | None, bool]:
    """Return the user's line that called, and whether it called the jitted function itself."""
    frame = sys._getframe(1)
    here: Any = frame
    direct = True
    while here is not None and not is_user_file(here.f_code.co_filename):
        file = here.f_code.co_filename
        direct = direct and file.endswith(("api/jit.py", "api\\jit.py", "misses.py", "guards.py"))
        here = here.f_back
    if here is None:
        return None, False
    return SourceLine(here.f_code, here.f_lasti), direct


def new_miss(function: Any, key: Any, arg_names: Iterable[str], parameters: Iterable[str]) -> Miss:
    """Return the record of a trace that is about to happen (not yet remembered)."""
    site = site_of(function, make=True)
    assert site is not None
    caller, direct = caller_line()
    return Miss(
        site=site,
        number=site.n_misses + 1,
        owner=function._cache.owner,
        kind=kind_of(function.__wrapped__),
        key=MissKey.of(key),
        arg_names=tuple(arg_names),
        parameters=tuple(parameters),
        captured=(),
        caller=caller,
        is_direct=direct,
        made_at=function._made_at,
        evicted=function._cache.evicted,
        start_s=time.perf_counter(),
    )


def remember(function: Any, entry: Any) -> Miss:
    """Record the trace that has made ``entry``."""
    miss = new_miss(function, entry.key, entry.arg_names, entry.parameters)
    miss.start_s -= entry.trace_s
    miss.trace_s, miss.captured = entry.trace_s, entry.captured
    miss.entry = weakref.ref(entry)
    site = miss.site
    with _lock:
        site.n_misses += 1
        miss.number = site.n_misses
        site.misses.append(miss)
        site.function = weakref.ref(function)
    return miss


def counting(
    table: dict[Any, Callable[[Any], Any]], key: Any, miss: Miss, run: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """Return a runner that counts a few hits and then puts ``run`` in its place in ``table``.

    So it is known whether a compilation was ever reused, and the cached path pays nothing.
    """
    if miss.hits >= COUNTED_HITS:
        miss.is_counted = False
        return run

    def count(args: Any) -> Any:
        miss.hits += 1
        if miss.hits >= COUNTED_HITS and table.get(key) is count:
            miss.is_counted = False
            table[key] = run
        return run(args)

    return count


def eviction(reason: str) -> tuple[str, SourceLine | None]:
    """Return the mark that a cache keeps when it is emptied: what did it, and the user's line."""
    return reason, current_line()
