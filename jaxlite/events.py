"""Typed events: what the engine tells whoever listens (diagnose, the notebook). In: a call.

Out: callbacks.

Nobody listens by default; then publishing costs one attribute check:

    if events.listeners:
        events.publish(events.Compiled(...))
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class TraceStarted(Event):
    """A Python function is about to run on tracers."""

    function: Any
    name: str


@dataclass(frozen=True, slots=True)
class TraceEnded(Event):
    """The function has run; ``jaxpr`` is the closed jaxpr."""

    function: Any
    name: str
    jaxpr: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class CacheHit(Event):
    """A call reused a compilation.

    ``function`` is the jitted function, ``entry`` its cache entry.
    """

    function: Any
    entry: Any


@dataclass(frozen=True, slots=True)
class CacheMiss(Event):
    """A call needs a new compilation. ``key`` is its structured cache key."""

    function: Any
    key: Any


@dataclass(frozen=True, slots=True)
class PassEnded(Event):
    """A compiler stage (optimise, fuse, lower, emit, load) has ended."""

    name: str
    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Compiled(Event):
    """A jaxpr has become an executable. ``record`` holds every stage's data and its time."""

    function: Any
    record: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Launched(Event):
    """A jitted call has run."""

    function: Any
    entry: Any
    seconds: float


@dataclass(frozen=True, slots=True)
class Captured(Event):
    """Tracing read globals or closure cells; ``values`` are the records."""

    function: Any
    values: Any = field(default=())


Listener: TypeAlias = Callable[[Event], None]
#: The listeners; engine code tests this list before it builds an event.
listeners: list[Listener] = []


def publish(event: Event) -> None:
    """Hand ``event`` to every listener, in the order they came."""
    for listener in tuple(listeners):
        listener(event)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call ``listener`` for every event inside the block.

    >>> from jaxlite import events
    >>> seen = []
    >>> with events.listen(seen.append):
    ...     events.publish(events.PassEnded("f", "fuse", 0.001))
    >>> seen[0].stage
    'fuse'
    """
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
