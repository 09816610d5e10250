"""Stage 1 of 7, one call. In: a Python call of a jitted function.

Out: its results, from the cache or compiled.

The cache key is a structured object: argument types, tree, static values, settings. A hit costs a
look-up, the allocation of the results and one native call. A miss traces (stage 2), then the
pipeline compiles.
Next: ``transforms/stage_out.py``.
"""

from __future__ import annotations

import copy
import functools
import threading
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

from jaxlite import events
from jaxlite.api.arguments import (
    FlatFunction,
    abstractify,
    bad_argument,
    check_callable,
    code_of,
    debug_info_of,
    name_of,
    positional_names,
    signature_of,
)
from jaxlite.api.donation import donated_leaves, giving_away, taken
from jaxlite.api.jit_cache import CacheKey, Entry, cache_of
from jaxlite.api.static_arguments import StaticSpec
from jaxlite.diagnose import guards, messages, misses
from jaxlite.diagnose.cache_info import CacheInfo, cache_info
from jaxlite.diagnose.captured import capture
from jaxlite.diagnose.causes import Reason, reason_for
from jaxlite.diagnose.hooks import wrap_runner
from jaxlite.higher_order.gpu_call import device_of, executable_on
from jaxlite.higher_order.jit import jit_p
from jaxlite.language.array import ArrayImpl, DeviceArray
from jaxlite.language.avals import ShapeDtypeStruct
from jaxlite.language.device import Device
from jaxlite.language.jaxpr import ClosedJaxpr
from jaxlite.language.pytree import tree_flatten, tree_unflatten
from jaxlite.language.source import current_line, is_user_file
from jaxlite.language.trace import EVAL_TRACE, Tracer, state
from jaxlite.settings import config
from jaxlite.stages import Lowered, Traced, Wrapped
from jaxlite.transforms.stage_out import stage_out

__all__ = ["JitFunction", "jit"]

_DATA = (ArrayImpl, DeviceArray)


class JitFunction(Wrapped):
    """A function compiled per argument types. Made by ``jit``; call it like the function."""

    def __init__(
        self,
        fun: Callable[..., Any],
        spec: StaticSpec,
        donated: StaticSpec,
        options: dict[str, Any],
    ) -> None:
        # First: a wrapper of a jitted function, grad(jit(f)), has copies of its attributes.
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._spec = spec
        self._donated = donated
        self._options = options
        self._cache = cache_of(fun, (spec.key(), donated.key(), *sorted(options.items())))
        self._fast = self._cache.fast
        self._made_at = current_line()
        self.__wrapped__ = fun

    def __repr__(self) -> str:
        return f"<jaxlite.jit of {self._fun!r}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    # --- the call ---

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and state.trace is EVAL_TRACE:
            key: list[Any] = [config.frame.trace_key]
            for a in args:
                if type(a) is ArrayImpl:
                    key.append(a.aval)
                elif type(a) is DeviceArray:
                    key.append((a.aval, a.device))
                else:
                    break
            else:
                runner = self._fast.get(tuple(key))
                if runner is not None:
                    return runner(args)
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The general way: static arguments, containers, Python and NumPy values, traces."""
        if config.frame.disable_jit:
            return self._fun(*args, **kwargs)
        key, leaves = self._key(args, kwargs)
        entry = self._cache.entries.get(key)
        missed = entry is None
        if entry is None:
            entry = self._make_entry(key, args, kwargs)
        else:
            entry.miss.hits += 1
        if state.trace is not EVAL_TRACE or any(isinstance(x, Tracer) for x in leaves):
            shown = {}
            if any(entry.donated):
                shown["donated_invars"] = (False,) * len(entry.consts) + entry.donated
            outs = jit_p.bind_all(
                *entry.consts, *leaves, jaxpr=entry.closed, name=entry.name, **shown
            )
            return tree_unflatten(entry.out_tree, outs)
        device = device_of((*entry.consts, *leaves), entry.name)
        entry.miss.is_fresh = not entry.compile_s
        if not entry.compile_s:
            if not missed:
                self._check_guards(key, args, kwargs)
            self._compile(entry, device)
        run: Callable[[Sequence[Any]], Any] = (
            entry.run if device is None else functools.partial(entry.run_on, device)
        )
        if entry.taken:
            run = giving_away(run, entry.taken)
        out = wrap_runner(self, entry, run)(leaves)
        entry.miss.is_fresh = False
        if not kwargs and not self._spec.nums and all(type(a) in _DATA for a in args):
            self._install_fast(key, entry, args, device)
        return out

    def _compile(self, entry: Entry, device: Device | None) -> None:
        start = time.perf_counter()
        if device is not None:
            executable_on(entry.closed, entry.name, device)
        else:
            _ = entry.compilation
        if any(entry.donated):
            entry.taken = taken(entry.traced, entry.donated, self._options["keep_unused"])
        entry.compile_s = entry.miss.compile_s = time.perf_counter() - start
        if events.listeners:
            events.publish(events.Compiled(self, entry, entry.compile_s))
        messages.log_compile(entry.miss)

    def _install_fast(
        self, key: CacheKey, entry: Entry, args: tuple[Any, ...], device: Device | None
    ) -> None:
        fast = entry.fast_runner() if device is None else entry.fast_runner_on(device)
        if entry.taken:
            fast = giving_away(fast, entry.taken)
        runner = wrap_runner(self, entry, fast)
        types_ = (
            key.settings,
            *[a.aval if type(a) is ArrayImpl else (a.aval, a.device) for a in args],
        )
        self._fast[types_] = misses.counting(self._fast, types_, entry.miss, runner)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CacheKey, list[Any]]:
        spec = self._spec
        if spec.is_empty:
            dynamic: Any = (args, kwargs)
            static: tuple[Any, ...] = ()
        else:
            dynamic, static = spec.split(args, kwargs)
        leaves, in_tree = tree_flatten(dynamic)
        try:
            avals = tuple([x.aval if type(x) is ArrayImpl else abstractify(x) for x in leaves])
        except TypeError:
            self._raise_bad_argument(args, kwargs, dynamic)
            raise
        return CacheKey(avals, in_tree, static, config.frame.trace_key), leaves

    def _raise_bad_argument(self, args: Any, kwargs: Any, dynamic: Any) -> None:
        names = debug_info_of(self._fun, args, kwargs)
        all_paths = dict.fromkeys(names.arg_names)
        paths = list(all_paths)
        every = tree_flatten((args, kwargs))[0]
        for leaf in tree_flatten(dynamic)[0]:
            try:
                abstractify(leaf)
            except TypeError:
                position = next(i for i, x in enumerate(every) if x is leaf)
                raise bad_argument(self._fun, leaf, paths[position]) from None

    # --- a miss ---

    def _make_entry(self, key: CacheKey, args: Any, kwargs: Any) -> Entry:
        """Trace once; a second thread that needs the same key waits for the first."""
        cache = self._cache
        while True:
            with cache.lock:
                found = cache.entries.get(key)
                if found is not None:
                    return found
                waiting = cache.in_progress.get(key)
                if waiting is None or state.trace is not EVAL_TRACE:
                    mine = cache.in_progress.setdefault(key, threading.Event())
                    break
            waiting.wait()
        try:
            entry = self._trace_entry(key, args, kwargs)
        finally:
            with cache.lock:
                cache.in_progress.pop(key, None)
            mine.set()
        # A trace that may have used the names of mapped axes serves only where they are mapped.
        if not state.axis_env and not any(isinstance(c, Tracer) for c in entry.consts):
            cache.entries[key] = entry
        return entry

    def _trace_entry(self, key: CacheKey, args: Any, kwargs: Any) -> Entry:
        self._check_guards(key, args, kwargs)
        if events.listeners:
            events.publish(events.CacheMiss(self, key))
        start = time.perf_counter()
        closed, flat = self._trace(key, args, kwargs)
        assert flat.out_tree is not None
        entry = Entry(key, name_of(self._fun), closed, flat.out_tree, time.perf_counter() - start)
        entry.parameters = tuple(positional_names(self._fun, len(args)))
        if not self._donated.is_empty:
            entry.donated = donated_leaves(self._donated, *self._spec.without_static(args, kwargs))
        if is_user_code(self._fun):
            entry.captured = capture(self._fun)
        self._cache.n_traces += 1
        entry.number = self._cache.n_traces
        entry.miss = misses.remember(self, entry)
        messages.log_miss(entry.miss)
        if events.listeners:
            events.publish(events.TraceEnded(self, entry.name, closed, entry.trace_s))
        return entry

    def _trace(self, key: CacheKey, args: Any, kwargs: Any) -> tuple[ClosedJaxpr, FlatFunction]:
        info = debug_info_of(self._fun, *self._spec.without_static(args, kwargs))
        fill = None if self._spec.is_empty else self._spec.filler(key.static)
        flat = FlatFunction(self._fun, key.in_tree, info, "jit", fill)
        if events.listeners:
            events.publish(events.TraceStarted(self, info.function))
        return stage_out(flat, key.avals, info), flat

    def _check_guards(self, key: CacheKey, args: Any, kwargs: Any) -> None:
        if config.frame.no_tracing:
            raise RuntimeError(
                f"re-tracing function {name_of(self._fun)} for `jit`, but 'no_tracing' is set"
            )
        limit = self._options.get("max_traces")
        if limit is not None or guards.active():
            guards.check(
                self, limit, key in self._cache.entries, lambda: self._reason(key, args, kwargs)
            )

    def _reason(self, key: CacheKey, args: Any, kwargs: Any) -> Reason:
        info = debug_info_of(self._fun, *self._spec.without_static(args, kwargs))
        names = positional_names(self._fun, len(args))
        return Reason(reason_for(self, key, info.arg_names, names).causes)

    def retraced_runner(self, entry: Entry) -> Callable[[Sequence[Any]], Any]:
        """Forget ``entry``; return a runner that traces anew for the same key."""
        self._cache.entries.pop(entry.key, None)
        self._cache.evicted = misses.eviction("global")
        self._fast.clear()

        def run(leaves: Sequence[Any]) -> Any:
            args, kwargs = tree_unflatten(entry.key.in_tree, leaves)
            if not self._spec.is_empty:
                args, kwargs = self._spec.filler(entry.key.static)(args, kwargs)
            return self._call(tuple(args), kwargs)

        return run

    # --- looking at it ---

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for these arguments (values or ``ShapeDtypeStruct``) without running."""
        key, _ = self._key(args, kwargs)
        entry = self._cache.entries.get(key) or self._make_entry(key, args, kwargs)
        return Traced(
            entry.traced,
            entry.name,
            key.in_tree,
            entry.out_tree,
            self,
            entry.trace_s,
            tuple([i for i, given in enumerate(entry.donated) if given]),
        )

    def flat_arguments(
        self, *args: Any, **kwargs: Any
    ) -> tuple[list[Any], list[int | str], Callable[[Sequence[Any]], tuple[Any, Any]]]:
        """Return the leaves that are inputs, the argument each is in, and how to put others in."""
        key, leaves = self._key(args, kwargs)
        rest, named = self._spec.without_static(args, kwargs)
        owners: list[int | str] = [i for i, a in enumerate(rest) for _ in tree_flatten(a)[0]]
        owners += [name for name in sorted(named) for _ in tree_flatten(named[name])[0]]

        def rebuild(new: Sequence[Any]) -> tuple[Any, Any]:
            full = tree_unflatten(key.in_tree, new)
            return full if self._spec.is_empty else self._spec.filler(key.static)(*full)

        return leaves, owners, rebuild

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for these arguments."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return shapes and dtypes of the results without computing them."""
        return self.trace(*args, **kwargs).out_info

    def would_compile(self, *args: Any, **kwargs: Any) -> Reason:
        """Say whether a call with these arguments would compile; nothing is traced or run.

        The answer is true or false and prints why:

        >>> import jaxlite as jax, jaxlite.numpy as jnp
        >>> f = jax.jit(lambda x: x + 1.0)
        >>> f(jnp.ones(3)).tolist()
        [2.0, 2.0, 2.0]
        >>> f.would_compile(jnp.ones(4))
        Reason('x is f32[4], was f32[3]')
        >>> bool(f.would_compile(jnp.zeros(3)))
        False
        """
        if config.frame.disable_jit:
            return Reason()
        key, _ = self._key(args, kwargs)
        entry = self._cache.entries.get(key)
        if entry is None:
            return self._reason(key, args, kwargs)
        return Reason() if entry.compile_s else Reason(guards.NOT_COMPILED)

    def cache_info(self) -> CacheInfo:
        """Return traces, hits and seconds per signature, and where the source is."""
        return cache_info(self)

    def traces_without_static(self, entry: Entry, place: Any) -> bool:
        """Say whether the function can be traced with one static argument as an ordinary one."""
        leaves = [
            ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in entry.key.avals
        ]
        args, kwargs = tree_unflatten(entry.key.in_tree, leaves)
        args, kwargs = self._spec.filler(entry.key.static)(args, kwargs)
        trial = copy.copy(self)
        trial._spec = self._spec.without(place, self.__wrapped__)
        try:
            trial._trace(trial._key(tuple(args), kwargs)[0], args, kwargs)
        except Exception:  # whatever the user's function says to a traced value, it means no
            return False
        return True

    def clear_cache(self) -> None:
        """Forget all compilations of this function."""
        self._cache.clear("clear_cache()")

    def retrace(self) -> None:
        """Forget all compilations, so that the next call reads globals and closures anew."""
        self._cache.clear("retrace()")

    def _cache_size(self) -> int:
        return len(self._cache.entries)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The compilations, oldest first."""
        return tuple(self._cache.entries.values())

    def entry_and_datas(self, *args: Any, **kwargs: Any) -> tuple[Entry, tuple[Any, ...]] | None:
        """Return the compilation a call would use, and the arrays it would hand over on the CPU.

        None if there is no such compilation yet.
        """
        key, leaves = self._key(args, kwargs)
        entry = self._cache.entries.get(key)
        return None if entry is None else (entry, entry.datas(leaves))

    @property
    def n_traces(self) -> int:
        """How often the Python function was run on tracers."""
        return self._cache.n_traces


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
    compiler_options: dict[str, Any] | None = None,
    max_traces: int | None = None,
) -> Any:
    """Return ``fun`` compiled.

    Traced once per combination of argument types, fused, run as native code.

    Args:
      fun: a pure function of arrays, Python numbers and containers (pytrees) of them.
      static_argnums: positions of arguments that are Python constants. They must be hashable; a new
        value compiles again. Completed from ``static_argnames`` by the function's signature.
      static_argnames: names of such arguments, completed from ``static_argnums``.
      donate_argnums: positions of arguments that the caller will not use again. An array among
        them is deleted after the call if a result has its size: its memory is used again.
      donate_argnames: as ``donate_argnums``, by name.
      keep_unused: an argument that the function does not read is donated all the same.
      device: accepted as in JAX.
      backend: accepted as in JAX.
      inline: accepted as in JAX.
      in_shardings: accepted as in JAX.
      out_shardings: accepted as in JAX.
      compiler_options: accepted as in JAX.
      max_traces: raise ``RecompileError`` before the trace that would be one too many.

    Returns:
      A callable with ``trace``, ``lower``, ``clear_cache`` and ``entries``; also usable as
      decorator (``@jit``, ``@jit(static_argnames="n")``).

    Raises:
      TypeError: ``fun`` is not callable, an argument is no array, or the function returned
        something else.
      ValueError: a static argument is not hashable, or ``static_argnums`` does not fit the
        signature.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> f = jax.jit(lambda x: jnp.sin(x) ** 2 + jnp.cos(x) ** 2)
    >>> f(jnp.arange(3.0)).tolist()
    [1.0, 1.0, 1.0]
    """
    options = {"max_traces": max_traces, "keep_unused": keep_unused}

    def decorate(function: Callable[..., Any]) -> JitFunction:
        check_callable(function)
        spec = StaticSpec.of(function, signature_of(function), static_argnums, static_argnames)
        donated = StaticSpec.of(
            function, signature_of(function), donate_argnums, donate_argnames, "donate"
        )
        spec.check_donation(donated)
        return JitFunction(function, spec, donated, options)

    return decorate if fun is None else decorate(fun)


def is_user_code(fun: Any) -> bool:
    """Say whether ``fun`` is written by the user (its captured values are worth recording)."""
    code = code_of(fun)
    return (
        code is not None
        and is_user_file(code.co_filename)
        and not code.co_filename.startswith("<jit cell")
    )
