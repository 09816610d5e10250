"""The cache of ``jit``. In: what a call depends on. Out: a function's compilations.

A key is compared by value; the caches of functions live as long as the functions.
"""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite.diagnose import misses
from jaxlite.diagnose.hooks import when_hooks_change
from jaxlite.higher_order.gpu_call import run_jaxpr, runner_on
from jaxlite.higher_order.jit import compiled
from jaxlite.language.array import ArrayImpl
from jaxlite.language.avals import ShapedArray
from jaxlite.language.device import Device
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.pytree import tree_unflatten
from jaxlite.language.treedef import PyTreeDef
from jaxlite.runtime.convert import to_data
from jaxlite.transforms.stage_out import hoist_consts

__all__ = ["CacheKey", "Entry", "FunctionCache", "cache_of", "clear_caches"]


class CacheKey:
    """What a compilation depends on.

    Two keys are equal if a compilation for one serves the other.
    """

    __slots__ = ("_hash", "avals", "in_tree", "settings", "static")

    def __init__(
        self,
        avals: tuple[ShapedArray, ...],
        in_tree: PyTreeDef,
        static: tuple[Any, ...],
        settings: Any,
    ) -> None:
        self.avals, self.in_tree, self.static, self.settings = avals, in_tree, static, settings
        self._hash = hash((avals, in_tree, static, settings))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CacheKey)
            and self.avals == other.avals
            and self.in_tree == other.in_tree
            and self.settings is other.settings
            and self.static == other.static
        )


class Entry:
    """One compilation of a function: its key, its jaxpr, what it captured, and how to run it."""

    __slots__ = (
        "__weakref__",
        "arg_names",
        "captured",
        "closed",
        "compile_s",
        "consts",
        "donated",
        "key",
        "miss",
        "name",
        "number",
        "out_tree",
        "parameters",
        "taken",
        "trace_s",
        "traced",
    )

    def __init__(
        self, key: CacheKey, name: str, traced: ClosedJaxpr, out_tree: PyTreeDef, trace_s: float
    ) -> None:
        self.key, self.name, self.traced, self.out_tree, self.trace_s = (
            key,
            name,
            traced,
            out_tree,
            trace_s,
        )
        self.closed, self.consts = hoist_consts(traced)
        self.arg_names = traced.jaxpr.debug_info.arg_names
        self.compile_s = 0.0
        self.number = 0
        #: Which leaves the caller donates, and (after compiling) the positions that are taken.
        self.donated: tuple[bool, ...] = ()
        self.taken: tuple[int, ...] = ()
        self.miss: Any = None
        self.captured: Any = ()
        self.parameters: tuple[str, ...] = ()

    @property
    def compilation(self) -> Any:
        """Data of every stage (compiles if nobody has called yet)."""
        return compiled(self.closed, self.name)

    def datas(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return what the executable is handed: captured arrays, then the leaves."""
        datas = tuple([to_data(x, a) for x, a in zip(leaves, self.key.avals, strict=True)])
        return tuple([c._data for c in self.consts]) + datas

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run on concrete leaves and rebuild the result."""
        outs = self.compilation.executable.run(self.datas(leaves))
        arrays = [ArrayImpl(o, a) for o, a in zip(outs, self.closed.out_avals, strict=True)]
        return tree_unflatten(self.out_tree, arrays)

    def run_on(self, device: Device, leaves: Sequence[Any]) -> Any:
        """Run on an accelerator and rebuild the result."""
        outs = run_jaxpr(self.closed, self.name, [*self.consts, *leaves], device)
        return tree_unflatten(self.out_tree, outs)

    def fast_runner_on(self, device: Device) -> Callable[[Sequence[Any]], Any]:
        """Return the shortest way on an accelerator."""
        run = runner_on(self.closed, self.name, self.consts, device)
        return lambda args: tree_unflatten(self.out_tree, run(args))

    def fast_runner(self) -> Callable[[Sequence[ArrayImpl]], Any]:
        """Return the shortest way for arguments that are all arrays and passed by position."""
        run = self.compilation.executable.run
        consts = tuple([c._data for c in self.consts])
        avals = tuple(self.closed.out_avals)
        out_tree = self.out_tree
        if len(avals) == 1 and out_tree.num_nodes == 1:
            aval = avals[0]
            if not consts:
                return lambda args: ArrayImpl(run(tuple([a._data for a in args]))[0], aval)
            return lambda args: ArrayImpl(run((*consts, *[a._data for a in args]))[0], aval)

        def general(args: Sequence[ArrayImpl]) -> Any:
            outs = run((*consts, *[a._data for a in args]))
            return tree_unflatten(out_tree, [ArrayImpl(o, a) for o, a in zip(outs, avals)])

        return general


class FunctionCache:
    """All compilations of one function with one set of options; shared by equal ``jit(f)``."""

    __slots__ = (
        "__weakref__",
        "entries",
        "evicted",
        "fast",
        "in_progress",
        "lock",
        "n_traces",
        "owner",
    )

    def __init__(self) -> None:
        self.entries: dict[CacheKey, Entry] = {}
        self.fast: dict[Any, Callable[[Sequence[ArrayImpl]], Any]] = {}
        self.lock = threading.Lock()
        self.in_progress: dict[CacheKey, threading.Event] = {}
        self.n_traces = 0
        self.owner = next(misses.owner_numbers)
        self.evicted: Any = None
        _all_caches.add(self)

    def clear(self, reason: str) -> None:
        """Forget everything; ``reason`` is told by the next trace of the same types."""
        if self.entries:
            self.evicted = misses.eviction(reason)
        self.entries.clear()
        self.fast.clear()


_all_caches: weakref.WeakSet[FunctionCache] = weakref.WeakSet()
_by_function: weakref.WeakKeyDictionary[Any, dict[Any, FunctionCache]] = weakref.WeakKeyDictionary()


def cache_of(fun: Any, options: Any) -> FunctionCache:
    """Return the cache of ``fun``: by identity; a bound method by its function and its object."""
    owner: Any = fun
    if isinstance(fun, types.MethodType):
        # Each access makes a new bound method; the pair inside is what stays the same.
        owner, options = fun.__self__, (fun.__func__, options)
    try:
        by_identity = isinstance(owner, types.FunctionType) or misses.hashes_by_identity(
            type(owner)
        )
        if not by_identity:
            return FunctionCache()  # equal but distinct owners must not share a trace
        table = _by_function.setdefault(owner, {})
        return table.setdefault(options, FunctionCache())
    except TypeError:  # no weak references or no hash: the JitFunction keeps its own cache
        return FunctionCache()


def reset_fast_paths() -> None:
    """Forget the fast runners of all functions, so that new hooks take effect."""
    for cache in tuple(_all_caches):
        cache.fast.clear()


when_hooks_change(reset_fast_paths)


def clear_caches() -> None:
    """Forget every jitted function's compilations."""
    for cache in tuple(_all_caches):
        cache.clear("clear_caches()")
