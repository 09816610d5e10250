"""Guards against compiling again. In: blocks and functions. Out: ``RecompileError`` before a trace.

``no_recompile`` raises, ``watch`` counts. ``JAXLITE_GUARDS=off`` (``config.update("guards",
False)``) turns ``no_recompile`` and ``max_traces`` into no-ops.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from jaxlite import errors, events
from jaxlite.diagnose.difference import Difference
from jaxlite.diagnose.hooks import Runner, add_runner_hook, remove_runner_hook
from jaxlite.diagnose.misses import site_of, source_function
from jaxlite.diagnose.places import jitted_behind, question
from jaxlite.language.source import is_user_file
from jaxlite.settings import config

__all__ = ["NOT_COMPILED", "Watch", "active", "check", "no_recompile", "watch"]

NOT_COMPILED = (Difference("1", "", "", "traced, but not compiled yet"),)

# The guards of this thread (or asyncio task), outermost first.
_guards: ContextVar[tuple[no_recompile, ...]] = ContextVar("no_recompile", default=())


def active() -> bool:
    """Say whether any ``no_recompile`` block is open here."""
    return bool(_guards.get())


class no_recompile(contextlib.ContextDecorator):
    """Raise ``RecompileError`` (JL030) before anything is traced or compiled in this block.

    Args:
      f: the jitted function to guard; without it, every jitted function of the user's.

    A ``with`` block or a decorator (``@no_recompile()``); holds in this thread.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> step = jax.jit(lambda x: x * 2.0)
    >>> _ = step(jnp.ones(64))
    >>> with no_recompile(step):
    ...     _ = step(jnp.zeros(64))
    >>> with no_recompile(step):
    ...     _ = step(jnp.zeros(57))
    Traceback (most recent call last):
    jaxlite.errors.RecompileError: <lambda> would compile again inside no_recompile(): x is ...
    """

    def __init__(self, f: Any = None) -> None:
        if f is not None and not callable(f):
            raise TypeError(
                f"no_recompile expects a jitted function, got {f!r}\n"
                "  Fix: with no_recompile(f): ..., or with no_recompile(): ... for all functions."
            )
        self.function = f

    def __call__(self, func: Any = None, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or not callable(func):
            raise TypeError(
                "no_recompile(f) is a guard, not a function\n"
                "  Fix: write the decorator with brackets, @no_recompile()."
            )
        return super().__call__(func)

    def __enter__(self) -> no_recompile:
        _guards.set((*_guards.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        found = list(_guards.get())
        found.reverse()
        found.remove(self)
        _guards.set(tuple(reversed(found)))

    def covers(self, function: Any) -> bool:
        """Say whether this guard is about ``function``."""
        if self.function is None:
            return is_users(function)
        return target(function) is target(self.function)


def target(function: Any) -> Any:
    """Return what two handles of the same compilations have in common."""
    jitted = jitted_behind(function)
    return jitted._cache if jitted is not None else getattr(function, "__func__", function)


def is_users(function: Any) -> bool:
    """Say whether a jitted function is the user's own (not one of the library's)."""
    fun = source_function(function.__wrapped__)
    return fun is not None and is_user_file(fun.__code__.co_filename)


def check(function: Any, limit: int | None, is_traced: bool, reason: Callable[[], Any]) -> None:
    """Raise ``RecompileError`` if a guard forbids what ``function`` is about to do.

    ``limit`` is its ``max_traces``; ``is_traced`` if only the compilation is missing.
    """
    if not config.frame.guards:
        return
    name = getattr(function.__wrapped__, "__name__", type(function.__wrapped__).__name__)
    report = question(function)
    if any(g.covers(function) for g in _guards.get()):
        site = site_of(function)
        again = "again " if site is not None and site.misses and not is_traced else ""
        why = "traced, but not compiled yet" if is_traced else str(reason())
        raise errors.RecompileError(
            f"{name} would compile {again}inside no_recompile(): {why}.\n"
            f"  Fix: call it once with these types before the block, or see {report}."
        )
    if limit is not None and not is_traced and len(function._cache.entries) >= limit:
        error = errors.RecompileError(
            f"{name} reached max_traces={limit}: {reason()}.\n"
            f"  Fix: see {report}, or raise max_traces."
        )
        raise errors.located(error, "JL031")


class Watch:
    """What ``watch`` has counted.

    ``traces`` and ``hits`` are those of the user's jitted functions, ``compiles`` all programs that
    were compiled (the backward pass of ``grad(jit(f))`` is one), ``ms`` the time of tracing and
    compiling, ``events`` every event in order.
    """

    def __init__(self) -> None:
        self.traces = self.compiles = self.hits = self.calls = 0
        self.events: list[events.Event] = []
        self._compile_s = 0.0
        self._traced: list[tuple[float, float]] = []
        self._running: list[tuple[Any, float]] = []
        self._names: list[str] = []

    @property
    def ms(self) -> float:
        """Milliseconds of tracing and compiling."""
        return 1e3 * (self._compile_s + sum(seconds for _, seconds in self._traced))

    @property
    def names(self) -> tuple[str, ...]:
        """The functions that were traced, in order."""
        return tuple(self._names)

    def __repr__(self) -> str:
        return (
            f"Watch(compiles={self.compiles}, traces={self.traces}, hits={self.hits}, "
            f"ms={self.ms:.1f})"
        )

    def listen(self, event: events.Event) -> None:
        """Take in one event."""
        self.events.append(event)
        match event:
            case events.TraceStarted(function=f):
                self._running.append((f, time.perf_counter()))
            case events.TraceEnded(function=f, name=name, seconds=seconds):
                self._trace_ended(f, seconds)
                if is_users(f):
                    self.traces += 1
                    self._names.append(name)
            case events.PassEnded(stage=stage, seconds=seconds):
                self._compile_s += seconds
                self.compiles += stage == "load"

    def _trace_ended(self, function: Any, seconds: float) -> None:
        """Add the time of a trace; traces that began inside it are part of it."""
        start = 0.0
        while self._running:  # a trace that raised has left its start behind
            f, start = self._running.pop()
            if f is function:
                break
        self._traced = [t for t in self._traced if t[0] < start]
        self._traced.append((start, seconds))

    def hook(self, function: Any, entry: Any, run: Runner) -> Runner:
        """Return a runner that counts."""
        if not is_users(function):
            return run
        is_hit = not entry.miss.is_fresh

        @functools.wraps(run)
        def counted(args: Any) -> Any:
            self.calls += 1
            self.hits += is_hit
            return run(args)

        return counted


class watch:
    """Count what is traced and compiled in the block, for tests.

    >>> import jaxlite as jax, jaxlite.numpy as jnp
    >>> f = jax.jit(lambda x: x + 1.0)
    >>> _ = f(jnp.ones(3))
    >>> with watch() as w:
    ...     _ = f(jnp.zeros(3)), f(jnp.zeros(3))
    >>> w.compiles, w.hits
    (0, 2)
    """

    def __init__(self) -> None:
        self._open: list[Watch] = []

    def __enter__(self) -> Watch:
        w = Watch()
        self._open.append(w)
        events.listeners.append(w.listen)
        add_runner_hook(w.hook)
        return w

    def __exit__(self, *exc: object) -> None:
        w = self._open.pop()
        events.listeners.remove(w.listen)
        remove_runner_hook(w.hook)
